package harvest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/deliverable"
)

// Workspace is where a turn worked.
type Workspace struct {
	Dir   string            // has the directory deliverables
	Repos map[string]string // the directories of work trees, by name
}

// Limits bound what is taken in; a zero stands for the default.
type Limits struct {
	File  int64 // bytes of one file; default 32 MiB
	Total int64 // bytes of all, held in memory; default 128 MiB
	Files int   // default 1,000
}

func (l Limits) withDefaults() Limits {
	l.File = cmp.Or(l.File, 32<<20)
	l.Total = cmp.Or(l.Total, 128<<20)
	l.Files = cmp.Or(l.Files, 1000)
	return l
}

// Take reads what a spec is about. The caller adds the last message. The error is
// that of the context; all others are faults of the Harvest.
func Take(ctx context.Context, w Workspace, spec *deliverable.Spec, limits Limits) (deliverable.Harvest, error) {
	t := taker{ctx: ctx, space: w, spec: spec, limits: limits.withDefaults()}
	t.left = t.limits.Total
	t.out.Files = []deliverable.File{}
	if spec.Contract.Mode != deliverable.ModeResponse {
		t.run()
	}
	if err := ctx.Err(); err != nil {
		return deliverable.Harvest{}, fmt.Errorf("harvesting %s: %w", spec.Slug, err)
	}
	return t.out, nil
}

// taker takes in one harvest.
type taker struct {
	ctx    context.Context //nolint:containedctx // one call long
	space  Workspace
	spec   *deliverable.Spec
	limits Limits
	left   int64 // of Limits.Total
	looked int   // entries of directories
	root   *os.Root
	kinds  map[string]string // of listed files
	out    deliverable.Harvest
}

func (t *taker) fault(reason deliverable.Reason, path, format string, args ...any) {
	t.out.Faults = append(t.out.Faults, deliverable.Fault{Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (t *taker) warn(format string, args ...any) {
	t.out.Warnings = append(t.out.Warnings, fmt.Sprintf(format, args...))
}

func (t *taker) run() {
	root, ok := t.slot()
	if !ok {
		return
	}
	if root != nil {
		defer root.Close() //nolint:errcheck // only read
		t.root = root
		t.readIndex()
		for _, path := range t.wanted() {
			if t.ctx.Err() != nil {
				return
			}
			t.take(path)
		}
		t.unlisted()
	}
	t.elsewhere()
	slices.SortFunc(t.out.Files, func(a, b deliverable.File) int { return strings.Compare(a.Path, b.Path) })
}

// slot opens the directory of the slot. It is nil when there is none, and false
// when nothing can be said.
func (t *taker) slot() (*os.Root, bool) {
	s := t.spec.Contract.Slot
	if s.Kind == deliverable.SlotRepos {
		dir, ok := t.space.Repos[s.Repo]
		if !ok {
			t.fault(deliverable.HarvestError, "", "the workspace has no repository %q; it has: %s", s.Repo, strings.Join(slices.Sorted(maps.Keys(t.space.Repos)), ", "))
			return nil, false
		}
		return t.open(dir)
	}
	space, ok := t.open(t.space.Dir)
	if !ok {
		return nil, false
	}
	defer space.Close() //nolint:errcheck // only read
	info, err := space.Lstat(deliverable.SlotDeliverables)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, true
	case err != nil:
		t.fault(deliverable.HarvestError, "", "looking at deliverables: %v", plain(err))
		return nil, false
	case !info.IsDir():
		t.fault(deliverable.WrongTargetSlot, "", "deliverables %s; it has to be a directory", what(info.Mode()))
		return nil, true
	}
	root, err := space.OpenRoot(deliverable.SlotDeliverables)
	if err != nil {
		t.fault(deliverable.HarvestError, "", "opening deliverables: %v", plain(err))
		return nil, false
	}
	return root, true
}

func (t *taker) open(dir string) (*os.Root, bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.fault(deliverable.HarvestError, "", "opening the workspace: %v", plain(err))
		return nil, false
	}
	return root, true
}

// wanted are the paths to take in, each once: what is declared, what is listed,
// and, where neither says anything, all.
func (t *taker) wanted() []string {
	out := t.spec.Declared()
	for _, path := range t.out.Listed {
		if !slices.Contains(out, path) && deliverable.CleanPath(path) {
			out = append(out, path)
		}
	}
	if t.spec.Kind != deliverable.KindCustom || t.out.Indexed || len(t.spec.Contract.Files) > 0 {
		return out
	}
	all, whole := t.names()
	if !whole {
		t.fault(deliverable.SchemaViolation, "", "more than %d files are in %s; list those that are meant in %s",
			t.limits.Files, t.spec.Contract.Slot, deliverable.IndexFile)
		return nil
	}
	return all
}

// unlisted tells of files that nobody named.
func (t *taker) unlisted() {
	if t.spec.Contract.Slot.Kind != deliverable.SlotDeliverables {
		return
	}
	if !t.out.Indexed {
		t.warn("there is no %s; what is delivered is taken from the contract", deliverable.IndexFile)
	}
	all, whole := t.names()
	declared := t.spec.Declared()
	var strange []string
	for _, path := range all {
		if slices.Contains(declared, path) || slices.Contains(t.out.Listed, path) || slices.ContainsFunc(t.out.Files, func(f deliverable.File) bool { return f.Path == path }) {
			continue
		}
		if _, refused := t.refusal(path); !refused {
			strange = append(strange, path)
		}
	}
	const most = 10
	switch more := len(strange) - most; {
	case len(strange) == 0:
	case !whole || more > 0:
		t.warn("files that are not listed and not taken: %s, and more", strings.Join(strange[:min(most, len(strange))], ", "))
	default:
		t.warn("files that are not listed and not taken: %s", strings.Join(strange, ", "))
	}
}

func (t *taker) refusal(path string) (deliverable.Refusal, bool) {
	i := slices.IndexFunc(t.out.Refused, func(r deliverable.Refusal) bool { return r.Path == path })
	if i < 0 {
		return deliverable.Refusal{}, false
	}
	return t.out.Refused[i], true
}

// elsewhere looks for declared files in the other places where a turn may have
// put them.
func (t *taker) elsewhere() {
	places := []struct{ dir, shown string }{}
	if t.space.Dir != "" {
		places = append(places, struct{ dir, shown string }{t.space.Dir, ""})
	}
	for _, name := range slices.Sorted(maps.Keys(t.space.Repos)) {
		places = append(places, struct{ dir, shown string }{t.space.Repos[name], deliverable.SlotRepos + "/" + name + "/"})
	}
	own := t.spec.Contract.Slot.String() + "/"
	for _, place := range places {
		root, err := os.OpenRoot(place.dir)
		if err != nil {
			continue // it is only a hint
		}
		for _, path := range t.spec.Declared() {
			if slices.ContainsFunc(t.out.Files, func(f deliverable.File) bool { return f.Path == path }) || t.out.Elsewhere[path] != "" {
				continue
			}
			for _, at := range []string{path, deliverable.SlotDeliverables + "/" + path} {
				if info, err := root.Lstat(at); err == nil && info.Mode().IsRegular() && place.shown+at != own+path {
					if t.out.Elsewhere == nil {
						t.out.Elsewhere = map[string]string{}
					}
					t.out.Elsewhere[path] = place.shown + at
					break
				}
			}
		}
		root.Close() //nolint:errcheck // only read
	}
}
