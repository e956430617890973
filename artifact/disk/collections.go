package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/internal/lock"
	"github.com/tenonrun/tenon/workflow"
)

// Config sets up Collections.
type Config struct {
	// Dir is an absolute directory of the state area. It is made when something is
	// written.
	Dir    string
	Limits artifact.Limits
	// Device names this place in revisions; "" makes a name once and keeps it in
	// the directory.
	Device string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID makes the id of a revision; nil makes a random one.
	NewID func() string
}

// Collections are the collections of a directory. They are safe for concurrent
// use, also by several processes.
type Collections struct {
	cfg  Config
	mu   sync.Mutex
	open map[string]*collection
	// recent are those whose files may be open, the last used one last
	recent []*collection
	root   *os.Root // nil before the directory is there
	gate   *lock.Gate
	turn   sync.Mutex // of the gate
	disk   actions

	ready, closed bool
}

// actions are what can fail on a disk; tests make them fail.
type actions struct {
	write func(f *os.File, p []byte, off int64) (int, error)
	sync  func(f *os.File) error
}

var _ artifact.Collections = (*Collections)(nil)

// Open returns the collections of a directory. It touches nothing. Close them.
func Open(c Config) (*Collections, error) {
	if !filepath.IsAbs(c.Dir) {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "opening the artifacts: the directory %q is not absolute", c.Dir)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = func() string { return ident.New("v") + ident.New("") }
	}
	return &Collections{
		cfg: c, open: map[string]*collection{},
		disk: actions{write: (*os.File).WriteAt, sync: (*os.File).Sync},
	}, nil
}

const (
	blobsDir   = ".blobs"
	deviceFile = ".device"
	lockFile   = ".lock"
)

// Open returns a collection. It touches nothing.
func (c *Collections) Open(ctx context.Context, name string) (artifact.Collection, error) {
	if err := artifact.CheckName(name); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.open[name]
	if s == nil {
		s = &collection{all: c, name: name, dir: artifact.DirName(name)}
		c.open[name] = s
	}
	return s, ctx.Err()
}

// Names returns the names of the collections that hold something, sorted.
func (c *Collections) Names(ctx context.Context) ([]string, error) {
	entries, err := os.ReadDir(c.cfg.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fault("listing the collections", err)
	}
	var names []string
	for _, e := range entries {
		name, ok := artifact.FromDirName(e.Name())
		if !ok || !e.IsDir() {
			continue
		}
		if info, err := os.Stat(filepath.Join(c.cfg.Dir, e.Name(), logFile)); err == nil && info.Size() > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, ctx.Err()
}

// enter makes the directory ready for writing, and the place known by a name.
func (c *Collections) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	if c.ready {
		return nil
	}
	if err := c.openRoot(true); err != nil {
		return err
	}
	if c.gate == nil {
		gate, err := lock.OpenGate(filepath.Join(c.cfg.Dir, lockFile))
		if err != nil {
			return err
		}
		c.gate = gate
	}
	err := c.root.Mkdir(blobsDir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if c.cfg.Device == "" {
		err = c.alone(func() error { c.cfg.Device, err = c.device(); return err })
	} else {
		err = nil
	}
	c.ready = err == nil
	return err
}

// openRoot opens the directory, and with create makes it.
func (c *Collections) openRoot(create bool) error {
	if c.root != nil {
		return nil
	}
	if create {
		if err := os.MkdirAll(c.cfg.Dir, 0o700); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(c.cfg.Dir)
	if err == nil {
		c.root = root
	}
	return err
}

// reading returns the directory; nil when there is none.
func (c *Collections) reading() (*os.Root, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	err := c.openRoot(false)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return c.root, err
}

// device returns the name that the place has, or gets now.
func (c *Collections) device() (string, error) {
	raw, err := c.root.ReadFile(deviceFile)
	if name := strings.TrimSpace(string(raw)); err == nil && artifact.CheckName(name) == nil {
		return name, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	name := ident.New("d")
	return name, c.replace(deviceFile, []byte(name+"\n"))
}

// Device returns the name of this place, and gives it one when it has none.
func (c *Collections) Device() (string, error) {
	if err := c.enter(); err != nil {
		return "", fault("naming this device", err)
	}
	return c.cfg.Device, nil
}

// alone runs f when it is this one's turn to make, remove or sweep.
func (c *Collections) alone(f func() error) error {
	c.turn.Lock()
	defer c.turn.Unlock()
	if err := c.gate.Lock(); err != nil {
		return err
	}
	defer c.gate.Unlock()
	return f()
}

var errClosed = workflow.Errorf(workflow.CodeStoreUnavailable, "the artifacts are closed")

// Close closes the files, after the writes that are under way. What was written
// stays.
func (c *Collections) Close() error {
	c.mu.Lock()
	open := slices.Collect(maps.Values(c.open))
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return nil
	}
	var errs []error
	for _, s := range open {
		errs = append(errs, s.close())
	}
	c.turn.Lock() // of a Sweep
	defer c.turn.Unlock()
	if c.gate != nil {
		errs = append(errs, c.gate.Close())
	}
	if c.root != nil {
		errs = append(errs, c.root.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the artifacts: %w", err)
	}
	return nil
}
