package admission

import (
	"fmt"
	"slices"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Verdict is the decision about one wanted visit. Exactly one of Admitted and
// Refused is set.
type Verdict struct {
	Command  workflow.StartVisit
	Attempt  int
	Admitted *workflow.Admitted
	Refused  *workflow.Refused
	Steering []string // texts claimed by the attempt
}

// Next returns the next visit that can be decided at the time; ok is false when
// all that is wanted is held. The driver records the verdict as an event and
// applies it before it asks again.
func (g *Gate) Next(now workflow.Time) (v Verdict, ok bool) {
	if g.paused || g.cancelled {
		return Verdict{}, false
	}
	blocked := false // a writer is next in line: no later effect may pass it
	for _, o := range g.wanted {
		c := &o.Command
		if o.After > now || o.Parked {
			continue
		}
		if r := g.refusal(o, now); r != nil {
			return Verdict{Command: *c, Attempt: o.Attempt, Refused: r}, true
		}
		if g.broken(c) || g.outOfMoney(c) {
			continue
		}
		if !g.permitted(c, blocked) {
			blocked = blocked || c.Effect == workflow.EffectWrite
			continue
		}
		return g.admit(o), true
	}
	return Verdict{}, false
}

// Wake returns the earliest time at which a held visit can be decided.
func (g *Gate) Wake(now workflow.Time) (at workflow.Time, ok bool) {
	for _, o := range g.wanted {
		if !o.Parked && o.After > now && (at == 0 || o.After < at) {
			at = o.After
		}
	}
	return at, at != 0
}

func (g *Gate) admit(o *Open) Verdict {
	c := &o.Command
	a := &workflow.Admitted{
		Kind: c.Kind, Effect: c.Effect, AI: c.AI, Provider: c.Provider, Self: c.Self,
		Uncertain: c.Uncertain, Unlimited: c.Unlimited, Limits: c.Limits,
	}
	if c.Node == string(c.Visit) { // nodes of definitions have names
		a.Label, a.Group = c.Context.Label, c.Context.Group
	}
	v := Verdict{Command: *c, Attempt: o.Attempt + 1, Admitted: a}
	if o.State == Waiting {
		a.Continued = true
		v.Attempt = o.Attempt
		a.Steered = o.Steered
	}
	if c.Steerable && !a.Continued {
		for _, s := range g.steering {
			if s.Agent != "" {
				continue // for an agent that is at work
			}
			a.Steered = append(a.Steered, s.Seq)
			v.Steering = append(v.Steering, s.Text)
		}
	}
	return v
}

// refusal returns why a visit may not start at all, for now.
func (g *Gate) refusal(o *Open, now workflow.Time) *workflow.Refused {
	c := &o.Command
	if c.Unlimited || o.State == Waiting || o.Attempt > 0 && !c.AI {
		return nil
	}
	if o.Attempt == 0 {
		if limit := g.opts.Transitions; limit > 0 && g.transitions >= limit {
			return refused(workflow.CodeRecursionLimit, "the run has made its %d visits (maxTransitions)", limit)
		}
		if c.BodyMax > 0 && c.BodyCount > c.BodyMax {
			return refused(workflow.CodeRecursionLimit, "the body has made its %d visits (maxTransitions of the component)", c.BodyMax)
		}
	}
	if limit := g.opts.Budget.MaxDurationMs; limit > 0 && !c.Self {
		if used := g.clock.total(now); used >= time.Duration(limit)*time.Millisecond {
			return refused(workflow.CodeBudgetExhausted, "the run has used %s of its %s of active time", used.Round(time.Millisecond), time.Duration(limit)*time.Millisecond)
		}
	}
	if !c.AI {
		return nil
	}
	if limit := g.opts.Policies.FailFast; limit > 0 && g.fails >= limit {
		return refused(workflow.CodeFailFast, "%d AI attempts in a row did not succeed (failFast)", g.fails)
	}
	return g.ledger.exhausted(g.opts.Budget)
}

func refused(code workflow.Code, format string, args ...any) *workflow.Refused {
	return &workflow.Refused{Code: code, Message: fmt.Sprintf(format, args...)}
}

// broken reports whether the visit's provider takes no calls.
func (g *Gate) broken(c *workflow.StartVisit) bool {
	if !c.AI || c.Provider == "" {
		return false
	}
	_, open := g.breakers[c.Provider]
	return open
}

// outOfMoney reports whether the visit waits for running calls to give back
// what they reserved.
func (g *Gate) outOfMoney(c *workflow.StartVisit) bool {
	limit := g.opts.Budget.MaxTokens
	return c.AI && !c.Unlimited && limit > 0 && len(g.ledger.Live) > 0 && g.ledger.tokens()+g.ledger.reserved().Tokens+MinUsefulOutput > limit
}

func (g *Gate) permitted(c *workflow.StartVisit, blocked bool) bool {
	switch c.Effect {
	case workflow.EffectRead:
		if blocked || g.writers > 0 {
			return false
		}
	case workflow.EffectWrite:
		if blocked || g.writers > 0 || g.readers > 0 {
			return false
		}
	}
	if c.AI && g.ai >= max(1, g.opts.Policies.Concurrency) {
		return false
	}
	if c.Self {
		return true
	}
	return !slices.ContainsFunc(c.Limits, func(l workflow.Limit) bool { return g.limits[l.ID] >= l.Max })
}

// Retry decides about an attempt that failed with a code: when the visit is
// tried again, or that it is not.
func (g *Gate) Retry(v workflow.VisitID, code workflow.Code, now workflow.Time) (after workflow.Time, ok bool) {
	o := g.open[v]
	if o == nil {
		return 0, false
	}
	c, r := &o.Command, o.Command.Retry
	most := r.MaxAttempts
	if most == 0 {
		most = 1
		if c.AI {
			most = DefaultAIAttempts
		}
	}
	on := r.RetryOn
	if on == nil {
		on = []workflow.Code{workflow.CodeIdleTimeout, workflow.CodeProviderRequest}
	}
	if o.Failures+1 >= most || !slices.Contains(on, code) || c.Effect == workflow.EffectWrite && c.Uncertain {
		return 0, false
	}
	if limit := g.opts.Policies.FailFast; c.AI && limit > 0 && g.fails+1 >= limit {
		return 0, false // the next attempt would be refused
	}
	backoff := int64(DefaultBackoffMs)
	if r.BackoffMs != nil {
		backoff = *r.BackoffMs
	}
	return now.Add(time.Duration(backoff) * time.Millisecond), true
}
