package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// read fills kind and content of every entry: repositories inside first, one
// after the other, then the files by a pool of workers.
func (t tree) read(ctx context.Context, list []*entry) error {
	for _, e := range list {
		if e.kind == module || e.kind == nested {
			if _, err := t.readInner(ctx, e); err != nil {
				return err
			}
		}
	}
	return t.readFiles(ctx, list)
}

// readFiles reads the entries that are not repositories.
func (t tree) readFiles(ctx context.Context, list []*entry) error {
	return share(ctx, t.candidate.workers, len(list), func() func(int) error {
		w := reader{tree: t, dirs: realDirs{root: t.root}}
		return func(i int) error {
			if list[i].kind != absent {
				return nil
			}
			return w.settle(ctx, list[i])
		}
	})
}

// share gives the numbers below n to workers, in runs. Each worker has a function
// of its own.
func share(ctx context.Context, workers, n int, worker func() func(int) error) error {
	const run = 64
	var mu sync.Mutex
	next := 0
	take := func() (int, int) {
		mu.Lock()
		defer mu.Unlock()
		from := next
		next = min(next+run, n)
		return from, next
	}
	group, ctx := errgroup.WithContext(ctx)
	for range min(workers, (n+run-1)/run) {
		group.Go(func() error {
			do := worker()
			for {
				from, to := take()
				if from == to {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				for i := from; i < to; i++ {
					if err := do(i); err != nil {
						return err
					}
				}
			}
		})
	}
	return group.Wait()
}

// reader is one worker that reads files, best in the order of their names.
type reader struct {
	tree
	dirs realDirs
	at   int // in the records of the cache
}

// settle reads one entry.
func (w *reader) settle(ctx context.Context, e *entry) error {
	name := w.prefix + e.path
	if r, ok := w.cache.find(name, &w.at); ok {
		e.regular(r.stamp, r.sum)
		return nil
	}
	err := fs.ErrNotExist
	if w.dirs.holds(path.Dir(name)) {
		for range 5 {
			if err = w.readContent(ctx, e, name); !errors.Is(err, errMoved) {
				break
			}
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		e.missing()
		return nil
	case errors.Is(err, errMoved) || errors.Is(err, errSpecial):
		return fmt.Errorf("reading %s: %w", w.path(e), err)
	}
	return unreadable(w.path(e), err)
}

func (t tree) path(e *entry) string { return filepath.Join(t.dir, filepath.FromSlash(e.path)) }

// missing settles an entry that has no file.
func (e *entry) missing() {
	e.kind, e.content = absent, ""
	switch {
	case e.skipped:
		e.kind, e.content = sparse, e.object
	case e.tracked:
		e.kind = deleted
	}
}

// regular settles an entry that is a file.
func (e *entry) regular(s stamp, sum [32]byte) {
	e.kind, e.sum = file, sum
	if s.mode&modeExecute != 0 {
		e.kind = executable
	}
}

// errSpecial says that a tracked path has nothing that a digest could cover.
var errSpecial = errors.New("it is a pipe, socket or device where git tracks a file: remove it or bring the file back")

func (w *reader) readContent(ctx context.Context, e *entry, name string) error {
	s, err := w.root.lstat(name)
	switch {
	case err != nil:
		return err
	case s.is(modeLink):
		text, err := os.Readlink(w.path(e))
		if errors.Is(err, syscall.EINVAL) {
			return errMoved
		}
		if err != nil {
			return err
		}
		e.kind, e.content = link, filepath.ToSlash(text)
		if leaves(name, e.content) {
			e.kind = outLink
		}
	case s.is(modeRegular):
		now := w.candidate.now()
		sum, s, err := w.candidate.hash(ctx, w.root, name)
		if err != nil {
			return err
		}
		e.regular(s, sum)
		w.cache.add(name, s, sum, now)
	case s.is(modeDirectory):
		e.missing() // what lies in it has entries of its own
	case e.tracked:
		return errSpecial
	}
	return nil
}

// leaves reports whether a link's text points out of the repository.
func leaves(name, text string) bool {
	if path.IsAbs(text) || filepath.IsAbs(text) {
		return true
	}
	target := path.Join(path.Dir(name), text)
	return target == ".." || strings.HasPrefix(target, "../")
}

// realDirs tells which directories are reached without a symbolic link. A file
// behind one is not part of the tree. It remembers the last directory, so it is
// quick for who asks in the order of names.
type realDirs struct {
	root root
	last string // the directory asked for last
	good int    // how much of it is real
}

func (r *realDirs) holds(dir string) bool {
	if dir == "." || dir == r.last {
		return dir == "." || r.good == len(dir)
	}
	real := shared(r.last[:r.good], dir)
	for real < len(dir) {
		end := len(dir)
		if i := strings.IndexByte(dir[min(real+1, end):], '/'); i >= 0 {
			end = real + 1 + i
		}
		if s, err := r.root.lstat(dir[:end]); err != nil || !s.is(modeDirectory) {
			break
		}
		real = end
	}
	r.last, r.good = dir, real
	return real == len(dir)
}

// shared returns the length of the longest directory that two paths share.
func shared(a, b string) int {
	n := 0
	for i := 0; ; i++ {
		switch endA, endB := i == len(a) || a[i] == '/', i == len(b) || b[i] == '/'; {
		case endA && endB:
			n = i
		case endA != endB:
			return n
		}
		if i == len(a) || i == len(b) || a[i] != b[i] {
			return n
		}
	}
}
