package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// hashFunc returns the SHA-256 of a regular file whose Lstat gave info. A cache
// of digests by stat data goes in front of it.
type hashFunc func(name string, info fs.FileInfo) ([sha256.Size]byte, error)

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
	real := realDirs{root: t.dir, known: map[string]bool{}}
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(t.candidate.workers, len(list)) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(list) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if list[i].kind != absent {
					continue
				}
				if err := t.readFile(list[i], &real); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// readFile settles one entry.
func (t tree) readFile(e *entry, real *realDirs) error {
	name := filepath.Join(t.dir, filepath.FromSlash(e.path))
	var info fs.FileInfo
	err := fs.ErrNotExist
	if real.holds(path.Dir(e.path)) {
		info, err = os.Lstat(name)
	}
	if err == nil {
		err = t.readContent(e, name, info)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		e.missing()
		return nil
	}
	return unreadable(name, err)
}

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

func (t tree) readContent(e *entry, name string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		text, err := os.Readlink(name)
		if err != nil {
			return err
		}
		e.kind, e.content = link, filepath.ToSlash(text)
		if leaves(t.prefix+e.path, e.content) {
			e.kind = outLink
		}
	case mode.IsRegular():
		sum, err := t.candidate.hash(name, info)
		if err != nil {
			return err
		}
		e.kind, e.content = file, hex.EncodeToString(sum[:])
		if mode&0o100 != 0 {
			e.kind = executable
		}
	case mode.IsDir():
		e.missing() // what lies in it has entries of its own
	case e.tracked:
		e.kind = special
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

// buffers are shared by the workers.
var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// hashFile reads the whole file.
func hashFile(name string, _ fs.FileInfo) (sum [sha256.Size]byte, err error) {
	f, err := open(name)
	if err != nil {
		return sum, err
	}
	defer f.Close() //nolint:errcheck // only read
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{f}, *buf); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	return sum, nil
}

// realDirs remembers which directories of a tree are reached without a symbolic
// link. A file behind one is not part of the tree.
type realDirs struct {
	root  string
	mu    sync.Mutex
	known map[string]bool
}

func (r *realDirs) holds(dir string) bool {
	if dir == "." {
		return true
	}
	r.mu.Lock()
	real, ok := r.known[dir]
	r.mu.Unlock()
	if ok {
		return real
	}
	if real = r.holds(path.Dir(dir)); real {
		info, err := os.Lstat(filepath.Join(r.root, filepath.FromSlash(dir)))
		real = err == nil && info.IsDir()
	}
	r.mu.Lock()
	r.known[dir] = real
	r.mu.Unlock()
	return real
}
