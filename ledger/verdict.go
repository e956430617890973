package ledger

import (
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// What is kept back of a limit of tokens for a last word: a twentieth, and at
// least so many.
const (
	graceShare = 20
	minGrace   = 4000
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
			most := *l.MaxTokens
			if last {
				most += grace(most)
			}
			if left := max(0, most-a.tokens()-kept.Tokens); room.Tokens < 0 || left < room.Tokens {
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

func grace(limit int64) int64 { return max(minGrace, limit/graceShare) }

// Left tells how near an agent is to the nearest of its limits and of those above
// it.
func (t *Tree) Left(agent string, active time.Duration) workflow.Allowance {
	var near workflow.Allowance
	see := func(limit string, a *Account, used, most float64) {
		if near.Limit == "" || used*near.Max > near.Used*most {
			near.Limit, near.Agent, near.Used, near.Max = limit, a.Key, used, most
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
