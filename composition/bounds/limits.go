package bounds

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Limits bound an agent and all that it starts. What is nil is inherited from the
// nearest agent above that says it; if none does there is no limit.
type Limits struct {
	MaxDepth    *int     `json:"maxDepth,omitempty"`    // the root is 0; 0 forbids sub-agents
	MaxFanout   *int     `json:"maxFanout,omitempty"`   // at work at one time, by one agent
	MaxSpawns   *int     `json:"maxSpawns,omitempty"`   // in all, in the subtree
	TokenBudget *int64   `json:"tokenBudget,omitempty"` // prompts and answers, in the subtree
	MaxCostUSD  *float64 `json:"maxCostUsd,omitempty"`
	// MaxDurationMs is active time; in documents maxDuration may say it as "90s".
	MaxDurationMs *int64   `json:"maxDurationMs,omitempty"`
	Soft          *float64 `json:"soft,omitempty"`  // part of tokens, money and time after which agents are told; default workflow.DefaultSoft
	Grace         *float64 `json:"grace,omitempty"` // further part of the tokens for the last word; default workflow.DefaultGrace
	Strict        *bool    `json:"strict,omitempty"`
}

// UnmarshalJSON reads the fields and maxDuration.
func (l *Limits) UnmarshalJSON(raw []byte) error {
	type plain Limits
	var o struct {
		plain
		MaxDuration string `json:"maxDuration"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	*l = Limits(o.plain)
	if o.MaxDuration != "" && l.MaxDurationMs == nil {
		d, err := time.ParseDuration(o.MaxDuration)
		ms := d.Milliseconds()
		if err != nil || ms <= 0 {
			ms = -1 // the reader of the document tells it
		}
		l.MaxDurationMs = &ms
	}
	return nil
}

// Problem is a field of limits and what is wrong with it.
type Problem struct{ Field, Message string }

// Check finds values that cannot be limits.
func (l *Limits) Check() []Problem {
	var out []Problem
	if l == nil {
		return nil
	}
	say := func(wrong bool, field, message string) {
		if wrong {
			out = append(out, Problem{field, message})
		}
	}
	say(below(l.MaxDepth, 0), "maxDepth", "is less than 0")
	say(below(l.MaxFanout, 1), "maxFanout", "is less than 1: to forbid sub-agents write maxDepth: 0")
	say(below(l.MaxSpawns, 0), "maxSpawns", "is less than 0")
	say(below(l.TokenBudget, 1), "tokenBudget", "is less than 1: leave it out for no limit")
	say(l.MaxCostUSD != nil && *l.MaxCostUSD <= 0, "maxCostUsd", "is not more than 0: leave it out for no limit")
	say(below(l.MaxDurationMs, 1), "maxDuration", "is not a length of time: write one such as 90s or 1h")
	say(l.Soft != nil && (*l.Soft <= 0 || *l.Soft > 1), "soft", "is not a part between 0 and 1")
	say(l.Grace != nil && (*l.Grace < 0 || *l.Grace > 1), "grace", "is not a part between 0 and 1")
	return out
}

func below[T int | int64](p *T, least T) bool { return p != nil && *p < least }

// Exceeds finds limits that are looser than those of an agent above.
func (l *Limits) Exceeds(above *Limits) []Problem {
	if l == nil || above == nil {
		return nil
	}
	var out []Problem
	add(&out, "maxDepth", l.MaxDepth, above.MaxDepth)
	add(&out, "maxFanout", l.MaxFanout, above.MaxFanout)
	add(&out, "maxSpawns", l.MaxSpawns, above.MaxSpawns)
	add(&out, "tokenBudget", l.TokenBudget, above.TokenBudget)
	add(&out, "maxCostUsd", l.MaxCostUSD, above.MaxCostUSD)
	add(&out, "maxDuration", l.MaxDurationMs, above.MaxDurationMs)
	add(&out, "soft", l.Soft, above.Soft)
	add(&out, "grace", l.Grace, above.Grace)
	return out
}

func add[T int | int64 | float64](out *[]Problem, field string, mine, above *T) {
	if mine != nil && above != nil && *mine > *above {
		*out = append(*out, Problem{field, fmt.Sprintf("is %v, and an agent above has %v: a child can only have less", *mine, *above)})
	}
}

// Within returns the limits that hold below an agent with other limits: the
// smaller of each, the stricter of both. Nil stands for none.
func (l *Limits) Within(above *Limits) *Limits {
	switch {
	case l == nil:
		return above
	case above == nil:
		return l
	}
	return &Limits{
		MaxDepth: least(l.MaxDepth, above.MaxDepth), MaxFanout: least(l.MaxFanout, above.MaxFanout), MaxSpawns: least(l.MaxSpawns, above.MaxSpawns),
		TokenBudget: least(l.TokenBudget, above.TokenBudget), MaxCostUSD: least(l.MaxCostUSD, above.MaxCostUSD),
		MaxDurationMs: least(l.MaxDurationMs, above.MaxDurationMs), Soft: least(l.Soft, above.Soft), Grace: least(l.Grace, above.Grace),
		Strict: either(l.Strict, above.Strict),
	}
}

func least[T int | int64 | float64](a, b *T) *T {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

func either(a, b *bool) *bool {
	if a == nil || b != nil && *b {
		return b
	}
	return a
}

// Agent returns the limits as a ledger takes them; nil for nil.
func (l *Limits) Agent() *workflow.AgentLimits {
	if l == nil {
		return nil
	}
	a := workflow.AgentLimits{
		MaxDepth: l.MaxDepth, MaxFanout: l.MaxFanout, MaxSpawns: l.MaxSpawns, MaxTokens: l.TokenBudget,
		MaxCostUSD: l.MaxCostUSD, MaxDurationMs: l.MaxDurationMs, Soft: l.Soft, Grace: l.Grace, Strict: l.Strict != nil && *l.Strict,
	}
	return a.Clone()
}
