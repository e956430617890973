package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/provider/wire"
)

// exchange sends one request to a server that answers with body.
func exchange(t *testing.T, handler http.HandlerFunc) *wire.Exchange {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	x := wire.Begin(context.Background())
	t.Cleanup(x.Close)
	req, err := http.NewRequestWithContext(x.Context(), http.MethodPost, srv.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := wire.Client(srv.Client()).Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if (err == nil) != (x.Err() == nil) {
		t.Errorf("the client says %v, the exchange %v", err, x.Err())
	}
	return x
}

func body(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}

func read(x *wire.Exchange) (string, error) {
	var out []string
	for ev, err := range x.Events() {
		if err != nil {
			return strings.Join(out, "|"), err
		}
		out = append(out, ev.Name+"="+string(ev.Data))
	}
	return strings.Join(out, "|"), nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want, err string }{
		{"plain", "data: {\"a\":1}\n\ndata:{\"a\":2}\n\n", `={"a":1}|={"a":2}`, ""},
		{"named", "event: x\ndata: 1\n\nid: 7\ndata: 2\n\n", "x=1|=2", ""},
		{"crlf", "data: 1\r\n\r\ndata: 2\r\n\r\n", "=1|=2", ""},
		{"comments", ": hello\n\n: ping\ndata: 1\n\n:\n\n", "=1", ""},
		{"many lines", "data: {\"a\":\ndata: 1}\n\n", "={\"a\":\n1}", ""},
		{"no last line", "data: 1\n\ndata: 2", "=1|=2", ""},
		{"byte order mark", "\xef\xbb\xbfdata: 1\n\n", "=1", ""},
		{"blank lines first", "\r\n \ndata: 1\n\n", "=1", ""},
		{"no data", "event: x\ndata:\n\ndata: 1\n\n", "=1", ""},
		{"mark", "data: 1\n\ndata: [DONE]\n\ndata: 2\n\n", "=1", ""},
		{"error is null", "data: {\"error\":null}\n\n", `={"error":null}`, ""},
		{"unnamed field", "nonsense\n\x00\x00\ndata: 1\n\n", "=1", ""},
		{"invalid utf-8", "data: \"a\xffb\"\n\n", "=\"a\uFFFDb\"", ""},
		{"error member", "data: 1\n\ndata: {\"error\":{\"message\":\"m\"}}\n\n", "=1", "reported an error"},
		{"error type", "data: {\"type\":\"error\",\"message\":\"m\"}\n\n", "", "reported an error"},
		{"error name", "event: error\ndata: sorry\n\n", "", "reported an error"},
		{"half an event", "data: 1\n\ndata: {\"a\n\n", "=1", `not valid JSON: "{\"a"`},
		{"half an event at the end", "data: 1\n\ndata: {\"a", "=1", "not valid JSON"},
		{"nul", "data: \"a\x00b\"\n\n", "", `not valid JSON: "\"a\x00b\""`},
		{"empty", "", "", "the answer is empty"},
		{"blank", " \n\n", "", "the answer is empty"},
		{"page", "<html><title>no</title></html>", "", "web page"},
		{"document", `{"choices":[]}`, "", "one JSON document"},
		{"error document", `{"error":{"message":"m"}}`, "", "reported an error"},
		{"list of errors", `[{"error":{"message":"m"}}]`, "", "reported an error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := read(exchange(t, body(tt.in)))
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{"data: 1\n\ndata: [DONE]\n\n": true, "data: 1\n\n": false} {
		x := exchange(t, body(in))
		if _, err := read(x); err != nil || x.Marked() != want {
			t.Errorf("%q: marked %v, %v", in, x.Marked(), err)
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	x := exchange(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: \"")
		chunk := strings.Repeat("x", 1<<20)
		for range wire.MaxEventBytes>>20 + 1 {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	})
	_, err := read(x)
	var broken *wire.BrokenError
	if !errors.As(err, &broken) || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestAnswersWithoutStream(t *testing.T) {
	t.Parallel()
	x := exchange(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
	})
	var status *wire.StatusError
	if !errors.As(x.Err(), &status) || status.Status != http.StatusTeapot || len(status.Body) != 64<<10 || !x.Sent() || x.At().IsZero() {
		t.Errorf("got %v", x.Err())
	}
	if _, err := read(x); err == nil {
		t.Error("there was something to read")
	}
	reached := false
	x = exchange(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			reached = true
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	if !errors.As(x.Err(), &status) || status.Status != http.StatusTemporaryRedirect || reached {
		t.Errorf("a redirect gave %v, followed: %v", x.Err(), reached)
	}
}

func TestOneRequest(t *testing.T) {
	t.Parallel()
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		_, _ = io.WriteString(w, "data: 1\n\n")
	}))
	defer srv.Close()
	x := wire.Begin(context.Background())
	defer x.Close()
	client := wire.Client(nil)
	for i := range 2 {
		req, err := http.NewRequestWithContext(x.Context(), http.MethodPost, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != (i == 0) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if got, err := read(x); got != "=1" || err != nil || n != 1 {
		t.Errorf("got %q, %v after %d requests", got, err, n)
	}
	x.Finish()
	if resp, err := client.Get(srv.URL); err == nil {
		resp.Body.Close()
		t.Error("a request without an exchange was sent")
	}
}

// A server that keeps the connection open after its answer does not hold the
// caller.
func TestFinish(t *testing.T) {
	t.Parallel()
	x := exchange(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for ev, err := range x.Events() {
		if err != nil || string(ev.Data) != "1" {
			t.Errorf("got %s, %v", ev.Data, err)
		}
		break
	}
	x.Finish()
}

func FuzzEvents(f *testing.F) {
	f.Add("event: a\ndata: {\"error\":1}\n\ndata: [DONE]\n\n")
	f.Add("data: \"\x00\xff\"\r\n\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		client := wire.Client(&http.Client{Transport: fixed(s)})
		x := wire.Begin(context.Background())
		defer x.Close()
		req, err := http.NewRequestWithContext(x.Context(), http.MethodPost, "http://localhost", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		failed := false
		for ev, err := range x.Events() {
			if failed {
				t.Fatal("something follows an error")
			}
			if failed = err != nil; !failed && len(ev.Data) == 0 {
				t.Error("an event without data")
			}
		}
	})
}

// fixed is a transport that always answers the same.
type fixed string

func (f fixed) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(f)))}, nil
}
