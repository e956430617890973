package native_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// slow sends n deltas, one every step, and then answers.
func slow(n int, step time.Duration) line {
	return func(ctx context.Context, _ provider.Request, emit func(provider.Delta)) (provider.Response, error) {
		for range n {
			select {
			case <-ctx.Done():
				return provider.Response{}, &provider.Error{Code: provider.CodeCanceled, Err: ctx.Err(), Usage: provider.Usage{Input: number(4)}}
			case <-time.After(step):
				emit(provider.Delta{Kind: provider.DeltaReasoning, Text: "."})
			}
		}
		return provider.Response{Parts: []provider.Part{{Kind: provider.PartText, Text: "done"}}}, nil
	}
}

func TestPlainLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		line          line
		timeout, idle time.Duration
		want          workflow.Code
		after         time.Duration
	}{
		"no limits":     {slow(3, time.Hour), 0, 0, "", 3 * time.Hour},
		"within":        {slow(3, time.Minute), 4 * time.Minute, 90 * time.Second, "", 3 * time.Minute},
		"idle":          {slow(3, time.Hour), 0, time.Minute, workflow.CodeIdleTimeout, time.Minute},
		"total":         {slow(10, time.Minute), 150 * time.Second, 2 * time.Minute, workflow.CodeTimeout, 150 * time.Second},
		"idle is first": {slow(1, time.Hour), time.Hour, time.Second, workflow.CodeIdleTimeout, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, start := &host{}, time.Now()
				_, err := native.New(native.Config{Provider: &speaker{says: []line{tc.line}}}).Execute(t.Context(),
					executor.Turn{Key: "t", Timeout: tc.timeout, Idle: tc.idle}, h)
				if workflow.CodeOf(err) != tc.want || time.Since(start) != tc.after {
					t.Fatalf("%v after %s, want %s after %s", err, time.Since(start), tc.want, tc.after)
				}
				if err == nil {
					return
				}
				if known := provider.AsError(err); known == nil || *known.Usage.Input != 4 || *h.done[0].Usage.Input != 4 {
					t.Errorf("the provider's error is lost: %v", err)
				}
			})
		})
	}
}

func TestTimeoutCountsAllCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := func(ctx context.Context, r provider.Request, emit func(provider.Delta)) (provider.Response, error) {
			return slow(1, time.Minute)(ctx, r, emit)
		}
		s, start := &speaker{says: []line{bad, bad, bad}}, time.Now()
		_, err := native.New(native.Config{Provider: s}).Execute(t.Context(),
			executor.Turn{Key: "t", Schema: []byte(shape), Repairs: 9, Timeout: 90 * time.Second}, &host{})
		if workflow.CodeOf(err) != workflow.CodeTimeout || time.Since(start) != 90*time.Second || len(s.got) != 2 {
			t.Errorf("%v after %s and %d calls", err, time.Since(start), len(s.got))
		}
	})
}

func TestPlainCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := native.New(native.Config{Provider: &speaker{says: []line{slow(1, time.Hour)}}}).Execute(ctx,
			executor.Turn{Key: "t", Timeout: time.Minute, Idle: time.Minute}, &host{})
		if workflow.CodeOf(err) != workflow.CodeAborted || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
