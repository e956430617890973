package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/workflow"
)

// recorded are the settled visits in the store, without the memory of who drives.
func (r *rig) recorded(run workflow.RunID) map[string]bool {
	r.t.Helper()
	out := map[string]bool{}
	err := r.store.Events(context.Background(), run, 0, func(e workflow.Event) error {
		if e.Type() == workflow.TypeSettled {
			out[e.Node] = true
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// TestTurnsInARowShareAppends: the end of a turn, the beginning of the next one
// and the call that it asks for are one append, also when it looks around before.
func TestTurnsInARowShareAppends(t *testing.T) {
	t.Parallel()
	const turns = 20
	var appends atomic.Int64
	r := newRig(t, func(c *engine.Config) {
		c.Poll = time.Hour
		c.Probe = func(at string) {
			if at == "append" {
				appends.Add(1)
			}
		}
	})
	var nodes strings.Builder
	for i := range turns {
		fmt.Fprintf(&nodes, "%s,", step(fmt.Sprintf("t%d", i), fmt.Sprintf(`,"model":"Q%d","usage":true`, i), fmt.Sprintf("t%d", i+1)))
	}
	res := r.run(def2("t0", nodes.String()+step(fmt.Sprintf("t%d", turns), "", "done")+","+ends))
	wantStatus(t, res, workflow.StatusSucceeded)
	if n := r.w.calls.Load(); n != turns {
		t.Errorf("%d calls, want %d", n, turns)
	}
	// One for the request of each call and one for its result, and a few at both ends.
	if n := appends.Load(); n < 2*turns || n > 2*turns+4 {
		t.Errorf("%d appends for %d turns", n, turns)
	}
}

// TestEndOfAWriteIsNotOwed: what a visit changed is recorded before the next one
// begins, and so is a turn's end when the next one says nothing for long.
func TestEndOfAWriteIsNotOwed(t *testing.T) {
	t.Parallel()
	for before, kept := range map[string]bool{`"effect":"write"`: true, `"model":"Q"`: false} {
		r := newRig(t, func(c *engine.Config) { c.Poll = time.Hour })
		l := launch(t, def2("first", step("first", ","+before, "second")+","+step("second", `,"model":"R","hang":true`, "done")+","+ends))
		l.ID = "r1"
		ended := make(chan history.Result, 1)
		go func() { ended <- r.start(l) }()
		<-r.w.begun
		if got := r.recorded(l.ID)["first"]; got != kept {
			t.Errorf("after a visit with %s, the store knows its end: %v, want %v", before, got, kept)
		}
		close(r.w.block)
		wantStatus(t, <-ended, workflow.StatusSucceeded)
		if !r.recorded(l.ID)["first"] {
			t.Error("the end of the first visit is never recorded")
		}
	}
	r := newRig(t)
	l := launch(t, def2("first", step("first", `,"model":"Q"`, "second")+","+step("second", `,"model":"R","hang":true`, "done")+","+ends))
	l.ID = "r1"
	ended := make(chan history.Result, 1)
	go func() { ended <- r.start(l) }()
	<-r.w.begun
	for wait := time.Now(); !r.recorded(l.ID)["first"]; time.Sleep(time.Millisecond) {
		if time.Since(wait) > 30*time.Second {
			t.Fatal("nobody records what a silent attempt owes")
		}
	}
	close(r.w.block)
	wantStatus(t, <-ended, workflow.StatusSucceeded)
}
