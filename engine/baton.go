package engine

import (
	"context"

	"github.com/tenonrun/tenon/workflow"
)

// baton is held by whoever drives a run and may touch its fields: the goroutine
// of its loop or, while that waits, one of an attempt that has just ended. A
// chain of visits so goes on without a change of goroutine.
type baton chan struct{}

func newBaton() baton { return make(baton, 1) }

func (b baton) take() { b <- struct{}{} }

func (b baton) give() { <-b }

func (b baton) tryTake() bool {
	select {
	case b <- struct{}{}:
		return true
	default:
		return false
	}
}

// pursue runs an attempt, and then those that its end leads to in this goroutine.
func (r *run) pursue(ctx context.Context, a *attempt) {
	defer r.e.wg.Done()
	for a != nil {
		res, err := a.work()
		a.cancel(nil)
		a = r.deliver(ctx, &done{visit: a.cmd.Visit, result: res, err: err})
	}
}

// deliver hands in the end of an attempt. When the loop waits, it is folded and
// appended here, and one of the attempts that begin with it is returned: it is
// the caller's to run. Otherwise the loop takes it up.
func (r *run) deliver(ctx context.Context, m *done) (next *attempt) {
	if !r.drive(ctx, m, true) {
		r.inbox <- m
		return nil
	}
	defer r.baton.give()
	next, r.next = r.next, nil
	return next
}

// drive takes up a message in the goroutine of an attempt when the loop waits. If it
// does, the baton is the caller's to give. spare tells that the goroutine has
// nothing to do then, and can run an attempt.
func (r *run) drive(ctx context.Context, m message, spare bool) bool {
	if !r.baton.tryTake() {
		return false
	}
	if r.failure != nil { // the loop is about to abandon the run
		r.baton.give()
		return false
	}
	r.spare = spare
	if r.failure = r.fold(m); r.failure == nil {
		r.failure = r.cycle(ctx)
	}
	r.spare = false
	if r.failure != nil || r.due() != r.armed || r.atRest() {
		r.wake()
	}
	return true
}

// wake makes the loop look.
func (r *run) wake() {
	select {
	case r.nudge <- struct{}{}:
	default: // it has been told
	}
}

// due is when something happens by itself; 0 is never.
func (r *run) due() workflow.Time {
	at, _ := r.nextTime()
	return at
}
