package engine

import (
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// slack is how far the wall clock may be from time that passed before it counts
// as set.
const slack = workflow.Time(time.Second / time.Microsecond)

// clock keeps timers from firing too early when somebody sets the wall clock
// back, and later perhaps on again. While this process owns the run, time that
// really passes is added to the time at which it took it: once the wall clock is
// behind that, a timer needs the word of both.
type clock struct {
	wall  func() time.Time
	took  time.Time     // with the monotonic reading
	base  workflow.Time // the time then; no earlier than the history
	back  bool          // the wall clock was set back
	skews map[string]workflow.Time
}

func newClock(wall func() time.Time, last workflow.Time) clock {
	c := clock{wall: wall, took: time.Now(), base: max(last, workflow.TimeOf(wall()))}
	c.see()
	return c
}

// passed is the time by what passed since the run was taken.
func (c *clock) passed() workflow.Time { return c.base.Add(time.Since(c.took)) }

// see reads the wall clock and notes when it was set back.
func (c *clock) see() (now, passed workflow.Time) {
	now, passed = workflow.TimeOf(c.wall()), c.passed()
	c.back = c.back || now+slack < passed
	return now, passed
}

// begin notes what a timer that begins at a time by the wall clock is ahead or
// behind of the time that passed.
func (c *clock) begin(timer string, at workflow.Time) {
	_, passed := c.see()
	skew := passed - at
	if skew > -slack && skew < slack { // as long as nobody sets the clock
		return
	}
	if c.skews == nil {
		c.skews = map[string]workflow.Time{}
	}
	c.skews[timer] = skew
}

// fires returns when, by the wall clock as it is, a timer for a time fires.
func (c *clock) fires(timer string, at workflow.Time) workflow.Time {
	now, passed := c.see()
	if !c.back {
		return at
	}
	return max(at, now+at+c.skews[timer]-passed)
}
