package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/provider/wire"
)

const (
	maxMessage = 2000 // code points of Error.Message
	maxPartial = 8000 // code points of Error.Partial
)

// Classify turns what went wrong in an exchange into an [Error]. Adapters add
// Partial and Usage with [Assembly.Fail].
func Classify(cfg Config, x *wire.Exchange, err error) *Error {
	e := &Error{
		Provider: cfg.Name, Status: x.Status(), Sent: x.Sent(),
		RequestID: requestID(x.Header()),
	}
	var refusal *Refusal
	var status *wire.StatusError
	var event *wire.EventError
	var broken *wire.BrokenError
	var send *wire.SendError
	switch {
	case errors.Is(err, context.Canceled):
		e.Code, e.Message, e.Err = CodeCanceled, "the turn was canceled", context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Message, e.Err = CodeTimeout, "the turn took longer than it may", context.DeadlineExceeded
	case errors.As(err, &refusal):
		e.Code, e.Message = CodeRefused, refusal.Error()
	case errors.As(err, &status):
		e.fill(parseTold(status.Body, status.Status), x)
	case errors.As(err, &event):
		e.fill(parseTold(event.Data, 0), x)
	case errors.As(err, &broken):
		e.Code, e.Message, e.Err = CodeStreamBroken, broken.Error(), sentinel(err)
	case errors.As(err, &send):
		e.Code, e.Message, e.Err = CodeTransport, send.Error(), sentinel(err)
	default: // the SDK could not make the request
		var u *url.Error // repeats the base URL, which may hold a password
		if errors.As(err, &u) {
			err = u.Err
		}
		e.Code, e.Message = CodeInvalidRequest, "making the request: "+err.Error()
	}
	e.Message = text.Head(cfg.redact(strings.TrimSpace(e.Message)), maxMessage, "...")
	return e
}

// Refusal is the cause for [Assembly.Fail] when a vendor answers that it will
// not look at the prompt.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return "the vendor blocked the prompt: " + r.Reason }

// sentinel keeps of a cause what callers can ask for and what holds no text of
// others.
func sentinel(err error) error {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return nil
}

func requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "Apim-Request-Id", "X-Goog-Request-Id", "Cf-Ray"} {
		if v := h.Get(name); v != "" {
			return text.Head(v, 100, "...")
		}
	}
	return ""
}

// fill sets code, message and times from what the vendor told.
func (e *Error) fill(t told, x *wire.Exchange) {
	e.Code, e.Message = t.code(), t.message
	if e.Message == "" {
		e.Message = "the vendor gave no reason"
	}
	if t.requestID != "" && e.RequestID == "" {
		e.RequestID = text.Head(t.requestID, 100, "...")
	}
	switch e.Code {
	case CodeRateLimited, CodeQuotaExhausted, CodeOverloaded, CodeServerError:
		e.RetryAfter, e.ResetAt = t.waits(x)
	}
}

var (
	quotaWords = text.MustPattern(`insufficient_quota|usage_limit|usage limit|quota_exceeded|billing|credit balance|insufficient (credit|balance|fund)|out of credits|` +
		`(exceeded|exhausted|reached|over|insufficient)\W+(\w+\W+){0,4}quota\b|\bquota\b\W+(\w+\W+){0,3}(exceeded|exhausted|reached)|spend(ing)? limit|payment required`)
	contextWords = text.MustPattern(`context_length|context length|context window|context_window|prompt is too long|input is too long|input length|input_too_long|` +
		`maximum (number of )?tokens|(token count|tokens?) .{0,40}exceeds?|exceeds? .{0,40}(token limit|context|maximum number of)|request_too_large|reduce the length`)
	authWords    = text.MustPattern(`api_key_invalid|api key not valid|invalid_api_key|invalid api key|incorrect api key|authentication_error|unauthenticated|invalid x-api-key|unauthorized`)
	modelWords   = text.MustPattern(`model_not_found|unknown model|no such model|invalid model|model_not_available|models?\b.{0,120}(does not exist|not found|not exist|not supported|is not available|unavailable for)|not a valid model`)
	refusedWords = text.MustPattern(`content_filter|content filter|content_policy|content policy|content management policy|usage policy|usage policies|prohibited_content|flagged|cyber_policy|invalid_prompt|safety system`)
	overWords    = text.MustPattern(`overloaded|slow_down|server_is_overloaded|at capacity|high demand|no capacity`)
	rateWords    = text.MustPattern(`rate_limit|rate limit|too many requests|resource_exhausted`)
)

// code applies the vendor's words first, then the status.
func (t told) code() Code {
	words := strings.ToLower(strings.Join([]string{t.kind, t.codeWord, t.status, t.reason, t.message}, "\n"))
	limited := t.http == 429 || t.http == 0 && rateWords().MatchString(words)
	switch {
	case t.http == 402, t.quota(words, limited):
		return CodeQuotaExhausted
	case limited:
		return CodeRateLimited
	case t.http == 529, t.http == 503, (t.http == 0 || t.http >= 500) && overWords().MatchString(words) || t.status == "UNAVAILABLE":
		return CodeOverloaded
	case t.http >= 500:
		return CodeServerError
	case t.http == 413, contextWords().MatchString(words) && t.http != 401:
		return CodeContextLength
	case t.http == 401, t.http == 407, authWords().MatchString(words):
		return CodeAuth
	case refusedWords().MatchString(words):
		return CodeRefused
	case t.http == 403, t.kind == "permission_error":
		return CodeAuth
	case t.http == 404, modelWords().MatchString(words):
		return CodeModelUnknown
	case t.http >= 300, strings.Contains(words, "invalid"):
		return CodeInvalidRequest
	}
	return CodeServerError
}

// quota tells a spent plan from a rate. Gemini words both alike; its quota ids
// and its delay tell.
func (t told) quota(words string, limited bool) bool {
	if !limited && t.http != 400 && t.http != 403 && t.http != 0 {
		return false
	}
	if t.perDay {
		return true
	}
	if t.perMinute || strings.Contains(words, "e.g. check quota") {
		return false
	}
	return quotaWords().MatchString(words)
}

// CodeOfStatus classifies an HTTP status of which nothing else is known.
func CodeOfStatus(status int) Code { return told{http: status}.code() }
