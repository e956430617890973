// Package admission decides, purely, when the wishes of a Program may start.
//
// Holds: the Gate of a run, a fold over its events that knows transitions,
// attempts, effect permits, limits of maps, AI concurrency, fail-fast, budgets
// with reservations, breakers and steering, and says of each wanted visit:
// admitted, refused, or held.
//
// Guarantees: the same events give the same Gate; readers run together, a
// writer alone, first come first served; nothing starts past a hard limit, and
// what is running may end; a refusal is a fact that can be lifted later.
//
// Does not: know a clock (the driver passes the time), do I/O, or write events.
package admission

import (
	"slices"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Defaults that hold where a definition says nothing.
const (
	DefaultAIAttempts = 2
	DefaultBackoffMs  = 5000
	DefaultMaxOutput  = 8192 // output tokens a call may use when nothing else is known
	MinUsefulOutput   = 256  // a call that could answer less is not worth sending
)

// Gate is the admission of one run. One goroutine uses it at a time.
type Gate struct {
	opts        workflow.Options
	wanted      []*Open
	open        map[workflow.VisitID]*Open
	transitions int
	fails       int // consecutive AI attempts that did not succeed
	readers     int
	writers     int
	ai          int
	limits      map[string]int
	breakers    map[string]Breaker
	steering    []Steer
	paused      bool
	cancelled   bool
	ledger      ledger
	clock       activity
}

// Open is a visit that is wanted or has begun and has no result.
type Open struct {
	Command  workflow.StartVisit `json:"command"`
	State    State               `json:"state"`
	Attempt  int                 `json:"attempt"`           // attempts so far
	Failures int                 `json:"failures"`          // attempts that failed and are repeated
	After    workflow.Time       `json:"after,omitempty"`   // not before
	Parked   bool                `json:"parked,omitempty"`  // held until a resume: its provider is unavailable
	Until    workflow.Time       `json:"until,omitempty"`   // when a resume is worth it
	Steered  []int64             `json:"steered,omitempty"` // claimed by the attempt
	Refusal  *workflow.Refused   `json:"refusal,omitempty"` // why it is refused or parked
}

// State of an Open visit.
type State string

// States.
const (
	Wanted  State = "wanted"  // waits for its turn
	Running State = "running" // an attempt is on its way
	Waiting State = "waiting" // paused by a question; the attempt goes on after it
	Refused State = "refused" // may be admitted after a raise or a resume
	Lost    State = "lost"    // an uncertain write: a person decides
)

// Steer is advice that no attempt has claimed.
type Steer struct {
	Seq   int64  `json:"seq"`
	Text  string `json:"text"`
	Agent string `json:"agent,omitempty"` // that it is for; "" is the first that can hear it
}

// Breaker is a provider that takes no new calls in this run.
type Breaker struct {
	Code    workflow.Code `json:"code"`
	Message string        `json:"message,omitempty"`
	Until   workflow.Time `json:"until,omitempty"`
}

// New returns the Gate of a run that has just started.
func New(opts workflow.Options) *Gate {
	return &Gate{
		opts:     opts,
		open:     map[workflow.VisitID]*Open{},
		limits:   map[string]int{},
		breakers: map[string]Breaker{},
		ledger:   ledger{Live: map[string]Reservation{}},
	}
}

// Want takes a wish of the Program. A wish for a visit that is open already
// (after a loss, an answer, a raise) puts it back in line.
func (g *Gate) Want(c workflow.StartVisit) {
	o := g.open[c.Visit]
	if o == nil {
		o = &Open{}
		g.open[c.Visit] = o
	}
	o.Command = c
	if o.State == Wanted {
		return
	}
	if o.State == Waiting && slices.Contains(g.wanted, o) {
		return // it has its answer and is in line
	}
	if o.State != Waiting {
		o.State = Wanted
	}
	if !o.Parked {
		o.Refusal = nil
	}
	g.wanted = append(g.wanted, o)
}

// Drop forgets a visit that is no longer wanted.
func (g *Gate) Drop(v workflow.VisitID) {
	if o := g.open[v]; o != nil {
		g.release(o)
		g.forget(o)
	}
}

func (g *Gate) forget(o *Open) {
	delete(g.open, o.Command.Visit)
	g.unqueue(o)
}

func (g *Gate) unqueue(o *Open) {
	switch {
	case len(g.wanted) == 1 && g.wanted[0] == o: // a chain: the queue keeps its room
		g.wanted = g.wanted[:0]
		return
	case len(g.wanted) > 0 && g.wanted[0] == o:
		g.wanted = g.wanted[1:]
		return
	}
	if i := slices.Index(g.wanted, o); i >= 0 {
		g.wanted = slices.Delete(g.wanted, i, i+1)
	}
}

// Visit returns an open visit.
func (g *Gate) Visit(v workflow.VisitID) (Open, bool) {
	o := g.open[v]
	if o == nil {
		return Open{}, false
	}
	return *o, true
}

// InState returns the open visits in a state, ordered by id.
func (g *Gate) InState(s State) []Open {
	var out []Open
	for _, o := range g.open {
		if o.State == s {
			out = append(out, *o)
		}
	}
	slices.SortFunc(out, func(a, b Open) int { return compare(a.Command.Visit, b.Command.Visit) })
	return out
}

func compare(a, b workflow.VisitID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Running returns how many attempts are on their way.
func (g *Gate) Running() int { return g.clock.Running }

// Spent returns the spend of this run and its children, without what a fork
// inherited.
func (g *Gate) Spent() workflow.Totals { return g.ledger.Spent }

// Inherited returns what the shared history of a fork had spent.
func (g *Gate) Inherited() workflow.Totals { return g.ledger.Inherited }

// Reserved returns the token bounds of calls whose usage is not known.
func (g *Gate) Reserved() int64 { return g.ledger.reserved().Tokens }

// Breakers returns the providers that take no calls, by name.
func (g *Gate) Breakers() map[string]Breaker { return g.breakers }

// Options returns the rules of the run as they are now.
func (g *Gate) Options() workflow.Options { return g.opts }

// Steering is the advice that nobody has heard.
func (g *Gate) Steering() []Steer { return g.steering }

// Active is how long the run has been at work.
func (g *Gate) Active(now workflow.Time) time.Duration { return g.clock.total(now) }

// Transitions returns how many visits were admitted.
func (g *Gate) Transitions() int { return g.transitions }

// Halted reports whether a pause or a cancellation holds everything.
func (g *Gate) Halted() (paused, cancelled bool) { return g.paused, g.cancelled }
