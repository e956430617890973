package host

import (
	"context"
	"errors"
	"sync"

	"github.com/tenonrun/tenon/verification"
)

// Causes for which the checks of a plan are ended.
var (
	errTimeUp  = errors.New(timeUp)
	errAborted = errors.New("another check did not pass")
)

// setup prepares the checks. The work tree is hashed again when something ran.
func (w *work) setup(ctx context.Context) (ok bool, err error) {
	for i, c := range w.q.Setup {
		e := w.one(ctx, c, w.receipt.Setup[i])
		w.receipt.Setup[i] = e
		if err := w.ended(ctx); err != nil || w.stopped != "" {
			return false, err
		}
		if e.Failed() {
			return false, nil
		}
	}
	if len(w.q.Setup) > 0 {
		w.receipt.Candidate = w.hash(ctx)
	}
	return true, nil
}

// waves runs the checks until the first that does not pass.
func (w *work) waves(ctx context.Context) error {
	for _, wave := range verification.Waves(w.q.Checks, w.q.MaxConcurrency) {
		w.wave(ctx, wave)
		w.environment()
		if err := w.ended(ctx); err != nil || w.stopped != "" {
			return err
		}
		for _, i := range wave {
			if w.receipt.Commands[i].State != verification.StatePassed {
				return nil
			}
		}
	}
	return nil
}

// wave runs some checks side by side. The first that does not pass ends the
// others.
func (w *work) wave(ctx context.Context, indexes []int) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	var running sync.WaitGroup
	for _, i := range indexes {
		running.Go(func() {
			e := w.one(ctx, w.q.Checks[i], w.receipt.Commands[i])
			w.receipt.Commands[i] = e // each its own
			if e.Failed() {
				abort(errAborted)
			}
		})
	}
	running.Wait()
}

// ended tells whether the visit was stopped; a deadline that passed stops only
// the plan.
func (w *work) ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), errTimeUp) {
		w.stopped = timeUp
		return nil
	}
	return ctx.Err()
}

// environment takes the environment of the receipt from the first command
// without variables of its own, and leaves its names out of the others that saw
// the same.
func (w *work) environment() {
	for i := range w.receipt.Commands {
		e := &w.receipt.Commands[i]
		if e.EnvDigest == "" || len(e.Check.Env) > 0 || e.Reused {
			continue
		}
		if w.receipt.Environment.Digest == "" {
			w.receipt.Environment = verification.Environment{Digest: e.EnvDigest, Keys: e.EnvKeys}
		}
		if e.EnvDigest == w.receipt.Environment.Digest {
			e.EnvKeys = nil
		}
	}
}

// serial makes emit safe for concurrent use.
func serial(emit func(string)) func(string) {
	if emit == nil {
		return func(string) {}
	}
	var mu sync.Mutex
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		emit(line)
	}
}
