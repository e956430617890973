package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// findSkipped finds the agent at work that a person means: one that another one
// started, or that of a visit.
func findSkipped(s *history.State, c Control) (workflow.AgentSkipped, error) {
	var found []workflow.AgentSkipped
	var names []string
	say := func(v workflow.VisitID, key string, called ...string) {
		names = append(names, called[0])
		if slices.Contains(called, c.Skip) {
			found = append(found, workflow.AgentSkipped{Visit: v, Key: key, By: c.By, Reason: c.Reason})
		}
	}
	for _, v := range slices.Sorted(maps.Keys(s.Memory.Agents)) {
		for _, a := range s.Memory.Agents[v].List() {
			if a.Depth > 0 && a.Ended == nil {
				say(v, a.Key, a.Label, a.Key)
			}
		}
	}
	for _, o := range s.Gate.InState(admission.Running) {
		if o.Command.AI {
			say(o.Command.Visit, "", string(o.Command.Visit), o.Command.Node, o.Command.Context.Label)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return workflow.AgentSkipped{}, workflow.Errorf(workflow.CodeInvalidArguments, "%d agents at work are called %q", len(found), c.Skip).
			WithHint("name one by its key: tenon show %s --agents --json", s.ID)
	}
	err := workflow.Errorf(workflow.CodeInvalidArguments, "no agent %q is at work in run %s", c.Skip, s.ID)
	if near := text.Nearest(c.Skip, names); near != "" {
		return workflow.AgentSkipped{}, err.WithHint("did you mean %q?", near)
	}
	return workflow.AgentSkipped{}, err.WithHint("at work are: %s", strings.Join(append(names, "none more"), ", "))
}

func (r *run) takeSkip(c store.Control) error {
	var p workflow.AgentSkipped
	return r.decoded(c, &p, func() error {
		if err := r.record(ref{}, &p); err != nil {
			return err
		}
		if a := r.live[p.Visit]; a != nil {
			r.after = append(r.after, func() { a.skip(p.Key, p.Reason) })
		}
		return nil
	})
}

// skipped is the cause that ends the context of an agent which a person stopped.
func skipped(reason string) error {
	if reason != "" {
		reason = ": " + reason
	}
	return workflow.Errorf(workflow.CodeSkipped, "a person stopped the agent%s", reason)
}

// skip stops an agent of the attempt, "" for its own.
func (a *attempt) skip(key, reason string) {
	if key == "" {
		a.cancel(skipped(reason))
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if stop := a.scopes[key]; stop != nil {
		stop(skipped(reason))
	}
}

// Scope implements executor.Spawner.
func (a *attempt) Scope(ctx context.Context, key string) (context.Context, func()) {
	scope, stop := context.WithCancelCause(ctx)
	a.mu.Lock()
	if a.scopes == nil {
		a.scopes = map[string]context.CancelCauseFunc{}
	}
	a.scopes[key] = stop
	a.mu.Unlock()
	var reason string
	var wanted bool
	err := a.peek(func(r *run) { reason, wanted = r.Memory.Skipped[a.cmd.Visit][key] })
	switch {
	case err != nil:
		stop(fmt.Errorf("starting an agent: %w", err))
	case wanted:
		stop(skipped(reason))
	}
	return scope, func() {
		a.mu.Lock()
		delete(a.scopes, key)
		a.mu.Unlock()
		stop(nil)
	}
}
