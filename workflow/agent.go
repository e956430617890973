package workflow

// AgentLimits bound an agent and all that it starts, at every depth. Nil is no
// limit of that kind.
type AgentLimits struct {
	MaxDepth      *int     `json:"maxDepth,omitempty"`      // of agents below it; 0 forbids them
	MaxFanout     *int     `json:"maxFanout,omitempty"`     // children of one agent at work at one time
	MaxSpawns     *int     `json:"maxSpawns,omitempty"`     // agents started below it, in all
	MaxTokens     *int64   `json:"tokenBudget,omitempty"`   // of prompts and answers
	MaxCostUSD    *float64 `json:"maxCostUsd,omitempty"`    //
	MaxDurationMs *int64   `json:"maxDurationMs,omitempty"` // of the run's active time
	Strict        bool     `json:"strict,omitempty"`        // a limit that is reached ends everything at once
}

// Clone returns a copy that shares nothing.
func (l *AgentLimits) Clone() *AgentLimits {
	if l == nil {
		return nil
	}
	return &AgentLimits{
		MaxDepth: cloned(l.MaxDepth), MaxFanout: cloned(l.MaxFanout), MaxSpawns: cloned(l.MaxSpawns),
		MaxTokens: cloned(l.MaxTokens), MaxCostUSD: cloned(l.MaxCostUSD), MaxDurationMs: cloned(l.MaxDurationMs), Strict: l.Strict,
	}
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
	Strict bool    `json:"strict,omitempty"`
}

// Near reports whether four fifths of the limit are used.
func (a Allowance) Near() bool { return a.Limit != "" && a.Used >= a.Max*4/5 }

// Over reports whether the limit is used up.
func (a Allowance) Over() bool { return a.Limit != "" && a.Used >= a.Max }
