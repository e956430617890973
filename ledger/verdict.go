package ledger

import (
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Refusal says which limit forbids an agent.
type Refusal struct {
	Limit     string // maxDepth, maxFanout, maxSpawns
	Max, Used int64
	Agent     string // key of the account whose limit it is
}

// Spawn says whether an agent may start another, at the depth below its own; nil
// means that it may.
func (t *Tree) Spawn(parent string) *Refusal {
	p := t.Accounts[parent]
	if p == nil {
		return nil
	}
	for _, a := range t.above(parent) {
		l := a.Limits
		if l == nil {
			continue
		}
		depth := p.Depth + 1 - a.Depth
		switch {
		case l.MaxDepth != nil && depth > *l.MaxDepth:
			return &Refusal{"maxDepth", int64(*l.MaxDepth), int64(depth), a.Key}
		case l.MaxFanout != nil && p.Running >= *l.MaxFanout:
			return &Refusal{"maxFanout", int64(*l.MaxFanout), int64(p.Running), a.Key}
		case l.MaxSpawns != nil && a.Spawns >= *l.MaxSpawns:
			return &Refusal{"maxSpawns", int64(*l.MaxSpawns), int64(a.Spawns), a.Key}
		}
	}
	return nil
}

// Room is what a call may use.
type Room struct {
	Tokens  int64   // of prompt and answer; -1 is any number
	CostUSD float64 // -1 is any amount
	Agent   string  // whose account is the tightest
	Limit   int64   // of its tokens
	Over    bool    // the time of an account is up
}

// Room says what a call of an agent may use, when the run has been at work for
// active. A last word may use what is kept back.
func (t *Tree) Room(agent string, active time.Duration, last bool) Room {
	room := Room{Tokens: -1, CostUSD: -1}
	for _, a := range t.above(agent) {
		l := a.Limits
		if l == nil {
			continue
		}
		if l.MaxDurationMs != nil && !last && active-a.Began >= time.Duration(*l.MaxDurationMs)*time.Millisecond {
			room.Over, room.Agent = true, a.Key
		}
		kept := t.reserved(a)
		if l.MaxTokens != nil {
			if left := max(0, l.Tokens(last)-a.tokens()-kept.Tokens); room.Tokens < 0 || left < room.Tokens {
				room.Tokens, room.Agent, room.Limit = left, a.Key, *l.MaxTokens
			}
		}
		if l.MaxCostUSD != nil {
			if left := max(0, *l.MaxCostUSD-a.Spent.CostUSD-a.Dear-kept.CostUSD); room.CostUSD < 0 || left < room.CostUSD {
				room.CostUSD = left
			}
		}
	}
	return room
}

func (a *Account) tokens() int64 { return a.Spent.Input + a.Spent.Output + a.Unknown }

// Left tells how near an agent is to the nearest of its limits and of those above
// it: one that is used up, one that it has to be told about, or the one with the
// largest part used.
func (t *Tree) Left(agent string, active time.Duration) workflow.Allowance {
	var near workflow.Allowance
	see := func(limit string, a *Account, used, most float64) {
		it := workflow.Allowance{Limit: limit, Agent: a.Key, Used: used, Max: most, Strict: near.Strict}
		if a.Limits.Soft != nil {
			it.Soft = *a.Limits.Soft
		}
		if near.Limit == "" || nearer(it, near) {
			near = it
		}
	}
	for _, a := range t.above(agent) {
		l := a.Limits
		if l == nil {
			continue
		}
		near.Strict = near.Strict || l.Strict
		if l.MaxTokens != nil {
			see("tokens", a, float64(a.tokens()), float64(*l.MaxTokens))
		}
		if l.MaxCostUSD != nil {
			see("cost", a, a.Spent.CostUSD+a.Dear, *l.MaxCostUSD)
		}
		if l.MaxDurationMs != nil {
			see("time", a, float64((active - a.Began).Milliseconds()), float64(*l.MaxDurationMs))
		}
	}
	return near
}

// nearer reports whether limit a matters before b.
func nearer(a, b workflow.Allowance) bool {
	if a.Over() != b.Over() {
		return a.Over()
	}
	if a.Near() != b.Near() {
		return a.Near()
	}
	return a.Used*b.Max > b.Used*a.Max
}
