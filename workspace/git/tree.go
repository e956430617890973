package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kind says what an entry is; it is part of the digest.
type kind string

const (
	absent     kind = ""           // untracked and gone again
	file       kind = "file"       // content: hex SHA-256 of the bytes
	executable kind = "executable" // the same, with the owner's executable bit
	link       kind = "link"       // content: the link's text
	outLink    kind = "out-link"   // a link whose text leaves the repository
	deleted    kind = "deleted"    // tracked, but no file there
	sparse     kind = "sparse"     // not checked out on purpose; content: object id
	special    kind = "special"    // tracked, but a pipe, socket or device now
	module     kind = "module"     // content: commit and, when dirty, hex digest
	nested     kind = "nested"     // an untracked repository; content: hex digest
)

// entry is one path of a tree, listed first and read later.
type entry struct {
	path    string // slash-separated, relative to the tree; nested ones end with "/"
	tracked bool
	skipped bool   // git does not expect it in the work tree
	blind   bool   // git does not look at its changes
	commit  string // set for a submodule: its commit in the index
	object  string // object id in the index
	kind    kind
	content string
}

// tree is a directory to list and read.
type tree struct {
	candidate *Candidate
	dir       string // canonical
	prefix    string // of the tree in its repository, "" or ending with "/"
	leave     leave
}

// at returns the tree of a submodule or nested repository.
func (t tree) at(path string) tree {
	path = strings.TrimSuffix(path, "/")
	t.dir = filepath.Join(t.dir, filepath.FromSlash(path))
	t.prefix += path + "/"
	return t
}

// git runs git in the tree. It finds the repository there, if there is one, and
// never mistakes a broken one for a part of the repository above.
func (t tree) git(ctx context.Context, args ...string) ([]byte, error) {
	ceiling := ""
	if hasGit(t.dir) {
		ceiling = filepath.Dir(t.dir)
	}
	return output(ctx, t.dir, ceiling, args...)
}

// list returns what counts in the tree, sorted bytewise by path.
func (t tree) list(ctx context.Context) (found []*entry, err error) {
	known, err := listed(ctx, t.dir)
	if err != nil {
		return nil, err
	}
	if known {
		found, err = t.index(ctx)
	} else {
		found, err = t.walk(ctx)
	}
	if errors.Is(err, ErrNoRepository) {
		err = fmt.Errorf("%w: git does not accept the .git in there: repair or remove it", err)
	}
	if err != nil {
		return nil, err
	}
	return sorted(found), nil
}

// sorted orders entries bytewise by path; a merge conflict has up to three of one.
func sorted(list []*entry) []*entry {
	slices.SortStableFunc(list, func(a, b *entry) int { return strings.Compare(a.path, b.path) })
	return slices.CompactFunc(list, func(a, b *entry) bool { return a.path == b.path })
}

// index lists a work tree as git sees it.
func (t tree) index(ctx context.Context) ([]*entry, error) {
	out, err := t.git(ctx, "ls-files", "-v", "-s", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	var found []*entry
	for record := range bytes.SplitSeq(out, []byte{0}) {
		if len(record) == 0 {
			continue
		}
		e, err := parse(string(record))
		if err != nil {
			return nil, err
		}
		if !t.leave.out(t.prefix+e.path, e.tracked) {
			found = append(found, e)
		}
	}
	return found, nil
}

// parse reads "? PATH" or "TAG MODE OBJECT STAGE\tPATH".
func parse(record string) (*entry, error) {
	tag, rest, ok := strings.Cut(record, " ")
	if ok && tag == "?" {
		e := &entry{path: rest}
		if strings.HasSuffix(rest, "/") {
			e.kind = nested
		}
		return e, nil
	}
	stat, path, tabbed := strings.Cut(rest, "\t")
	fields := strings.Fields(stat)
	if !ok || !tabbed || len(fields) != 3 {
		return nil, fmt.Errorf("reading git ls-files: unexpected record %q", record)
	}
	e := &entry{path: path, tracked: true, object: fields[1]}
	e.skipped = tag == "S" || tag == "s"
	e.blind = tag == strings.ToLower(tag)
	if fields[0] == "160000" {
		e.kind, e.commit = module, fields[1]
	}
	return e, nil
}

// walk lists a directory that git does not know.
func (t tree) walk(ctx context.Context) (found []*entry, err error) {
	err = filepath.WalkDir(t.dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) && name != t.dir {
			return nil // gone again
		}
		if err != nil {
			return unreadable(name, err)
		}
		if name == t.dir {
			return nil
		}
		if d.Name() == ".git" {
			return skip(d)
		}
		rel, err := filepath.Rel(t.dir, name)
		if err != nil {
			return err
		}
		e := &entry{path: filepath.ToSlash(rel)}
		if d.IsDir() {
			e.path += "/"
			if t.leave.out(t.prefix+e.path, false) {
				return fs.SkipDir
			}
			if !hasGit(name) {
				return nil
			}
			e.kind = nested
			found = append(found, e)
			return fs.SkipDir
		}
		counts := d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0
		if counts && !t.leave.out(t.prefix+e.path, false) {
			found = append(found, e)
		}
		return nil
	})
	return found, err
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func unreadable(name string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("reading %s: %w: make it readable or let git ignore it", name, err)
}
