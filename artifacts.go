package tenon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/disk"
	"github.com/tenonrun/tenon/piece"
	nodes "github.com/tenonrun/tenon/piece/artifact"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/tool"
	tools "github.com/tenonrun/tenon/tool/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// artifactsDir is where artifacts are, below the state of the project.
const artifactsDir = "collections"

// runName is the form of the ids of runs, which no other collection may have.
var runName = regexp.MustCompile(`^r[a-z0-9]{10}$`)

// Artifacts is the door to what the runs of a project made. A run has a
// collection of its own, named by its id, in common with its children and their
// agents; other collections are the project's and outlive runs. It is safe for
// concurrent use.
type Artifacts struct {
	t     *Tenon
	all   artifact.Collections
	disk  *disk.Collections // nil when runs are kept in memory
	mu    sync.Mutex
	ready map[workflow.RunID]string // names of collections that hold all that they should
	again map[string]Rehydrated     // by the names of collections
}

func openArtifacts(t *Tenon) (*Artifacts, error) {
	a := &Artifacts{t: t, ready: map[workflow.RunID]string{}, again: map[string]Rehydrated{}}
	if t.cfg.Memory {
		a.all = artifact.NewMemory(artifact.MemoryConfig{Limits: a.Limits()})
		return a, nil
	}
	d, err := disk.Open(disk.Config{Dir: filepath.Join(t.Project.Home, artifactsDir), Limits: a.Limits()})
	a.all, a.disk = d, d
	return a, err
}

func (a *Artifacts) close() error {
	if a.disk == nil {
		return nil
	}
	return a.disk.Close()
}

// pieces are the kinds of nodes that write artifacts.
func (a *Artifacts) pieces() []piece.Piece {
	return nodes.Pieces(nodes.Config{Open: a.Open, File: a.file, Redactor: a.t.redact})
}

// tools are those with which agents write and read artifacts.
func (a *Artifacts) tools() []tool.Tool {
	return tools.Tools(tools.Config{Open: a.Open, Redactor: a.t.redact, Limits: a.Limits})
}

// Limits bound what is taken.
func (a *Artifacts) Limits() artifact.Limits {
	return artifact.Limits{MaxBytes: a.t.Project.Config.Artifacts.MaxBytes}
}

// Open returns a collection for a run, and its name: "" is the run's own, another
// one is the project's.
func (a *Artifacts) Open(ctx context.Context, run workflow.RunID, name string) (string, artifact.Collection, error) {
	if name == "" {
		return a.Of(ctx, run)
	}
	c, err := a.Shared(ctx, name)
	return name, c, err
}

