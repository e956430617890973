package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Sweep removes the scripts of runs of a scope that gone names, and what writers
// that died have left; dry only counts them. at is when a script was kept.
func (f *Files) Sweep(scope string, dry bool, gone func(run string, at time.Time) bool) (files int, bytes int64, err error) {
	part, err := f.partition(Partition(scope))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("looking for scripts of runs: %w", err)
	}
	defer part.Close() //nolint:errcheck // what was removed is removed
	entries, err := fs.ReadDir(part.FS(), ".")
	if err != nil {
		return 0, 0, fmt.Errorf("looking for scripts of runs: %w", err)
	}
	for _, e := range entries {
		run, ok := strings.CutSuffix(e.Name(), extension)
		if left, _, torn := strings.Cut(strings.TrimPrefix(e.Name(), "."), extension+"."); torn && strings.HasPrefix(e.Name(), ".") {
			run, ok = left, true
		}
		info, err := e.Info()
		if !ok || err != nil || !info.Mode().IsRegular() || !gone(run, info.ModTime()) {
			continue // it may be gone already
		}
		if !dry {
			if err := part.Remove(e.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
				return files, bytes, fmt.Errorf("removing the script of run %s: %w", run, err)
			}
		}
		files, bytes = files+1, bytes+info.Size()
	}
	return files, bytes, nil
}
