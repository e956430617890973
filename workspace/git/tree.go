package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
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
	sum     [sha256.Size]byte // of a file, executable or not; in the digest as hex
}

// tree is a directory to list and read.
type tree struct {
	candidate *Candidate
	dir       string // canonical
	prefix    string // of the tree in its repository, "" or ending with "/"
	root      root   // of the repository
	cache     *cache // of the repository
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
	out, _, err := t.ask(ctx, args...)
	return out, err
}

// ask is git with what it said on standard error.
func (t tree) ask(ctx context.Context, args ...string) (out []byte, said string, err error) {
	ceiling := ""
	if hasGit(t.dir) {
		ceiling = filepath.Dir(t.dir)
	}
	return run(ctx, t.dir, ceiling, args...)
}

// list returns what counts in the tree, sorted bytewise by path.
func (t tree) list(ctx context.Context) (found []*entry, err error) {
	known, err := listed(ctx, t.dir)
	switch {
	case err != nil:
		return nil, err
	case known:
		found, err = t.index(ctx)
	case isBare(t.dir):
		return nil, fmt.Errorf("%s is a bare repository: name a work tree of it", t.dir)
	default:
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
	order := func(a, b *entry) int { return strings.Compare(a.path, b.path) }
	if !slices.IsSortedFunc(list, order) {
		slices.SortStableFunc(list, order)
	}
	return slices.CompactFunc(list, func(a, b *entry) bool { return a.path == b.path })
}

const mend = "find out with git status and git fsck there; a broken index is made anew by git reset after .git/index is removed"

// errTorn is what git does not say of an index that ends too early.
var errTorn = errors.New("the index has files without a name, so it is broken")

// index lists a work tree as git sees it. Only .gitignore files hide what is not
// tracked: they count themselves, which .git/info/exclude does not.
func (t tree) index(ctx context.Context) ([]*entry, error) {
	out, said, err := t.ask(ctx, "ls-files", "-v", "-s", "-z", "--cached", "--others", "--exclude-per-directory=.gitignore")
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return nil, fmt.Errorf("%w: %s", err, mend)
	case err != nil:
		return nil, err
	}
	if err := complaint(said); err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w: make it readable or name it in a .gitignore", t.dir, err)
	}
	all := make([]entry, bytes.Count(out, []byte{0}))
	known, others := make([]*entry, 0, len(all)), []*entry(nil)
	text := string(out)
	for i := range all {
		record, rest, _ := strings.Cut(text, "\x00")
		text = rest
		if err := all[i].parse(record); err != nil {
			return nil, fmt.Errorf("listing the files of %s: %w: %s", t.dir, err, mend)
		}
		switch e := &all[i]; {
		case t.leave.out(t.prefix+e.path, e.tracked):
		case e.tracked:
			known = append(known, e)
		default:
			others = append(others, e)
		}
	}
	return merge(known, others), nil
}

// merge brings two lists that git has sorted into one order.
func merge(a, b []*entry) []*entry {
	if len(b) == 0 {
		return a
	}
	all := make([]*entry, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		from := &a
		if b[0].path < a[0].path {
			from = &b
		}
		all, *from = append(all, (*from)[0]), (*from)[1:]
	}
	return append(append(all, a...), b...)
}

// parse reads "? PATH" or "TAG MODE OBJECT STAGE\tPATH".
func (e *entry) parse(record string) error {
	tag, rest, ok := strings.Cut(record, " ")
	if ok && tag == "?" {
		e.path = rest
		if strings.HasSuffix(rest, "/") {
			e.kind = nested
		}
		return nil
	}
	stat, path, tabbed := strings.Cut(rest, "\t")
	mode, stat, _ := strings.Cut(stat, " ")
	object, stage, staged := strings.Cut(stat, " ")
	if !ok || !tabbed || !staged || len(stage) != 1 {
		return fmt.Errorf("git ls-files printed the unexpected record %q", record)
	}
	if path == "" || strings.HasSuffix(path, "/") {
		return errTorn
	}
	e.path, e.tracked, e.object = path, true, object
	e.skipped = tag == "S" || tag == "s"
	e.blind = tag == strings.ToLower(tag)
	if mode == "160000" {
		e.kind, e.commit = module, object
	}
	return nil
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
	return fmt.Errorf("reading %s: %w: make it readable or name it in a .gitignore", name, err)
}
