package talk

import (
	"context"
	"errors"
	"time"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

var (
	errTotal = errors.New("the turn ran out of time")
	errIdle  = errors.New("the model showed no sign of life")
)

// Limit returns a context that ends with the turn's time, or when alive was not
// called for too long, idle being 0 for never. stop counts the time as spent.
func (k *Talk) Limit(ctx context.Context, idle time.Duration) (limited context.Context, alive, stop func()) {
	limited, cancel := context.WithCancelCause(ctx)
	start := k.Clock()
	var timers []*time.Timer
	if left := k.Turn.Timeout - k.spent; k.Turn.Timeout > 0 && left <= 0 {
		cancel(errTotal)
	} else if k.Turn.Timeout > 0 {
		timers = append(timers, time.AfterFunc(left, func() { cancel(errTotal) }))
	}
	alive = func() {}
	if idle > 0 {
		t := time.AfterFunc(idle, func() { cancel(errIdle) })
		timers = append(timers, t)
		alive = func() { t.Reset(idle) }
	}
	return limited, alive, func() {
		for _, t := range timers {
			t.Stop()
		}
		cancel(nil)
		k.spent += k.Clock().Sub(start)
	}
}

// Overtime returns the error of a context of Limit that ended by itself, nil when
// it did not.
func (k *Talk) Overtime(limited context.Context) error {
	switch cause := context.Cause(limited); {
	case errors.Is(cause, errIdle):
		return workflow.Errorf(workflow.CodeIdleTimeout, "%s: %s showed no sign of life for %s", k.Where(), k.Named(), k.Turn.Idle).
			WithHint("resume to ask again, or raise idleTimeoutMs")
	case errors.Is(cause, errTotal):
		return workflow.Errorf(workflow.CodeTimeout, "%s: the turn with %s took longer than %s", k.Where(), k.Named(), k.Turn.Timeout).
			WithHint("raise timeoutMs, or ask for less at once")
	}
	return nil
}

// failure gives a provider's error its place and code, and keeps it in the chain.
func (k *Talk) failure(outer, limited context.Context, err error) error {
	if outer.Err() != nil {
		return workflow.Errorf(workflow.CodeAborted, "%s: the call to %s was stopped: %w", k.Where(), k.Named(), err)
	}
	var late *workflow.Error
	if errors.As(k.Overtime(limited), &late) {
		late.Err = err
		return late
	}
	code := workflow.CodeProviderRequest
	if known := provider.AsError(err); known != nil {
		if c, ok := codes[known.Code]; ok {
			code = c
		}
	}
	return workflow.Errorf(code, "%s: %w", k.Where(), err)
}

// codes are those of failures that are not plain request errors.
var codes = map[provider.Code]workflow.Code{
	provider.CodeRateLimited:    workflow.CodeRateLimited,
	provider.CodeQuotaExhausted: workflow.CodeQuotaExhausted,
	provider.CodeOverloaded:     workflow.CodeProviderOverloaded,
	provider.CodeContextLength:  workflow.CodeContextLength,
	provider.CodeAuth:           workflow.CodeProviderAuth,
	provider.CodeInvalidRequest: workflow.CodeProviderRefused,
	provider.CodeModelUnknown:   workflow.CodeModelUnknown,
	provider.CodeRefused:        workflow.CodeProviderRefused,
	provider.CodeTimeout:        workflow.CodeTimeout,
	provider.CodeCanceled:       workflow.CodeAborted,
}
