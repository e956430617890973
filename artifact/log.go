package artifact

import (
	"cmp"
	"slices"

	"github.com/tenonrun/tenon/workflow"
)

// MaxSeq is the largest counter of a log and number of a version: what JSON
// carries everywhere.
const MaxSeq = 1<<53 - 1

// Log is the fold of the revisions of a collection. It takes them in any order
// and any number of times. The zero value is empty and ready. It is for one
// goroutine at a time.
type Log struct {
	things map[string]*thing
	known  map[any]*Revision // by Revision.key
	seq    int64             // the largest one seen
}

// thing is the revisions of one artifact.
type thing struct {
	live    []*Revision // sorted by their versions, the current one last; unless untidy
	graves  []*Revision // its deletions
	gone    *Revision   // the last one
	current *Revision
	highest int64 // the largest number seen, also of what is gone
	untidy  bool
	pub     *Publication
}

// Stamp is what a revision gets from where it is written.
type Stamp struct {
	ID     string // of the revision; unique, on all devices
	Device string
	At     int64 // milliseconds since 1970
}

// Fate is what became of a revision that was added.
type Fate int

// The fates.
const (
	Added Fate = iota
	Known      // it was there
	Gone       // a deletion came after it
	Clash      // another revision has its id; that one stays
)

// Add takes a revision as it happened: nothing is numbered anew. The error is
// that of Revision.Check, and nothing is added then.
func (l *Log) Add(r Revision) (Fate, error) {
	fate, err := l.Try(&r)
	if err != nil || fate == Known || fate == Clash {
		return fate, err
	}
	if l.known == nil {
		l.known, l.things = map[any]*Revision{}, map[string]*thing{}
	}
	l.known[r.key()] = &r
	l.seq = max(l.seq, r.Seq)
	t := l.things[r.Artifact]
	if t == nil {
		t = &thing{}
		l.things[r.Artifact] = t
	}
	t.add(&r)
	return fate, nil
}

// Try returns what Add would, and adds nothing.
func (l *Log) Try(r *Revision) (Fate, error) {
	if err := r.Check(); err != nil {
		return Added, err
	}
	if old, ok := l.known[r.key()]; ok {
		if old.same(r) {
			return Known, nil
		}
		return Clash, nil
	}
	if t := l.things[r.Artifact]; t != nil && t.covers(r) {
		return Gone, nil
	}
	return Added, nil
}

// covers reports whether a deletion came after a revision.
func (t *thing) covers(r *Revision) bool {
	return !r.Deleted && t.gone != nil && r.before(t.gone)
}

// same reports whether two revisions of one key are one. Their titles may differ
// only when they have an id: else the key is all there is.
func (r *Revision) same(o *Revision) bool { return r.ID == "" || *r == *o }

func (t *thing) add(r *Revision) {
	t.highest = max(t.highest, r.Version)
	if r.Deleted {
		t.graves = append(t.graves, r)
		if t.gone == nil || t.gone.before(r) {
			t.gone = r
			t.bury()
		}
		return
	}
	if t.covers(r) {
		return
	}
	if n := len(t.live); n > 0 && !r.newer(t.live[n-1]) {
		t.untidy = true
	}
	t.live = append(t.live, r)
	if t.current == nil || r.newer(t.current) {
		t.current = r
	}
}

// bury forgets what the last deletion covers.
func (t *thing) bury() {
	t.live = slices.DeleteFunc(t.live, t.covers)
	t.current, t.pub = nil, nil
	for _, r := range t.live {
		if t.current == nil || r.newer(t.current) {
			t.current = r
		}
	}
}

// sorted returns the revisions by their versions.
func (t *thing) sorted() []*Revision {
	if t.untidy {
		slices.SortFunc(t.live, (*Revision).age)
		t.untidy = false
	}
	return t.live
}

