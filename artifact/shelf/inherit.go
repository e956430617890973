package shelf

import (
	"cmp"
	"context"
	"fmt"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Forked gives a new fork what its parent has made so far. A parent whose log is
// empty is looked at when the fork needs its artifacts.
func (s *Shelf) Forked(ctx context.Context, fork workflow.RunID) error {
	h, err := s.head(ctx, fork)
	if err == nil {
		h, err = s.head(ctx, h.ForkOf)
	}
	if err != nil {
		return err
	}
	c, err := s.open(ctx, string(cmp.Or(h.Root, h.Run)))
	if err != nil {
		return err
	}
	if empty, err := isEmpty(ctx, c); empty || err != nil {
		return err
	}
	_, _, err = s.Of(ctx, fork)
	return err
}

// inherit copies, by reference, what the parent of a fork had at the cut, by
// positions in the histories, whatever clocks said. What no position tells of is
// there when it came before everything in the collection that the fork does not
// have.
func (s *Shelf) inherit(ctx context.Context, h store.Head, to artifact.Replica) error {
	_, from, err := s.of(ctx, h.ForkOf)
	if err != nil {
		return err
	}
	past, err := s.upTo(ctx, h.ForkOf, h.Cut)
	if err != nil {
		return err
	}
	edge := int64(artifact.MaxSeq + 1)
	for c, err := range from.Export(ctx) {
		if err != nil {
			return err
		}
		if told, kept := past.tells(&c.Revision); told && !kept {
			edge = min(edge, c.Seq)
		}
	}
	_, err = to.Merge(ctx, func(yield func(artifact.Copy, error) bool) {
		for c, err := range from.Export(ctx) {
			if err == nil {
				told, kept := past.tells(&c.Revision)
				if told && !kept || !told && c.Seq > edge {
					continue
				}
				if past.strange { // the positions are those of another run
					c.After = 0
				}
			}
			if !yield(c, err) {
				return
			}
		}
	})
	return err
}

// past is what journals tell of the revisions of a collection, as seen from a cut.
type past struct {
	written map[numbered]bool // whether it was up to the cut
	begun   map[string]bool   // ids of revisions that no journal names yet
	limit   int64             // of the history of the run that the collection belongs to
	strange bool              // that run is not the one that was forked
}

type numbered struct {
	artifact string
	version  int64
}

// tells reports whether a journal knows of a revision, and whether that was up to
// the cut.
func (p *past) tells(r *artifact.Revision) (told, kept bool) {
	if r.Deleted || r.Author == artifact.Person {
		return r.After > 0, r.After <= p.limit
	}
	if kept, told = p.written[numbered{r.Artifact, r.Version}]; told {
		return true, kept
	}
	return p.begun[r.ID], false
}

// upTo reads what the tree of a run wrote into its collection, up to a cut of the
// run. Of the runs above it, that is what was there when they started it.
func (s *Shelf) upTo(ctx context.Context, run workflow.RunID, cut int64) (_ *past, err error) {
	var path []workflow.RunID
	for at := run; at != ""; {
		h, err := s.head(ctx, at)
		if err != nil {
			return nil, err
		}
		path, at = append([]workflow.RunID{at}, path...), h.ChildOf
	}
	names := map[string]bool{}
	for at := path[0]; at != ""; { // the collections that this one began with
		h, err := s.head(ctx, at)
		if workflow.CodeOf(err) == workflow.CodeRunNotFound && len(names) > 0 {
			break // it is gone
		}
		if err != nil {
			return nil, err
		}
		names[string(cmp.Or(h.Root, h.Run))], at = true, h.ForkOf
	}
	p := &past{written: map[numbered]bool{}, begun: map[string]bool{}, strange: len(path) > 1}
	w := walk{shelf: s, see: func(d deed) error {
		switch {
		case d.Made == nil:
			p.begun[d.key()] = true
		case names[d.Collection]:
			p.written[numbered{d.ID, d.Version}] = d.kept
		}
		return nil
	}}
	p.limit, err = w.read(ctx, path, 0, cut)
	return p, err
}

// Continued gives a run that goes on with an edited workflow all that the run
// before it made.
func (s *Shelf) Continued(ctx context.Context, from, to workflow.RunID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.open(ctx, string(to))
	if err != nil {
		return fmt.Errorf("giving run %s the artifacts of run %s: %w", to, from, err)
	}
	return s.goOn(ctx, from, to, c)
}

func (s *Shelf) goOn(ctx context.Context, from, to workflow.RunID, c artifact.Replica) error {
	_, old, err := s.of(ctx, from)
	if err == nil {
		_, err = artifact.Fork(ctx, c, old, 0)
	}
	if err != nil {
		return fmt.Errorf("giving run %s the artifacts of run %s: %w", to, from, err)
	}
	return nil
}
