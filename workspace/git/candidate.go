package git

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

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
	// Workers bounds the files that are read at the same time; 0 means twice the
	// processors, at most 16.
	Workers int
}

// Candidate implements workspace.Candidate. It is safe for concurrent use.
type Candidate struct {
	repositories []workspace.Repository
	exclude      []Exclude
	state        []string
	workers      int
	hash         hashFunc
}

var _ workspace.Candidate = (*Candidate)(nil)

// New returns the Candidate of the repositories.
func New(c Config) (*Candidate, error) {
	if len(c.Repositories) == 0 {
		return nil, errors.New("setting up the candidate: no repository is configured")
	}
	k := &Candidate{
		repositories: slices.Clone(c.Repositories),
		state:        slices.Clone(c.State),
		workers:      c.Workers,
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
	var err error
	if k.exclude, err = normalise(c.Exclude); err != nil {
		return nil, err
	}
	for _, x := range k.exclude {
		if x.Repository != "" && !slices.ContainsFunc(k.repositories, func(r workspace.Repository) bool { return r.ID == x.Repository }) {
			return nil, fmt.Errorf("setting up the candidate: exclude %q names the unknown repository %q", x.Path, x.Repository)
		}
	}
	if k.workers <= 0 {
		k.workers = min(2*runtime.GOMAXPROCS(0), 16)
	}
	return k, nil
}

// Digest implements workspace.Candidate.
func (k *Candidate) Digest(ctx context.Context) (string, error) {
	e := newEncoder()
	e.field(workspace.CandidateFormat)
	e.count(len(k.exclude))
	for _, x := range k.exclude {
		e.field(x.Repository)
		e.field(x.Path)
		e.flag(x.Tracked)
	}
	e.count(len(k.repositories))
	for _, r := range k.repositories {
		found, err := k.entries(ctx, r)
		if err != nil {
			return "", fmt.Errorf("computing the candidate of repository %s: %w", r.ID, err)
		}
		e.field(r.ID)
		e.entries(found)
	}
	sum := e.sum()
	return workspace.CandidateFormat + hex.EncodeToString(sum[:]), nil
}

// entries lists and reads one repository.
func (k *Candidate) entries(ctx context.Context, r workspace.Repository) ([]*entry, error) {
	dir, err := filepath.EvalSymlinks(r.Path)
	if err != nil {
		return nil, err
	}
	t := tree{candidate: k, dir: dir, leave: leave{k.exclude, r.ID, stateBelow(k.state, dir)}}
	found, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	return found, t.read(ctx, found)
}