// Shared returns a collection of the project. The error has
// workflow.CodeInvalidArtifactID for what is no name, or is that of a run.
func (a *Artifacts) Shared(ctx context.Context, name string) (artifact.Collection, error) {
	if err := artifact.CheckName(name); err != nil {
		return nil, err
	}
	if runName.MatchString(name) {
		return nil, workflow.Errorf(workflow.CodeInvalidArtifactID, "the collection %q has the name of a run", name).WithHint("choose a name that people understand")
	}
	heads, err := a.t.Store.Runs(ctx, store.Query{Run: workflow.RunID(name), Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("opening the collection %s: %w", name, err)
	}
	if len(heads) > 0 {
		return nil, workflow.Errorf(workflow.CodeInvalidArtifactID, "the collection %q has the name of a run", name).WithHint("choose another name")
	}
	return a.open(ctx, name)
}

// Of returns the collection of a run, and its name: that of the run at the top of
// its tree. A fork begins with what its parent had at the cut.
func (a *Artifacts) Of(ctx context.Context, run workflow.RunID) (string, artifact.Collection, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of(ctx, run)
}

func (a *Artifacts) of(ctx context.Context, run workflow.RunID) (string, artifact.Collection, error) {
	if name, ok := a.ready[run]; ok {
		c, err := a.open(ctx, name)
		return name, c, err
	}
	h, err := a.head(ctx, run)
	if err == nil && h.Root != "" && h.Root != h.Run {
		h, err = a.head(ctx, h.Root)
	}
	if err != nil {
		return "", nil, err
	}
	name := string(h.Run)
	c, err := a.open(ctx, name)
	if err != nil {
		return "", nil, fmt.Errorf("opening the artifacts of run %s: %w", h.Run, err)
	}
	if err := a.fill(ctx, h, name, c); err != nil {
		return "", nil, err
	}
	a.ready[run] = name
	return name, c, nil
}

// Named returns a collection that holds something, by its whole name; false when
// there is none. It is also for those whose run is gone.
func (a *Artifacts) Named(ctx context.Context, name string) (artifact.Collection, bool, error) {
	names, err := a.all.Names(ctx)
	if err != nil || !slices.Contains(names, name) {
		return nil, false, err
	}
	c, err := a.open(ctx, name)
	return c, err == nil, err
}

// Existing returns a collection that Names has named.
func (a *Artifacts) Existing(ctx context.Context, name string) (artifact.Collection, error) {
	return a.open(ctx, name)
}

func (a *Artifacts) open(ctx context.Context, name string) (artifact.Collection, error) {
	c, err := a.all.Open(ctx, name)
	return guarded{c, a, name}, err
}

// guarded takes secrets out of what is written, and notes where in the history of
// the run a person writes.
type guarded struct {
	artifact.Collection
	a    *Artifacts
	name string
}

// Put keeps a draft without its secrets.
func (g guarded) Put(ctx context.Context, d artifact.Draft) (artifact.Receipt, error) {
	d.Title = g.a.t.redact.Redact(d.Title)
	if artifact.KindOf(d.Mime) != artifact.Image { // whose letters mean nothing
		d.Content = g.a.t.redact.Redact(d.Content)
	}
	if d.Author == artifact.Person {
		var err error
		if d.After, err = g.position(ctx); err != nil {
			return artifact.Receipt{}, err
		}
	}
	return g.Collection.Put(ctx, d)
}

// Edit keeps a text without its secrets.
func (g guarded) Edit(ctx context.Context, e artifact.Edit) (artifact.Descriptor, error) {
	now, err := g.Get(ctx, e.Artifact)
	if err != nil {
		return artifact.Descriptor{}, err
	}
	if now.Kind != artifact.Image {
		e.Content = g.a.t.redact.Redact(e.Content)
	}
	if e.After, err = g.position(ctx); err != nil {
		return artifact.Descriptor{}, err
	}
	return g.Collection.Edit(ctx, e)
}

// position is where the history of the run of the collection is now; 0 when it has
// none.
func (g guarded) position(ctx context.Context) (int64, error) {
	h, err := g.a.head(ctx, workflow.RunID(g.name))
	if workflow.CodeOf(err) == workflow.CodeRunNotFound {
		return 0, nil
	}
	return h.Last, err
}

func (a *Artifacts) head(ctx context.Context, run workflow.RunID) (store.Head, error) {
	heads, err := a.t.Store.Runs(ctx, store.Query{Run: run, Limit: 1})
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
func (a *Artifacts) fill(ctx context.Context, h store.Head, name string, c artifact.Collection) error {
	empty, err := isEmpty(ctx, c)
	if err != nil || !empty {
		return err
	}
	if h.ForkOf != "" {
		if err := a.inherit(ctx, h, c); err != nil {
			return fmt.Errorf("giving fork %s the artifacts of run %s: %w", h.Run, h.ForkOf, err)
		}
	}
	return a.rehydrate(ctx, h, name, c)
}

func isEmpty(ctx context.Context, c artifact.Replica) (bool, error) {
	for _, err := range c.Export(ctx) {
		return false, err
	}
	return true, nil
}

// Names returns the names of the collections that hold something, those of runs
// and those of the project, sorted.
func (a *Artifacts) Names(ctx context.Context) ([]string, error) { return a.all.Names(ctx) }

// Device is the name of this place in revisions.
func (a *Artifacts) Device() (string, error) {
	if a.disk == nil {
		return "memory", nil
	}
	return a.disk.Device()
}

// SalvageArtifacts copies the artifacts of a state directory into another one,
// which has none.
func SalvageArtifacts(from, to string) error {
	dir := filepath.Join(from, artifactsDir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.CopyFS(filepath.Join(to, artifactsDir), os.DirFS(dir)); err != nil {
		return fmt.Errorf("salvaging the artifacts: %w", err)
	}
	return nil
}

// Check reads all artifacts and tells what is damaged, and how many revisions
// there are.
func (a *Artifacts) Check(ctx context.Context) (revisions int, damage []error, err error) {
	if a.disk == nil {
		return 0, nil, nil
	}
	return a.disk.Check(ctx)
}

// collect forgets the collections of runs that are gone, and the contents that
// nobody names any more. One that something of is published stays.
func (a *Artifacts) collect(ctx context.Context, removed []string) (disk.Swept, error) {
	if a.disk == nil {
		return disk.Swept{}, nil
	}
	names, err := a.disk.Names(ctx)
	if err != nil {
		return disk.Swept{}, err
	}
	gone := map[string]bool{}
	for _, run := range removed {
		gone[run] = true
	}
	var errs []error
	for _, name := range names {
		if !gone[name] && runName.MatchString(name) { // a collection that an earlier end of the process left
			heads, err := a.t.Store.Runs(ctx, store.Query{Run: workflow.RunID(name), Limit: 1})
			gone[name] = err == nil && len(heads) == 0
		}
		if gone[name] {
			errs = append(errs, a.drop(ctx, name))
		}
	}
	swept, err := a.disk.Sweep(ctx)
	return swept, errors.Join(append(errs, err)...)
}

// forget drops what was prepared for a run that was not made.
func (a *Artifacts) forget(ctx context.Context, run workflow.RunID) error {
	heads, err := a.t.Store.Runs(ctx, store.Query{Run: run, Limit: 1})
	if err != nil || len(heads) > 0 || a.disk == nil {
		return err
	}
	return a.drop(ctx, string(run))
}

func (a *Artifacts) drop(ctx context.Context, name string) error {
	c, err := a.disk.Open(ctx, name)
	if err != nil {
		return err
	}
	list, err := c.List(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Publication != nil {
			return nil
		}
	}
	return a.disk.Remove(ctx, name)
}
