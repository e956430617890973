package admission

import (
	"strconv"
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

func (l *ledger) reserved() int64 {
	var n int64
	for _, r := range l.Live {
		n += r.Tokens
	}
	for _, r := range l.Kids {
		n += r.Tokens
	}
	return n
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

func (l *ledger) childEnded(v workflow.VisitID, t workflow.Totals) {
	delete(l.Kids, string(v))
	l.Spent.Plus(t)
}

// ReserveChild decides what a child run may spend: a share of what is left,
// beside what is kept for it already. A refusal is lifted by a raise, or when
// others give something back.
func (g *Gate) ReserveChild(v workflow.VisitID) (workflow.Budget, *workflow.Refused) {
	b := workflow.Budget{MaxDurationMs: g.opts.Budget.MaxDurationMs}
	mine := g.ledger.Kids[string(v)]
	free := max(1, max(1, g.opts.Policies.Concurrency)-len(g.ledger.Live)-len(g.ledger.Kids))
	if limit := g.opts.Budget.MaxTokens; limit > 0 {
		left := limit - g.ledger.tokens() - g.ledger.reserved()
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
		left := limit - g.ledger.Spent.CostUSD - g.ledger.Unknown.CostUSD
		for _, r := range g.ledger.Kids {
			left -= r.CostUSD
		}
		if left <= 0 {
			return b, refused(workflow.CodeBudgetExhausted, "$%.4f of $%.4f are spent or kept for child runs", limit-left, limit)
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

// Offer is what a call is allowed.
type Offer struct {
	Output int   // output tokens
	Tokens int64 // bound to reserve: prompt and output
	Hold   bool  // wait: running calls may give something back
}

// Reserve decides what a call with a prompt of that many bytes may use. A
// refusal ends the attempt; with Hold the driver asks again after the next
// settlement.
func (g *Gate) Reserve(v workflow.VisitID, promptBytes, wish int, now workflow.Time) (Offer, *workflow.Refused) {
	if wish <= 0 {
		wish = DefaultMaxOutput
	}
	prompt := int64(promptBytes+2) / 3
	full := Offer{Output: wish, Tokens: prompt + int64(wish)}
	if o := g.open[v]; o != nil && o.Command.Unlimited {
		return full, nil
	}
	if limit := g.opts.Budget.MaxDurationMs; limit > 0 && g.clock.total(now) >= time.Duration(limit)*time.Millisecond {
		return Offer{}, refused(workflow.CodeBudgetExhausted, "the run has used its %s of active time", time.Duration(limit)*time.Millisecond)
	}
	if r := g.ledger.exhausted(g.opts.Budget); r != nil {
		return Offer{}, r
	}
	limit := g.opts.Budget.MaxTokens
	if limit == 0 {
		return full, nil
	}
	left := limit - g.ledger.tokens() - g.ledger.reserved()
	free := max(1, max(1, g.opts.Policies.Concurrency)-len(g.ledger.Live))
	share := left / int64(free)
	if need := prompt + min(int64(wish), MinUsefulOutput); share < need {
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
