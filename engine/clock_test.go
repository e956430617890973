package engine_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/workflow"
)

// wallClock can be set, as a person or a time server does.
type wallClock struct{ off atomic.Int64 }

func (c *wallClock) now() time.Time { return time.Now().Round(0).Add(time.Duration(c.off.Load())) }

func (c *wallClock) set(by time.Duration) { c.off.Add(int64(by)) }

// later makes changes, and returns what waits for them.
func (c *wallClock) later(all []change) (wait func()) {
	var wg sync.WaitGroup
	begun := time.Now()
	wg.Go(func() {
		for _, ch := range all {
			time.Sleep(time.Until(begun.Add(ch.after)))
			c.set(ch.by)
		}
	})
	return wg.Wait
}

// change sets the clock some time after the begin of a test.
type change struct{ after, by time.Duration }

var clockTests = []struct {
	name    string
	changes []change
	fires   time.Duration // after the begin, in time that passes
}{
	{"nobody sets it", nil, 10 * time.Minute},
	{"a little back", []change{{2 * time.Minute, -100 * time.Millisecond}}, 10*time.Minute + 100*time.Millisecond},
	{"on", []change{{2 * time.Minute, time.Hour}}, 2 * time.Minute},
	{"on, but not far enough", []change{{2 * time.Minute, 3 * time.Minute}}, 7 * time.Minute},
	{"back", []change{{2 * time.Minute, -time.Hour}}, 70 * time.Minute},
	{"back, and on again", []change{{2 * time.Minute, -time.Hour}, {4 * time.Minute, time.Hour}}, 10 * time.Minute},
	{"back, and too far on", []change{{2 * time.Minute, -time.Hour}, {4 * time.Minute, 2 * time.Hour}}, 10 * time.Minute},
	{"on and back at once", []change{{2 * time.Minute, time.Minute}, {4 * time.Minute, -time.Minute}}, 10 * time.Minute},
}

// TestTimersWhenTheClockIsSet: a timer fires by the wall clock, but once that
// was set back not before its time has passed.
func TestTimersWhenTheClockIsSet(t *testing.T) {
	t.Parallel()
	for _, tt := range clockTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var clock wallClock
				r := newRig(t, clock.patient)
				begun := time.Now()
				defer clock.later(tt.changes)()
				ended(t)(r.engine.Start(t.Context(), launch(t, napping)))
				late := time.Since(begun) - tt.fires
				if late < 0 || late > time.Second {
					t.Errorf("it fires after %s, want %s", time.Since(begun), tt.fires)
				}
			})
		})
	}
}

var napping = def2("nap", `"nap":{"kind":"wait","params":{"for":"10m"},"ends":{"next":"done"}},`+ends)

func ended(t *testing.T) func(history.Result, error) {
	t.Helper()
	return func(res history.Result, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		wantStatus(t, res, workflow.StatusSucceeded)
	}
}

func (c *wallClock) patient(cfg *engine.Config) {
	cfg.Now, cfg.WaitFor.Hold, cfg.Poll = c.now, 24*time.Hour, time.Second/2
}

// TestTimerOfARunThatNobodyDrove: what passed before is told by the history; a
// clock that was set back meanwhile is noticed by it, too.
func TestTimerOfARunThatNobodyDrove(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		away, begin time.Duration // unowned time; what the clock is set by during it
		then        []change      // after the resume
		fires       time.Duration
	}{
		{"driven on at once", 0, 0, nil, 10 * time.Minute},
		{"driven on late", 4 * time.Minute, 0, nil, 6 * time.Minute},
		{"driven on too late", time.Hour, 0, nil, 0},
		{"set back meanwhile", 4 * time.Minute, -time.Hour, nil, 66 * time.Minute},
		{"and corrected", 4 * time.Minute, -time.Hour, []change{{time.Minute, 2 * time.Hour}}, 10 * time.Minute},
		{"a jump by a little late in a long day", 9 * time.Minute, 0, []change{{10 * time.Second, -2 * time.Second}}, 62 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var clock wallClock
				r := newRig(t, clock.patient, func(c *engine.Config) { c.WaitFor.Hold = -1 })
				res := r.run(napping)
				wantStatus(t, res, workflow.StatusWaiting)
				time.Sleep(tt.away)
				clock.set(tt.begin)
				r.reopen(clock.patient)
				begun := time.Now()
				defer clock.later(tt.then)()
				ended(t)(r.engine.Drive(t.Context(), res.Run, "tester"))
				late := time.Since(begun) - tt.fires
				if late < 0 || late > time.Second {
					t.Errorf("it fires after %s, want %s", time.Since(begun), tt.fires)
				}
			})
		})
	}
}
