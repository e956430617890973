package process

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/tenonrun/tenon/workspace"
)

// Sweep ends what is left of a run whose owner died: every process that has the
// marker and the home of r in its environment (workspace.EnvRun, workspace.EnvHome),
// and what descends from one, gets
// TERM, then KILL after the grace period. This process and its ancestors are
// spared. It returns how many processes it found; off Linux it finds none. An
// error means that some are still alive.
func (r *Runner) Sweep(ctx context.Context, marker string) (found int, err error) {
	if marker == "" {
		return 0, nil
	}
	left, _ := carriers(r.home, marker)
	if found = len(left); found == 0 {
		return 0, nil
	}
	signalAll(left, syscall.SIGTERM)
	left, err = r.awaitCarriers(ctx, marker, r.grace)
	for deadline := time.Now().Add(giveUp); err == nil && len(left) > 0; {
		if time.Now().After(deadline) {
			return found, fmt.Errorf("ending what is left of run %s: %d processes with %s=%s are still alive: end them by hand",
				marker, len(left), workspace.EnvRun, marker)
		}
		signalAll(left, syscall.SIGKILL)
		left, err = r.awaitCarriers(ctx, marker, 50*time.Millisecond)
	}
	if err != nil {
		return found, fmt.Errorf("ending what is left of run %s: %w", marker, err)
	}
	return found, nil
}

func signalAll(list []proc, sig syscall.Signal) {
	for _, p := range list {
		p.signal(sig)
	}
}

// awaitCarriers waits at most d for the processes of a run to end and returns
// those that did not.
func (r *Runner) awaitCarriers(ctx context.Context, marker string, d time.Duration) ([]proc, error) {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left, _ := carriers(r.home, marker)
		if len(left) == 0 {
			return nil, nil
		}
		select {
		case <-time.After(pause):
		case <-deadline.C:
			return left, nil
		case <-ctx.Done():
			return left, ctx.Err()
		}
	}
}
