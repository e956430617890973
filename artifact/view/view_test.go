package view_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/view"
	"github.com/tenonrun/tenon/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a viewer of an artifact, and a client that knows what its page knows.
type world struct {
	store        artifact.Store
	viewer       *view.Viewer
	client       *http.Client
	app          string // the origin of the page
	key, stage   string
	page, policy string
	saved        []artifact.Descriptor
}

const limit = 1000

func newWorld(t *testing.T, mime string, contents ...string) *world {
	t.Helper()
	store, err := artifact.NewMemory(artifact.MemoryConfig{Limits: artifact.Limits{MaxBytes: limit}}).Open(t.Context(), "c")
	must(t, err)
	for _, content := range contents {
		_, err := store.Put(t.Context(), artifact.Draft{ID: "a", Title: "</script><b>T", Mime: mime, Content: content})
		must(t, err)
	}
	w := &world{store: store, client: &http.Client{Transport: &http.Transport{}}}
	w.viewer, err = view.Open(t.Context(), view.Config{
		Store: store, ID: "a", Linger: 10 * time.Millisecond, Saved: func(d artifact.Descriptor) { w.saved = append(w.saved, d) },
	})
	must(t, err)
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		must(t, w.viewer.Close())
	})
	return w
}

func (w *world) do(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if h := r.Header.Get("Host"); h != "" {
		r.Host = h
	}
	resp, err := w.client.Do(r)
	must(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp, string(raw)
}

func before(s, end string) string {
	s, _, _ = strings.Cut(s, end)
	return s
}

var setup = regexp.MustCompile(`const setup = (\{.*\});`)

// open opens the page, as a browser would.
func (w *world) open(t *testing.T) {
	t.Helper()
	resp, page := w.do(t, "GET", w.viewer.URL(), "")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the page is %s: %s", resp.Status, page)
	}
	var s struct{ Key, Stage string }
	m := setup.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no setup:\n%s", page)
	}
	must(t, json.Unmarshal([]byte(m[1]), &s))
	w.app = before(w.viewer.URL(), "/open/")
	w.key, w.stage, w.page, w.policy = s.Key, s.Stage, page, resp.Header.Get("Content-Security-Policy")
}

