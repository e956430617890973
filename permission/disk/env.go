package disk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tenonrun/tenon/internal/pathid"
	"github.com/tenonrun/tenon/permission"
)

// Timeout is how long a question about a path may take. A file system that hangs
// leaves the path unread.
const Timeout = 5 * time.Second

// waiting is how many questions may be without an answer at one time. Each holds
// a thread until the file system answers; more are refused.
const waiting = 64

// Env answers for the file system of this machine. Make it with NewEnv.
type Env struct {
	root     rootHandle
	folding  []mount
	timeout  time.Duration
	slots    chan struct{}
	linked   hints
	resolver func(full string, identity bool) (permission.Resolved, error) // followed, but in tests
}

// NewEnv makes an environment. Paths below root are answered with less work; it
// may be empty. Close releases it.
func NewEnv(root string) (*Env, error) {
	e := &Env{timeout: Timeout, slots: make(chan struct{}, waiting), resolver: resolveFull}
	if root != "" {
		if p := pathid.Identity(root, pathid.Of(root)); p.Kind != pathid.AtPath {
			return nil, fmt.Errorf("opening the fence: the root %q is not an absolute path", root)
		}
		if err := e.root.open(root); err != nil {
			return nil, fmt.Errorf("opening the fence at %s: %w", root, err)
		}
	}
	e.folding = foldingMounts(root)
	return e, nil
}

// Close releases the handle of the root. Questions that still wait end by
// themselves when the file system answers.
func (e *Env) Close() error { return e.root.close() }

// Resolve implements permission.Env.
func (e *Env) Resolve(ctx context.Context, q permission.Query) (permission.Resolved, error) {
	full := join(q.Base, q.Spelled)
	if strings.IndexByte(full, 0) >= 0 {
		return permission.Resolved{}, errors.New("the name holds a NUL")
	}
	if !e.linked.has(parentOf(q.Lexical)) {
		if r, ok := e.root.prove(full, q.Lexical, q.Identity); ok {
			return r, nil
		}
	}
	r, err := guard(ctx, e, func() (permission.Resolved, error) { return e.resolver(full, q.Identity) })
	if err == nil && len(r.Hops) == 0 && r.Exists && r.Canonical != q.Lexical {
		e.linked.add(parentOf(q.Lexical))
	}
	return r, err
}

func parentOf(p string) string {
	if i := strings.LastIndex(p, separator); i > 0 {
		return p[:i]
	}
	return p
}

// maxHints bounds what is remembered.
const maxHints = 4096

// hints are directories that were reached through a link. They only save an
// attempt to prove that there is none: what is in them is asked each time.
type hints struct {
	mu   sync.RWMutex
	dirs map[string]bool
}

func (h *hints) has(dir string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.dirs[dir]
}

func (h *hints) add(dir string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dirs == nil || len(h.dirs) >= maxHints {
		h.dirs = map[string]bool{}
	}
	h.dirs[strings.Clone(dir)] = true
}

// Lead implements permission.Env.
func (e *Env) Lead(ctx context.Context, location string) (permission.Lead, error) {
	if strings.IndexByte(location, 0) >= 0 {
		return permission.Lead{}, errors.New("the name holds a NUL")
	}
	return guard(ctx, e, func() (permission.Lead, error) { return leadOf(location) })
}

// guard runs a question on a goroutine of its own, so that a file system that
// hangs holds that and not the caller. It ends when the file system answers.
func guard[T any](ctx context.Context, e *Env, ask func() (T, error)) (T, error) {
	type answer struct {
		got T
		err error
	}
	var none T
	timer := time.NewTimer(e.timeout)
	defer timer.Stop()
	select {
	case e.slots <- struct{}{}:
	case <-timer.C:
		return none, errors.New("the file system does not answer, and too many questions wait for it")
	case <-ctx.Done():
		return none, ctx.Err()
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-e.slots }()
		got, err := ask()
		done <- answer{got, err}
	}()
	select {
	case a := <-done:
		return a.got, a.err
	case <-timer.C:
		return none, fmt.Errorf("the file system did not answer within %s", e.timeout)
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// mount is a part of the tree with other rules for names.
type mount struct {
	dir  string
	fold permission.Fold
}

// Folds implements permission.Env.
func (e *Env) Folds(_ context.Context, path string) permission.Fold {
	best, fold := -1, permission.Fold{}
	for _, m := range e.folding {
		if len(m.dir) > best && within(path, m.dir) {
			best, fold = len(m.dir), m.fold
		}
	}
	return fold
}

// within reports whether a folded path is a directory or below it.
func within(path, dir string) bool {
	if !strings.HasPrefix(path, dir) {
		return false
	}
	return len(path) == len(dir) || strings.HasSuffix(dir, separator) || strings.HasPrefix(path[len(dir):], separator)
}
