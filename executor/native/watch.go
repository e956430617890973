package native

import (
	"context"
	"errors"

	"github.com/tenonrun/tenon/tool"
)

// watch is the fence of one call. It keeps which command line was stopped, and
// lets through what a person allowed where the fence itself cannot be told.
type watch struct {
	tool.Fence
	passes  []Allowance
	stopped tool.ShellRequest
}

// pass takes an error away that a person has answered.
func (w *watch) pass(err error, command, cwd string) error {
	var asked *tool.Asked
	if !errors.As(err, &asked) {
		return err
	}
	for _, a := range w.passes {
		if a.Verdict == asked.Verdict && a.Command == command && a.Cwd == cwd {
			return nil
		}
	}
	return err
}

// placed is pass for a place, which must be known to be opened.
func (w *watch) placed(p tool.Place, err error) (tool.Place, error) {
	if err != nil && p.Canonical == "" {
		return p, err
	}
	return p, w.pass(err, "", "")
}

// Judge implements tool.Fence.
func (w *watch) Judge(ctx context.Context, r tool.Request) (tool.Place, error) {
	return w.placed(w.Fence.Judge(ctx, r))
}

// Within implements tool.Fence.
func (w *watch) Within(ctx context.Context, dir tool.Place, rel string, op tool.Op) (tool.Place, error) {
	return w.placed(w.Fence.Within(ctx, dir, rel, op))
}

// JudgeShell implements tool.Fence.
func (w *watch) JudgeShell(ctx context.Context, r tool.ShellRequest) error {
	w.stopped = tool.ShellRequest{}
	err := w.pass(w.Fence.JudgeShell(ctx, r), r.Text, r.Cwd)
	if err != nil {
		w.stopped = r
	}
	return err
}
