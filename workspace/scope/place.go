package scope

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// place is a repository as it is now. It is used by one goroutine.
type place struct {
	guard  *Guard
	id     string
	dir    string // canonical
	root   *os.Root
	scopes []string
	leave  []string // directories that are not looked at
	dirs   map[string]bool
	trees  map[string]tree
}

// enter opens a repository with a scope.
func (g *Guard) enter(r workflow.RepositoryInfo, change string) (*place, error) {
	dir, err := filepath.Abs(r.Path)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	p := &place{guard: g, id: r.ID, dir: dir, root: root, scopes: scopes(r.Scope), dirs: map[string]bool{}, trees: map[string]tree{}}
	for _, s := range p.scopes { // what a linked scope means is where it leads
		if real, err := filepath.EvalSymlinks(p.full(s)); err == nil {
			if rel, ok := under(dir, real); ok && !slices.Contains(p.scopes, rel) {
				p.scopes = append(p.scopes, rel)
			}
		}
	}
	for _, state := range g.cfg.State {
		if real, err := filepath.EvalSymlinks(state); err == nil {
			state = real
		}
		if rel, ok := under(dir, state); ok {
			p.leave = append(p.leave, rel)
		}
	}
	if change != "" {
		p.leave = append(p.leave, "openspec/changes/"+change)
	}
	return p, nil
}

// under returns a path below dir in its slash-separated form.
func under(dir, at string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, at)
	rel = filepath.ToSlash(rel)
	return rel, err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, "../")
}

// inside reports whether a path is dir or lies in it.
func inside(at, dir string) bool {
	rest, ok := strings.CutPrefix(at, dir)
	return ok && (rest == "" || rest[0] == '/')
}

func (p *place) scoped(at string) bool {
	return slices.ContainsFunc(p.scopes, func(s string) bool { return inside(at, s) })
}

// left reports whether a path is not looked at.
func (p *place) left(at string, tracked bool) bool {
	return slices.ContainsFunc(p.leave, func(s string) bool { return inside(at, s) }) || !tracked && workspace.Generated(at)
}

// listing is what lies in a repository, or in a tree inside it.
type listing struct {
	paths map[string]bool // of files and links; true: tracked
	lies  map[string]bool // git was told not to look at them
	trees []string        // repositories in the work tree, without "/" at the end
}

// list lists a git work tree inside the repository; prefix is "" or ends with
// "/".
func (p *place) list(ctx context.Context, prefix, excludes string) (listing, error) {
	l := listing{paths: map[string]bool{}, lies: map[string]bool{}}
	t, err := p.tree(ctx, prefix)
	if err != nil {
		return l, err
	}
	err = t.tracked(ctx, func(at string, hidden, module bool) {
		at = prefix + at
		switch {
		case p.left(at, true):
		case module:
			if hasGit(p.full(at)) && p.real(at) && !p.scoped(at) {
				l.trees = append(l.trees, at)
			}
		default:
			l.paths[at] = true
			l.lies[at] = hidden
		}
	})
	if err != nil {
		return l, err
	}
	fresh, err := t.untracked(ctx, excludes, false)
	for _, at := range fresh {
		at = prefix + at
		if p.left(at, false) {
			continue
		}
		if dir, ok := strings.CutSuffix(at, "/"); ok {
			if !p.scoped(dir) {
				l.trees = append(l.trees, dir)
			}
		} else if _, known := l.paths[at]; !known {
			l.paths[at] = false
		}
	}
	return l, err
}

// tree returns a git work tree inside the repository.
func (p *place) tree(ctx context.Context, prefix string) (tree, error) {
	if t, ok := p.trees[prefix]; ok {
		return t, nil
	}
	t := tree{runner: p.guard.cfg.Runner, dir: filepath.Clean(p.full(prefix))}
	if err := t.open(ctx); err != nil {
		return t, err
	}
	p.trees[prefix] = t
	return t, nil
}

// walk lists a directory of the repository without git, and the directories in
// it. whole counts git's own data as files.
func (p *place) walk(ctx context.Context, dir string, whole bool) (paths, dirs []string, err error) {
	start := p.full(dir)
	err = filepath.WalkDir(start, func(full string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if gone(err) && full != start {
			return nil
		}
		if err != nil {
			return err
		}
		at, ok := under(p.dir, full)
		if !ok {
			return nil
		}
		if d.Name() == ".git" && !whole {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			if p.left(at+"/", false) && !whole || p.left(at, true) {
				return fs.SkipDir
			}
			dirs = append(dirs, at)
			return nil
		}
		if d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0 {
			if !p.left(at, false) || whole {
				paths = append(paths, at)
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the directory is gone
	}
	return paths, dirs, err
}
