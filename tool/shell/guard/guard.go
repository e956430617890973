package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/internal/lock"
)

// Bounds of what is kept. A file beyond them is seen to change and cannot be put back.
const (
	maxFiles   = 20_000
	maxFile    = 4 << 20  // bytes
	maxContent = 64 << 20 // bytes, of all files
)

// Config sets up a Guard. All paths are absolute.
type Config struct {
	// Places are files and directories; what lies below a directory belongs to it.
	// They need not exist.
	Places []string
	// Git are directories of repositories (".git"): their hooks and configuration are
	// guarded, and those of their submodules and linked work trees.
	Git []string
	// Except are left alone where they lie in a place, with all below.
	Except []string
	// Home keeps what stood before while commands run, and Aside, below it, what was
	// put aside.
	Home string
	// SameConfig reports whether two contents of a git configuration run the same
	// programs: a change like that is git's own business. nil means never.
	SameConfig func(before, after []byte) bool
}

// Guard guards the places of one work tree. It is safe for concurrent use.
type Guard struct {
	config Config
	home   string

	mu     sync.Mutex
	active int
	held   *lock.File // nil: another process has it
	base   picture
	aside  int
}

// Change is a file that is not what it was.
type Change struct {
	Path string
	What string // "made", "changed", "removed"
	Kept string // where the new one is now, once it was put back; empty when nothing was there
	Why  string // it could not be put back; empty when it was
}

// New returns a Guard. Nothing is read before Enter.
func New(c Config) *Guard {
	return &Guard{config: c, home: filepath.Join(c.Home, ident.Derive("g", strings.Join(slices.Concat(c.Places, c.Git), "\x00")))}
}

// savedName is the file with what stood before, lockName says who works.
const (
	savedName = "before.json"
	lockName  = "lock"
	asideName = "aside"

	untoldName = "untold.json"
)

// Enter begins a command, and remembers what stands unless another command runs
// already. It returns what processes that died in the middle of one had left, put
// back, until Told.
func (g *Guard) Enter(ctx context.Context) ([]Change, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.active > 0 {
		g.active++
		return nil, nil
	}
	changes := g.untold()
	if err := os.MkdirAll(g.home, 0o700); err != nil {
		return nil, fmt.Errorf("guarding: %w", err)
	}
	if err := g.take(ctx); err != nil {
		return nil, err
	}
	before, left := g.saved()
	switch {
	case left && g.held != nil:
		g.base = before
		changes = append(changes, g.settle(nil)...)
		fallthrough
	case !left:
		g.base = g.look(g.base)
	default:
		g.base = before // of the process that runs commands here too
	}
	if g.held != nil {
		if err := g.save(); err != nil {
			return changes, errors.Join(err, g.release())
		}
	}
	g.active++
	return changes, nil
}

// Recover puts back what a process that died in the middle of a command had left.
// Without one, nothing is read.
func (g *Guard) Recover(ctx context.Context) ([]Change, error) {
	if _, err := os.Lstat(filepath.Join(g.home, savedName)); err != nil {
		return nil, nil //nolint:nilerr // there is none
	}
	changes, err := g.Enter(ctx)
	if err != nil {
		return nil, err
	}
	changes = append(changes, g.Leave(func(string) bool { return true })...)
	raw, err := json.Marshal(changes)
	if err == nil {
		err = os.WriteFile(filepath.Join(g.home, untoldName), raw, 0o600)
	}
	return changes, err
}

// untold are changes that Recover put back and that nobody was told of.
func (g *Guard) untold() []Change {
	raw, err := os.ReadFile(filepath.Join(g.home, untoldName))
	if err != nil {
		return nil
	}
	var list []Change
	if json.Unmarshal(raw, &list) != nil {
		return nil // it is only news
	}
	return list
}

// Told forgets what Recover put back.
func (g *Guard) Told() {
	_ = os.Remove(filepath.Join(g.home, untoldName)) // mostly there is none
}

// Leave ends a command: every file that changed and that allowed does not let pass
// is put back. allowed is given the path.
func (g *Guard) Leave(allowed func(path string) bool) []Change {
	g.mu.Lock()
	defer g.mu.Unlock()
	changes := g.settle(allowed)
	if g.active--; g.active == 0 {
		if err := g.release(); err != nil {
			changes = append(changes, Change{Path: g.home, What: "left open", Why: err.Error()})
		}
	}
	return changes
}

// Accept takes a file as it is now: somebody who may changed it.
func (g *Guard) Accept(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.active == 0 || !slices.ContainsFunc(slices.Concat(g.config.Places, g.config.Git), func(dir string) bool { return within(dir, path) }) {
		return
	}
	now := g.look(g.base)
	if e, ok := now[path]; ok {
		g.base[path] = e
	} else {
		delete(g.base, path)
	}
	if g.held != nil {
		_ = g.save() // it is only worth something if this process dies
	}
}

