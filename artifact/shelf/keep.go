package shelf

import (
	"context"
	"errors"

	"github.com/tenonrun/tenon/artifact/disk"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Check reads all artifacts and tells what is damaged, and how many revisions
// there are.
func (s *Shelf) Check(ctx context.Context) (revisions int, damage []error, err error) {
	if s.disk == nil {
		return 0, nil, nil
	}
	return s.disk.Check(ctx)
}

// Collect forgets the collections of runs that are gone, and the contents that
// nobody names any more. One that something of is published stays.
func (s *Shelf) Collect(ctx context.Context, removed []string) (disk.Swept, error) {
	if s.disk == nil {
		return disk.Swept{}, nil
	}
	names, err := s.disk.Names(ctx)
	if err != nil {
		return disk.Swept{}, err
	}
	gone := map[string]bool{}
	for _, run := range removed {
		gone[run] = true
	}
	var errs []error
	for _, name := range names {
		if !gone[name] && runName.MatchString(name) { // a collection that an earlier end of the process left
			heads, err := s.cfg.Runs.Runs(ctx, store.Query{Run: workflow.RunID(name), Limit: 1})
			gone[name] = err == nil && len(heads) == 0
		}
		if gone[name] {
			errs = append(errs, s.drop(ctx, name))
		}
	}
	swept, err := s.disk.Sweep(ctx)
	return swept, errors.Join(append(errs, err)...)
}

// Forget drops what was prepared for a run that was not made.
func (s *Shelf) Forget(ctx context.Context, run workflow.RunID) error {
	heads, err := s.cfg.Runs.Runs(ctx, store.Query{Run: run, Limit: 1})
	if err != nil || len(heads) > 0 || s.disk == nil {
		return err
	}
	return s.drop(ctx, string(run))
}

func (s *Shelf) drop(ctx context.Context, name string) error {
	c, err := s.disk.Open(ctx, name)
	if err != nil {
		return err
	}
	list, err := c.List(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Publication != nil {
			return nil
		}
	}
	return s.disk.Remove(ctx, name)
}

// content returns a content that is kept, although no log may name it any more;
// false when it is not.
func (s *Shelf) content(digest string, size int64) (string, bool) {
	if s.disk == nil || digest == "" {
		return "", false
	}
	return s.disk.Content(digest, size)
}
