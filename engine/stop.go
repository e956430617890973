package engine

import (
	"context"
	"errors"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// bury tells attempts that nobody answers them any more.
func (r *run) bury() { r.once.Do(func() { close(r.dead) }) }

// halting has the Programs of a run end what they compute when ctx ends, until
// the driver has left the run.
func (e *Engine) halting(ctx context.Context, id workflow.RunID) (left func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		for _, f := range e.cfg.Programs {
			if h, ok := f.(workflow.Halter); ok {
				h.Halt(id, done)
			}
		}
	})
	return func() {
		close(done)
		stop()
	}
}

// stop ends all attempts because the process is asked to end.
func (r *run) stop() {
	r.stopping = true
	cause := interruption()
	for _, a := range r.live {
		a.cancel(cause)
	}
	for _, k := range r.kids {
		if k.cancel != nil {
			k.cancel()
		}
	}
	for _, h := range r.held {
		h.answer(granted{err: cause})
	}
	r.held = nil
}

// abandon leaves a run whose memory can no longer be trusted: attempts end,
// their results are dropped, the history stays as it is.
func (r *run) abandon(err error) error {
	r.bury() // replies that waited for the append will not come
	r.stop()
	for len(r.live)+r.activeKids() > 0 {
		r.forget(<-r.inbox)
	}
	var stale *store.Stale
	if errors.As(err, &stale) {
		r.e.cfg.Log.Warn("lost ownership of a run", "run", r.ID, "err", err)
	}
	return err
}

// forget drops what a message says, beside that something has ended.
func (r *run) forget(m message) {
	switch m := m.(type) {
	case *done:
		delete(r.live, m.visit)
	case *kidDone:
		delete(r.kids, m.visit)
	}
}
