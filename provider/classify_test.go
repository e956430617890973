package provider_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/wire"
)

// answered is a transport that gives one answer, or one error.
type answered struct {
	status int
	header map[string]string
	body   string
	err    error
}

func (a answered) RoundTrip(*http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{}
	for k, v := range a.header {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

const key = "sk-0123456789"

// classify plays an exchange and classifies how it failed.
func classify(t *testing.T, a answered) *provider.Error {
	t.Helper()
	x := wire.Begin(context.Background())
	defer x.Close()
	req, err := http.NewRequestWithContext(x.Context(), http.MethodPost, "http://user:"+key+"@localhost", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := wire.Client(&http.Client{Transport: a}).Do(req); err == nil {
		resp.Body.Close()
	}
	err = x.Err()
	for _, eventErr := range x.Events() {
		if err == nil {
			err = eventErr
		}
	}
	if err == nil {
		t.Fatal("nothing failed")
	}
	return provider.Classify(provider.Config{Name: "p", Key: key}, x, err)
}

func TestClassifyWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		want   provider.Code
	}{
		// Anthropic
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`, provider.CodeContextLength},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}`, provider.CodeQuotaExhausted},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0: all messages must have non-empty content"}}`, provider.CodeInvalidRequest},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens"}}`, provider.CodeInvalidRequest},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: nope"}}`, provider.CodeModelUnknown},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute"}}`, provider.CodeRateLimited},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, provider.CodeOverloaded},
		{500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, provider.CodeServerError},
		// OpenAI and those like it
		{400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, provider.CodeContextLength},
		{400, `{"error":{"message":"Invalid schema for function 'x'","type":"invalid_request_error","code":"invalid_function_parameters"}}`, provider.CodeInvalidRequest},
		{400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter"}}`, provider.CodeRefused},
		{401, `{"error":{"message":"Incorrect API key provided: ` + key + `","code":"invalid_api_key"}}`, provider.CodeAuth},
		{404, `{"error":{"message":"The model 'x' does not exist or you do not have access to it.","code":"model_not_found"}}`, provider.CodeModelUnknown},
		{400, `{"error":{"message":"nope is not a valid model ID","code":400}}`, provider.CodeModelUnknown},
		{400, `{"object":"error","message":"The model nope does not exist.","code":404}`, provider.CodeModelUnknown},
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, provider.CodeQuotaExhausted},
		{429, `{"error":{"message":"Rate limit reached for gpt-x in organization org-y on tokens per min (TPM): Limit 30000, Used 29000. Please try again in 6.5s. Visit https://platform.openai.com/account/rate-limits","code":"rate_limit_exceeded"}}`, provider.CodeRateLimited},
		{429, `{"error":{"code":"429","message":"Requests have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 26 seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit."}}`, provider.CodeRateLimited},
		{402, `{"error":{"message":"Insufficient credits","code":402}}`, provider.CodeQuotaExhausted},
		{503, `{"error":{"message":"The server is overloaded or not ready yet."}}`, provider.CodeOverloaded},
		{500, `{"detail":"boom"}`, provider.CodeServerError},
		// Gemini
		{400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, provider.CodeAuth},
		{400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, provider.CodeContextLength},
		{404, `{"error":{"code":404,"message":"models/nope is not found for API version v1beta","status":"NOT_FOUND"}}`, provider.CodeModelUnknown},
		{429, `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`, provider.CodeRateLimited},
		{429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"retryDelay":"34s"}]}}`, provider.CodeRateLimited},
		{429, `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`, provider.CodeQuotaExhausted},
		{503, `[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`, provider.CodeOverloaded},
		// no vendor at all
		{404, `<html><head><title>404 Not Found</title></head></html>`, provider.CodeModelUnknown},
		{502, `<html><body>Bad Gateway</body></html>`, provider.CodeServerError},
		{403, ``, provider.CodeAuth},
		{418, `I am a teapot`, provider.CodeInvalidRequest},
		{302, ``, provider.CodeInvalidRequest},
		// told in a successful answer
		{200, `{"error":{"code":502,"message":"Provider returned error"}}`, provider.CodeServerError},
		{200, `{"error":{"code":429,"message":"slow"}}`, provider.CodeRateLimited},
		{200, `{"error":"model is loading"}`, provider.CodeServerError},
		{200, `data: {"type":"error","code":"server_is_overloaded","message":"Our servers are overloaded"}` + "\n\n", provider.CodeOverloaded},
	} {
		e := classify(t, answered{status: tt.status, body: tt.body})
		if e.Code != tt.want || e.Status != tt.status {
			t.Errorf("%d %s: got %v", tt.status, tt.body, e)
		}
		if e.Message == "" || strings.Contains(e.Error(), key) || strings.Contains(e.Message, "<") {
			t.Errorf("says %q", e.Error())
		}
	}
}

func TestClassifyTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	date := map[string]string{"Date": now.Format(http.TimeFormat)}
	in := now.Add
	for _, tt := range []struct {
		name   string
		header map[string]string
		body   string
		after  time.Duration
		reset  time.Time
	}{
		{"none", nil, "{}", 0, time.Time{}},
		{"seconds", map[string]string{"Retry-After": "12"}, "{}", 12 * time.Second, time.Time{}},
		{"fraction", map[string]string{"Retry-After": "0.5"}, "{}", 500 * time.Millisecond, time.Time{}},
		{"milliseconds", map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, "{}", 1500 * time.Millisecond, time.Time{}},
		{"date", map[string]string{"Retry-After": in(time.Minute).Format(http.TimeFormat)}, "{}", time.Minute, time.Time{}},
		{"past date", map[string]string{"Retry-After": in(-time.Minute).Format(http.TimeFormat)}, "{}", 0, time.Time{}},
		{"nonsense", map[string]string{"Retry-After": "soon"}, "{}", 0, time.Time{}},
		{"huge", map[string]string{"Retry-After": "1e300"}, "{}", 365 * 24 * time.Hour, time.Time{}},
		{"spent requests", map[string]string{
			"Anthropic-Ratelimit-Requests-Remaining": "0", "Anthropic-Ratelimit-Requests-Reset": in(30 * time.Second).Format(time.RFC3339),
			"Anthropic-Ratelimit-Tokens-Remaining": "7", "Anthropic-Ratelimit-Tokens-Reset": in(time.Hour).Format(time.RFC3339),
		}, "{}", 30 * time.Second, in(30 * time.Second)},
		{"both", map[string]string{
			"Retry-After": "5", "Anthropic-Ratelimit-Unified-Reset": fmt.Sprint(in(time.Hour).Unix()),
		}, "{}", 5 * time.Second, in(time.Hour)},
		{"duration", map[string]string{"X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "6m0s"}, "{}", 6 * time.Minute, in(6 * time.Minute)},
		{"unix milliseconds", map[string]string{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": fmt.Sprint(in(time.Minute).UnixMilli())}, "{}", time.Minute, in(time.Minute)},
		{"words", nil, `{"error":{"message":"Rate limit. Please try again in 250ms."}}`, 250 * time.Millisecond, time.Time{}},
		{"words, seconds", nil, `{"error":{"message":"Please retry after 26 seconds."}}`, 26 * time.Second, time.Time{}},
		{"words, minutes", nil, `{"error":{"message":"try again in 2 minutes"}}`, 2 * time.Minute, time.Time{}},
		{"delay", nil, `{"error":{"details":[{"retryDelay":"34.5s"}],"message":"slow"}}`, 34500 * time.Millisecond, time.Time{}},
		{"resets at", nil, fmt.Sprintf(`{"error":{"type":"usage_limit_reached","resets_at":%d}}`, in(time.Hour).Unix()), time.Hour, in(time.Hour)},
		{"resets in", nil, `{"error":{"type":"usage_limit_reached","resets_in_seconds":90}}`, 90 * time.Second, in(90 * time.Second)},
		{"regain", nil, `{"error":{"message":"You have reached your usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}`, 12 * time.Hour, in(12 * time.Hour)},
	} {
		header := map[string]string{}
		for _, h := range []map[string]string{date, tt.header} {
			for k, v := range h {
				header[k] = v
			}
		}
		e := classify(t, answered{status: 429, header: header, body: tt.body})
		if e.RetryAfter != tt.after || !e.ResetAt.Equal(tt.reset) {
			t.Errorf("%s: after %s, reset at %s", tt.name, e.RetryAfter, e.ResetAt)
		}
	}
}

func TestClassifyTransport(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, tt := range []struct {
		err  error
		code provider.Code
		sent bool
		is   error
	}{
		{dial, provider.CodeTransport, false, syscall.ECONNREFUSED},
		{&net.DNSError{Err: "no such host", Name: "x"}, provider.CodeTransport, false, nil},
		{x509.UnknownAuthorityError{}, provider.CodeTransport, false, nil},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, provider.CodeTransport, true, syscall.ECONNRESET},
		{io.EOF, provider.CodeTransport, true, io.EOF},
		{errors.New("with the key " + key), provider.CodeTransport, true, nil},
		{context.DeadlineExceeded, provider.CodeTimeout, true, context.DeadlineExceeded},
	} {
		e := classify(t, answered{err: tt.err})
		if e.Code != tt.code || e.Sent != tt.sent || e.Ambiguous() != tt.sent || tt.is != nil && !errors.Is(e, tt.is) {
			t.Errorf("%v: got %#v", tt.err, e)
		}
		if strings.Contains(e.Error(), key) {
			t.Errorf("says %q", e.Error())
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	e := classify(t, answered{
		status: 429, header: map[string]string{"Retry-After": "7", "Request-Id": "req_1"}, body: `{"error":{"message":"` + strings.Repeat("é", 5000) + `"}}`,
	})
	want := "provider p: rate_limited (status 429, request req_1, retry after 7s): éé"
	if got := e.Error(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "; wait and resume the run") || len([]rune(e.Message)) != 2000 {
		t.Errorf("got %.120q, %d characters of message", got, len([]rune(e.Message)))
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back provider.Error
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(&back, e) {
		t.Errorf("came back as %+v, %v", back, err)
	}
	if provider.AsError(fmt.Errorf("running: %w", e)) != e || provider.AsError(errors.New("x")) != nil {
		t.Error("AsError does not find it")
	}
}

func TestRetryable(t *testing.T) {
	t.Parallel()
	for code, want := range map[provider.Code]bool{
		provider.CodeRateLimited: true, provider.CodeOverloaded: true, provider.CodeTransport: true, provider.CodeStreamBroken: true,
		provider.CodeServerError: true, provider.CodeTimeout: true, provider.CodeQuotaExhausted: false, provider.CodeContextLength: false,
		provider.CodeAuth: false, provider.CodeInvalidRequest: false, provider.CodeModelUnknown: false, provider.CodeRefused: false, provider.CodeCanceled: false,
	} {
		if got := (&provider.Error{Code: code}).Retryable(); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(429, `{"error":{"message":"try again in 3 m","resets_at":1e300,"details":[{"violations":[1]}]}}`, "1e9")
	f.Add(500, "<title>x", "Mon, 02 Jan 2006 15:04:05 GMT")
	f.Fuzz(func(t *testing.T, status int, body, wait string) {
		if status < 300 || status > 599 {
			status = 429
		}
		e := classify(t, answered{status: status, body: body, header: map[string]string{"Retry-After": wait, "X-Ratelimit-Reset": wait}})
		if e.Code == "" || e.Message == "" || e.RetryAfter < 0 || strings.Contains(e.Error(), key) {
			t.Errorf("got %v", e)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Error(err)
		}
	})
}
