package tenon

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/notes"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/implementation"
	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/openspec"
	"github.com/tenonrun/tenon/piece/shell"
	"github.com/tenonrun/tenon/piece/verify"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
	"github.com/tenonrun/tenon/workspace/scope"
)

// memoryDir is where notes are, below the state of the project and of the person.
const memoryDir = "memory"

// registry lists every kind of node; there is no other place where one is added.
func registry(p *project.Project, runner *process.Runner, redact *text.Redactor, b *backends, memory *notes.Store, agents, artifacts, more []piece.Piece) (*piece.Registry, error) {
	guard, err := scope.New(scope.Config{Runner: runner, State: []string{p.State}})
	if err != nil {
		return nil, err
	}
	cache := filepath.Join(p.Home, checkCache)
	spec := openspec.Config{Runner: runner, Redactor: redact, Command: p.Config.OpenSpec.Command}
	return piece.NewRegistry(slices.Concat(
		control.Pieces(),
		model.Pieces(model.Config{Backend: b.capabilities, Guard: guard, Notes: memory}),
		byPeople(shell.Pieces(shell.Config{Runner: runner, Redactor: redact})),
		byPeople(verify.Pieces(verify.Config{Runner: runner, Redactor: redact, Cache: cache})),
		byPeople(openspec.Pieces(spec)),
		byPeople(implementation.Pieces(implementation.Config{
			Backend: b.capabilities, Runner: runner, Redactor: redact, Cache: cache, Guard: guard,
			Archiver: archiver{openspec.NewChanges(spec)},
		})),
		agents,
		artifacts,
		more,
	)...)
}

// byPeople are pieces that run commands as the host, which no fence holds: a run
// that an agent started may not, or a script would let it out.
func byPeople(pieces []piece.Piece) []piece.Piece {
	for i := range pieces {
		p := &pieces[i]
		run := p.Run
		if run == nil {
			continue
		}
		p.Run = func(ctx context.Context, c piece.Context) (workflow.Settled, error) {
			if c.Frame().ByAgent {
				return workflow.Settled{}, unheldCommands(p.Kind)
			}
			return run(ctx, c)
		}
	}
	return pieces
}

func unheldCommands(kind string) *workflow.Error {
	return workflow.Errorf(workflow.CodeToolDenied, "%s runs commands that no fence holds, and an agent started this run", kind).
		WithHint("have an agent of the workflow run them with bash, or a person start it: tenon run")
}

// archiver lets the implementation kinds work on OpenSpec changes.
type archiver struct{ *openspec.Changes }

// Change implements implementation.Archiver.
func (a archiver) Change(ctx context.Context, c piece.Context, name string) (implementation.Change, error) {
	is, err := a.Look(ctx, c, name)
	return implementation.Change(is), err
}

// sweep ends host commands that a dead process left running. Pieces that start
// none have nothing to sweep.
func (t *Tenon) sweep(ctx context.Context, run workflow.RunID, kinds []string) error {
	starts := func(kind string) bool {
		p, _ := t.pieces.Get(kind)
		return p.Processes
	}
	if !slices.ContainsFunc(kinds, starts) {
		return nil
	}
	_, err := t.runner.Sweep(ctx, string(run))
	return err
}