// take becomes the one whose memory counts, if no other process is it.
func (g *Guard) take(ctx context.Context) error {
	f, err := lock.Take(ctx, filepath.Join(g.home, lockName), "")
	var taken *lock.Taken
	switch {
	case errors.As(err, &taken):
		return nil
	case err != nil:
		return fmt.Errorf("guarding: %w", err)
	}
	g.held = f
	return nil
}

func (g *Guard) release() error {
	if g.held == nil {
		return nil
	}
	err := os.Remove(filepath.Join(g.home, savedName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, g.held.Release())
	g.held = nil
	return err
}

// saved reads what stood before. A file that cannot be read says nothing.
func (g *Guard) saved() (picture, bool) {
	raw, err := os.ReadFile(filepath.Join(g.home, savedName))
	if err != nil {
		return nil, false
	}
	var p picture
	if json.Unmarshal(raw, &p) != nil || p == nil {
		return nil, false
	}
	return p, true
}

func (g *Guard) save() error {
	raw, err := json.Marshal(g.base)
	if err != nil {
		return fmt.Errorf("guarding: %w", err)
	}
	name := filepath.Join(g.home, savedName)
	if err := os.WriteFile(name+".new", raw, 0o600); err != nil {
		return fmt.Errorf("guarding: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("guarding: %w", err)
	}
	return nil
}

// settle compares what stands with what stood, and puts back what may not pass.
func (g *Guard) settle(allowed func(string) bool) []Change {
	now := g.look(g.base)
	var changes []Change
	for _, path := range g.differing(now) {
		before, was := g.base[path]
		after, is := now[path]
		switch {
		case g.harmless(path, before, after):
		case allowed != nil && allowed(path):
		default:
			c := Change{Path: path, What: "changed"}
			if !was {
				c.What = "made"
			} else if !is {
				c.What = "removed"
			}
			var err error
			if c.Kept, err = g.putBack(path, before, was); err != nil {
				c.Why = err.Error()
			}
			changes = append(changes, c)
			continue
		}
		if is {
			g.base[path] = after
		} else {
			delete(g.base, path)
		}
	}
	return changes
}

// differing lists paths in the order in which they can be put back: what is above
// comes first.
func (g *Guard) differing(now picture) []string {
	var list []string
	for path, e := range now {
		if before, ok := g.base[path]; !ok || !before.same(e) {
			list = append(list, path)
		}
	}
	for path := range g.base {
		if _, ok := now[path]; !ok {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// harmless reports whether a change runs nothing: samples of hooks, settings of git
// that name no program, a new work tree, a directory as such.
func (g *Guard) harmless(path string, before, after entry) bool {
	switch name := filepath.Base(path); {
	case before.Mode.IsDir() && after.Mode.IsDir():
		return true
	case before == (entry{}) && after.Mode.IsDir(), after == (entry{}) && before.Mode.IsDir():
		return true // what lies in it is looked at by itself
	case strings.HasSuffix(name, ".sample") && filepath.Base(filepath.Dir(path)) == "hooks":
		return true
	case name == commonName && before == (entry{}):
		return true // nothing leads to it yet
	case g.config.SameConfig == nil || !g.isConfig(path):
		return false
	case before.Cut || after.Cut || !before.Mode.IsRegular() && before != (entry{}) || !after.Mode.IsRegular() && after != (entry{}):
		return false
	}
	return g.config.SameConfig([]byte(before.Content), []byte(after.Content))
}

func (g *Guard) isConfig(path string) bool {
	if name := filepath.Base(path); name != "config" && name != "config.worktree" {
		return false
	}
	return slices.ContainsFunc(g.config.Git, func(dir string) bool { return within(dir, path) })
}

// within reports whether path is dir or lies below it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// putBack makes a path what it was. What stands there goes aside first.
func (g *Guard) putBack(path string, before entry, was bool) (kept string, err error) {
	if _, err := os.Lstat(path); err == nil {
		if kept, err = g.away(path); err != nil {
			return "", err
		}
	}
	if !was {
		return kept, nil
	}
	if before.Cut {
		return kept, errors.New("it was too large to be kept")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return kept, err
	}
	switch {
	case before.Mode.IsDir():
		return kept, os.Mkdir(path, before.Mode.Perm())
	case before.Mode&fs.ModeSymlink != 0:
		return kept, os.Symlink(string(before.Content), path)
	case !before.Mode.IsRegular():
		return kept, errors.New("it was no file, directory or link")
	}
	return kept, restore(path, before)
}

// restore writes a file that is not there. The name is new, so no link is followed.
func restore(path string, e entry) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(string(e.Content))
	return errors.Join(err, f.Chmod(e.Mode.Perm()), f.Close())
}

// away moves what stands at a path to where nothing runs it.
func (g *Guard) away(path string) (string, error) {
	dir := filepath.Join(g.home, asideName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for {
		g.aside++
		to := filepath.Join(dir, strconv.Itoa(g.aside)+"-"+filepath.Base(path))
		if _, err := os.Lstat(to); err == nil {
			continue // of an earlier process
		}
		err := os.Rename(path, to)
		if err == nil {
			return to, nil
		}
		return to, copied(path, to) // another file system
	}
}
