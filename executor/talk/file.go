package talk

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// Apply makes the file changes that came with a scripted answer, below the roots
// of a turn with write access, and returns the paths that it is about. before is
// what Digests gave when the answer came. An answer that is not fresh may have
// been applied before: a file that is neither as it was before nor as it should be
// was changed by somebody else, and is left alone.
func Apply(t executor.Turn, files []provider.File, before []string, fresh bool) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	if t.Access != workflow.EffectWrite {
		return nil, workflow.Errorf(workflow.CodeInvalidRoleAccess, "%s: the answer carries files, but the turn may only read", Where(t)).
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
		names = append(names, path.Clean(f.Path))
		if !fresh && i < len(before) && digest(places[i]) != before[i] {
			continue // it was written, and perhaps changed since
		}
		if err := write(places[i], f); err != nil {
			return names, workflow.Errorf(workflow.CodeInvalidOutput, "%s: writing %s: %w", Where(t), f.Path, err)
		}
	}
	return names, nil
}

// Digests returns the digest of each file as it is now, "" where there is none.
func Digests(t executor.Turn, files []provider.File) []string {
	var out []string
	for _, f := range files {
		d := ""
		if p, err := locate(t, f.Path); err == nil { // a bad path is told by apply
			d = digest(p)
		}
		out = append(out, d)
	}
	return out
}

func digest(p place) string {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return ""
	}
	defer root.Close()
	raw, err := root.ReadFile(p.rel)
	if err != nil {
		return ""
	}
	return canon.Sum(raw)
}

// place is a path below a root.
type place struct{ root, rel string }

// locate finds the root that a path belongs to, by its text; os.Root judges the
// links.
func locate(t executor.Turn, name string) (place, error) {
	dir, err := filepath.Abs(t.Dir)
	if name == "" || path.IsAbs(name) || filepath.IsAbs(name) || strings.ContainsRune(name, 0) || t.Dir == "" || err != nil {
		return place{}, workflow.Errorf(workflow.CodeInvalidOutput, "%s: the answer wants to write %q, which is no path in a working directory", Where(t), name)
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
	return place{}, workflow.Errorf(workflow.CodeInvalidOutput, "%s: the answer wants to write %q, which is outside of what the turn may touch", Where(t), name)
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
	return replace(root, p.rel, []byte(f.Content))
}

// replace gives a file its new content at once, so that a crash leaves the old
// or the new one. A link is written through.
func replace(root *os.Root, name string, content []byte) error {
	mode := fs.FileMode(0o644)
	switch info, err := root.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return root.WriteFile(name, content, mode)
	case err == nil:
		mode = info.Mode().Perm()
	}
	draft := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".tenon")
	f, err := root.OpenFile(draft, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(draft, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(draft))
	}
	return nil
}
