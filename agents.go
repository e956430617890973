package tenon

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/shelf"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/piece/agent"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/workflow"
)

// Named names an agent, a skill or a composition, perhaps with a version.
type Named struct {
	Kind composition.Kind
	Name string
}

// Publish publishes the file that a name stands for, a draft too, and what it
// refers to. It is refused where a reference leads nowhere or to a draft.
// again tells that this version was published before.
func (a *Agents) Publish(n Named) (r shelf.Record, again bool, err error) {
	it, err := a.file(n)
	if err != nil {
		return r, false, err
	}
	if err := a.whole(it); err != nil {
		return r, false, err
	}
	before, err := a.records(it)
	if err != nil {
		return r, false, err
	}
	p := shelf.Publication{Item: it}
	if it.Kind == composition.KindSkill {
		p.Files = a.Files.ReadFile
	}
	r, err = a.Shelf.Publish(p)
	again = slices.ContainsFunc(before, func(o shelf.Record) bool { return o.Version == it.Version && !o.Implicit })
	return r, again, err
}

// whole resolves what is to be published, and keeps what it refers to.
func (a *Agents) whole(it *composition.Item) error {
	if it.Err != nil || it.Kind == composition.KindSkill {
		return nil //nolint:nilerr // the shelf refuses it
	}
	asked := *it
	if asked.Lifecycle == composition.Draft {
		asked.Lifecycle = composition.Published
	}
	var r *composition.Resolution
	var err error
	if it.Kind == composition.KindComposition {
		r, err = composition.ResolveItem(a.Catalog, &asked, composition.Options{})
	} else {
		r, err = composition.ResolveAgent(a.as(&asked), asked.Ref(), composition.Options{})
	}
	if err != nil {
		return fmt.Errorf("publishing the %s %s: %w", it.Kind, it.Ref(), err)
	}
	return a.keep(slices.DeleteFunc(r.Items, func(o *composition.Item) bool { return o.Digest == it.Digest && o.Kind == it.Kind }))
}

// as is the catalog with one item as it will be.
func (a *Agents) as(it *composition.Item) *composition.Catalog {
	items := []composition.Item{}
	for _, kind := range composition.Kinds() {
		for _, o := range a.Items(kind) {
			if o.Kind == it.Kind && o.Digest == it.Digest && o.Tier == it.Tier && o.Version == it.Version {
				continue
			}
			items = append(items, *o)
		}
	}
	return composition.NewCatalog(append(items, *it))
}

// file returns the most specific file of a name, a draft too.
func (a *Agents) file(n Named) (*composition.Item, error) {
	ref, err := composition.ParseRef(n.Kind, n.Name)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "%w", err)
	}
	for _, it := range a.Items(n.Kind) {
		if !it.Stored && it.Name() == ref.Name() && (ref.Version == "" || ref.Version == it.Version) {
			return it, nil
		}
	}
	if _, err := a.Look(Named{n.Kind, ref.Name()}, true); err != nil {
		return nil, err
	}
	return nil, workflow.Errorf(workflow.CodeNotFound, "no file holds the %s %s", n.Kind, ref).WithHint("what is published is taken from a file: tenon %s show %s", n.Kind, ref.Name())
}

// Look returns what a name stands for, without all that it refers to.
func (a *Agents) Look(n Named, draft bool) (*composition.Item, error) {
	ref, err := composition.ParseRef(n.Kind, n.Name)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "%w", err)
	}
	it, err := a.Find(n.Kind, ref, composition.Options{Draft: draft})
	var found source.Errors
	if !errors.As(err, &found) || len(found) == 0 {
		return it, err
	}
	e := &workflow.Error{Code: workflow.CodeInvalidComposition, Msg: found[0].Message, Hint: found[0].Hint, Err: found}
	switch found[0].Code {
	case composition.FindingNotPublished:
		e.Code = workflow.CodeNotPublished
	case composition.FindingVersion:
		e.Code = workflow.CodeVersionConflict
	case composition.FindingBroken:
		for _, it := range a.Items(n.Kind) {
			var why source.Errors
			if it.Name() == ref.Name() && errors.As(it.Err, &why) {
				e.Msg, e.Hint, e.Err = e.Msg+":\n"+why.Error(), "", why
				break
			}
		}
	}
	return nil, e
}

