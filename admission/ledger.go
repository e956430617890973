package admission

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Reservation is what a call may cost at most, while its usage is not known.
type Reservation struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"costUsd,omitempty"`
}

// ledger is the account of a run: reserved before a call, settled after.
type ledger struct {
	Spent     workflow.Totals        `json:"spent"`
	Inherited workflow.Totals        `json:"inherited"`
	Live      map[string]Reservation `json:"live"`           // calls on their way
	Kids      map[string]Reservation `json:"kids,omitempty"` // open child runs
	Unknown   Reservation            `json:"unknown"`        // bounds of calls whose usage will never be known
}

func invocation(e workflow.Event) string { return e.ID + "/" + strconv.Itoa(e.Invocation) }

func (l *ledger) reserve(id string, r Reservation) { l.Live[id] = r }

func (l *ledger) settle(id, status string, u workflow.Usage) {
	r := l.Live[id]
	delete(l.Live, id)
	l.Spent.Add(u)
	if known, all := u.Tokens(); !all && status != workflow.InvocationFailed {
		l.Unknown.Tokens += max(0, r.Tokens-known)
	}
	if u.CostUSD == nil && status != workflow.InvocationFailed {
		l.Unknown.CostUSD += r.CostUSD
	}
}

// fork turns the spend of the shared history into inheritance.
func (l *ledger) fork() {
	l.Inherited.Plus(l.Spent)
	*l = ledger{Inherited: l.Inherited, Live: map[string]Reservation{}}
}

func (l *ledger) tokens() int64 { return l.Spent.Input + l.Spent.Output + l.Unknown.Tokens }

// reserved is what running calls and child runs may still use.
func (l *ledger) reserved() (all Reservation) {
	for _, m := range []map[string]Reservation{l.Live, l.Kids} {
		for _, r := range m {
			all.Tokens += r.Tokens
			all.CostUSD += r.CostUSD
		}
	}
	return all
}

// money is what is left of a limit of money, in dollars.
func (l *ledger) money(limit float64) float64 {
	return limit - l.Spent.CostUSD - l.Unknown.CostUSD - l.reserved().CostUSD
}

// exhausted returns the refusal when a cap is reached by what is spent.
func (l *ledger) exhausted(b workflow.Budget) *workflow.Refused {
	if b.MaxTokens > 0 && l.tokens()+MinUsefulOutput > b.MaxTokens && len(l.Live) == 0 {
		if l.Unknown.Tokens > 0 {
			return refused(workflow.CodeBudgetExhausted, "%d of %d tokens are spent, and %d are held for calls whose usage is unknown",
				l.Spent.Input+l.Spent.Output, b.MaxTokens, l.Unknown.Tokens)
		}
		return refused(workflow.CodeBudgetExhausted, "%d of %d tokens are spent; a call needs %d to be worth sending",
			l.tokens(), b.MaxTokens, MinUsefulOutput)
	}
	if b.MaxCostUSD > 0 && l.Spent.CostUSD+l.Unknown.CostUSD >= b.MaxCostUSD {
		return refused(workflow.CodeBudgetExhausted, "$%.4f of $%.4f are spent", l.Spent.CostUSD, b.MaxCostUSD)
	}
	return nil
}

func (l *ledger) child(v workflow.VisitID, b workflow.Budget) {
	if l.Kids == nil {
		l.Kids = map[string]Reservation{}
	}
	l.Kids[string(v)] = Reservation{Tokens: b.MaxTokens, CostUSD: b.MaxCostUSD}
}

// StepChild is what a child run is reserved under that a step of a visit started;
// the visit itself where there is no step.
func StepChild(v workflow.VisitID, step string) workflow.VisitID {
	if step == "" {
		return v
	}
	return v + workflow.VisitID("!"+step)
}

// left gives back what is kept for child runs of the steps of a visit.
func (l *ledger) left(v workflow.VisitID) {
	maps.DeleteFunc(l.Kids, func(k string, _ Reservation) bool { return strings.HasPrefix(k, string(v)+"!") })
}

func (l *ledger) childEnded(v workflow.VisitID, t workflow.Totals) {
	delete(l.Kids, string(v))
	l.Spent.Plus(t)
}

// KeepsChild reports whether something is kept for a child run: it has begun, and
// its end is not recorded.
func (g *Gate) KeepsChild(v workflow.VisitID) bool {
	_, ok := g.ledger.Kids[string(v)]
	return ok
}

// ReserveChild decides what a child run may spend: a share of what is left,
// beside what is kept for it already. A refusal is lifted by a raise, or when
// others give something back.
func (g *Gate) ReserveChild(v workflow.VisitID) (workflow.Budget, *workflow.Refused) {
	b := workflow.Budget{MaxDurationMs: g.opts.Budget.MaxDurationMs}
	mine := g.ledger.Kids[string(v)]
	free := max(1, max(1, g.opts.Policies.Concurrency)-len(g.ledger.Live)-len(g.ledger.Kids))
	if limit := g.opts.Budget.MaxTokens; limit > 0 {
		left := limit - g.ledger.tokens() - g.ledger.reserved().Tokens
		share := left / int64(free)
		if share < MinUsefulOutput {
			share = left
		}
		if share < MinUsefulOutput {
			return b, refused(workflow.CodeBudgetExhausted, "%d of %d tokens are left; a child run needs %d to be worth starting", left, limit, MinUsefulOutput)
		}
		b.MaxTokens = mine.Tokens + share
	}
	if limit := g.opts.Budget.MaxCostUSD; limit > 0 {
		left := g.ledger.money(limit)
		if left <= 0 {
			return b, refused(workflow.CodeBudgetExhausted, "$%.4f of $%.4f are spent, or kept for calls and child runs", limit-left, limit)
		}
		b.MaxCostUSD = mine.CostUSD + left/float64(free)
	}
	return b, nil
}

// Deadline is when the active time of the run is up, if it is active all the time
// from now on; 0 is never.
func (g *Gate) Deadline(now workflow.Time) workflow.Time {
	limit := time.Duration(g.opts.Budget.MaxDurationMs) * time.Millisecond
	if limit == 0 {
		return 0
	}
	return now.Add(limit - g.clock.total(now))
}

// Call is a wish for a model call.
type Call struct {
	PromptBytes int
	MaxOutput   int               // wished output tokens; 0 is DefaultMaxOutput
	MaxCost     *workflow.MaxCost // nil is unknown: a limit of money then only sees what was spent
}

// Offer is what a call is allowed.
type Offer struct {
	Output  int     // output tokens
	Tokens  int64   // bound to reserve: prompt and output
	CostUSD float64 // bound to reserve
	Hold    bool    // wait: running calls may give something back
}

// Reserve decides what a call may use. A refusal ends the attempt; with Hold the
// driver asks again after the next settlement.
func (g *Gate) Reserve(v workflow.VisitID, c Call, now workflow.Time) (Offer, *workflow.Refused) {
	if c.MaxOutput <= 0 {
		c.MaxOutput = DefaultMaxOutput
	}
	if o := g.open[v]; o != nil && o.Command.Unlimited {
		return c.priced(Offer{Output: c.MaxOutput, Tokens: c.Prompt() + int64(c.MaxOutput)}), nil
	}
	if limit := g.opts.Budget.MaxDurationMs; limit > 0 && g.clock.total(now) >= time.Duration(limit)*time.Millisecond {
		return Offer{}, refused(workflow.CodeBudgetExhausted, "the run has used its %s of active time", time.Duration(limit)*time.Millisecond)
	}
	if r := g.ledger.exhausted(g.opts.Budget); r != nil {
		return Offer{}, r
	}
	o, r := g.offer(c)
	if r != nil || o.Hold {
		return o, r
	}
	return g.afford(c.priced(o))
}

// Prompt is the bound of the tokens that are sent.
func (c Call) Prompt() int64 { return int64(c.PromptBytes+2) / 3 }

func (c Call) priced(o Offer) Offer {
	if c.MaxCost != nil {
		o.CostUSD = c.MaxCost.Of(o.Output)
	}
	return o
}

// offer shares out the tokens that are left.
func (g *Gate) offer(c Call) (Offer, *workflow.Refused) {
	prompt, wish := c.Prompt(), int64(c.MaxOutput)
	full := Offer{Output: c.MaxOutput, Tokens: prompt + wish}
	limit := g.opts.Budget.MaxTokens
	if limit == 0 {
		return full, nil
	}
	left := limit - g.ledger.tokens() - g.ledger.reserved().Tokens
	free := max(1, max(1, g.opts.Policies.Concurrency)-len(g.ledger.Live))
	share := left / int64(free)
	if need := prompt + min(wish, MinUsefulOutput); share < need {
		share = min(left, need) // a fair share that is no use gives way to a useful one
		if share < need {
			if len(g.ledger.Live) > 0 {
				return Offer{Hold: true}, nil
			}
			return Offer{}, refused(workflow.CodeBudgetExhausted, "%d of %d tokens are left; this call needs %d", left, limit, need)
		}
	}
	if full.Tokens <= share {
		return full, nil
	}
	return Offer{Output: int(share - prompt), Tokens: share}, nil
}

// penny is what sums of dollars may be wrong by.
const penny = 1e-9

// afford holds an offer to the limit of money.
func (g *Gate) afford(o Offer) (Offer, *workflow.Refused) {
	limit := g.opts.Budget.MaxCostUSD
	if limit == 0 {
		return o, nil
	}
	switch left := g.ledger.money(limit); {
	case o.CostUSD <= left+penny:
		return o, nil
	case len(g.ledger.Live) > 0:
		return Offer{Hold: true}, nil
	default:
		return Offer{}, refused(workflow.CodeBudgetExhausted, "$%.4f of $%.4f are left; this call can cost $%.4f", max(0, left), limit, o.CostUSD)
	}
}
