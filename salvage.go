package tenon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// notSalvaged is what the store has salvaged itself, and what is made again, below
// the state of a project.
var notSalvaged = []string{"blobs", "locks", "db.w", statCache, checkCache}

// Salvage copies what a state directory holds beside its database into another
// one: artifacts, published agents, scripts, notes, workspaces, what was put aside,
// and trust. What cannot be copied is told after the rest is.
func Salvage(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("salvaging %s: %w", from, err)
	}
	if to, err = filepath.Abs(to); err != nil {
		return fmt.Errorf("salvaging into %s: %w", to, err)
	}
	var errs []error
	for _, e := range entries {
		name := e.Name()
		holdsIt := strings.HasPrefix(to+string(filepath.Separator), filepath.Join(from, name)+string(filepath.Separator))
		if strings.HasPrefix(name, "tenon.db") || slices.Contains(notSalvaged, name) || holdsIt {
			continue
		}
		if err := copyTree(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			errs = append(errs, fmt.Errorf("salvaging %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// copyTree copies a file or a directory: files and links, and nothing that is
// neither.
func copyTree(from, to string) error {
	var errs []error
	note := func(err error) error {
		if err != nil {
			errs = append(errs, err)
		}
		return nil
	}
	_ = filepath.WalkDir(from, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return note(err)
		}
		rel, err := filepath.Rel(from, at)
		if err != nil {
			return note(err)
		}
		place := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			return note(os.MkdirAll(place, 0o700))
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(at)
			return note(errors.Join(err, os.Symlink(target, place)))
		case e.Type().IsRegular():
			return note(copyFile(at, place))
		}
		return nil
	})
	return errors.Join(errs...)
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
