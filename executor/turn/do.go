package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

var (
	errTotal = errors.New("the turn ran out of time")
	errIdle  = errors.New("the model showed no sign of life")
)

// do makes one physical call.
func (k *talk) do(ctx context.Context, g executor.Grant, round int) (executor.Done, error) {
	if k.turn.Timeout > 0 && k.left <= 0 {
		return executor.Done{}, k.timedOut(errTotal)
	}
	start := k.cfg.Clock()
	limited, alive, stop := k.limit(ctx)
	defer stop()
	response, err := k.cfg.Provider.Stream(limited, k.request(g), func(d provider.Delta) {
		alive()
		k.show(d)
	})
	k.left -= k.cfg.Clock().Sub(start)
	if err != nil {
		done := executor.Done{Model: k.model}
		if known := provider.AsError(err); known != nil {
			done.Usage = usageOf(known.Usage)
		}
		return done, k.failure(ctx, limited, err)
	}
	done := executor.Done{Usage: usageOf(response.Usage), Model: response.Model, ToolCalls: len(response.ToolUses())}
	if err := k.reject(response, round); err != nil {
		return done, err
	}
	k.fresh = round
	if done.Memo, err = json.Marshal(kept{Response: response, Before: digests(k.turn, response.Files)}); err != nil {
		return done, fmt.Errorf("%s: keeping the answer: %w", k.where(), err)
	}
	return done, nil
}

// limit returns a context that ends with the turn's time or when alive was not
// called for too long, and what lets go of its timers.
func (k *talk) limit(ctx context.Context) (limited context.Context, alive, stop func()) {
	limited, cancel := context.WithCancelCause(ctx)
	var timers []*time.Timer
	if k.turn.Timeout > 0 {
		timers = append(timers, time.AfterFunc(k.left, func() { cancel(errTotal) }))
	}
	alive = func() {}
	if k.turn.Idle > 0 {
		idle := time.AfterFunc(k.turn.Idle, func() { cancel(errIdle) })
		timers = append(timers, idle)
		alive = func() { idle.Reset(k.turn.Idle) }
	}
	return limited, alive, func() {
		for _, t := range timers {
			t.Stop()
		}
		cancel(nil)
	}
}

func (k *talk) show(d provider.Delta) {
	p := executor.Progress{Text: d.Text, Model: k.model}
	switch d.Kind {
	case provider.DeltaText:
		p.Kind = "text"
	case provider.DeltaReasoning:
		p.Kind = "reasoning"
	default:
		p.Kind, p.Text = "tool", d.Name
	}
	k.host.Progress(p)
}

// reject returns why an answer does not count. Such a call fails and leaves no
// memo, so that a retry asks again.
func (k *talk) reject(r provider.Response, round int) error {
	switch {
	case r.Stop == provider.StopRefusal:
		return workflow.Errorf(workflow.CodeProviderRefused, "%s: %s refused to answer%s", k.where(), k.named(), detail(r)).WithHint("change the prompt")
	case strings.TrimSpace(r.Text()) == "":
		return workflow.Errorf(workflow.CodeIncompleteResponse, "%s: the answer of %s holds no text (stopped: %s%s)", k.where(), k.named(), r.Stop, detail(r)).
			WithHint("resume to ask again, or choose another model")
	case k.schema != nil && round > k.repairs():
		if _, problems := fit(k.schema, r); problems != nil {
			return k.misfit(r, problems)
		}
	case k.schema == nil && r.Stop == provider.StopMaxTokens:
		return workflow.Errorf(workflow.CodeIncompleteResponse, "%s: the answer of %s was cut off at its output limit", k.where(), k.named()).
			WithHint("raise the model's output limit or the budget, or ask for less")
	}
	return nil
}

func (k *talk) named() string { return k.cfg.Provider.Name() + " " + k.model }

func detail(r provider.Response) string {
	if r.StopDetail == "" {
		return ""
	}
	return ": " + r.StopDetail
}

// failure gives a provider's error its place and code, and keeps it in the chain.
func (k *talk) failure(outer, limited context.Context, err error) error {
	if outer.Err() != nil {
		return workflow.Errorf(workflow.CodeAborted, "%s: the call to %s was stopped: %w", k.where(), k.named(), err)
	}
	switch cause := context.Cause(limited); {
	case errors.Is(cause, errTotal), errors.Is(cause, errIdle):
		e := k.timedOut(cause)
		e.Err = err
		return e
	}
	code := workflow.CodeProviderRequest
	if known := provider.AsError(err); known != nil {
		if c, ok := codes[known.Code]; ok {
			code = c
		}
	}
	return workflow.Errorf(code, "%s: %w", k.where(), err)
}

func (k *talk) timedOut(cause error) *workflow.Error {
	if errors.Is(cause, errIdle) {
		return workflow.Errorf(workflow.CodeIdleTimeout, "%s: %s showed no sign of life for %s", k.where(), k.named(), k.turn.Idle).
			WithHint("resume to ask again, or raise idleTimeoutMs")
	}
	return workflow.Errorf(workflow.CodeTimeout, "%s: the turn with %s took longer than %s", k.where(), k.named(), k.turn.Timeout).
		WithHint("raise timeoutMs, or ask for less at once")
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
