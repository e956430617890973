package admission

import (
	"slices"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Apply folds one event of the run. Wishes of the Program are given with Want
// before the events that answer them.
func (g *Gate) Apply(e workflow.Event) {
	if e.Type() == workflow.TypeResumed {
		g.clock.Parted = g.clock.Last
	}
	g.clock.see(e.At)
	switch p := e.Payload.(type) {
	case *workflow.Admitted:
		g.admitted(e, p)
	case *workflow.Refused:
		g.refuse(e.VisitID(), *p)
	case *workflow.InvocationReserved:
		g.ledger.reserve(invocation(e), Reservation{Tokens: p.Tokens, CostUSD: p.CostUSD})
	case *workflow.InvocationSettled:
		g.ledger.settle(invocation(e), p.Status, p.Usage)
	case *workflow.Retrying:
		g.retrying(e, p)
	case *workflow.Settled:
		g.settled(e.VisitID(), p)
	case *workflow.Lost:
		g.lost(e.VisitID(), p)
	case *workflow.Recovered:
		if o := g.open[e.VisitID()]; o != nil && p.How == workflow.RecoverRerun {
			o.State = "" // the Program wants it again
		}
	case *workflow.QuestionOpened:
		if o := g.open[e.VisitID()]; o != nil && o.State == Running {
			g.release(o)
			o.State = Waiting
		}
	default:
		g.control(e)
	}
}

// control folds the events that concern the run as a whole.
func (g *Gate) control(e workflow.Event) {
	switch p := e.Payload.(type) {
	case *workflow.ChildStarted:
		g.ledger.child(StepChild(e.VisitID(), p.Step), p.Budget)
	case *workflow.ChildEnded:
		g.ledger.childEnded(StepChild(e.VisitID(), p.Step), p.Usage)
	case *workflow.Steered:
		g.steering = append(g.steering, Steer{Seq: e.Seq, Text: p.Text, Agent: p.Agent})
	case *workflow.SteerHeard:
		g.steering = slices.DeleteFunc(g.steering, func(s Steer) bool { return slices.Contains(p.Seqs, s.Seq) })
	case *workflow.LimitRaised:
		g.raise(p)
	case *workflow.BreakerOpened:
		g.breakers[p.Provider] = Breaker{Code: p.Code, Message: p.Message, Until: p.Until}
	case *workflow.Paused:
		g.paused = true
	case *workflow.Resumed:
		g.paused, g.fails = false, 0
		clear(g.breakers)
		for _, o := range g.wanted {
			o.After, o.Parked, o.Until, o.Refusal = min(o.After, e.At), false, 0, nil
		}
	case *workflow.CancelRequested:
		g.cancelled = true
	case *workflow.Forked:
		g.ledger.fork()
		g.clock = activity{Running: g.clock.Running, Last: e.At, Since: e.At}
	}
}

func (g *Gate) admitted(e workflow.Event, p *workflow.Admitted) {
	o := g.open[e.VisitID()]
	if o == nil { // a history the Program does not follow; it says so itself
		o = &Open{Command: workflow.StartVisit{Visit: e.VisitID(), Node: e.Node, Number: e.Visit, Kind: p.Kind}}
		g.open[e.VisitID()] = o
	}
	g.unqueue(o)
	c := &o.Command
	c.Effect, c.AI, c.Provider, c.Self, c.Uncertain, c.Limits = p.Effect, p.AI, p.Provider, p.Self, p.Uncertain, p.Limits
	if o.Attempt == 0 {
		g.transitions++
	}
	o.State, o.Attempt, o.After, o.Steered = Running, e.Attempt, 0, p.Steered
	if !p.Continued && len(p.Steered) > 0 {
		g.steering = slices.DeleteFunc(g.steering, func(s Steer) bool { return slices.Contains(p.Steered, s.Seq) })
	}
	g.acquire(c)
}

func (g *Gate) acquire(c *workflow.StartVisit) {
	switch c.Effect {
	case workflow.EffectRead:
		g.readers++
	case workflow.EffectWrite:
		g.writers++
	}
	if c.AI {
		g.ai++
	}
	if !c.Self {
		for _, l := range c.Limits {
			g.limits[l.ID]++
		}
		g.clock.start()
	}
}

// release gives back the permits of a running attempt.
func (g *Gate) release(o *Open) {
	if o.State != Running {
		return
	}
	c := &o.Command
	switch c.Effect {
	case workflow.EffectRead:
		g.readers--
	case workflow.EffectWrite:
		g.writers--
	}
	if c.AI {
		g.ai--
	}
	if !c.Self {
		for _, l := range c.Limits {
			if g.limits[l.ID]--; g.limits[l.ID] <= 0 {
				delete(g.limits, l.ID)
			}
		}
		g.clock.stop()
	}
}

func (g *Gate) refuse(v workflow.VisitID, r workflow.Refused) {
	if o := g.open[v]; o != nil {
		g.unqueue(o)
		o.State, o.Refusal = Refused, &r
	}
}

func (g *Gate) retrying(e workflow.Event, p *workflow.Retrying) {
	o := g.open[e.VisitID()]
	if o == nil {
		return
	}
	g.release(o)
	if o.Command.AI {
		g.fails++
	}
	o.State, o.After = "", p.After
	o.Failures++
}

func (g *Gate) settled(v workflow.VisitID, p *workflow.Settled) {
	o := g.open[v]
	if o == nil {
		return
	}
	g.release(o)
	g.ledger.left(v)
	if o.Command.AI {
		if p.Status == "" || p.Status == workflow.VisitSucceeded {
			g.fails = 0
		} else {
			g.fails++
		}
	}
	g.forget(o)
}

func (g *Gate) lost(v workflow.VisitID, p *workflow.Lost) {
	o := g.open[v]
	if o == nil {
		return
	}
	if p.Code == workflow.CodeOwnerLost {
		g.clock.partWith()
	}
	g.release(o)
	switch {
	case p.Uncertain:
		o.State = Lost
	case p.Code == workflow.CodeBudgetExhausted:
		o.State, o.Refusal = Refused, &workflow.Refused{Code: p.Code, Message: p.Message}
	case parks(p.Code):
		o.State, o.Parked, o.Until = "", true, p.Until
		o.Refusal = &workflow.Refused{Code: p.Code, Message: p.Message}
	default:
		o.State = ""
	}
}

// parks reports whether a loss holds the visit until the run is resumed.
func parks(c workflow.Code) bool {
	return c == workflow.CodeQuotaExhausted || c == workflow.CodeRateLimited || c == workflow.CodeProviderOverloaded
}

func (g *Gate) raise(p *workflow.LimitRaised) {
	if p.Tokens > 0 {
		g.opts.Budget.MaxTokens = p.Tokens
	}
	if p.CostUSD > 0 {
		g.opts.Budget.MaxCostUSD = p.CostUSD
	}
	if p.DurationMs > 0 {
		g.opts.Budget.MaxDurationMs = p.DurationMs
	}
	if p.Transitions > 0 {
		g.opts.Transitions = p.Transitions
	}
}

// activity is the time during which attempts ran.
type activity struct {
	Used    time.Duration `json:"used"`
	Running int           `json:"running"`
	Last    workflow.Time `json:"last"`             // time of the newest event
	Since   workflow.Time `json:"since"`            // when Running left zero
	Parted  workflow.Time `json:"parted,omitempty"` // time of the last event before the newest resume
}

func (a *activity) see(at workflow.Time) {
	if at > a.Last {
		a.Last = at
	}
}

func (a *activity) start() {
	if a.Running == 0 {
		a.Since = a.Last
	}
	a.Running++
}

func (a *activity) stop() {
	a.Running--
	if a.Running == 0 {
		a.Used += time.Duration(a.Last-a.Since) * time.Microsecond
	}
}

// partWith counts what ran under an owner that died: up to its last sign of
// life, not up to the resume.
func (a *activity) partWith() {
	if a.Running > 0 && a.Parted >= a.Since {
		a.Used += time.Duration(a.Parted-a.Since) * time.Microsecond
		a.Since = a.Last
	}
}

func (a *activity) total(now workflow.Time) time.Duration {
	if a.Running == 0 || now < a.Since {
		return a.Used
	}
	return a.Used + time.Duration(now-a.Since)*time.Microsecond
}
