package native

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// errand is what a call has begun and that goes on without it.
type errand struct {
	step  string // of the call
	begun string
	over  chan struct{} // closed at its end; nil while nobody waits for it in this process
	told  string
	err   error
}

// errands are those of a turn that it has not been told the end of.
type errands struct {
	open []*errand
	ctx  context.Context // of those that are waited for
	stop context.CancelCauseFunc
	any  chan struct{} // one has ended
	wait sync.WaitGroup
}

// notice is the end of an errand, as it is told once.
type notice struct {
	Step string `json:"step"`
	Text string `json:"text"`
}

// send takes up what a call has begun. One that another process began is waited
// for when nothing is known of its end.
func (l *loop) send(ctx context.Context, u *use) {
	e := &errand{step: u.key, begun: u.done.Begun}
	l.errands.open = append(l.errands.open, e)
	if u.live {
		l.follow(ctx, e)
	}
}

// follow waits for an errand, beside what the turn does.
func (l *loop) follow(ctx context.Context, e *errand) {
	if e.over != nil {
		return
	}
	at := &l.errands
	if at.ctx == nil {
		at.ctx, at.stop = context.WithCancelCause(ctx)
		at.any = make(chan struct{}, 1)
	}
	e.over = make(chan struct{})
	at.wait.Go(func() {
		e.told, e.err = l.gear.Await(at.ctx, l.callOf(e.step), e.begun)
		close(e.over)
		select {
		case at.any <- struct{}{}:
		default: // somebody looks already
		}
	})
}

// leave waits until nobody drives an errand any more.
func (at *errands) leave() {
	if at.stop != nil {
		at.stop(nil)
	}
	at.wait.Wait()
}

// about tells people what the turn is told.
func (at *errands) about(ended []notice) string {
	list, what := []string{}, "hears the end of "
	for _, e := range at.open {
		if len(ended) == 0 || slices.ContainsFunc(ended, func(n notice) bool { return n.Step == e.step }) {
			list = append(list, e.begun)
		}
	}
	if len(ended) == 0 {
		what = "goes on beside "
	}
	return what + strings.Join(list, ", ")
}

// notices tells the model after round n what has come to an end, and reports
// whether the turn is done. One that would be done waits for an errand, and goes on
// when it has been told; at a limit its errands end with it. What is told after
// which round is a step of its own, also when it is nothing.
func (l *loop) notices(ctx context.Context, n int, done bool) (bool, error) {
	if len(l.errands.open) == 0 {
		return done, nil
	}
	if done && l.drained > 0 {
		l.giveUp(ctx)
		return true, nil
	}
	var ended []notice
	key := l.callKey(n) + "/notices"
	raw, err := l.journal.Step(ctx, executor.Step{Key: key, Tool: "notices",
		Do: func(ctx context.Context, _ json.RawMessage, _ func(json.RawMessage) error) (executor.Outcome, error) {
			for _, e := range l.errands.open {
				l.follow(ctx, e)
			}
			list, err := l.ended(ctx, done)
			if err != nil {
				return executor.Outcome{}, err
			}
			memo, err := json.Marshal(list)
			return executor.Outcome{Memo: memo, About: l.errands.about(list)}, err
		}})
	if err != nil {
		return false, err
	}
	if err := l.recall(raw, &ended, "the memo of step "+key); err != nil {
		return false, err
	}
	for _, e := range ended {
		l.errands.open = slices.DeleteFunc(l.errands.open, func(o *errand) bool { return o.step == e.Step })
		l.messages = append(l.messages, provider.UserText(noticeHead+e.Text))
	}
	if len(ended) > 0 && done {
		l.reply.Structured, l.repairs = nil, 0
		if l.last(n) {
			l.closing = n + 1
		}
		return false, nil
	}
	return done, nil
}

// noticeHead is said before the end of an errand.
const noticeHead = "[What you have begun is over. This is told once.]\n"

// ended are the errands that are over; with wait there is at least one.
func (l *loop) ended(ctx context.Context, wait bool) ([]notice, error) {
	limited, _, stop := l.Limit(ctx, 0)
	defer stop()
	for {
		list := []notice{}
		for _, e := range l.errands.open {
			select {
			case <-e.over:
			default:
				continue
			}
			if e.err != nil {
				return nil, fmt.Errorf("%s: waiting for %s: %w", l.Where(), e.begun, e.err)
			}
			list = append(list, notice{e.step, e.told})
		}
		if len(list) > 0 || !wait {
			return list, nil
		}
		l.progress("waits for %s", l.errands.open[0].begun)
		select {
		case <-l.errands.any:
		case <-limited.Done():
			if ctx.Err() != nil {
				return nil, workflow.Errorf(workflow.CodeAborted, "%s: waiting for %s was stopped: %w", l.Where(), l.errands.open[0].begun, context.Cause(ctx))
			}
			return nil, l.Overtime(limited)
		}
	}
}

// giveUp ends all errands of a turn that has come to its limits. It goes on after a
// raise, and then knows.
func (l *loop) giveUp(ctx context.Context) {
	for _, e := range l.errands.open {
		l.follow(ctx, e)
	}
	l.errands.stop(workflow.Errorf(workflow.CodeAborted, "the agent that began it has come to its limit"))
	l.errands.wait.Wait()
	for _, e := range l.errands.open {
		l.messages = append(l.messages, provider.UserText(noticeHead+e.begun+" was ended, because you had come to a limit."))
	}
	l.errands = errands{}
}
