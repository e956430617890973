package tenon

import (
	"context"
	"slices"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/evidence"
	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/shell"
	"github.com/tenonrun/tenon/piece/verify"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/git"
	"github.com/tenonrun/tenon/workspace/process"
)

// registry lists every kind of node; there is no other place where one is added.
func registry(runner *process.Runner, redact *text.Redactor, b *backends, more []piece.Piece) (*piece.Registry, error) {
	return piece.NewRegistry(slices.Concat(
		control.Pieces(),
		model.Pieces(model.Config{Backend: b.capabilities}),
		shell.Pieces(shell.Config{Runner: runner, Redactor: redact}),
		verify.Pieces(verify.Config{Runner: runner, Redactor: redact}),
		evidence.Pieces(),
		more,
	)...)
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

// candidate hashes the work trees of a run.
func (t *Tenon) candidate(ctx context.Context, f piece.Frame) (string, error) {
	cfg := git.Config{State: []string{t.Project.State}}
	for _, r := range f.Repositories {
		cfg.Repositories = append(cfg.Repositories, workspace.Repository{ID: r.ID, Path: r.Path, Scope: r.Scope})
	}
	c, err := git.New(cfg)
	if err != nil {
		return "", err
	}
	return c.Digest(ctx)
}
