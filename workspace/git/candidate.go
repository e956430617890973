package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tenonrun/tenon/workspace"
)

// Config says what a Candidate covers.
type Config struct {
	// Repositories are the work trees, at least one, each with its own id.
	Repositories []workspace.Repository
	// Exclude leaves paths out; the list is part of the digest.
	Exclude []Exclude
	// State lists absolute directories of Tenon's own state. What of it lies in a
	// repository is left out, and the digest does not show that.
	State []string
	// Change names the OpenSpec change of the run; the zero value means none.
	Change Change
	// Cache is the absolute directory of the stat caches, one file for each
	// repository; it is made when needed. Empty means that all files are read every
	// time. A cache that cannot be read or written makes a digest slower, never
	// another one. It is left out like State.
	Cache string
	// Workers bounds the files that are read at the same time; 0 means twice the
	// processors, at most 16.
	Workers int
}

// Candidate implements workspace.Candidate. It is safe for concurrent use.
type Candidate struct {
	repositories []workspace.Repository
	exclude      []Exclude
	change       Change
	state        []string
	cache        string
	workers      int
	slack        time.Duration
	now          func() time.Time
	hash         hashFunc
}

// hashFunc is hashFile.
type hashFunc func(ctx context.Context, r root, name string) ([sha256.Size]byte, stamp, error)

var _ workspace.Candidate = (*Candidate)(nil)

// New returns the Candidate of the repositories.
func New(c Config) (*Candidate, error) {
	if len(c.Repositories) == 0 {
		return nil, errors.New("setting up the candidate: no repository is configured")
	}
	k := &Candidate{
		repositories: slices.Clone(c.Repositories),
		state:        slices.Clone(c.State),
		cache:        c.Cache,
		workers:      c.Workers,
		slack:        slack,
		now:          time.Now,
		hash:         hashFile,
	}
	slices.SortFunc(k.repositories, func(a, b workspace.Repository) int { return strings.Compare(a.ID, b.ID) })
	for i, r := range k.repositories {
		switch {
		case r.ID == "":
			return nil, fmt.Errorf("setting up the candidate: the repository at %s has no id", r.Path)
		case i > 0 && k.repositories[i-1].ID == r.ID:
			return nil, fmt.Errorf("setting up the candidate: repository id %q is used twice", r.ID)
		case !filepath.IsAbs(r.Path):
			return nil, fmt.Errorf("setting up the candidate: repository %s: path %q is not absolute", r.ID, r.Path)
		}
	}
	if c.Cache != "" {
		if !filepath.IsAbs(c.Cache) {
			return nil, fmt.Errorf("setting up the candidate: cache directory %q is not absolute", c.Cache)
		}
		k.state = append(k.state, c.Cache)
	}
	if err := k.setExcludes(c); err != nil {
		return nil, err
	}
	if k.workers <= 0 {
		k.workers = min(2*runtime.GOMAXPROCS(0), 16)
	}
	return k, nil
}

func (k *Candidate) setExcludes(c Config) (err error) {
	if k.exclude, err = normalise(c.Exclude); err != nil {
		return err
	}
	for _, x := range k.exclude {
		if x.Repository != "" && !k.knows(x.Repository) {
			return fmt.Errorf("setting up the candidate: exclude %q names the unknown repository %q", x.Path, x.Repository)
		}
	}
	if k.change, err = c.Change.checked(); err != nil {
		return err
	}
	if r := k.change.Repository; r != "" && !k.knows(r) {
		return fmt.Errorf("setting up the candidate: change %q names the unknown repository %q", k.change.Name, r)
	}
	return nil
}

func (k *Candidate) knows(id string) bool {
	return slices.ContainsFunc(k.repositories, func(r workspace.Repository) bool { return r.ID == id })
}

// Digest implements workspace.Candidate.
func (k *Candidate) Digest(ctx context.Context) (string, error) {
	all := k.head(k.exclude, len(k.repositories))
	for _, r := range k.repositories {
		found, err := k.entries(ctx, r)
		if err != nil {
			return "", err
		}
		all.repository(r.ID, found)
	}
	return all.digest(), nil
}

// Content returns the digest together with what it is made of.
func (k *Candidate) Content(ctx context.Context) (Content, error) {
	var content Content
	all := k.head(k.exclude, len(k.repositories))
	for _, r := range k.repositories {
		found, err := k.entries(ctx, r)
		if err != nil {
			return Content{}, err
		}
		all.repository(r.ID, found)
		alone := k.head(slices.DeleteFunc(slices.Clone(k.exclude), func(x Exclude) bool { return !x.meets(r.ID) }), 1)
		alone.repository(r.ID, found)
		content.Repositories = append(content.Repositories, RepositoryContent{ID: r.ID, Digest: alone.digest(), Files: files(found)})
	}
	content.Digest = all.digest()
	return content, nil
}

// head starts a digest.
func (k *Candidate) head(exclude []Exclude, repositories int) *encoder {
	e := newEncoder()
	e.field(workspace.CandidateFormat)
	e.count(len(exclude))
	for _, x := range exclude {
		e.field(x.Repository)
		e.field(x.Path)
		e.flag(x.Tracked)
	}
	e.change(k.change)
	e.count(repositories)
	return e
}

// entries lists and reads one repository.
func (k *Candidate) entries(ctx context.Context, r workspace.Repository) ([]*entry, error) {
	found, err := k.readRepository(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("computing the candidate of repository %s: %w", r.ID, err)
	}
	return found, nil
}

func (k *Candidate) readRepository(ctx context.Context, r workspace.Repository) ([]*entry, error) {
	dir, err := filepath.EvalSymlinks(r.Path)
	if err != nil {
		return nil, err
	}
	root, err := openRoot(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	defer root.close()
	t := tree{candidate: k, dir: dir, root: root, cache: k.newCache(r.ID, dir), leave: leave{k.exclude, k.change, r.ID, stateBelow(k.state, dir)}}
	// While git lists, which keeps one processor busy, the files of the last time
	// are looked at.
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error {
		t.cache.load()
		return t.cache.compare(both, root, min(k.workers, max(1, runtime.GOMAXPROCS(0)-1)))
	})
	var found []*entry
	group.Go(func() (err error) {
		found, err = t.list(both)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := t.read(ctx, found); err != nil {
		return nil, err
	}
	t.cache.save()
	return found, nil
}