// records are the published versions of an item's name in its tier.
func (a *Agents) records(it *composition.Item) ([]shelf.Record, error) {
	all, err := a.Shelf.List(it.Kind)
	return slices.DeleteFunc(all, func(r shelf.Record) bool { return r.Tier != it.Tier || r.Ref().Name() != it.Name() }), err
}

// Archive keeps a published version from everyone but those who pinned it. The
// tier is needed where the version was published in several.
func (a *Agents) Archive(n Named, tier composition.Tier) (shelf.Record, error) {
	ref, err := composition.ParseRef(n.Kind, n.Name)
	if err != nil {
		return shelf.Record{}, workflow.Errorf(workflow.CodeInvalidArguments, "%w", err)
	}
	all, err := a.Shelf.List(n.Kind)
	if err != nil {
		return shelf.Record{}, err
	}
	all = slices.DeleteFunc(all, func(r shelf.Record) bool { return r.Ref().Name() != ref.Name() || tier != "" && r.Tier != tier })
	var versions, tiers []string
	for i := range all {
		versions = append(versions, all[i].Version)
		if all[i].Version == ref.Version && !slices.Contains(tiers, string(all[i].Tier)) {
			tiers = append(tiers, string(all[i].Tier))
		}
	}
	if ref.Version == "" {
		e := workflow.Errorf(workflow.CodeInvalidArguments, "archiving the %s %s: name a version", n.Kind, ref)
		if len(versions) == 0 {
			return shelf.Record{}, e.WithHint("none was published")
		}
		return shelf.Record{}, e.WithHint("there are: %s", strings.Join(versions, ", "))
	}
	if len(tiers) > 1 {
		return shelf.Record{}, workflow.Errorf(workflow.CodeInvalidArguments, "archiving the %s %s: it was published in the tiers %s", n.Kind, ref, strings.Join(tiers, ", ")).
			WithHint("name one with --tier")
	}
	if len(tiers) == 1 {
		tier = composition.Tier(tiers[0])
	}
	return a.Shelf.Archive(n.Kind, cmp.Or(tier, composition.TierProject), ref)
}

// Pins is what a lock holds now, and what it would hold.
type Pins struct {
	Was, Is *composition.Lock
	// Own are the things of the person alone that are pinned: others do not have
	// them. Drafts are left out.
	Own, Drafts []string
}

// Changed are the differences of the two locks, by kind and reference. Was or Is is
// nil where there is none.
func (p Pins) Changed() []PinChange {
	byRef := map[string]*PinChange{}
	var keys []string
	at := func(pin composition.Pin) *PinChange {
		key := string(pin.Kind) + " " + pin.Ref
		if byRef[key] == nil {
			byRef[key] = &PinChange{Kind: pin.Kind, Ref: pin.Ref}
			keys = append(keys, key)
		}
		return byRef[key]
	}
	for _, pin := range p.Was.Pins() {
		at(pin).Was = &pin
	}
	for _, pin := range p.Is.Pins() {
		at(pin).Is = &pin
	}
	slices.Sort(keys)
	out := []PinChange{}
	for _, key := range keys {
		if c := byRef[key]; c.Was == nil || c.Is == nil || *c.Was != *c.Is {
			out = append(out, *c)
		}
	}
	return out
}

// PinChange is one difference of two locks.
type PinChange struct {
	Kind composition.Kind `json:"kind"`
	Ref  string           `json:"ref"`
	Was  *composition.Pin `json:"was,omitempty"`
	Is   *composition.Pin `json:"is,omitempty"`
}

// String tells the change in one line.
func (c PinChange) String() string {
	about := string(c.Kind) + " " + c.Ref
	switch {
	case c.Was == nil:
		return fmt.Sprintf("+ %s is %s", about, pinText(*c.Is))
	case c.Is == nil:
		return fmt.Sprintf("- %s, was %s", about, pinText(*c.Was))
	}
	return fmt.Sprintf("~ %s is %s, was %s", about, pinText(*c.Is), pinText(*c.Was))
}

func pinText(p composition.Pin) string {
	return fmt.Sprintf("%s (%s, %s)", p.Version, p.Tier, p.Digest[:min(12, len(p.Digest))])
}

