// Package verify holds the piece that checks the work tree.
//
// Holds: the kind verify: the plan of a visit, the one repair of a machine that
// lacks dependencies, and the outcome that follows from the receipt.
//
// Guarantees: an outcome comes from the receipt of the host, never from what a
// model said; verified is proposed for a valid receipt over every repository
// alone; the same failures over unchanged files stop a loop; what goes into the
// state is bounded, failing output first.
//
// Does not: run commands itself, or install a proof. The engine does that, when
// the work tree is still the one that the receipt is about.
package verify

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/verification/host"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

//go:embed schema/*.json
var schemas embed.FS

// Config sets up the piece.
type Config struct {
	// Runner runs the commands. It must be set before a node is run.
	Runner workspace.Runner
	// Redactor hides secrets in outputs; nil hides what looks like one.
	Redactor *text.Redactor
	// Now gives the times in receipts, by the clock that deadlines are set by;
	// nil means the clock of the machine.
	Now func() workflow.Time
	// Idle is how long a check may be silent; 0 means host.DefaultIdle, less than
	// 0 no limit.
	Idle time.Duration
	// Cache is where passing results are kept for reuse; "" reuses nothing.
	Cache string
}

// Pieces returns the kinds of this package.
func Pieces(c Config) []piece.Piece {
	runner := host.New(host.Config{Runner: c.Runner, Redactor: c.Redactor, Now: c.Now, Idle: c.Idle, Cache: c.Cache})
	return []piece.Piece{{
		Kind: "verify", Schema: params.Schemas(schemas, "verify"), Describe: describe, Processes: true, Certifies: true,
		Run: func(ctx context.Context, pc piece.Context) (workflow.Settled, error) { return run(ctx, pc, runner) },
	}}
}

type verifyParams struct {
	Commands               list                 `json:"commands"`
	Checks                 []verification.Check `json:"checks"`
	Setup                  list                 `json:"setup"`
	AdditionalCommandsFrom string               `json:"additionalCommandsFrom"`
	Unverified             bool                 `json:"unverified"`
	MaxConcurrency         int                  `json:"maxConcurrency"`
	HostBlockers           bool                 `json:"hostBlockers"`
}

// list is "configured" or the commands themselves.
type list struct {
	configured bool
	commands   []verification.Check
}

// UnmarshalJSON reads either form.
func (l *list) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		l.configured = true
		return nil
	}
	return json.Unmarshal(raw, &l.commands)
}

func describe(raw json.RawMessage, _ piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"pass", "fail", "failed"}, Effect: workflow.EffectWrite}
	p, err := params.Read[verifyParams](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	if p.HostBlockers {
		traits.Outcomes = []string{"pass", "fail", "blocked", "failed"}
	}
	var problems []piece.Problem
	for _, l := range []struct {
		at     string
		checks []verification.Check
	}{{"/commands", p.Commands.commands}, {"/checks", p.Checks}, {"/setup", p.Setup.commands}} {
		for i, c := range l.checks {
			problems = append(problems, defects(fmt.Sprintf("%s/%d", l.at, i), c)...)
		}
	}
	return traits, problems
}

// defects are what a schema cannot say about a check. What holds tokens is judged
// when they are filled in.
func defects(at string, c verification.Check) []piece.Problem {
	var problems []piece.Problem
	if c.CommandLine != "" && !params.Open(c.CommandLine) { // the loader refuses tokens
		for _, d := range command.CheckLine(c.CommandLine) {
			problems = append(problems, piece.Problem{Code: d.Code, Pointer: at + "/commandLine", Message: d.Msg, Hint: d.Hint})
		}
	}
	if raw, err := json.Marshal(c); err == nil && !params.Open(string(raw)) {
		if _, err := verification.PolicyOf(c); err != nil {
			problems = append(problems, piece.Problem{Code: workflow.CodeInvalidPieceParams, Pointer: at + "/policy", Message: err.Error()})
		}
	}
	if c.JSON != nil {
		if _, err := schema.Compile(c.JSON.Schema); err != nil {
			problems = append(problems, piece.Problem{Code: workflow.CodeInvalidPieceParams, Pointer: at + "/json/schema", Message: err.Error()})
		}
	}
	return problems
}