// TestAddress: the address of the page works once, on one host, and what only the
// page may ask nobody else gets.
func TestAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "text/html", "<p>x")
	if resp, _ := w.do(t, "GET", strings.Replace(w.viewer.URL(), "/open/", "/open/x", 1), ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a wrong address is %s", resp.Status)
	}
	for _, host := range []string{"evil.example", "127.0.0.1", strings.Replace(w.viewer.URL(), "http://localhost", "evil", 1)} {
		if resp, _ := w.do(t, "GET", w.viewer.URL(), "", "Host", host); resp.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("the host %s gets %s", host, resp.Status)
		}
	}
	w.open(t)
	if resp, _ := w.do(t, "GET", w.viewer.URL(), ""); resp.StatusCode != http.StatusGone {
		t.Errorf("the second time is %s", resp.Status)
	}
	if strings.Contains(w.page, "</script><b>") {
		t.Error("the title is markup in the page")
	}
	for _, headers := range [][]string{{}, {"X-Tenon-Key", "x"}, {"X-Tenon-Key", w.key, "Origin", "null"}, {"X-Tenon-Key", w.key, "Origin", "http://evil.example"}} {
		for _, route := range []string{"GET /api/artifact", "GET /api/live", "PUT /api/content"} {
			method, path, _ := strings.Cut(route, " ")
			if resp, body := w.do(t, method, w.app+path, "x", headers...); resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %q is %s: %s", route, headers, resp.Status, body)
			}
		}
	}
	if resp, body := w.do(t, "GET", w.app+"/api/artifact", "", "X-Tenon-Key", w.key); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"kind":"page"`) || strings.Contains(body, "<p>x") {
		t.Errorf("the page hears %s: %s", resp.Status, body)
	}
	stage := before(w.stage, "/v/")
	for _, url := range []string{stage + "/v/x/1", w.stage + "x", stage + "/", w.app + "/", w.app + "/v/x/1", w.stage + "2"} {
		if resp, _ := w.do(t, "GET", url, ""); resp.StatusCode != http.StatusNotFound || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is %s", url, resp.Status)
		}
	}
	if !strings.Contains(stage, "//127.0.0.1:") || !strings.Contains(w.app, "//localhost:") {
		t.Errorf("the origins %s and %s are of one site", stage, w.app)
	}
}

// TestHeaders: every kind is served with a type of ours and with what holds it in
// its place.
func TestHeaders(t *testing.T) {
	t.Parallel()
	const sandboxed = "; sandbox; frame-ancestors "
	rows := map[artifact.Kind]struct{ mime, served, policy, resource string }{
		artifact.Text:     {"application/xhtml+xml", "text/html; charset=utf-8", sandboxed, "same-origin"},
		artifact.Markdown: {"text/markdown", "text/html; charset=utf-8", sandboxed, "same-origin"},
		artifact.Code:     {"text/javascript", "text/html; charset=utf-8", sandboxed, "same-origin"},
		artifact.Image:    {"image/png", "text/html; charset=utf-8", sandboxed, "same-origin"},
		artifact.Vector:   {"IMAGE/SVG+XML", "image/svg+xml", sandboxed, "cross-origin"},
		artifact.Page:     {"text/html; charset=utf-7", "text/html; charset=utf-8", "; sandbox allow-scripts; frame-ancestors ", "same-origin"},
	}
	const content = "<script>alert(1)</script>"
	for _, kind := range artifact.Kinds() {
		row, ok := rows[kind]
		if !ok {
			t.Errorf("nobody says how the kind %s is served", kind)
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, row.mime, content)
			w.open(t)
			resp, body := w.do(t, "GET", w.stage+"1", "")
			h := resp.Header
			policy := h.Get("Content-Security-Policy")
			if resp.StatusCode != http.StatusOK || h.Get("Content-Type") != row.served || !strings.HasPrefix(policy, "default-src 'none'; ") ||
				!strings.HasSuffix(policy, row.policy+w.app) || h.Get("Cross-Origin-Resource-Policy") != row.resource {
				t.Errorf("it is %s with %v", resp.Status, h)
			}
			if runs := strings.Contains(policy, "script-src"); runs != (kind == artifact.Page) || strings.Contains(policy, "allow-same-origin") {
				t.Errorf("the policy is %s", policy)
			}
			for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "private, no-store"} {
				if h.Get(name) != want {
					t.Errorf("%s is %q", name, h.Get(name))
				}
			}
			if verbatim := kind == artifact.Page || kind == artifact.Vector; verbatim != strings.Contains(body, content) {
				t.Errorf("the body is %s", body)
			}
			if len(resp.Cookies()) > 0 || !strings.Contains(w.policy, "frame-src "+before(w.stage, "/v/")+";") || strings.Contains(w.policy, "unsafe") {
				t.Errorf("the policy of the page is %s", w.policy)
			}
		})
	}
}

// TestSave: a person's canvas becomes the next revision, once, and only a canvas.
func TestSave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Text/Canvas+HTML; x=y", "<!DOCTYPE html>\n<section data-artboard=a>1", "<section data-artboard=a>2")
	w.open(t)
	_, first := w.do(t, "GET", w.stage+"1", "")
	_, second := w.do(t, "GET", w.stage+"2", "")
	if !strings.HasPrefix(first, "<!DOCTYPE html><script data-tenon-editor>") || !strings.HasSuffix(first, "</script>\n<section data-artboard=a>1") ||
		!strings.HasPrefix(second, "<script data-tenon-editor>") {
		t.Errorf("the editor is not in front of\n%s\n%s", first, second)
	}
	save := func(body string, headers ...string) int {
		resp, _ := w.do(t, "PUT", w.app+"/api/content", body, append(headers, "X-Tenon-Key", w.key, "Origin", w.app)...)
		return resp.StatusCode
	}
	for i, row := range []struct {
		body    string
		headers []string
		status  int
	}{
		{"x", nil, http.StatusPreconditionRequired},
		{"x", []string{"If-Match", "0"}, http.StatusPreconditionRequired},
		{"x", []string{"If-Match", "1"}, http.StatusConflict},
		{strings.Repeat("x", limit+1), []string{"If-Match", "2"}, http.StatusRequestEntityTooLarge},
		{"\xff", []string{"If-Match", "2"}, http.StatusBadRequest},
		{"mine", []string{"If-Match", "2"}, http.StatusOK},
		{"again", []string{"If-Match", "2"}, http.StatusConflict},
	} {
		if got := save(row.body, row.headers...); got != row.status {
			t.Errorf("save %d is %d, not %d", i, got, row.status)
		}
	}
	r, content, err := w.store.Read(t.Context(), "a", artifact.Latest)
	if err != nil || r.Version != 3 || r.Author != artifact.Person || content != "mine" || len(w.saved) != 1 || w.saved[0].Version != 3 {
		t.Errorf("it became %+v %q (%v), told as %+v", r, content, err, w.saved)
	}
	must(t, w.store.Delete(t.Context(), "a"))
	if got := save("x", "If-Match", "3"); got != http.StatusNotFound {
		t.Errorf("a save of nothing is %d", got)
	}
	page := newWorld(t, "text/html", "<p>x")
	page.open(t)
	if resp, _ := page.do(t, "PUT", page.app+"/api/content", "y", "X-Tenon-Key", page.key, "If-Match", "1"); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a page is edited: %s", resp.Status)
	}
}

// TestLife: the viewer ends with its page, with its context, and when nobody comes.
func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "text/html", "<p>x")
	w.open(t)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", w.app+"/api/live", nil)
	must(t, err)
	r.Header.Set("X-Tenon-Key", w.key)
	resp, err := w.client.Do(r)
	must(t, err)
	if resp, _ := w.do(t, "GET", w.stage+"1", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("while the page is there it is %s", resp.Status)
	}
	leave()
	resp.Body.Close()
	must(t, w.viewer.Wait())

	ctx, cancel := context.WithCancel(t.Context())
	v, err := view.Open(ctx, view.Config{Store: w.store, ID: "a"})
	must(t, err)
	cancel()
	must(t, v.Wait())
	v, err = view.Open(t.Context(), view.Config{Store: w.store, ID: "a", Patience: time.Millisecond})
	must(t, err)
	must(t, v.Wait())
	for _, c := range []view.Config{{Store: w.store, ID: "nope"}, {Store: w.store, ID: "a", Version: 9}} {
		if _, err := view.Open(t.Context(), c); workflow.CodeOf(err) != workflow.CodeNotFound {
			t.Errorf("the error is %v", err)
		}
	}
}