// find returns the artifact of an id, nil when it is not there.
func (l *Log) find(id string) *thing {
	if t := l.things[id]; t != nil && len(t.live) > 0 {
		return t
	}
	return nil
}

// NextSeq returns the counter of the next revision: past every one seen. The
// error has workflow.CodeSeqOutOfRange.
func (l *Log) NextSeq() (int64, error) {
	if l.seq >= MaxSeq {
		return 0, workflow.Errorf(workflow.CodeSeqOutOfRange, "the log of the collection has the counter %d, there is none after it", l.seq).
			WithHint("a broken device took it; export the artifacts into another collection")
	}
	return l.seq + 1, nil
}

// PlanPut returns the revision that a draft becomes. Add makes it one. Errors
// have workflow.CodeInvalidArtifactID, CodeInvalidArtifact, CodeArtifactTooLarge
// or CodeSeqOutOfRange.
func (l *Log) PlanPut(d Draft, s Stamp, limits Limits) (Revision, error) {
	if err := d.check(limits); err != nil {
		return Revision{}, err
	}
	r := Revision{Artifact: d.ID, Title: d.Title, Mime: d.Mime, Language: d.Language, Author: d.Author, After: d.After}
	s.ID = cmp.Or(d.Key, s.ID)
	return l.plan(r, d.Content, s)
}

// PlanEdit returns the revision that an edit becomes. Add makes it one. Errors
// have workflow.CodeNotFound, CodeArtifactConflict, or are those of PlanPut.
func (l *Log) PlanEdit(e Edit, s Stamp, limits Limits) (Revision, error) {
	t := l.find(e.Artifact)
	if t == nil {
		return Revision{}, errNoArtifact(e.Artifact)
	}
	if now := t.current.Version; e.Base != 0 && e.Base != now {
		return Revision{}, workflow.Errorf(workflow.CodeArtifactConflict, "artifact %s is at version %d, the edit was made on version %d: nothing was stored", e.Artifact, now, e.Base).
			WithHint("read version %d and edit that", now)
	}
	if err := limits.Check(e.Artifact, e.Content); err != nil {
		return Revision{}, err
	}
	r := Revision{Artifact: e.Artifact, Title: t.current.Title, Mime: t.current.Mime, Language: t.current.Language, Author: Person, After: e.After}
	return l.plan(r, e.Content, s)
}

func (l *Log) plan(r Revision, content string, s Stamp) (Revision, error) {
	r, err := l.stamp(r, s, 1)
	r.Digest, r.Bytes = Digest(content), int64(len(content))
	return r, err
}

// PlanDelete returns the revision that says that an artifact is gone. Add makes
// it so. The error has workflow.CodeNotFound or CodeSeqOutOfRange.
func (l *Log) PlanDelete(id string, s Stamp) (Revision, error) {
	if l.find(id) == nil {
		return Revision{}, errNoArtifact(id)
	}
	return l.stamp(Revision{Artifact: id, Deleted: true}, s, 0)
}

// stamp numbers a revision, step beyond the highest number.
func (l *Log) stamp(r Revision, s Stamp, step int64) (Revision, error) {
	r.ID, r.Device, r.At = s.ID, s.Device, s.At
	if t := l.things[r.Artifact]; t != nil {
		r.Version = t.highest
	}
	r.Version += step
	if r.Version > MaxSeq {
		return r, workflow.Errorf(workflow.CodeSeqOutOfRange, "artifact %s has the version %d, there is no number after it", r.Artifact, r.Version-step)
	}
	var err error
	r.Seq, err = l.NextSeq()
	return r, err
}

func errNoArtifact(id string) error {
	return workflow.Errorf(workflow.CodeNotFound, "there is no artifact %q in the collection", shown(id)).WithHint("list the artifacts to see their ids")
}

// Seen reports whether a revision is in the log, or one of its id.
func (l *Log) Seen(r *Revision) bool {
	_, ok := l.known[r.key()]
	return ok
}
