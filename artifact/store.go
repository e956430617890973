package artifact

import (
	"context"
	"iter"
	"math"
)

// Latest asks Read for the current version. It is a number that nobody types, so
// that a version 0 is told to be wrong.
const Latest int64 = math.MinInt64

// Store is one collection of artifacts. It is safe for concurrent use, also by
// several processes where the collection is on a disk. Errors have the codes
// that Log gives, and those of the place: workflow.CodeStoreUnavailable,
// CodeStoreFull, CodeStoreDamaged. What returned an error did not happen.
type Store interface {
	// Put keeps a draft as the next revision.
	Put(ctx context.Context, d Draft) (Receipt, error)
	// Edit keeps a person's text as the next revision of an artifact that is there.
	Edit(ctx context.Context, e Edit) (Descriptor, error)
	// List returns all artifacts, the oldest one first. It reads no contents.
	List(ctx context.Context) ([]Descriptor, error)
	// Get returns an artifact with all its versions. It reads no contents.
	Get(ctx context.Context, id string) (Artifact, error)
	// Read returns a version, of twins the last one, and its content.
	Read(ctx context.Context, id string, version int64) (Revision, string, error)
	// Delete forgets an artifact. A later Put under its id goes on from its
	// highest number.
	Delete(ctx context.Context, id string) error
	// Publish notes what was sent where; nil that nothing is out any more.
	Publish(ctx context.Context, id string, p *Publication) (Descriptor, error)
}

// Replica is a collection whose revisions travel.
type Replica interface {
	// Export returns the revisions and deletions in the order of the log. A yield
	// with an error is the last one.
	Export(ctx context.Context) iter.Seq2[Copy, error]
	// Merge takes revisions as they happened, in any order and any number of
	// times. What it cannot take it counts; an error ends it, and what was
	// reported as added before stays.
	Merge(ctx context.Context, copies iter.Seq2[Copy, error]) (Merged, error)
}

// Copy is a revision on its way between collections.
type Copy struct {
	Revision
	// Content returns what the revision holds. It is only called when the
	// receiver needs it, and not for a deletion.
	Content func(ctx context.Context) (string, error)
}

// Merged counts what became of the revisions of a Merge.
type Merged struct {
	Added   int      `json:"added"`             // deletions count
	Known   int      `json:"known"`             // were there, or are deleted
	Clashes []string `json:"clashes,omitempty"` // ids of revisions that exist with another text; that one stays
	Refused []string `json:"refused,omitempty"` // why, of each one that is not whole
}

// MaxRefused bounds the reasons that a Merged lists.
const MaxRefused = 100

// Note counts a revision.
func (m *Merged) Note(r *Revision, fate Fate, err error) {
	switch {
	case err != nil:
		if len(m.Refused) < MaxRefused {
			m.Refused = append(m.Refused, err.Error())
		}
	case fate == Added:
		m.Added++
	case fate == Clash:
		m.Clashes = append(m.Clashes, r.ID)
	default:
		m.Known++
	}
}

// Collections are the collections of a place, by name. A collection that nobody
// wrote to is empty and is not kept.
type Collections interface {
	// Open returns a collection, the same one for the same name.
	Open(ctx context.Context, name string) (Collection, error)
	// Names returns the names of the collections that hold something, sorted.
	Names(ctx context.Context) ([]string, error)
}

// Collection is a Store whose revisions travel.
type Collection interface {
	Store
	Replica
}

// Fork gives a new collection what another one held up to a counter: the Seq of
// the last revision that counts, 0 for all. Contents are shared where both are in
// one place. Publications stay behind, and so do positions, which are those of
// another history.
func Fork(ctx context.Context, to, from Replica, upTo int64) (Merged, error) {
	return to.Merge(ctx, func(yield func(Copy, error) bool) {
		for c, err := range from.Export(ctx) {
			if err == nil && upTo > 0 && c.Seq > upTo {
				continue
			}
			c.After = 0
			if !yield(c, err) {
				return
			}
		}
	})
}

// Revert makes an old version current again, as a new revision by a person: the
// history goes on, it is not cut.
func Revert(ctx context.Context, s Store, id string, version int64) (Descriptor, error) {
	a, err := s.Get(ctx, id)
	if err != nil {
		return Descriptor{}, err
	}
	_, content, err := s.Read(ctx, id, version)
	if err != nil {
		return Descriptor{}, err
	}
	return s.Edit(ctx, Edit{Artifact: id, Content: content, Base: a.Current().Version})
}
