// Package implementation holds the pieces that carry a change from a plan to
// verified, reviewed and archived work.
//
// Holds: the kind implementation-step, one operation of such a work (plan,
// develop, fix, verify, review, approve, archive), the kind implementation, a
// body made of these steps, and the contracts and instructions of the roles
// architect, developer and reviewer.
//
// Guarantees: a step tells a fact and never routes; what decides about the work
// (plan, receipts, review, approval) is private state of the body that no
// variable reaches; a model's word is never evidence: what is verified was run
// by the host, and a review or an approval counts only for the files, artifacts
// and plan that it was about. Corrections that lead nowhere end.
//
// Does not: write artifacts itself, choose models, or certify an instance inside
// a component or map: its receipts are scoped, and the whole is verified after
// it.
package implementation

import (
	"context"
	"embed"
	"encoding/json"
	"slices"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/verification/host"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/scope"
)

// Kinds of this package.
const (
	Kind     = "implementation"
	KindStep = "implementation-step"
)

// RoleInstructionsVersion changes with the texts that the roles are given. It is
// part of the identity of a role's session.
const RoleInstructionsVersion = 1

// Codes of an implementation that came to no good end.
const (
	CodeFailed    workflow.Code = "implementation_failed"
	CodeBlocked   workflow.Code = "implementation_blocked"
	CodeItemScope workflow.Code = "implementation_item_scope"
)

// What to do when an architect stays unsure.
const (
	LowAsk     = "ask"     // ask a person
	LowProceed = "proceed" // go on, and say so
)

//go:embed schema/*.json
var schemas embed.FS

// Config sets up the pieces.
type Config struct {
	// Backend returns the capabilities behind a provider's name; nil knows none,
	// and then no session is continued.
	Backend func(provider string) (executor.Capabilities, bool)
	// Runner runs the checks. It must be set before a node is run, unless Verify
	// is.
	Runner workspace.Runner
	// Redactor hides secrets in outputs; nil hides what looks like one.
	Redactor *text.Redactor
	// Now is the clock of receipts.
	Now func() workflow.Time
	// Idle is how long a check may be silent; 0 is the host's default.
	Idle time.Duration
	// Cache is where results of checks are kept for reuse; "" keeps none.
	Cache string
	// Verify runs a plan in place of the host's runner.
	Verify func(ctx context.Context, c piece.Context, r host.Request) (verification.Receipt, error)
	// Archiver knows OpenSpec changes; nil means that no change has artifacts.
	Archiver Archiver
	// Guard holds turns that write to the scopes of their repositories; nil holds
	// them to nothing.
	Guard *scope.Guard
	// Attempts is how often the work may be changed where a node does not say;
	// 0 is DefaultAttempts.
	Attempts int
	// OnLowConfidence is LowAsk ("" too) or LowProceed.
	OnLowConfidence string
}

// DefaultAttempts is how often the work may be changed: the developer's turn and
// two corrections.
const DefaultAttempts = 3

// Archiver works on the artifacts of a change.
type Archiver interface {
	// Change tells what the work tree holds of a change.
	Change(ctx context.Context, c piece.Context, name string) (Change, error)
	// Archive archives a change, if the work tree is still the candidate when it
	// is published. Called again in the same visit it finishes what was begun, and
	// succeeds when all was done.
	Archive(ctx context.Context, c piece.Context, name, candidate string) error
}

// Change is what a work tree holds of a change. The zero Change is none.
type Change struct {
	Digest   string // of the artifacts of an active change, whatever is ticked off in its tasks
	Archived bool   // there is no active one any more, but an archived one
	Begun    bool   // this visit has begun to archive it, and was stopped
}

// Pieces returns the kinds of this package.
func Pieces(c Config) []piece.Piece {
	if c.Verify == nil {
		c.Verify = c.onHost
	}
	return []piece.Piece{
		{
			Kind: KindStep, Schema: params.Schemas(schemas, KindStep), Describe: describeStep, Certifies: true, Processes: true,
			Run: func(ctx context.Context, pc piece.Context) (workflow.Settled, error) { return run(ctx, pc, c) },
		},
		{
			Kind: Kind, Schema: params.Schemas(schemas, Kind), Describe: describeWhole,
			Body: func(raw json.RawMessage) (workflow.Body, error) { return Body(raw, c.Attempts) },
		},
	}
}

// outcomes of a step, in order.
var outcomes = []string{"next", "incomplete", "rejected", "replan", "reverify", "rereview", "failed"}

// onHost runs a plan as processes of this machine.
func (cfg Config) onHost(ctx context.Context, c piece.Context, r host.Request) (verification.Receipt, error) {
	hasher, ok := c.(piece.Candidater)
	if !ok {
		return verification.Receipt{}, workflow.Errorf(workflow.CodeInternal, "%s verifies the work tree, but nothing here can hash it", c.Frame().Node)
	}
	return host.New(host.Config{
		Runner: cfg.Runner, Redactor: cfg.Redactor, Candidate: hasher.Candidate, Now: cfg.Now, Idle: cfg.Idle, Cache: cfg.Cache,
	}).Run(ctx, r)
}

func stepOutcomes() []string { return slices.Clone(outcomes) }
