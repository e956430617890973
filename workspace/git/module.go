package git

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// readInner settles a submodule or nested repository and reports whether it
// differs from its commit.
func (t tree) readInner(ctx context.Context, e *entry) (dirty bool, err error) {
	inner := t.at(e.path)
	info, err := os.Lstat(inner.dir)
	if dirs := (realDirs{root: t.root}); !dirs.holds(path.Dir(strings.TrimSuffix(inner.prefix, "/"))) {
		err = fs.ErrNotExist
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.missing()
		return true, nil
	case err != nil:
		return false, unreadable(inner.dir, err)
	case !info.IsDir():
		e.kind = absent
		return true, t.readFiles(ctx, []*entry{e})
	}
	list, sound, err := inner.listInner(ctx)
	switch {
	case err != nil:
	case e.kind == nested:
		dirty = true
	case sound:
		e.commit, dirty, err = inner.state(ctx, list)
	default:
		dirty = len(list) > 0 // not set up, but not empty either
	}
	if err != nil {
		return false, err
	}
	digest := ""
	if dirty {
		if digest, err = inner.digest(ctx, list); err != nil {
			return false, err
		}
	}
	e.content = digest
	if e.kind == module {
		e.content = strings.TrimSpace(e.commit + " " + digest)
	}
	return dirty, nil
}

// listInner lists a repository in a tree. It is sound when git knows it; what has
// no git directory, or a broken one, is listed as plain files.
func (t tree) listInner(ctx context.Context) (list []*entry, sound bool, err error) {
	if hasGit(t.dir) {
		list, err = t.list(ctx)
		if !errors.Is(err, ErrNoRepository) {
			return list, err == nil, err
		}
	}
	list, err = t.walk(ctx)
	return sorted(list), false, err
}

// state returns the commit that is checked out, "" before the first one, and
// whether something in the work tree differs from it. It settles the submodules
// in the list.
func (t tree) state(ctx context.Context, list []*entry) (commit string, dirty bool, err error) {
	head, err := t.git(ctx, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, ErrNoGit) {
			return "", false, err
		}
		dirty = true // no commit yet
	}
	commit = strings.TrimSpace(string(head))
	for _, e := range list {
		if e.kind == module {
			inner, err := t.readInner(ctx, e)
			if err != nil {
				return "", false, err
			}
			dirty = dirty || inner
		}
		if !e.tracked || e.blind || e.skipped && t.exists(e) {
			dirty = true
		}
	}
	if dirty {
		return commit, true, nil
	}
	changes, err := t.git(ctx, "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty")
	return commit, len(changes) > 0, err
}

func (t tree) exists(e *entry) bool {
	_, err := t.root.lstat(t.prefix + e.path)
	return err == nil
}

// digest reads the list and returns its digest in hex.
func (t tree) digest(ctx context.Context, list []*entry) (string, error) {
	left := slices.DeleteFunc(slices.Clone(list), func(e *entry) bool { return e.content != "" })
	if err := t.read(ctx, left); err != nil {
		return "", err
	}
	enc := newEncoder()
	enc.entries(list)
	sum := enc.sum()
	return hex.EncodeToString(sum[:]), nil
}
