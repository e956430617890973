package providertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonrun/tenon/provider"
)

// fails carries out a turn that must fail, and checks what holds for every
// failure.
func fails(t *testing.T, ctx context.Context, p provider.Provider) *provider.Error {
	t.Helper()
	resp, err := p.Stream(ctx, ask("hi"), nil)
	e := provider.AsError(err)
	if e == nil {
		t.Fatalf("got %s and error %v", encode(resp), err)
	}
	if e.Provider != p.Name() || len(resp.Parts) != 0 {
		t.Errorf("provider %q, response %s", e.Provider, encode(resp))
	}
	if !strings.Contains(e.Error(), string(e.Code)) || !strings.Contains(e.Error(), p.Name()) || e.Message == "" {
		t.Errorf("says %q", e.Error())
	}
	keyless(t, e)
	return e
}

func keyless(t *testing.T, e *provider.Error) {
	t.Helper()
	texts := []string{fmt.Sprintf("%+v %#v", *e, *e), string(encode(e))}
	for err := error(e); err != nil; err = errors.Unwrap(err) {
		texts = append(texts, err.Error(), fmt.Sprintf("%#v", err))
	}
	for _, s := range texts {
		if strings.Contains(s, Key) {
			t.Errorf("the key is in %q", s)
		}
	}
}

func (s suite) status(t *testing.T) {
	retryAt := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	tests := []struct {
		name  string
		reply Reply
		code  provider.Code
		retry bool
		after time.Duration // at most, and at least one second less
	}{
		{"bad request", Reply{Status: 400, Message: "temperature is wrong"}, provider.CodeInvalidRequest, false, 0},
		{"context", Reply{Status: 400, Message: "prompt is too long: 210000 tokens > 200000 maximum"}, provider.CodeContextLength, false, 0},
		{"context, other words", Reply{Status: 400, Kind: "context_length_exceeded"}, provider.CodeContextLength, false, 0},
		{"credit", Reply{Status: 400, Message: "Your credit balance is too low to access the API"}, provider.CodeQuotaExhausted, false, 0},
		{"filtered", Reply{Status: 400, Kind: "content_filter"}, provider.CodeRefused, false, 0},
		{"unauthorized", Reply{Status: 401}, provider.CodeAuth, false, 0},
		{"payment", Reply{Status: 402}, provider.CodeQuotaExhausted, false, 0},
		{"forbidden", Reply{Status: 403}, provider.CodeAuth, false, 0},
		{"model", Reply{Status: 404, Message: "model: nope not found"}, provider.CodeModelUnknown, false, 0},
		{"too large", Reply{Status: 413}, provider.CodeContextLength, false, 0},
		{"rate", Reply{Status: 429}, provider.CodeRateLimited, true, 0},
		{"rate, seconds", Reply{Status: 429, Header: map[string]string{"Retry-After": "7"}}, provider.CodeRateLimited, true, 7 * time.Second},
		{"rate, date", Reply{Status: 429, Header: map[string]string{"Retry-After": retryAt.Format(http.TimeFormat)}}, provider.CodeRateLimited, true, time.Hour},
		{"quota", Reply{Status: 429, Kind: "insufficient_quota"}, provider.CodeQuotaExhausted, false, 0},
		{"quota, reset", Reply{
			Status: 429, Body: fmt.Sprintf(`{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_at":%d}}`, retryAt.Unix()),
		}, provider.CodeQuotaExhausted, false, time.Hour},
		{"server", Reply{Status: 500}, provider.CodeServerError, true, 0},
		{"gateway page", Reply{Status: 502, HTML: true}, provider.CodeServerError, true, 0},
		{"unavailable", Reply{Status: 503}, provider.CodeOverloaded, true, 0},
		{"overloaded", Reply{Status: 529}, provider.CodeOverloaded, true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv, p := s.start(t, tt.reply)
			e := fails(t, context.Background(), p)
			if e.Code != tt.code || e.Retryable() != tt.retry || e.RetryAfter > tt.after || e.RetryAfter < tt.after-5*time.Second {
				t.Errorf("code %s, retryable %v, retry after %s: %v", e.Code, e.Retryable(), e.RetryAfter, e)
			}
			if strings.HasSuffix(tt.name, "reset") && !e.ResetAt.Equal(retryAt) {
				t.Errorf("resets at %s, want %s", e.ResetAt, retryAt)
			}
			if e.Status != tt.reply.Status || e.Ambiguous() != (e.Status == 502) || e.Usage.Known() {
				t.Errorf("status %d, ambiguous %v, usage %s", e.Status, e.Ambiguous(), encode(e.Usage))
			}
			if srv.Total() != 1 {
				t.Errorf("%d requests: the provider retried", srv.Total())
			}
		})
	}
}

