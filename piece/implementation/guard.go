package implementation

import (
	"context"
	"path/filepath"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/scope"
)

// guarded runs a turn that writes, and has what it changed outside of the scopes
// of its repositories put back. It returns what was put back, in words.
func (s *step) guarded(ctx context.Context, turn func(context.Context) error) (string, error) {
	around := scope.Turn{Repositories: s.in.repositories, Change: s.in.change}
	if s.cfg.Guard == nil || !around.Guards() {
		return "", turn(ctx)
	}
	desk, ok := s.c.(piece.Desk)
	if !ok {
		return "", workflow.Errorf(workflow.CodeInternal, "%s may write inside of a scope only, and nothing here can hold it to that", s.f.Node)
	}
	dir, err := desk.Dir()
	if err != nil {
		return "", err
	}
	around.Dir = filepath.Join(dir, "scope")
	report, err := s.cfg.Guard.Around(ctx, around, turn)
	words := report.Text()
	if words == "" {
		return "", err
	}
	if noting := s.c.Note(context.WithoutCancel(ctx), "change_scope", words); err == nil {
		err = noting
	}
	return words, err
}
