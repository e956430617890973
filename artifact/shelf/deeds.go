package shelf

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// deed is a write of an artifact as the history of a run tells it. One without
// Made may have happened: its visit has not ended.
type deed struct {
	*workflow.Made
	run   workflow.RunID
	visit workflow.VisitID
	step  string // of an agent; "" when the visit itself wrote it
	at    workflow.Time
	kept  bool // it was up to the cut
}

// key is the id of the revision.
func (d *deed) key() string {
	if d.step == "" {
		return artifact.Key(string(d.run), string(d.visit))
	}
	return artifact.Key(string(d.run), string(d.visit), d.step)
}

// walk goes through the histories of a run and its child runs, in the order of
// each; a child run comes where it ended.
type walk struct {
	shelf  *Shelf
	see    func(deed) error
	before workflow.RunID // the run that this one goes on from with an edited workflow
}

// read shows the writes of the first run of a path and of those below it. The cut
// is a position of the last run; what the ones above it did after they started the
// next one is beyond the cut. A child run is up to the cut when its end is. It
// returns the position of the cut in the first run.
func (w *walk) read(ctx context.Context, path []workflow.RunID, after, cut int64) (limit int64, err error) {
	at := reading{walk: w, run: path[0], limit: cut, open: map[workflow.VisitID][]string{}, children: map[workflow.VisitID]workflow.RunID{}}
	if len(path) > 1 {
		at.next, at.limit = path[1], math.MaxInt64
	}
	err = w.shelf.cfg.Runs.Events(ctx, at.run, after, func(e workflow.Event) error { return at.event(ctx, e) })
	if err != nil {
		return 0, fmt.Errorf("reading the history of run %s: %w", at.run, err)
	}
	for _, run := range at.children {
		if err := w.child(ctx, run, false); err != nil {
			return 0, err
		}
	}
	for v, steps := range at.open {
		for _, step := range steps {
			if err := w.see(deed{run: at.run, visit: v, step: step}); err != nil {
				return 0, err
			}
		}
	}
	if at.next != "" {
		_, err = w.read(ctx, path[1:], 0, cut)
	}
	return at.limit, err
}

func (w *walk) child(ctx context.Context, run workflow.RunID, kept bool) error {
	cut := int64(0)
	if kept {
		cut = math.MaxInt64
	}
	_, err := w.read(ctx, []workflow.RunID{run}, 0, cut)
	if workflow.CodeOf(err) == workflow.CodeRunNotFound {
		return nil // it never began, or is gone
	}
	return err
}

// reading is a walk in the middle of one history.
type reading struct {
	*walk
	run, next workflow.RunID // next is the run of the path that this one starts
	limit     int64
	open      map[workflow.VisitID][]string // the steps of visits that have not ended; "" is the visit itself
	children  map[workflow.VisitID]workflow.RunID
}

func (r *reading) event(ctx context.Context, e workflow.Event) error {
	v, kept := e.VisitID(), e.Seq <= r.limit
	switch p := e.Payload.(type) {
	case *workflow.Forked:
		clear(r.children) // of the run that was forked
	case *workflow.Progress:
		r.before = cmp.Or(p.EditedFrom(), r.before)
	case *workflow.ChildStarted:
		if p.Run != r.next {
			r.children[v] = p.Run
		} else if kept {
			r.limit = e.Seq
		}
	case *workflow.ChildEnded:
		if p.Run != r.next {
			delete(r.children, v)
			return r.child(ctx, p.Run, kept)
		}
	case *workflow.Admitted:
		if r.open[v] == nil {
			r.open[v] = []string{""}
		}
	case *workflow.InvocationSettled:
		for n := range p.ToolCalls {
			r.open[v] = append(r.open[v], fmt.Sprintf("%s/%d", p.Key, n+1))
		}
	case *workflow.StepSettled:
		return r.wrote(e, p.Made, p.Key, kept)
	case *workflow.Settled:
		delete(r.open, v)
		return r.wrote(e, p.Made, "", kept)
	}
	return nil
}

func (r *reading) wrote(e workflow.Event, m *workflow.Made, step string, kept bool) error {
	if m == nil {
		return nil
	}
	return r.see(deed{Made: m, run: r.run, visit: e.VisitID(), step: step, at: e.At, kept: kept})
}
