package model

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/scope"
)

// Guard holds turns that may write to the scopes of the repositories.
type Guard interface {
	// Around runs a turn, and puts back what it changed outside of the scopes. The
	// report of a turn that was finished before is the same again.
	Around(ctx context.Context, t scope.Turn, turn func(context.Context) error) (scope.Report, error)
}

// Bounds of what is told about changes outside of a scope.
const (
	maxOutside = 100  // changes in an output
	maxTold    = 4000 // code points in a history entry or a warning
)

// guarded takes the turn of a visit that key names. The reply counts also beside
// an error of the guard.
func (cfg Config) guarded(ctx context.Context, c piece.Context, key string, access workflow.Effect, take func(context.Context) (executor.Reply, error)) (reply executor.Reply, report scope.Report, err error) {
	f := c.Frame()
	t := scope.Turn{Repositories: f.Repositories, Change: f.Launch.Change}
	if cfg.Guard == nil || access != workflow.EffectWrite || !t.Guards() {
		reply, err = take(ctx)
		return reply, scope.Report{}, err
	}
	var leave func(scope.Report)
	if t.Dir, leave, err = place(c, "scope-"+key); err != nil {
		return reply, report, workflow.Errorf(workflow.CodeChangeScope, "%s: making a place for what is outside of the scope: %w", f.Node, err)
	}
	report, err = cfg.Guard.Around(ctx, t, func(ctx context.Context) error {
		var err error
		reply, err = take(ctx)
		return err
	})
	leave(report)
	if err != nil && workflow.CodeOf(err) != workflow.CodeChangeScope && len(report.Changes) > 0 {
		err = errors.Join(err, c.Note(ctx, "scope", text.Head(report.Text(), maxTold, "…")))
	}
	return reply, report, err
}

// place returns a directory of the visit. Without a desk it is a temporary one,
// which goes unless something is kept in it.
func place(c piece.Context, name string) (dir string, leave func(scope.Report), err error) {
	if desk, ok := c.(piece.Desk); ok {
		dir, err = desk.Dir()
		return filepath.Join(dir, name), func(scope.Report) {}, err
	}
	dir, err = os.MkdirTemp("", "tenon-"+name+"-")
	return dir, func(r scope.Report) {
		for _, change := range r.Changes {
			if change.Kept != "" {
				return
			}
		}
		os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	}, err
}

// tell adds a report to a result: to its output, its warnings and its history.
func tell(s *workflow.Settled, node string, output map[string]any, report scope.Report) {
	if len(report.Changes) == 0 {
		return
	}
	told := text.Head(report.Text(), maxTold, "…")
	changes := report.Changes[:min(len(report.Changes), maxOutside)]
	output["outside"] = map[string]any{"total": len(report.Changes), "failed": len(report.Failed()), "changes": changes}
	s.Warnings = append(s.Warnings, node+": "+told)
	s.History = joined(text.Head(s.History, result.MaxText-maxTold-2, result.Cut), told)
}

// overstepped settles a visit whose turn left changes outside of its scope, or
// nobody knows; ok is false when there is nothing of that kind.
func overstepped(f piece.Frame, reply executor.Reply, report scope.Report, err error) (s workflow.Settled, output map[string]any, ok bool) {
	switch {
	case workflow.CodeOf(err) == workflow.CodeChangeScope:
	case err == nil && len(report.Failed()) > 0:
		err = fmt.Errorf("%s: %s", f.Node, text.Head(report.Text(), maxTold, "…"))
	default:
		return s, nil, false
	}
	s = result.Failed("failed", workflow.CodeChangeScope, err.Error())
	s.History = result.Text(reply.Text)
	output = map[string]any{"error": result.Text(err.Error()), "text": result.Text(reply.Text)}
	tell(&s, f.Node, output, report)
	return s, output, true
}
