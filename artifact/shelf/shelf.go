package shelf

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/disk"
	"github.com/tenonrun/tenon/internal/text"
	nodes "github.com/tenonrun/tenon/piece/artifact"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// runName is the form of the ids of runs, which no other collection may have.
var runName = regexp.MustCompile(`^r[a-z0-9]{10}$`)

// Config sets up a Shelf.
type Config struct {
	Dir      string // of the collections; "" keeps them in memory
	Limits   artifact.Limits
	Runs     store.Store
	Redactor *text.Redactor
	Tools    func() (*tool.Set, error) // of agents, to read the calls of old answers
	// Retrace shows the results of visits of a run, each before it counts.
	Retrace func(ctx context.Context, run workflow.RunID, visits map[workflow.VisitID]bool, see func(nodes.Source) error) error
	Log     *slog.Logger // may be nil
}

// Shelf is the door to what the runs of a project made. A run has a collection of
// its own, named by its id, in common with its children and their agents; other
// collections are the project's and outlive runs. It is safe for concurrent use.
type Shelf struct {
	cfg   Config
	all   artifact.Collections
	disk  *disk.Collections // nil when they are kept in memory
	mu    sync.Mutex
	ready map[workflow.RunID]string // names of collections that hold all that they should
	again map[string]Rehydrated     // by the names of collections
}

// New opens the collections of a project.
func New(cfg Config) (*Shelf, error) {
	s := &Shelf{cfg: cfg, ready: map[workflow.RunID]string{}, again: map[string]Rehydrated{}}
	if cfg.Dir == "" {
		s.all = artifact.NewMemory(artifact.MemoryConfig{Limits: cfg.Limits})
		return s, nil
	}
	d, err := disk.Open(disk.Config{Dir: cfg.Dir, Limits: cfg.Limits})
	s.all, s.disk = d, d
	return s, err
}

// Close ends it.
func (s *Shelf) Close() error {
	if s.disk == nil {
		return nil
	}
	return s.disk.Close()
}

// Limits bound what is taken.
func (s *Shelf) Limits() artifact.Limits { return s.cfg.Limits }

// Open returns a collection for a run, and its name: "" is the run's own, another
// one is the project's.
func (s *Shelf) Open(ctx context.Context, run workflow.RunID, name string) (string, artifact.Collection, error) {
	if name == "" {
		return s.Of(ctx, run)
	}
	c, err := s.Shared(ctx, name)
	return name, c, err
}

// Shared returns a collection of the project. The error has
// workflow.CodeInvalidArtifactID for what is no name, or is that of a run.
func (s *Shelf) Shared(ctx context.Context, name string) (artifact.Collection, error) {
	if err := artifact.CheckName(name); err != nil {
		return nil, err
	}
	if runName.MatchString(name) {
		return nil, workflow.Errorf(workflow.CodeInvalidArtifactID, "the collection %q has the name of a run", name).WithHint("choose a name that people understand")
	}
	heads, err := s.cfg.Runs.Runs(ctx, store.Query{Run: workflow.RunID(name), Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("opening the collection %s: %w", name, err)
	}
	if len(heads) > 0 {
		return nil, workflow.Errorf(workflow.CodeInvalidArtifactID, "the collection %q has the name of a run", name).WithHint("choose another name")
	}
	return s.open(ctx, name)
}

// Of returns the collection of a run, and its name: that of the run at the top of
// its tree. A fork begins with what its parent had at the cut.
func (s *Shelf) Of(ctx context.Context, run workflow.RunID) (string, artifact.Collection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(ctx, run)
}

func (s *Shelf) of(ctx context.Context, run workflow.RunID) (string, artifact.Collection, error) {
	if name, ok := s.ready[run]; ok {
		c, err := s.open(ctx, name)
		return name, c, err
	}
	h, err := s.head(ctx, run)
	if err == nil && h.Root != "" && h.Root != h.Run {
		h, err = s.head(ctx, h.Root)
	}
	if err != nil {
		return "", nil, err
	}
	name := string(h.Run)
	c, err := s.open(ctx, name)
	if err != nil {
		return "", nil, fmt.Errorf("opening the artifacts of run %s: %w", h.Run, err)
	}
	if err := s.fill(ctx, h, name, c); err != nil {
		return "", nil, err
	}
	s.ready[run] = name
	return name, c, nil
}

// Named returns a collection that holds something, by its whole name; false when
// there is none. It is also for those whose run is gone.
func (s *Shelf) Named(ctx context.Context, name string) (artifact.Collection, bool, error) {
	names, err := s.all.Names(ctx)
	if err != nil || !slices.Contains(names, name) {
		return nil, false, err
	}
	c, err := s.open(ctx, name)
	return c, err == nil, err
}

// Existing returns a collection that Names has named.
func (s *Shelf) Existing(ctx context.Context, name string) (artifact.Collection, error) {
	return s.open(ctx, name)
}

func (s *Shelf) open(ctx context.Context, name string) (artifact.Collection, error) {
	c, err := s.all.Open(ctx, name)
	return guarded{c, s, name}, err
}

func (s *Shelf) head(ctx context.Context, run workflow.RunID) (store.Head, error) {
	heads, err := s.cfg.Runs.Runs(ctx, store.Query{Run: run, Limit: 1})
	switch {
	case err != nil:
		return store.Head{}, fmt.Errorf("finding the artifacts of run %s: %w", run, err)
	case len(heads) == 0:
		return store.Head{}, workflow.Errorf(workflow.CodeRunNotFound, "finding the artifacts of run %s: there is no such run", run).WithHint("list runs with: tenon ls")
	}
	return heads[0], nil
}

// fill gives an empty collection what it should hold: of a fork, what its parent
// had; and what the history of the run knows, when the log is lost.
func (s *Shelf) fill(ctx context.Context, h store.Head, name string, c artifact.Collection) error {
	empty, err := isEmpty(ctx, c)
	if err != nil || !empty {
		return err
	}
	if h.ForkOf != "" {
		if err := s.inherit(ctx, h, c); err != nil {
			return fmt.Errorf("giving fork %s the artifacts of run %s: %w", h.Run, h.ForkOf, err)
		}
	}
	return s.rehydrate(ctx, h, name, c)
}

func isEmpty(ctx context.Context, c artifact.Replica) (bool, error) {
	for _, err := range c.Export(ctx) {
		return false, err
	}
	return true, nil
}

// Names returns the names of the collections that hold something, those of runs
// and those of the project, sorted.
func (s *Shelf) Names(ctx context.Context) ([]string, error) { return s.all.Names(ctx) }

// Device is the name of this place in revisions.
func (s *Shelf) Device() (string, error) {
	if s.disk == nil {
		return "memory", nil
	}
	return s.disk.Device()
}
