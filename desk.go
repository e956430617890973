package tenon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// desks is where the directories of visits are, below the state of the project.
const desks = "runs"

// desk makes the directory of a visit.
func (t *Tenon) desk(run workflow.RunID, visit workflow.VisitID) (string, error) {
	dir := filepath.Join(t.Project.Home, desks, string(run), ident.Derive("v", string(visit)))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the directory of visit %s: %w", visit, err)
	}
	return dir, nil
}

// Collect removes runs that ended before a time and that nothing needs, with
// their blobs and directories; dry only tells what would go.
func (t *Tenon) Collect(ctx context.Context, before time.Time, dry bool) (store.Report, error) {
	k, ok := t.Store.(store.Keeper)
	if !ok {
		return store.Report{}, workflow.Errorf(workflow.CodeInvalidArguments, "collecting runs: this store keeps nothing")
	}
	rep, err := k.Collect(ctx, before, dry)
	if err == nil {
		err = t.scripts.collect(ctx, &rep, before, dry)
	}
	if err != nil || dry {
		return rep, err
	}
	for _, run := range rep.Removed {
		if err := os.RemoveAll(filepath.Join(t.Project.Home, desks, run)); err != nil {
			return rep, fmt.Errorf("removing the directories of run %s: %w", run, err)
		}
	}
	swept, err := t.made.Collect(ctx, rep.Removed)
	rep.Blobs += swept.Contents
	rep.Bytes += swept.Bytes
	return rep, errors.Join(err, t.clearCaches(before))
}

// clearCaches removes cached results that nothing has written since a time; what
// is still needed is made again.
func (t *Tenon) clearCaches(before time.Time) error {
	for _, cache := range []string{statCache, checkCache} {
		dir := filepath.Join(t.Project.Home, cache)
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clearing %s: %w", dir, err)
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil || info.IsDir() || !info.ModTime().Before(before) {
				continue // it may be gone already
			}
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("clearing %s: %w", dir, err)
			}
		}
	}
	return nil
}