// Repin resolves anew what the lock of the project holds. With names only those are
// resolved, and the rest of the lock stays; without any, all agents and
// compositions of the repository. What is the person's own comes into the lock
// only where nothing else has the name. Unless dry, what is pinned is published
// implicitly, so that it is still there when its file has another version.
func (a *Agents) Repin(names []Named, dry bool) (Pins, error) {
	p := Pins{Was: &composition.Lock{}, Is: &composition.Lock{}}
	if a.lock != nil {
		p.Was = a.lock
	}
	switch {
	case len(names) > 0 && a.torn != nil:
		return p, a.torn
	case len(names) > 0:
		p.Is = p.Was
	default:
		for _, kind := range []composition.Kind{composition.KindComposition, composition.KindAgent} {
			for _, it := range a.Items(kind) {
				switch {
				case it.Stored || it.Tier != composition.TierProject || it.Lifecycle == composition.Archived:
				case it.Lifecycle == composition.Draft:
					p.Drafts = append(p.Drafts, fmt.Sprintf("%s %s", it.Kind, it.Ref()))
				default:
					names = append(names, Named{kind, it.Name()})
				}
			}
		}
	}
	var bad []error
	for _, n := range names {
		r, err := a.Resolve(n.Kind, n.Name, composition.Options{Shared: true})
		if err != nil {
			var alone error
			if r, alone = a.Resolve(n.Kind, n.Name, composition.Options{}); alone != nil {
				bad = append(bad, err)
				continue
			}
		}
		for _, pin := range r.Lock.Pins() {
			if text := string(pin.Kind) + " " + pin.Ref; pin.Tier == composition.TierUser && !slices.Contains(p.Own, text) {
				p.Own = append(p.Own, text)
			}
		}
		p.Is = p.Is.Merge(r.Lock)
		if !dry {
			bad = append(bad, a.keep(r.Items))
		}
	}
	return p, errors.Join(bad...)
}

// hiding tells which of the things that are used hide others of their name.
func (a *Agents) hiding(used []*composition.Item) []string {
	var out []string
	for _, it := range used {
		if it.Stored {
			continue
		}
		var hidden []string
		for _, o := range a.Items(it.Kind) {
			if !o.Stored && o.Name() == it.Name() && o.Source != it.Source {
				hidden = append(hidden, o.Source)
			}
		}
		if len(hidden) > 0 {
			out = append(out, fmt.Sprintf("the %s %s of the tier %s (%s) hides %s", it.Kind, it.Name(), it.Tier, it.Source, strings.Join(hidden, ", ")))
		}
	}
	return out
}

// Locked resolves a name as the lock has it.
func (a *Agents) Locked(n Named) (*composition.Resolution, error) {
	if a.torn != nil {
		return nil, a.torn
	}
	if a.lock == nil {
		return nil, workflow.Errorf(workflow.CodeNotFound, "there is no lock %s/%s", project.Folder, composition.LockFile).
			WithHint("write one with tenon composition resolve, or name two versions")
	}
	ref, err := composition.ParseRef(n.Kind, n.Name)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "%w", err)
	}
	kept, err := a.Shelf.Items()
	if err != nil {
		return nil, err
	}
	// Files may have changed since, so what was kept is asked first.
	if r, err := resolve(composition.NewCatalog(kept), n.Kind, ref, composition.Options{Lock: a.lock}); err == nil {
		return r, nil
	}
	return resolve(a.Catalog, n.Kind, ref, composition.Options{Lock: a.lock})
}

// Unlocked reports whether there is no lock that can be used.
func (a *Agents) Unlocked() bool { return a.lock == nil }

// update renews the lock for a run that asks for it, for what its workflow names.
func (a *Agents) update(q Request, names []agent.Name) error {
	if !q.UpdateLock || q.dry || len(names) == 0 {
		return nil
	}
	var list []Named
	for _, n := range names {
		if n.Composition != "" {
			list = append(list, Named{composition.KindComposition, n.Composition})
		} else {
			list = append(list, Named{composition.KindAgent, n.Agent})
		}
	}
	p, err := a.Repin(list, false)
	if err != nil {
		return err
	}
	return a.WriteLock(p.Is)
}

// WriteLock writes the lock of the project, whole or not at all.
func (a *Agents) WriteLock(l *composition.Lock) error {
	path := a.t.LockPath()
	if err := writeWhole(path, l.Bytes()); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Join(project.Folder, composition.LockFile), err)
	}
	a.lock = l
	return nil
}

// writeWhole replaces a file, so that a crash leaves the old one or the new one.
func writeWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if gone := os.Remove(f.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
