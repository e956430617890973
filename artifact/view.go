package artifact

import (
	"cmp"
	"slices"

	"github.com/tenonrun/tenon/workflow"
)

// Len returns the number of artifacts.
func (l *Log) Len() int {
	n := 0
	for _, t := range l.things {
		if len(t.live) > 0 {
			n++
		}
	}
	return n
}

// List returns all artifacts at their current versions, by the time of their
// first one.
func (l *Log) List() []Descriptor {
	things := make([]*thing, 0, len(l.things))
	for _, t := range l.things {
		if len(t.live) > 0 {
			t.sorted()
			things = append(things, t)
		}
	}
	slices.SortFunc(things, func(a, b *thing) int { return a.live[0].compare(b.live[0]) })
	list := make([]Descriptor, 0, len(things))
	for _, t := range things {
		list = append(list, t.describe())
	}
	return list
}

// Describe tells of an artifact; false when it is not there.
func (l *Log) Describe(id string) (Descriptor, bool) {
	t := l.find(id)
	if t == nil {
		return Descriptor{}, false
	}
	return t.describe(), true
}

func (t *thing) describe() Descriptor {
	d := t.current.describe()
	d.VersionCount, d.Publication = len(t.live), t.publication()
	return d
}

// describe tells of an artifact as a revision left it.
func (r *Revision) describe() Descriptor {
	return Descriptor{
		ID: r.Artifact, Title: r.Title, Mime: r.Mime, Kind: KindOf(r.Mime), Language: r.Language,
		Version: r.Version, Bytes: r.Bytes, Author: r.Author, Digest: r.Digest, Seq: r.Seq,
	}
}

func (t *thing) publication() *Publication {
	if t.pub == nil {
		return nil
	}
	p := *t.pub
	return &p
}

// Get returns an artifact with all its versions. The error has
// workflow.CodeNotFound.
func (l *Log) Get(id string) (Artifact, error) {
	t := l.find(id)
	if t == nil {
		return Artifact{}, errNoArtifact(id)
	}
	c := t.current
	a := Artifact{ID: id, Title: c.Title, Mime: c.Mime, Kind: KindOf(c.Mime), Language: c.Language, Publication: t.publication()}
	a.Versions = make([]Version, 0, len(t.live))
	for _, r := range t.sorted() {
		a.Versions = append(a.Versions, Version{
			Version: r.Version, Bytes: r.Bytes, CreatedAt: r.At, Author: r.Author, Device: r.Device, Digest: r.Digest,
		})
	}
	return a, nil
}

// Find returns a revision by the number of its version, of twins the last one;
// Latest is the current one. The error has workflow.CodeNotFound.
func (l *Log) Find(id string, version int64) (Revision, error) {
	t := l.find(id)
	if t == nil {
		return Revision{}, errNoArtifact(id)
	}
	if version == Latest || version == t.current.Version {
		return *t.current, nil
	}
	list := t.sorted()
	after, _ := slices.BinarySearchFunc(list, version, func(r *Revision, v int64) int {
		return cmp.Or(cmp.Compare(r.Version, v), -1) // past the last one of the number
	})
	if after > 0 && list[after-1].Version == version {
		return *list[after-1], nil
	}
	return Revision{}, workflow.Errorf(workflow.CodeNotFound, "artifact %s has no version %d", id, version).
		WithHint("the current one is %d", t.current.Version)
}

// Revisions returns what is in the log, in its order: every revision that is not
// gone, and every deletion. It is what travels.
func (l *Log) Revisions() []Revision {
	var list []*Revision
	for _, t := range l.things {
		list = append(append(list, t.live...), t.graves...)
	}
	slices.SortFunc(list, (*Revision).compare)
	out := make([]Revision, len(list))
	for i, r := range list {
		out[i] = *r
	}
	return out
}

// Publish notes what was sent, or with nil that nothing is out any more. The
// digest of the version is filled in. Errors have workflow.CodeNotFound or
// CodeInvalidArtifact.
func (l *Log) Publish(id string, p *Publication) (Descriptor, error) {
	t := l.find(id)
	if t == nil {
		return Descriptor{}, errNoArtifact(id)
	}
	if p == nil {
		t.pub = nil
		return t.describe(), nil
	}
	c := *p
	if c.Visibility == "" {
		c.Visibility = Unlisted
	}
	if err := c.check(id); err != nil {
		return Descriptor{}, err
	}
	if c.Version < 1 {
		return Descriptor{}, workflow.Errorf(workflow.CodeNotFound, "artifact %s has no version %d to publish", id, c.Version)
	}
	r, err := l.Find(id, c.Version)
	if err != nil {
		return Descriptor{}, err
	}
	c.Digest = r.Digest
	t.pub = &c
	return t.describe(), nil
}

// Publications returns what is out, by the ids of the artifacts.
func (l *Log) Publications() map[string]Publication {
	out := map[string]Publication{}
	for id, t := range l.things {
		if t.pub != nil && len(t.live) > 0 {
			out[id] = *t.pub
		}
	}
	return out
}

// SetPublications puts back what Publications returned. What is not there any
// more is left out.
func (l *Log) SetPublications(all map[string]Publication) {
	for id, t := range l.things {
		t.pub = nil
		if p, ok := all[id]; ok && p.Version > 0 {
			if _, err := l.Find(id, p.Version); err == nil {
				t.pub = &p
			}
		}
	}
}
