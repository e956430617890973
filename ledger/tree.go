package ledger

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Tree is the accounts of the agents of one visit. The zero value has none. It is
// plain data, so a snapshot can hold it; one goroutine uses it.
type Tree struct {
	Accounts map[string]*Account    `json:"accounts,omitempty"`
	Live     map[string]Reservation `json:"live,omitempty"` // by number of the invocation
}

// Account is what one agent and all below it used.
type Account struct {
	Key     string                `json:"key"`
	Parent  string                `json:"parent,omitempty"` // key; "" also for the first agent
	Agent   string                `json:"agent,omitempty"`
	Label   string                `json:"label,omitempty"`
	Depth   int                   `json:"depth,omitempty"`
	Limits  *workflow.AgentLimits `json:"limits,omitempty"`
	Spawns  int                   `json:"spawns,omitempty"`  // of the subtree
	Running int                   `json:"running,omitempty"` // children at work
	Spent   workflow.Totals       `json:"spent"`
	Unknown int64                 `json:"unknown,omitempty"` // tokens reserved for calls whose usage nobody knows
	Dear    float64               `json:"dear,omitempty"`    // money reserved for calls whose cost nobody knows
	Began   time.Duration         `json:"began,omitempty"`   // active time of the run then
	Ended   *workflow.AgentEnded  `json:"ended,omitempty"`
}

// Reservation is what a call on its way may use.
type Reservation struct {
	Agent   string  `json:"agent,omitempty"`
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"costUsd,omitempty"`
}

// Apply folds an event of the visit. active is how long the run had been at work.
func (t *Tree) Apply(e workflow.Event, active time.Duration) {
	switch p := e.Payload.(type) {
	case *workflow.AgentStarted:
		t.started(p, active)
	case *workflow.AgentEnded:
		t.ended(p)
	case *workflow.InvocationReserved:
		if t.Accounts[p.Agent] != nil {
			if t.Live == nil {
				t.Live = map[string]Reservation{}
			}
			t.Live[strconv.Itoa(e.Invocation)] = Reservation{Agent: p.Agent, Tokens: p.Tokens, CostUSD: p.CostUSD}
		}
	case *workflow.InvocationSettled:
		t.settled(strconv.Itoa(e.Invocation), p)
	case *workflow.LimitRaised:
		t.raised(p)
	}
}

func (t *Tree) started(p *workflow.AgentStarted, active time.Duration) {
	if t.Accounts == nil {
		t.Accounts = map[string]*Account{}
	}
	if t.Accounts[p.Key] != nil {
		return
	}
	t.Accounts[p.Key] = &Account{Key: p.Key, Parent: p.Parent, Agent: p.Agent, Label: p.Label, Depth: p.Depth, Limits: p.Limits.Clone(), Began: active}
	if p.Depth == 0 {
		return
	}
	for _, a := range t.above(p.Parent) {
		a.Spawns++
	}
	if parent := t.Accounts[p.Parent]; parent != nil {
		parent.Running++
	}
}

func (t *Tree) ended(p *workflow.AgentEnded) {
	a := t.Accounts[p.Key]
	if a == nil || a.Ended != nil {
		return
	}
	a.Ended = p
	if parent := t.Accounts[a.Parent]; parent != nil && a.Depth > 0 {
		parent.Running--
	}
}

func (t *Tree) settled(invocation string, p *workflow.InvocationSettled) {
	r, ok := t.Live[invocation]
	if !ok {
		return
	}
	delete(t.Live, invocation)
	_, told := p.Usage.Tokens()
	for _, a := range t.above(r.Agent) {
		a.Spent.Add(p.Usage)
		if !told {
			a.Unknown += r.Tokens
		}
		if p.Usage.CostUSD == nil {
			a.Dear += r.CostUSD
		}
	}
}

// raised lifts limits that are lower than what a person raised the run's to.
func (t *Tree) raised(p *workflow.LimitRaised) {
	for _, a := range t.Accounts {
		l := a.Limits
		if l == nil {
			continue
		}
		lift(l.MaxTokens, p.Tokens)
		lift(l.MaxCostUSD, p.CostUSD)
		lift(l.MaxDurationMs, p.DurationMs)
	}
}

func lift[N int64 | float64](limit *N, to N) {
	if limit != nil && to > *limit {
		*limit = to
	}
}

// above returns the account of an agent and those above it.
func (t *Tree) above(key string) []*Account {
	var list []*Account
	for a := t.Accounts[key]; a != nil && len(list) <= len(t.Accounts); a = t.Accounts[a.Parent] {
		list = append(list, a)
		if a.Depth == 0 {
			break
		}
	}
	return list
}

// reserved is what the calls on their way of an agent and those below it may use.
func (t *Tree) reserved(of *Account) (r Reservation) {
	for _, live := range t.Live {
		if slices.Contains(t.above(live.Agent), of) {
			r.Tokens += live.Tokens
			r.CostUSD += live.CostUSD
		}
	}
	return r
}

// List returns the accounts, parents first and then in the order of their keys.
func (t *Tree) List() []Account {
	list := make([]Account, 0, len(t.Accounts))
	for _, a := range t.Accounts {
		list = append(list, *a)
	}
	slices.SortFunc(list, func(a, b Account) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(len(a.Key), len(b.Key)), cmp.Compare(a.Key, b.Key))
	})
	return list
}
