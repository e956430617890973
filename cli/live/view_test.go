package live_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/cli/live"
	"github.com/tenonrun/tenon/workflow"
)

// feed puts events into a view.
type feed struct {
	view *live.View
	seq  int64
}

func (f *feed) put(visit string, p workflow.Payload) {
	f.seq++
	f.view.Event("r1", workflow.Event{Seq: f.seq, At: start, ID: visit, Node: pathOf(visit), Attempt: 1, Payload: p})
}

func (f *feed) begin() { f.put("", &workflow.RunStarted{Workflow: workflow.Ref{Name: "top"}}) }

func (f *feed) admit(visit string) { f.put(visit, &workflow.Admitted{Kind: "prompt"}) }

func (f *feed) ok(visit string) { f.put(visit, &workflow.Settled{Outcome: "next"}) }

func open(s *screen) *feed {
	return &feed{view: live.Open(live.Config{
		Out: s, Size: s.size, ASCII: true, Color: true, Reflow: true, Every: time.Millisecond, Now: func() time.Time { return start.Std() },
	})}
}

// until waits for the screen to hold what is asked for.
func (s *screen) until(t *testing.T, want string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for !strings.HasSuffix(s.text(), strings.Trim(want, "\n")) {
		select {
		case <-s.changed:
		case <-limit:
			t.Fatalf("the screen shows\n%s\nwant at its end\n%s", s.text(), want)
		}
	}
}

func (s *screen) sound(t *testing.T) {
	t.Helper()
	if len(s.bad) > 0 {
		t.Errorf("the terminal was sent %q", s.bad)
	}
}

func TestAFrameReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	s := newScreen(60, 12)
	fmt.Fprint(s, "$ tenon run top\r\n")
	f := open(s)
	f.begin()
	f.admit("a#1")
	s.until(t, "> top  r1\n  > a  prompt\n  0 model calls  0 tokens  0s")
	f.ok("a#1")
	f.admit("b#1")
	s.until(t, "> top  r1\n  + a\n  > b  prompt\n  0 model calls  0 tokens  0s")
	if err := f.view.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "$ tenon run top\n> top  r1\n  + a\n  > b  prompt"; s.text() != want {
		t.Errorf("at the end:\n%s\nwant:\n%s", s.text(), want)
	}
	s.sound(t)
}

func TestNothingIsDrawnBeforeTheRun(t *testing.T) {
	t.Parallel()
	s := newScreen(60, 12)
	f := open(s)
	fmt.Fprintln(f.view, "warning: something")
	if err := f.view.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.text(); got != "warning: something" {
		t.Errorf("got %q", got)
	}
}

func TestOtherTextStaysAboveTheTree(t *testing.T) {
	t.Parallel()
	s := newScreen(60, 12)
	f := open(s)
	f.begin()
	s.until(t, "> top  r1\n  0 model calls  0 tokens  0s")
	fmt.Fprint(f.view, "one line\r\n")
	fmt.Fprint(f.view, "another, without its end")
	f.admit("a#1")
	s.until(t, "one line\nanother, without its end\n> top  r1\n  > a  prompt\n  0 model calls  0 tokens  0s")
	if err := f.view.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "one line\nanother, without its end\n> top  r1\n  > a  prompt"; s.text() != want {
		t.Errorf("at the end:\n%s", s.text())
	}
	s.sound(t)
}

func TestResizesLeaveOneTree(t *testing.T) {
	t.Parallel()
	s := newScreen(80, 24)
	fmt.Fprint(s, "$ tenon run top\r\n")
	f := open(s)
	f.begin()
	f.admit("a-node-with-a-rather-long-name-so-that-it-has-to-wrap#1")
	s.until(t, "  0 model calls  0 tokens  0s")
	for _, size := range [][2]int{{30, 24}, {80, 24}, {21, 24}, {25, 10}, {60, 30}, {40, 8}} {
		s.resize(size[0], size[1])
		var tree live.Tree
		newFilm(&tree, "r1").put("", 0, &workflow.RunStarted{Workflow: workflow.Ref{Name: "top"}}).admit("a-node-with-a-rather-long-name-so-that-it-has-to-wrap#1", "prompt")
		want := tree.Draw(live.Look{Width: size[0], Height: size[1], ASCII: true, Now: start})
		s.until(t, "$ tenon run top\n"+strings.Join(want, "\n"))
	}
	if err := f.view.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.text(); strings.Count(got, "> top") != 1 || !strings.HasPrefix(got, "$ tenon run top\n") {
		t.Errorf("at the end:\n%s", got)
	}
	s.sound(t)
}

func TestATallTreeStaysInTheTerminal(t *testing.T) {
	t.Parallel()
	s := newScreen(60, 8)
	fmt.Fprint(s, "$ tenon run top\r\n")
	f := open(s)
	f.begin()
	for i := range 40 {
		f.admit(fmt.Sprintf("n%d#1", i))
	}
	s.until(t, "running\n  0 model calls  0 tokens  0s")
	for i := range 40 {
		f.ok(fmt.Sprintf("n%d#1", i))
	}
	s.until(t, "  + n39\n  0 model calls  0 tokens  0s")
	if err := f.view.Close(); err != nil {
		t.Fatal(err)
	}
	got := s.text()
	if strings.Count(got, "> top") != 1 || !strings.HasPrefix(got, "$ tenon run top\n") || !strings.HasSuffix(got, "+ n39") {
		t.Errorf("at the end:\n%s", got)
	}
	s.sound(t)
}

// The terminal echoes what is typed: the tree moves, and stays whole.
func TestTypedLinesDoNotTearTheTree(t *testing.T) {
	t.Parallel()
	s := newScreen(60, 12)
	f := open(s)
	f.begin()
	f.admit("a#1")
	f.admit("b#1")
	s.until(t, "> top  r1\n  > a  prompt\n  > b  prompt\n  0 model calls  0 tokens  0s")
	fmt.Fprint(s, "\r\n")
	f.ok("b#1")
	s.until(t, "> top  r1\n> top  r1\n  > a  prompt\n  + b\n  0 model calls  0 tokens  0s")
	if err := f.view.Close(); err != nil {
		t.Fatal(err)
	}
	s.sound(t)
}