func (s suite) stream(t *testing.T) {
	for name, reply := range map[string]Reply{
		"cut": {Cut: true}, "ended": {End: true}, "broken": {Broken: true}, "nul": {NUL: true},
		"empty": {Empty: true}, "page": {HTML: true},
	} {
		t.Run(name, func(t *testing.T) {
			reply.Text = strings.Repeat("word ", 20)
			srv, p := s.start(t, reply)
			e := fails(t, context.Background(), p)
			if e.Code != provider.CodeStreamBroken || !e.Retryable() || !e.Ambiguous() {
				t.Errorf("got %v", e)
			}
			if name != "empty" && name != "page" && !strings.HasPrefix(e.Partial, "word") {
				t.Errorf("partial %q", e.Partial)
			}
			if e.Usage.Output != nil {
				t.Errorf("output of half an answer is %d", *e.Usage.Output)
			}
			if srv.Total() != 1 {
				t.Errorf("%d requests", srv.Total())
			}
		})
	}
}

// told are errors that come in the middle of a successful answer.
func (s suite) told(t *testing.T) {
	kinds := map[Protocol]map[string]provider.Code{
		Anthropic: {"overloaded_error": provider.CodeOverloaded, "rate_limit_error": provider.CodeRateLimited, "api_error": provider.CodeServerError},
		Chat:      {"server_error": provider.CodeServerError, "rate_limit_exceeded": provider.CodeRateLimited, "insufficient_quota": provider.CodeQuotaExhausted},
		Responses: {"server_error": provider.CodeServerError, "rate_limit_exceeded": provider.CodeRateLimited, "context_length_exceeded": provider.CodeContextLength},
		Gemini:    {"UNAVAILABLE": provider.CodeOverloaded},
	}
	for kind, want := range kinds[s.protocol] {
		_, p := s.start(t, Reply{Text: strings.Repeat("word ", 20), Tell: kind, Message: "told in the stream"})
		e := fails(t, context.Background(), p)
		if e.Code != want || !e.Ambiguous() || !strings.Contains(e.Message, "told in the stream") || !strings.HasPrefix(e.Partial, "word") {
			t.Errorf("%s: got %v, partial %q", kind, e, e.Partial)
		}
	}
}

func (s suite) unreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	e := fails(t, context.Background(), s.make(url))
	if e.Code != provider.CodeTransport || e.Ambiguous() || e.Sent || !e.Retryable() || e.Status != 0 {
		t.Errorf("got %#v", e)
	}
	e = fails(t, context.Background(), s.make(strings.Replace(url, "127.0.0.1", "no-such-host.invalid", 1)))
	if e.Code != provider.CodeTransport || e.Ambiguous() {
		t.Errorf("got %v", e)
	}
}

func (s suite) deadline(t *testing.T) {
	_, p := s.start(t, Reply{Hang: true})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	e := fails(t, ctx, p)
	if e.Code != provider.CodeTimeout || !e.Ambiguous() || !errors.Is(e, context.DeadlineExceeded) {
		t.Errorf("got %v", e)
	}
}

// cancel ends a turn at once, wherever it is. The best of three counts: the
// machine may be busy.
func (s suite) cancel(t *testing.T) {
	for name, reply := range map[string]Reply{"before the answer": {Hang: true}, "in the answer": {Text: strings.Repeat("word ", 20), Stall: true}} {
		t.Run(name, func(t *testing.T) {
			best := time.Hour
			for range 3 {
				best = min(best, s.canceled(t, reply))
			}
			if best > 100*time.Millisecond {
				t.Errorf("took %s", best)
			}
		})
	}
	_, p := s.start(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if e := fails(t, ctx, p); e.Code != provider.CodeCanceled || e.Ambiguous() {
		t.Errorf("before it began: got %v", e)
	}
}

func (s suite) canceled(t *testing.T, reply Reply) time.Duration {
	t.Helper()
	arrived := make(chan struct{}, 1)
	srv := NewServer(t, func(Request) Reply {
		if reply.Hang {
			arrived <- struct{}{}
		}
		return reply
	})
	p := s.make(srv.Base(s.protocol))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := p.Stream(ctx, ask("hi"), func(provider.Delta) {
			select {
			case arrived <- struct{}{}:
			default:
			}
		})
		ended <- err
	}()
	<-arrived
	from := time.Now()
	cancel()
	err := <-ended
	took := time.Since(from)
	if e := provider.AsError(err); e == nil || e.Code != provider.CodeCanceled || !e.Ambiguous() || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	return took
}

// key asks that a vendor which repeats the key does not spread it.
func (s suite) key(t *testing.T) {
	for _, reply := range []Reply{
		{Status: 401, Message: "Incorrect API key provided: " + Key + "."},
		{Status: 500, Body: "upstream said " + Key},
		{Text: Key + " is your key, " + Key, Cut: true},
		{Text: "half an answer", Tell: "server_error", Message: "bad key " + Key},
	} {
		_, p := s.start(t, reply)
		fails(t, context.Background(), p)
	}
	p := s.make("http://user:" + Key + "@127.0.0.1:1")
	fails(t, context.Background(), p)
}

func (s suite) leaks(t *testing.T) {
	http.DefaultTransport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	before := goleak.IgnoreCurrent()
	srv := NewServer(t, nil)
	p := s.make(srv.Base(s.protocol))
	srv.Push(Reply{}, Reply{Cut: true}, Reply{Broken: true}, Reply{Status: 500}, Reply{Hang: true}, Reply{Text: "some words", Stall: true})
	for range 6 {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, _ = p.Stream(ctx, ask("hi"), nil) // how each ends is tested above
		cancel()
	}
	srv.Close()
	http.DefaultTransport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
