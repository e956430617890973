package turn

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// apply makes the file changes of an answer and returns the paths that changed
// or had changed already. Doing it twice is the same as once.
func apply(t executor.Turn, files []provider.File) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	if t.Access != workflow.EffectWrite {
		return nil, workflow.Errorf(workflow.CodeInvalidRoleAccess, "%s: the answer carries files, but the turn may only read", where(t)).
			WithHint("give the node or role write access, or take the files out of the script")
	}
	var places []place
	for _, f := range files {
		p, err := locate(t, f.Path)
		if err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	var names []string
	for i, f := range files {
		if err := write(places[i], f); err != nil {
			return names, workflow.Errorf(workflow.CodeInvalidOutput, "%s: writing %s: %w", where(t), f.Path, err)
		}
		names = append(names, path.Clean(f.Path))
	}
	return names, nil
}

// place is a path below a root.
type place struct{ root, rel string }

// locate finds the root that a path belongs to, by its text; os.Root judges the
// links.
func locate(t executor.Turn, name string) (place, error) {
	dir, err := filepath.Abs(t.Dir)
	if name == "" || path.IsAbs(name) || filepath.IsAbs(name) || strings.ContainsRune(name, 0) || t.Dir == "" || err != nil {
		return place{}, workflow.Errorf(workflow.CodeInvalidOutput, "%s: the answer wants to write %q, which is no path in a working directory", where(t), name)
	}
	roots := t.Roots
	if len(roots) == 0 {
		roots = []string{dir}
	}
	full := filepath.Join(dir, filepath.FromSlash(name))
	for _, root := range roots {
		root, err := filepath.Abs(root)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(root, full)
		if err == nil && rel != "." && filepath.IsLocal(rel) {
			return place{root: root, rel: rel}, nil
		}
	}
	return place{}, workflow.Errorf(workflow.CodeInvalidOutput, "%s: the answer wants to write %q, which is outside of what the turn may touch", where(t), name)
}

func write(p place, f provider.File) error {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if f.Delete {
		if err := root.Remove(p.rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if old, err := root.ReadFile(p.rel); err == nil && bytes.Equal(old, []byte(f.Content)) {
		return nil
	}
	if dir := filepath.Dir(p.rel); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return root.WriteFile(p.rel, []byte(f.Content), 0o644)
}
