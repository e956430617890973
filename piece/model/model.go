// Package model holds the pieces that ask a model.
//
// Holds: prompt, role-turn and decider.
//
// Guarantees: whatever a model said in a visit is a memo of the visit, so that a
// continued or lost attempt never asks again for what was said; sentinels and
// captures are read from the whole answer, before it is cut for the state; what
// earlier steps, operators and people wrote reaches a model in marked blocks. What
// a turn that may write changed outside of its scope is put back and told, or the
// visit fails; the memory of the project never costs a call or a visit.
//
// Does not: choose among configured models, keep sessions itself, or prove
// anything: a model's word is an outcome, never evidence.
package model

import (
	"embed"
	"encoding/json"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
)

//go:embed schema/*.json
var schemas embed.FS

// Config sets up the pieces.
type Config struct {
	// Backend returns the capabilities behind a provider's name; nil knows
	// none, and then no session is continued.
	Backend func(provider string) (executor.Capabilities, bool)
	// Normalize mends a structured answer of a role before it is validated; nil
	// takes answers as they are. It gets the JSON value that was found, nil when
	// there was none, and the whole text, and returns the value to validate.
	Normalize func(roleID string, value json.RawMessage, text string) json.RawMessage
	// Guard holds prompts and roles that may write to the scopes of the
	// repositories; nil lets them change everything.
	Guard Guard
	// Notes is the memory of the project, for role-turn; nil has none. NotesTimeout
	// is how long a turn waits for it each time; 0 is two seconds.
	Notes        Notes
	NotesTimeout time.Duration
}

func (c Config) sessions(f piece.Frame, provider string) bool {
	caps, ok := f.Backends[provider]
	if !ok && c.Backend != nil {
		caps, ok = c.Backend(provider)
	}
	return ok && caps.Sessions
}

// Pieces returns the kinds of this package.
func Pieces(c Config) []piece.Piece {
	return []piece.Piece{
		{Kind: "prompt", Schema: params.Schemas(schemas, "prompt"), Describe: describePrompt, Processes: true, Run: c.runPrompt},
		{Kind: "role-turn", Schema: params.Schemas(schemas, "role-turn"), Describe: describeRole, Processes: true, Run: c.runRole},
		{Kind: "decider", Schema: params.Schemas(schemas, "decider"), Describe: describeDecider, Processes: true, Run: c.runDecider},
	}
}

// engine is how params choose a model.
type engine struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Effort   string `json:"effort"`
	Thinking string `json:"thinking"`
	MaxTurns int    `json:"maxTurns"`
}

// timers are the limits of a turn in milliseconds: absent takes the run's
// defaults, 0 is none.
type timers struct {
	TimeoutMs     *int64 `json:"timeoutMs"`
	IdleTimeoutMs *int64 `json:"idleTimeoutMs"`
}
