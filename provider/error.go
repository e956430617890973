package provider

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code classifies a failed turn. The set is closed.
type Code string

// The codes.
const (
	CodeRateLimited    Code = "rate_limited"    // too many requests or tokens now; wait and retry
	CodeQuotaExhausted Code = "quota_exhausted" // plan, credit or billing limit; retrying soon is useless
	CodeOverloaded     Code = "overloaded"      // the vendor has no capacity now
	CodeContextLength  Code = "context_length"  // the conversation does not fit the model
	CodeAuth           Code = "auth"            // key missing, wrong, or without the right
	CodeInvalidRequest Code = "invalid_request"
	CodeModelUnknown   Code = "model_unknown"
	CodeRefused        Code = "refused"       // the vendor refused the prompt itself, by policy
	CodeTransport      Code = "transport"     // no HTTP answer: DNS, TLS, refused, reset
	CodeStreamBroken   Code = "stream_broken" // an answer began and was cut, empty or malformed
	CodeServerError    Code = "server_error"  // 5xx, or an internal error told in a stream
	CodeTimeout        Code = "timeout"       // the context's deadline passed
	CodeCanceled       Code = "canceled"      // the context was canceled
)

// Error is a failed turn.
type Error struct {
	Code     Code   `json:"code"`
	Provider string `json:"provider"` // configured name
	Status   int    `json:"status,omitempty"`
	// RetryAfter is how long the vendor asks to wait; 0 means it did not say.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// ResetAt is when the vendor says the limit is lifted; zero if it did not.
	ResetAt   time.Time `json:"resetAt,omitzero"`
	Message   string    `json:"message,omitempty"` // vendor's text, bounded, key removed
	RequestID string    `json:"requestId,omitempty"`
	Partial   string    `json:"partial,omitempty"` // answer text received before the failure
	Usage     Usage     `json:"usage"`             // what is known of the failed turn
	// Sent says that the request may have reached the vendor.
	Sent bool  `json:"sent"`
	Err  error `json:"-"` // cause, for errors.Is; its text is not shown
}

// Error says what happened, where, and what to do next.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "provider %s: %s", e.Provider, e.Code)
	var facts []string
	if e.Status != 0 {
		facts = append(facts, fmt.Sprintf("status %d", e.Status))
	}
	if e.RequestID != "" {
		facts = append(facts, "request "+e.RequestID)
	}
	if e.RetryAfter > 0 {
		facts = append(facts, "retry after "+e.RetryAfter.String())
	}
	if !e.ResetAt.IsZero() {
		facts = append(facts, "resets at "+e.ResetAt.UTC().Format(time.RFC3339))
	}
	if len(facts) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(facts, ", "))
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if n := next[e.Code]; n != "" {
		b.WriteString("; " + n)
	}
	return b.String()
}

var next = map[Code]string{
	CodeRateLimited:    "wait and resume the run",
	CodeQuotaExhausted: "resume after the reset, or raise the limit at the vendor",
	CodeOverloaded:     "wait and resume the run",
	CodeContextLength:  "shorten the prompt or choose a model with a larger context",
	CodeAuth:           "check the provider's key and its rights",
	CodeInvalidRequest: "check the provider's settings and the request",
	CodeModelUnknown:   "check the model's name and the provider's base URL",
	CodeRefused:        "change the prompt",
	CodeTransport:      "check the base URL and the network",
	CodeStreamBroken:   "resume the run to ask again",
	CodeServerError:    "wait and resume the run",
	CodeTimeout:        "resume the run, or raise the timeout",
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed when it is sent again
// soon. It says nothing about whether that is wanted: see [Error.Ambiguous].
func (e *Error) Retryable() bool {
	switch e.Code {
	case CodeRateLimited, CodeOverloaded, CodeTransport, CodeStreamBroken, CodeServerError, CodeTimeout:
		return true
	}
	return false
}

// Ambiguous reports whether the vendor may have worked on the request, and
// billed it, although the turn failed. A refused connection or an HTTP error
// answer is clear; half a stream, a lost answer or a gateway's error is not.
func (e *Error) Ambiguous() bool {
	gateway := e.Status == 502 || e.Status == 504
	return e.Sent && (e.Status < 400 || gateway)
}

// AsError returns the [*Error] in err's chain, or nil.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
