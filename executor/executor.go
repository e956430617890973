// Package executor is the contract for carrying out one agent turn to its end.
//
// Holds: the Executor door, the Turn that goes in, the Reply that comes out,
// and the Host through which an executor makes admitted, memoised model calls.
//
// Guarantees: an executor reaches models only through Host.Call, so every call
// is budgeted, recorded and never sent again once settled. An executor that is
// run again with the same Turn after a crash makes the same calls with the same
// keys.
//
// Does not: retry a refused call (the Host does, durably), or decide what a
// node does with the Reply.
package executor

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Executor carries out turns. It may be called from many goroutines.
type Executor interface {
	// Execute runs one turn to its end. Errors are *workflow.Error or wrap
	// one; the code decides about retry and routing.
	Execute(ctx context.Context, t Turn, h Host) (Reply, error)
	// Capabilities tells what the executor can do with a model.
	Capabilities(model string) Capabilities
}

// Capabilities of an executor. A run is pinned to those that it started with.
type Capabilities = workflow.Capabilities

// Turn is one wish to an agent. Key names it inside its visit: the calls of the
// turn are keyed below it.
type Turn struct {
	Key          string
	Run          workflow.RunID // set by the engine, like Visit
	Visit        workflow.VisitID
	Kind         string // initial, correction, repair, session-fallback: how it is counted
	Node         string
	Role         string
	Access       workflow.Effect
	Instructions string // system text
	Prompt       string
	Native       *Native // instead of Prompt
	Provider     string
	Model        string
	Effort       string
	Thinking     string // on | off | ""
	MaxTurns     int
	MaxOutput    int             // output tokens of one call; 0 is the model's or 8192
	Schema       json.RawMessage // of the structured answer; nil for text
	Repairs      int             // how often an answer that breaks the schema is asked for again
	Session      string          // to continue; "" for a fresh one
	Dir          string          // working directory
	Roots        []string        // directories that may be touched
	Then         []string        // what is said after each answer: the conversation goes on, and its last answer counts
	Timeout      time.Duration   // of the turn; 0 none
	Idle         time.Duration   // without any sign of life; 0 none

	Agent  string            // key of the agent's account; "" is that of the visit
	Def    string            // names the definition of the agent to whoever wired the executor
	Label  string            // the agent for people, below those that started it: "review/lint"
	Depth  int               // 0 for the agent of a piece, 1 for one that it started
	Tools  []string          // the tools it may use; nil is all
	Space  string            // absolute directory of the agent's own workspace; "" for none
	Closed []string          // absolute paths that no tool may write, and what is below them
	Env    map[string]string // of its commands; it may hold credentials and is kept nowhere
	Strict bool              // a limit that is reached ends everything, without a last word

	Route  Route                 // what its model depends on
	Limits *workflow.AgentLimits // of the agent of a piece and all that it starts; nil is the usual
	Digest workflow.Digest       // of its resolved definition
	Reason string                // why it has its model
	Rule   string                // of the model matrix that decided it
}

// Route is what the choice of a model depends on, beside Turn.Provider and
// Turn.Model.
type Route struct {
	Agent       string // slug of the agent; "" is Turn.Role
	Group       string // of the node, or phase of a script
	Purpose     string // of a call that no agent makes: decider; compaction has its own way
	Skill       string // that was launched
	Composition string // model that the node of the composition names
	Preferred   string // model that the definition of the agent names
	Parent      string // PROVIDER/MODEL of the agent that starts this one
}

// Native is a command that the backend knows by id.
type Native struct {
	ID   string
	Args string
}

// Reply is what a turn gave.
type Reply struct {
	Text       string          // never cut
	Structured json.RawMessage // valid under the schema; nil without one
	Session    string
	Usage      workflow.Usage // of all calls of the turn
	Model      string         // really used
	Rounds     int            // model calls, repairs included
	ToolCalls  int
	Files      []string // paths written by the turn, relative to Dir

	Denials     int  // tool calls that were denied
	Agents      int  // agents that were started, at every depth
	Drained     bool // a limit ended the turn after a last word
	Compactions int  // how often the conversation was shortened
}

// Host is the engine's side of a turn.
type Host interface {
	// Call makes one admitted model call, or returns the memo of the call that
	// settled under the key before. It waits out rate limits, and fails with
	// CodeBudgetExhausted, CodeQuotaExhausted, … when the call may not be made.
	Call(ctx context.Context, c Call) (json.RawMessage, error)
	// Progress shows a transient sign of life.
	Progress(p Progress)
}

// Call is one model call. Do is run at most once per grant; what it returns is
// stored with the usage in one transaction.
type Call struct {
	Key         string
	Kind        string
	Provider    string
	Model       string
	Effort      string
	ContextMode string // full | incremental
	PromptBytes int    // bytes of everything that is sent
	MaxOutput   int    // wished output tokens
	Request     workflow.Digest
	MaxCost     *workflow.MaxCost // nil: nobody knows, and only what was spent counts against a limit of money
	Agent       string            // whose account it is charged to, and those above it
	Reason      string            // why this model
	Last        bool              // a last word: it may use what is kept back for that
	Do          func(ctx context.Context, g Grant) (Done, error)
}

// Grant is what a call may use.
type Grant struct {
	MaxOutput int // output tokens: the wish, or less when a budget is short
	Ordinal   int // n-th physical call under this key, from 1, over all processes
}

// Done is a settled call. Do returns it also beside an error, with the usage
// that is known.
type Done struct {
	Memo      json.RawMessage
	Usage     workflow.Usage
	Model     string
	ToolCalls int
}

// Progress is a transient sign of life of a turn.
type Progress struct {
	Kind   string // text, reasoning, tool, waiting
	Text   string
	Tokens int64
	Model  string
	Agent  string // the agent that shows it; "" is that of the piece
}
