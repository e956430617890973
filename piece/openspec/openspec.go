// Package openspec holds the pieces that work on OpenSpec changes.
//
// Holds: openspec-validate and openspec-archive, which run the OpenSpec command
// line, and artifact-contract, which freezes the documents of a change and
// compares them later.
//
// Guarantees: a verdict comes from the command line's exit code and its report
// about this change, never from one of them alone. An archive is prepared on a
// copy and published only when the gates of the node hold for the files as they
// are; from then on it is finished from its manifest, whatever stops the process,
// and no file is overwritten that is neither the old nor the new version.
// Nothing outside of the repository's openspec folder is written.
//
// Does not: install the command line, write documents, or judge what a change
// means.
package openspec

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// Version is the version of the npm package @fission-ai/openspec that is tested
// here. Others run with a warning, unless they differ in the last number only.
const Version = "1.13.2"

// DefaultTimeout bounds one run of the command line.
const DefaultTimeout = 2 * time.Minute

// Config sets up the pieces.
type Config struct {
	// Runner runs the command line. It must be set before a node is run.
	Runner workspace.Runner
	// Command is the program and its first arguments. A program with a slash that
	// is not absolute is relative to the repository. Empty looks for
	// node_modules/.bin/openspec in the repository, then for openspec in PATH.
	Command []string
	// Timeout bounds one run of the command line; 0 means DefaultTimeout.
	Timeout time.Duration
	// Redactor hides secrets in what the command line says; nil hides what looks
	// like one.
	Redactor *text.Redactor
	// Probe is called before every step of an archive that changes a disk, and
	// once after the last; an error stops the archive there as a crash would. It
	// is for tests.
	Probe func(step string) error
}

// filled puts the defaults in.
func (c Config) filled() Config {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Probe == nil {
		c.Probe = func(string) error { return nil }
	}
	return c
}

//go:embed schema/*.json
var schemas embed.FS

// Pieces returns the kinds of this package.
func Pieces(c Config) []piece.Piece {
	c = c.filled()
	known := &versions{}
	kind := func(name string, effect workflow.Effect, work func(context.Context, *visit) (workflow.Settled, error), outcomes ...string) piece.Piece {
		return piece.Piece{
			Kind: name, Schema: params.Schemas(schemas, name), Processes: name != "artifact-contract",
			Describe: func(raw json.RawMessage, _ piece.Env) (piece.Traits, []piece.Problem) {
				return describe(raw, piece.Traits{Outcomes: slices.Clone(outcomes), Effect: effect})
			},
			Run: func(ctx context.Context, pc piece.Context) (workflow.Settled, error) {
				v, err := begin(pc, c, known)
				if err != nil {
					return workflow.Settled{}, err
				}
				return work(ctx, v)
			},
		}
	}
	return []piece.Piece{
		kind("artifact-contract", workflow.EffectRead, contract, "pass", "fail", "failed"),
		kind("openspec-validate", workflow.EffectRead, validate, "pass", "fail", "failed"),
		kind("openspec-archive", workflow.EffectWrite, archive, "next", "failed"),
	}
}

// changeParams are the params of all kinds here.
type changeParams struct {
	Change                string  `json:"change"`
	AllowArchived         bool    `json:"allowArchived"`
	RepositoryID          string  `json:"repositoryId"`
	RequiresVerified      bool    `json:"requiresVerified"`
	ReviewedCandidate     *string `json:"reviewedCandidate"`
	ApprovedCandidate     *string `json:"approvedCandidate"`
	ContractID            string  `json:"contractId"`
	Action                string  `json:"action"`
	RequireCompletedTasks bool    `json:"requireCompletedTasks"`
}

// kebab is the shape of the name of a change.
var kebab = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`) })

// maxName bounds the name of a change.
const maxName = 64

const nameHint = "write small letters and digits with single dashes between them, at most 64 characters, or {{run.changeId}}"

func describe(raw json.RawMessage, traits piece.Traits) (piece.Traits, []piece.Problem) {
	p, err := params.Read[changeParams](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	if p.ContractID != "" { // freezing and checking work on one state
		traits.Shares = "artifact-contract:" + p.ContractID
	}
	if !params.Open(p.Change) && !isName(p.Change) {
		return traits, []piece.Problem{{
			Code: workflow.CodeInvalidArguments, Pointer: "/change", Message: fmt.Sprintf("%q is not the name of a change", p.Change), Hint: nameHint,
		}}
	}
	return traits, nil
}

func isName(s string) bool { return len(s) <= maxName && kebab().MatchString(s) }

// visit is one run of a piece.
type visit struct {
	Config
	known  *versions
	c      piece.Context
	f      piece.Frame
	p      changeParams
	repo   workflow.RepositoryInfo
	root   string // absolute path of the repository, links resolved
	change string
	guest  bool // the node is of a kind of another room, without changeParams
}

// begin reads the params of a visit and finds its repository.
func begin(c piece.Context, cfg Config, known *versions) (*visit, error) {
	v := &visit{Config: cfg, known: known, c: c, f: c.Frame()}
	var err error
	if v.p, err = params.Filled[changeParams](v.f.Params); err != nil {
		return nil, err
	}
	if v.change = v.p.Change; v.change == "" {
		v.change = v.f.Launch.Change
	}
	if !isName(v.change) {
		return nil, v.errorf(workflow.CodeInvalidArguments, "%q is not the name of a change", v.change).
			WithHint("%s; a run is given its change with --change NAME", nameHint)
	}
	return v, v.place()
}

// errorf makes an error that begins with the node.
func (v *visit) errorf(code workflow.Code, format string, args ...any) *workflow.Error {
	return workflow.Errorf(code, v.f.Node+": "+format, args...)
}
