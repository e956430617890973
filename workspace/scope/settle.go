package scope

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// maxPasses bounds how often a repository is looked at again after something was
// put back: a .gitignore that is as it was may show more.
const maxPasses = 4

// After puts back what was changed outside of the scopes since Before, and closes
// the capture: a later Before with the same directory finds it done. What could
// not be put back is in the Report. The error has CodeChangeScope, unless ctx has
// ended; the capture is still open then.
func (c *Capture) After(ctx context.Context) (Report, error) { return c.settle(ctx, true) }

// Revert is After for a turn that failed and may be tried again: when everything
// is back, the next Before records afresh. What was found stays in the Report.
func (c *Capture) Revert(ctx context.Context) (Report, error) { return c.settle(ctx, false) }

func (c *Capture) settle(ctx context.Context, done bool) (Report, error) {
	if c == nil {
		return Report{}, nil
	}
	report := func() Report { return Report{Changes: slices.Clone(c.found.Changes)} }
	if c.found.Done {
		return report(), nil
	}
	c.found.Changes = slices.DeleteFunc(c.found.Changes, func(f Change) bool { return f.Done == "" }) // they are found again
	for _, held := range c.held.Repositories {
		i := slices.IndexFunc(c.turn.Repositories, func(r workflow.RepositoryInfo) bool { return r.ID == held.ID })
		if i < 0 {
			continue // it is not part of the run any more
		}
		if err := c.hold(ctx, c.turn.Repositories[i], held); err != nil {
			return report(), fault(ctx, "putting back what is outside of the scope of", held.ID, err)
		}
	}
	if err := c.close(done); err != nil {
		return report(), fault(ctx, "closing the record of", c.turn.Repositories[0].ID, err)
	}
	return report(), nil
}

// close writes what was found, and ends the capture unless something is still to
// be put back for a turn that may be tried again.
func (c *Capture) close(done bool) error {
	c.found.Done = done
	if done || len(c.found.Changes) > 0 {
		if err := writeJSON(c.path(foundFile), c.found); err != nil {
			return err
		}
	}
	if !done && len(Report{Changes: c.found.Changes}.Failed()) > 0 {
		return nil
	}
	var errs []error
	for _, at := range []string{manifestFile, packFile} {
		if err := os.Remove(c.path(at)); err != nil && !gone(err) {
			errs = append(errs, err)
		}
	}
	c.held = manifest{}
	return errors.Join(errs...)
}

// hold puts a repository right.
func (c *Capture) hold(ctx context.Context, info workflow.RepositoryInfo, held repository) error {
	p, err := c.guard.enter(info, c.turn.Change)
	if err != nil {
		return err
	}
	defer p.root.Close()
	m := newMender(c, p, held)
	for range maxPasses {
		p.dirs = map[string]bool{}
		wishes, err := m.compare(ctx)
		if err != nil || len(wishes) == 0 {
			return err
		}
		if err := m.mend(ctx, wishes); err != nil {
			return err
		}
	}
	wishes, err := m.compare(ctx)
	for _, w := range wishes {
		m.fail(w, errors.New("it changes again and again"))
	}
	return err
}

// wish is a path that is not as it was.
type wish struct {
	before, now entry
	permissions bool // only they differ
	change      Change
}

// mender puts one repository right.
type mender struct {
	capture *Capture
	place   *place
	held    repository
	before  map[string]entry
	folders map[string]bool // directories that were there
	fresh   []string        // directories of repositories that the turn made
	given   map[string]bool // paths that were given up
}

func newMender(c *Capture, p *place, held repository) *mender {
	m := &mender{
		capture: c, place: p, held: held,
		before: make(map[string]entry, len(held.Entries)), folders: map[string]bool{}, given: map[string]bool{},
	}
	for _, f := range held.Folders {
		m.folders[string(f)] = true
	}
	for _, e := range held.Entries {
		m.before[string(e.Path)] = e
		for dir := path.Dir(string(e.Path)); dir != "." && !m.folders[dir]; dir = path.Dir(dir) {
			m.folders[dir] = true
		}
	}
	return m
}

