package engine

import (
	"context"

	"github.com/tenonrun/tenon/workflow"
)

// baton is held by whoever drives a run and may touch its fields: the goroutine
// of its loop or, while that waits, one of an attempt that has something to say. A
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
		end := &done{visit: a.cmd.Visit, result: res, err: err}
		next, driven := r.drive(ctx, end, a)
		if !driven {
			r.inbox <- end
		}
		a = next
	}
}

// drive folds and appends what an attempt has to say, which spares a change of
// goroutine. driven is false when the message is the loop's to take up: another
// goroutine is at it, or attempts are at work side by side, and what they say at
// one time is better one append. Of the attempts that begin with the end of one,
// the first is returned: it is the caller's to run.
func (r *run) drive(ctx context.Context, m message, ended *attempt) (next *attempt, driven bool) {
	if !r.baton.tryTake() {
		return nil, false
	}
	defer r.baton.give()
	if r.failure != nil || r.left() { // the loop is about to abandon the run, or to stop it
		return nil, false
	}
	if ended == nil && len(r.live) > 1 {
		return nil, false
	}
	before := r.Seq
	r.free = ended
	r.failure = r.fold(m)
	silent := r.Seq == before && len(r.after) == 0 // it only asked what is known
	if r.failure == nil && !(r.owing && silent) {
		r.failure = r.cycle(ctx)
	}
	next, r.next, r.free = r.next, nil, nil
	if r.failure != nil || r.due() != r.armed || r.atRest() {
		select {
		case r.nudge <- struct{}{}:
		default: // it has been told
		}
	}
	return next, true
}

// left reports whether the process is asked to end, which is the loop's to see to.
func (r *run) left() bool {
	select {
	case <-r.leave:
		return !r.stopping
	default:
		return false
	}
}

// mayOwe reports whether the append can wait for the first words of the attempt
// that begins. Both it and the one that has ended are turns that only read: they
// say what they are about to send before they send it, and so nothing happens that
// is not recorded. Should it say nothing, the loop appends when it looks next.
func (r *run) mayOwe() bool {
	return r.free != nil && len(r.starts) == 1 && len(r.after) == 0 && r.create == nil && len(r.kids) == 0 &&
		asks(r.free.cmd) && asks(r.starts[0].Command)
}

func asks(c workflow.StartVisit) bool { return c.AI && c.Effect != workflow.EffectWrite }

// due is when something happens by itself; 0 is never.
func (r *run) due() workflow.Time {
	at, _ := r.nextTime()
	return at
}
