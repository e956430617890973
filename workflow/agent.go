package workflow

import "cmp"

// Marks of limits that say nothing about them.
const (
	DefaultSoft  = 0.8
	DefaultGrace = 0.05
	MinGrace     = 4000 // tokens
)

// AgentLimits bound an agent and all that it starts, at every depth. Nil is no
// limit of that kind.
type AgentLimits struct {
	MaxDepth      *int     `json:"maxDepth,omitempty"`      // of agents below it; 0 forbids them
	MaxFanout     *int     `json:"maxFanout,omitempty"`     // children of one agent at work at one time
	MaxSpawns     *int     `json:"maxSpawns,omitempty"`     // agents started below it, in all
	MaxTokens     *int64   `json:"tokenBudget,omitempty"`   // of prompts and answers
	MaxCostUSD    *float64 `json:"maxCostUsd,omitempty"`    //
	MaxDurationMs *int64   `json:"maxDurationMs,omitempty"` // of the run's active time
	Soft          *float64 `json:"soft,omitempty"`          // part of tokens, money and time after which agents are told; nil is DefaultSoft
	Grace         *float64 `json:"grace,omitempty"`         // further part of the tokens, for a last word; nil is DefaultGrace, and at least MinGrace
	Strict        bool     `json:"strict,omitempty"`        // a limit that is reached ends everything at once
}

// Clone returns a copy that shares nothing.
func (l *AgentLimits) Clone() *AgentLimits {
	if l == nil {
		return nil
	}
	return &AgentLimits{
		MaxDepth: cloned(l.MaxDepth), MaxFanout: cloned(l.MaxFanout), MaxSpawns: cloned(l.MaxSpawns),
		MaxTokens: cloned(l.MaxTokens), MaxCostUSD: cloned(l.MaxCostUSD), MaxDurationMs: cloned(l.MaxDurationMs),
		Soft: cloned(l.Soft), Grace: cloned(l.Grace), Strict: l.Strict,
	}
}

// Tokens is how many may be used in all, or with a last word. There must be a
// limit of them.
func (l *AgentLimits) Tokens(last bool) int64 {
	switch {
	case !last:
		return *l.MaxTokens
	case l.Grace != nil:
		return *l.MaxTokens + int64(float64(*l.MaxTokens)*(*l.Grace))
	}
	return *l.MaxTokens + max(MinGrace, int64(float64(*l.MaxTokens)*DefaultGrace))
}

func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// AgentStarted opens the account of an agent. It is recorded once for its key.
type AgentStarted struct {
	Key      string       `json:"key"`              // names the agent inside its visit
	Parent   string       `json:"parent,omitempty"` // key of the agent that started it; "" is none
	Agent    string       `json:"agent"`            // slug, or slug@version
	Digest   Digest       `json:"digest,omitempty"` // of its resolved definition
	Label    string       `json:"label,omitempty"`  // for people: the agents above it and itself, "review/lint"
	Task     string       `json:"task,omitempty"`   // for people: what it is to do, in a few words
	Depth    int          `json:"depth,omitempty"`  // 0 for the agent of a node
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	Reason   string       `json:"reason,omitempty"` // why this model
	Rule     string       `json:"rule,omitempty"`   // of the model matrix; "" when none decided
	Limits   *AgentLimits `json:"limits,omitempty"`
}

// AgentSkipped says that a person wants an agent stopped: the one that started it
// is told, and goes on without it.
type AgentSkipped struct {
	Visit  VisitID `json:"visit"`
	Key    string  `json:"key,omitempty"` // of the agent; "" is that of the visit, which then fails
	By     string  `json:"by,omitempty"`
	Reason string  `json:"reason,omitempty"`
}

// How an agent ended.
const (
	AgentSucceeded = "succeeded"
	AgentFailed    = "failed"
	AgentDrained   = "drained" // a limit ended it, after a last word
)

// AgentEnded closes the work of an agent; what it used stays on its account.
type AgentEnded struct {
	Key     string `json:"key"`
	Status  string `json:"status"`
	Code    Code   `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Allowance tells how near an agent is to the nearest of its limits and those of
// the agents above it.
type Allowance struct {
	Limit  string  `json:"limit,omitempty"` // tokens, cost (USD), or time (ms); "" when there is none
	Agent  string  `json:"agent,omitempty"` // key of the agent whose limit it is
	Max    float64 `json:"max,omitempty"`
	Used   float64 `json:"used,omitempty"`
	Soft   float64 `json:"soft,omitempty"` // part after which the agent is told; 0 is DefaultSoft
	Strict bool    `json:"strict,omitempty"`
}

// Near reports whether so much of the limit is used that the agent is told.
func (a Allowance) Near() bool { return a.Limit != "" && a.Used >= a.Max*cmp.Or(a.Soft, DefaultSoft) }

// Over reports whether the limit is used up.
func (a Allowance) Over() bool { return a.Limit != "" && a.Used >= a.Max }