// compare returns what differs from the capture, sorted by path.
func (m *mender) compare(ctx context.Context) ([]wish, error) {
	now, err := m.current(ctx)
	if err != nil {
		return nil, err
	}
	var wishes []wish
	for _, at := range slices.Sorted(maps.Keys(now)) {
		before := m.before[at]
		if before.Kind == nothing && m.place.scoped(at) || m.given[at] {
			continue
		}
		e, err := m.place.look(at)
		if errors.Is(err, fs.ErrPermission) { // the turn closed the directory
			e, err = entry{Path: name(at)}, nil
		}
		if err != nil {
			return nil, err
		}
		if before.Kind == nothing && (e.Kind == nothing || e.Kind == folder) {
			continue
		}
		same, contents, err := m.place.same(before, e, m.capture.at)
		if err != nil {
			return nil, err
		}
		if same {
			continue
		}
		wishes = append(wishes, wish{before: before, now: e, permissions: contents, change: Change{
			Repository: m.held.ID, Path: shown(at), What: what(before, e, contents),
		}})
	}
	return m.lawful(wishes, now), ctx.Err()
}

func what(before, now entry, contents bool) string {
	switch {
	case before.Kind == nothing:
		return Added
	case now.Kind == nothing:
		return Removed
	case contents:
		return Permissions
	}
	return Changed
}

// current returns all paths of the capture and of the repository now.
func (m *mender) current(ctx context.Context) (map[string]bool, error) {
	now := make(map[string]bool, len(m.before))
	for at := range m.before {
		now[at] = true
	}
	if len(m.held.Trees) == 0 {
		found, _, err := m.place.walk(ctx, "", false)
		for _, at := range found {
			now[at] = true
		}
		return now, err
	}
	known := map[string]bool{}
	for _, t := range m.held.Trees {
		known[string(t.Prefix)] = true
	}
	for _, t := range m.held.Trees {
		if t.Prefix != "" && !hasGit(m.place.full(string(t.Prefix))) {
			return nil, fmt.Errorf("the turn took away the .git of %s: bring it back", shown(string(t.Prefix)))
		}
		l, err := m.place.list(ctx, string(t.Prefix), m.capture.path(t.Excludes))
		if errors.Is(err, errNoGit) {
			return nil, fmt.Errorf("git knew it before the turn and does not know it now: bring back its .git: %w", err)
		}
		if err != nil {
			return nil, err
		}
		for at := range l.paths {
			now[at] = true
		}
		for _, dir := range l.trees {
			if known[dir+"/"] {
				continue
			}
			found, dirs, err := m.place.walk(ctx, dir, true)
			if err != nil {
				return nil, err
			}
			m.fresh = append(m.fresh, dirs...)
			for _, at := range found {
				now[at] = true
			}
		}
	}
	return now, nil
}

// lawful leaves out the locks that follow from a changed manifest.
func (m *mender) lawful(wishes []wish, now map[string]bool) []wish {
	isLock := func(w wish) bool {
		return (w.now.Kind == file || w.now.Kind == nothing) && slices.ContainsFunc(families, func(f family) bool {
			return slices.Contains(f.locks, path.Base(string(w.now.Path))) || strings.Contains(string(w.now.Path), ".yarn/")
		})
	}
	if !slices.ContainsFunc(wishes, isLock) {
		return wishes
	}
	old := map[string]string{}
	for _, e := range m.held.Manifests {
		old[string(e.Path)] = e.Sum
		now[string(e.Path)] = true
	}
	var changed []string
	for at := range now {
		if isManifest(at) && m.place.scoped(at) && m.place.sum(at) != old[at] {
			changed = append(changed, at)
		}
	}
	return slices.DeleteFunc(wishes, func(w wish) bool { return isLock(w) && follows(string(w.now.Path), changed) })
}
