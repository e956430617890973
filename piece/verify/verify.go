// Package verify holds the piece that checks the work tree.
//
// Holds: the kind verify: host commands and, in format 2, checks of files, of
// JSON and of a clean tree, one after the other until the first that fails.
//
// Guarantees: an outcome comes from what the host saw, never from what a model
// said; the same failures over unchanged files stop a loop; what goes into the
// state is bounded, failing output first.
//
// Does not: certify. There are no receipts yet, so nothing is verified, and the
// output says so.
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
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// DefaultIdle is how long a check may be silent.
const DefaultIdle = 5 * time.Minute

//go:embed schema/*.json
var schemas embed.FS

// Config sets up the piece.
type Config struct {
	// Runner runs the commands. It must be set before a node is run.
	Runner workspace.Runner
	// Redactor hides secrets in outputs; nil hides what looks like one.
	Redactor *text.Redactor
	// Idle is how long a check may be silent; 0 means DefaultIdle, less than 0
	// no limit.
	Idle time.Duration
}

// Pieces returns the kinds of this package.
func Pieces(c Config) []piece.Piece {
	switch {
	case c.Idle == 0:
		c.Idle = DefaultIdle
	case c.Idle < 0:
		c.Idle = 0
	}
	return []piece.Piece{{Kind: "verify", Schema: params.Schemas(schemas, "verify"), Describe: describe, Processes: true,
		Run: func(ctx context.Context, pc piece.Context) (workflow.Settled, error) { return run(ctx, pc, c) }}}
}

type verifyParams struct {
	Commands               list    `json:"commands"`
	Checks                 []check `json:"checks"`
	Setup                  list    `json:"setup"`
	AdditionalCommandsFrom string  `json:"additionalCommandsFrom"`
	Unverified             bool    `json:"unverified"`
	HostBlockers           bool    `json:"hostBlockers"`
}

// list is "configured" or the commands themselves.
type list struct {
	configured bool
	commands   []workflow.Check
}

// UnmarshalJSON reads either form.
func (l *list) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		l.configured = true
		return nil
	}
	return json.Unmarshal(raw, &l.commands)
}

// check is one item of checks.
type check struct {
	workflow.Check
	CommandLine string     `json:"commandLine"`
	File        *fileCheck `json:"file"`
	JSON        *jsonCheck `json:"json"`
	Clean       *clean     `json:"clean"`
}

type fileCheck struct {
	Path         string `json:"path"`
	RepositoryID string `json:"repositoryId"`
	Absent       bool   `json:"absent"`
	SHA256       string `json:"sha256"`
}

type jsonCheck struct {
	Path         string          `json:"path"`
	RepositoryID string          `json:"repositoryId"`
	Schema       json.RawMessage `json:"schema"`
}

// clean is true or {repositoryId}.
type clean struct{ RepositoryID string }

// UnmarshalJSON reads either form.
func (c *clean) UnmarshalJSON(raw []byte) error {
	if string(raw) == "true" {
		return nil
	}
	var o struct {
		RepositoryID string `json:"repositoryId"`
	}
	err := json.Unmarshal(raw, &o)
	c.RepositoryID = o.RepositoryID
	return err
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
	for i, c := range p.Checks {
		at := fmt.Sprintf("/checks/%d", i)
		for _, d := range lineDefects(c.CommandLine) {
			problems = append(problems, piece.Problem{Code: d.Code, Pointer: at + "/commandLine", Message: d.Msg, Hint: d.Hint})
		}
		if c.JSON != nil {
			if _, err := schema.Compile(c.JSON.Schema); err != nil {
				problems = append(problems, piece.Problem{Code: workflow.CodeInvalidPieceParams, Pointer: at + "/json/schema", Message: err.Error()})
			}
		}
	}
	return traits, problems
}

// lineDefects are those of a shell string; the loader refuses tokens in it.
func lineDefects(line string) []*workflow.Error {
	if params.Open(line) {
		return nil
	}
	return command.CheckLine(line)
}
