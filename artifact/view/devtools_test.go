package view_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tenonrun/tenon/artifact/view/chromiumtest"
)

// patience is how long one call may take; a page that is left does not always answer.
const patience = 15 * time.Second

// browser is a headless Chromium that a test started, and a line to it.
type browser struct {
	conn *websocket.Conn
	ctx  context.Context

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	frames  chan string // sessions of frames that appear
}

// message is what goes over the line, both ways.
type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

// newBrowser starts a Chromium. Without one the test is skipped: it is a package
// of the system.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := chromiumtest.Command(t)
	home, err := os.MkdirTemp("", "chromium")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) }) // it may still be written to
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	cmd := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0", "--user-data-dir="+home, "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home)
	must(t, cmd.Start())
	b := &browser{ctx: ctx, waiting: map[int]chan message{}, frames: make(chan string, 100)}
	var reader sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
		if b.conn != nil {
			b.conn.CloseNow()
		}
		reader.Wait()
	})
	b.conn, _, err = websocket.Dial(ctx, "ws://127.0.0.1:"+devtools(t, ctx, home), nil)
	must(t, err)
	b.conn.SetReadLimit(1 << 30)
	reader.Go(b.listen)
	return b
}

// devtools returns the port and the path that the browser wrote down.
func devtools(t *testing.T, ctx context.Context, home string) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		raw, err := os.ReadFile(filepath.Join(home, "DevToolsActivePort"))
		if port, path, ok := strings.Cut(string(raw), "\n"); err == nil && ok && path != "" {
			return port + path
		}
		select {
		case <-ctx.Done():
			t.Fatal("the browser does not start")
		case <-tick.C:
		}
	}
}

func (b *browser) listen() {
	for {
		_, raw, err := b.conn.Read(b.ctx)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		if m.Method == "Target.attachedToTarget" {
			var p struct {
				SessionID  string
				TargetInfo struct{ Type string }
			}
			json.Unmarshal(m.Params, &p)
			if p.TargetInfo.Type == "iframe" {
				b.frames <- p.SessionID
			}
		}
		b.mu.Lock()
		if c := b.waiting[m.ID]; c != nil {
			c <- m
			delete(b.waiting, m.ID)
		}
		b.mu.Unlock()
	}
}

// call asks the browser for something.
func (b *browser) call(t *testing.T, session, method string, params, result any) {
	t.Helper()
	if err := b.try(t, session, method, params, result); err != nil {
		t.Fatal(err)
	}
}

// try is a call that may fail.
func (b *browser) try(t *testing.T, session, method string, params, result any) error {
	t.Helper()
	raw, err := json.Marshal(params)
	must(t, err)
	b.mu.Lock()
	b.next++
	m := message{ID: b.next, SessionID: session, Method: method, Params: raw}
	answer := make(chan message, 1)
	b.waiting[m.ID] = answer
	b.mu.Unlock()
	raw, err = json.Marshal(m)
	must(t, err)
	must(t, b.conn.Write(b.ctx, websocket.MessageText, raw))
	select {
	case m = <-answer:
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer", method)
	case <-b.ctx.Done():
		t.Fatalf("%s: no answer", method)
	}
	if len(m.Error) > 0 {
		return fmt.Errorf("%s: %s", method, m.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// page opens an address, and returns its target and session.
func (b *browser) page(t *testing.T, url string) (target, session string) {
	t.Helper()
	for len(b.frames) > 0 {
		<-b.frames // of a page that is not looked at any more
	}
	var made struct{ TargetID, SessionID string }
	b.call(t, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &made)
	target = made.TargetID
	b.call(t, "", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}, &made)
	session = made.SessionID
	b.call(t, session, "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true}, nil)
	b.call(t, session, "Page.navigate", map[string]any{"url": url}, nil)
	return target, session
}

// frame returns the session of the next frame that appears.
func (b *browser) frame(t *testing.T) string {
	t.Helper()
	select {
	case s := <-b.frames:
		return s
	case <-b.ctx.Done():
		t.Fatal("no frame appears")
		return ""
	}
}

// eval evaluates a script, awaits its promise, and returns its value.
func (b *browser) eval(t *testing.T, session, script string) any {
	t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.call(t, session, "Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		t.Fatalf("%s: %v", script, got.ExceptionDetails)
	}
	return got.Result.Value
}

// until evaluates a condition until it is true, also while the page goes elsewhere.
// Each look is one of its own: a promise that waits in a page that is left may never
// be answered.
func (b *browser) until(t *testing.T, session, condition string) {
	t.Helper()
	script := fmt.Sprintf(`(() => { try { return !!(%s) } catch { return false } })()`, condition)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var got struct{ Result struct{ Value any } }
		err := b.try(t, session, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true}, &got)
		if err == nil && got.Result.Value == true {
			return
		}
		select {
		case <-tick.C:
		case <-b.ctx.Done():
			t.Fatalf("it never became %s: %v", condition, err)
		}
	}
}

// click presses the mouse in the middle of an element, as a person does.
func (b *browser) click(t *testing.T, session, selector string, count int) {
	t.Helper()
	at, ok := b.eval(t, session, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`, selector)).([]any)
	if !ok {
		t.Fatalf("there is no %s", selector)
	}
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call(t, session, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": count}, nil)
	}
}
