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
	if !r.baton.tryTake() {
		r.inbox <- m
		return nil
	}
	if r.failure != nil { // the loop is about to abandon the run
		r.baton.give()
		r.inbox <- m
		return nil
	}
	defer r.baton.give()
	r.spare = true
	if r.failure = r.fold(m); r.failure == nil {
		r.failure = r.cycle(ctx)
	}
	next, r.next, r.spare = r.next, nil, false
	if r.failure != nil || r.due() != r.armed || r.atRest() {
		select {
		case r.nudge <- struct{}{}:
		default: // it has been told
		}
	}
	return next
}

// due is when something happens by itself; 0 is never.
func (r *run) due() workflow.Time {
	at, _ := r.nextTime()
	return at
}
