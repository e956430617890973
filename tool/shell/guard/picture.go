package guard

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// picture is what stands at guarded places, by path.
type picture map[string]entry

// entry is one file, directory or link.
type entry struct {
	Mode    fs.FileMode `json:"mode"`
	Content blob        `json:"content,omitempty"` // of a file; where a link leads
	Cut     bool        `json:"cut,omitempty"`     // the content is not kept
	Size    int64       `json:"size,omitempty"`
	Stamp   stamp       `json:"stamp"` // while it is the same, so is the content
}

// blob are bytes of any kind, which JSON has as base64.
type blob string

// MarshalText implements encoding.TextMarshaler.
func (b blob) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(b)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *blob) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.DecodeString(string(text))
	*b = blob(raw)
	return err
}

// same reports whether two entries are the same thing for who reads them.
func (e entry) same(o entry) bool {
	if e.Mode != o.Mode {
		return false
	}
	if e.Cut || o.Cut {
		return e.Stamp == o.Stamp && e.Size == o.Size
	}
	return e.Content == o.Content
}

// looker makes a picture.
type looker struct {
	*Guard
	known picture // contents that need not be read again
	seen  picture
	bytes int64
}

// look makes a picture of what stands now.
func (g *Guard) look(known picture) picture {
	l := &looker{Guard: g, known: known, seen: picture{}}
	for _, place := range g.config.Places {
		l.walk(place)
	}
	for _, dir := range g.config.Git {
		l.repository(dir)
		for _, m := range names(dir, "modules") {
			l.repository(m)
		}
		for _, w := range names(dir, "worktrees") {
			l.walk(filepath.Join(w, commonName))
			l.walk(filepath.Join(w, "config.worktree"))
		}
	}
	return l.seen
}

// commonName is the file of a linked work tree that says whose settings it has.
const commonName = "commondir"

// names gives the paths of what lies in a directory; most have none.
func names(dir, name string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = filepath.Join(dir, name, e.Name())
	}
	return list
}

// repository looks at what git runs from, and at its directory, which may be a file
// that says where another is.
func (l *looker) repository(dir string) {
	info, err := os.Lstat(dir)
	if err == nil {
		l.add(dir, info)
	}
	if err == nil && info.Mode().IsRegular() {
		return
	}
	for _, name := range []string{"hooks", "config", "config.worktree"} {
		l.walk(filepath.Join(dir, name))
	}
}

// walk looks at a place and all below. What cannot be read is left out: it was no
// more readable before.
func (l *looker) walk(place string) {
	_ = filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is not there, or not to be seen
		}
		if slices.ContainsFunc(l.config.Except, func(dir string) bool { return within(place, dir) && within(dir, path) }) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err == nil {
			l.add(path, info)
		}
		if len(l.seen) >= maxFiles {
			return fs.SkipAll
		}
		return nil
	})
}

func (l *looker) add(path string, info fs.FileInfo) {
	e := entry{Mode: info.Mode(), Stamp: stampOf(info)}
	if !e.Mode.IsDir() {
		e.Size = info.Size()
	}
	old, known := l.known[path]
	switch {
	case e.Mode&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		e.Content, e.Cut = blob(to), err != nil
	case !e.Mode.IsRegular():
	case e.Size > maxFile || l.bytes+e.Size > maxContent:
		e.Cut = true
	case known && !old.Cut && e.Stamp != (stamp{}) && old.Stamp == e.Stamp && old.Size == e.Size:
		e.Content = old.Content
		l.bytes += e.Size
	default:
		raw, err := os.ReadFile(path)
		e.Content, e.Cut = blob(raw), err != nil
		l.bytes += int64(len(raw))
	}
	l.seen[path] = e
}

// copied copies a file or a link where it cannot be moved, and removes it. A
// directory stays only if it is not empty.
func copied(path, to string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		err = os.Symlink(target, to)
		return errors.Join(err, os.Remove(path))
	case info.IsDir():
		if err := os.CopyFS(to, os.DirFS(path)); err != nil {
			return err
		}
		return os.RemoveAll(path)
	case !info.Mode().IsRegular():
		return os.Remove(path) // it holds nothing
	}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(to, raw, info.Mode().Perm())
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}
