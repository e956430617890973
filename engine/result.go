package engine

import (
	"context"
	"fmt"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Inspect returns a run as it stands, without owning it.
func (e *Engine) Inspect(ctx context.Context, id workflow.RunID) (history.Result, error) {
	s, err := e.fold(ctx, id)
	if err != nil {
		return history.Result{}, err
	}
	defer s.Program.Close()
	res, err := s.Result(s.Status())
	if err != nil {
		return history.Result{}, err
	}
	heads, err := e.cfg.Store.Runs(ctx, store.Query{Run: id, Limit: 1})
	if err != nil {
		return history.Result{}, err
	}
	if len(heads) > 0 {
		res.Status = history.Standing(heads[0])
		res.Exit = res.Status.Exit()
		res.ResumeAfter = heads[0].Until
	}
	for _, c := range s.Memory.Children {
		child, err := e.Inspect(ctx, c.Run)
		if workflow.CodeOf(err) == workflow.CodeRunNotFound {
			continue
		}
		if err != nil {
			return history.Result{}, err
		}
		res.Adopt(child)
	}
	return res, nil
}

func (r *run) report() (history.Result, error) {
	res, err := r.Result(r.statusNow())
	if err != nil {
		return res, err
	}
	res.ResumeAfter = r.until()
	for _, k := range r.kids {
		if k.rest != nil {
			res.Adopt(*k.rest)
		}
		if k.err != nil {
			res.Warnings = append(res.Warnings, fmt.Sprintf("child run %s: %v", k.run, k.err))
		}
	}
	if res.Status.Terminal() {
		return res, nil // nobody reads what is left in the inbox
	}
	left, err := r.e.cfg.Store.Inbox(context.Background(), r.ID)
	res.Seen = len(left)
	return res, err
}
