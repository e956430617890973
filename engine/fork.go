package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// ForkRequest says where a run is forked. The cut is before the first attempt
// of one visit: the visit itself, the visit that asked a question, or the n-th
// visit of a node (the last, when Number is 0).
type ForkRequest struct {
	Run      workflow.RunID
	ID       workflow.RunID // of the new run; "" is made up. The same ID and request twice is one fork.
	Node     string         // path of node names, or a visit id
	Number   int
	Question string
	// Failed forks at the end of the last map or parallel that had failed
	// branches: those run again, the others keep their results.
	Failed bool
	Patch  workflow.Patch
}

// Fork makes a run that shares the history of another up to a cut. The parent
// does not change, whatever the fork does. Drive goes on with the fork.
func (e *Engine) Fork(ctx context.Context, q ForkRequest) (workflow.RunID, error) {
	parent := &history.State{ID: q.Run, Values: history.NewLayered(blobs{e.cfg.Store})}
	cut, scope, err := e.place(ctx, &q, parent)
	defer func() { closeProgram(parent) }()
	if err != nil {
		return "", err
	}
	if q.Patch.Scope == "" {
		q.Patch.Scope = scope
	}
	if q.ID == "" {
		q.ID = workflow.RunID(ident.New("r"))
	}
	owner, err := e.cfg.Store.Own(ctx, q.ID)
	if err != nil {
		return "", err
	}
	defer owner.Release()
	if done, err := e.forkedBefore(ctx, q, cut); done || err != nil {
		return q.ID, err
	}
	r := e.newRun(q.ID, owner, "fork")
	if parent.Seq != cut {
		if err := e.read(ctx, parent, cut); err != nil {
			return "", err
		}
	}
	r.State, r.sink.Values = *parent, parent.Values
	r.ID = q.ID
	r.appended, r.sink.Bytes = cut, r.logged()
	r.create = &store.Create{Parent: q.Run, Cut: cut}
	if err := r.record(ref{}, &workflow.Forked{Parent: q.Run, Cut: cut, Patch: q.Patch}); err != nil {
		return "", err
	}
	r.dirty = true
	r.stopping = true // the head says interrupted until somebody drives it
	if err := r.append(ctx); err != nil {
		return q.ID, err
	}
	if err := r.Decide(); err != nil {
		return q.ID, err
	}
	parent.Program = nil // it is the fork's now
	made := r.State
	e.keep(&made)
	return q.ID, nil
}

// keep remembers the state of a fork: whoever makes one mostly drives it, and
// needs not read what was just read.
func (e *Engine) keep(s *history.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.made != nil {
		closeProgram(e.made)
	}
	e.made = s
}

// take returns the state that is remembered of a run; nil when there is none.
func (e *Engine) take(id workflow.RunID) *history.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.made
	if s == nil || s.ID != id {
		return nil
	}
	e.made = nil
	return s
}

func (e *Engine) forkedBefore(ctx context.Context, q ForkRequest, cut int64) (bool, error) {
	heads, err := e.cfg.Store.Runs(ctx, store.Query{Run: q.ID, Limit: 1})
	if err != nil || len(heads) == 0 {
		return false, err
	}
	if heads[0].ForkOf == q.Run && heads[0].Cut == cut {
		same, err := e.samePatch(ctx, q, cut)
		if same || err != nil {
			return same, err
		}
	}
	return false, workflow.Errorf(workflow.CodeRunExists, "run %s exists and is another one", q.ID)
}

// samePatch reports whether a fork that is there was asked for with this patch.
func (e *Engine) samePatch(ctx context.Context, q ForkRequest, cut int64) (same bool, err error) {
	sink := history.Sink{Redact: e.cfg.Redact, Values: history.NewLayered(blobs{e.cfg.Store})}
	want := &workflow.Forked{Patch: q.Patch}
	sink.Clean(want)
	err = e.cfg.Store.Events(ctx, q.ID, cut, func(ev workflow.Event) error {
		if had, ok := ev.Payload.(*workflow.Forked); ok {
			same = bytes.Equal(rawOf(had.Patch), rawOf(want.Patch))
		}
		return errFarEnough
	})
	if errors.Is(err, errFarEnough) {
		err = nil
	}
	return same, err
}

// place finds the cut of a request, and the scope of its visit. When the parent
// was folded up to the cut on the way, its Seq says so.
func (e *Engine) place(ctx context.Context, q *ForkRequest, parent *history.State) (cut int64, scope string, err error) {
	if q.Failed {
		cut, q.Patch.Reopen, err = e.failedFan(ctx, q.Run)
		return cut, "", err
	}
	if v := q.visit(); v != "" {
		found, err := e.seek(ctx, parent, v)
		if err == nil && found {
			return parent.Seq, v.Scope(), nil
		}
		closeProgram(parent)
		*parent = history.State{ID: parent.ID, Values: parent.Values}
		if err != nil && workflow.CodeOf(err) != workflow.CodeStoreDamaged {
			return 0, "", err
		}
	}
	return e.cut(ctx, *q)
}

// visit returns the only visit that a request can mean, if its form tells.
func (q ForkRequest) visit() workflow.VisitID {
	switch {
	case q.Question != "":
		return ""
	case strings.Contains(q.Node, "#"):
		return workflow.VisitID(q.Node)
	case q.Number > 0 && !strings.Contains(q.Node, "/"): // a node of the root
		return workflow.VisitID(q.Node + "#" + strconv.Itoa(q.Number))
	}
	return ""
}

// seek folds a run up to the first admission of a visit, from the newest
// snapshot that is before the visit.
func (e *Engine) seek(ctx context.Context, s *history.State, v workflow.VisitID) (found bool, err error) {
	if err := e.before(ctx, s, v); err != nil {
		return false, err
	}
	err = e.cfg.Store.Events(ctx, s.ID, s.Seq, func(ev workflow.Event) error {
		if _, ok := ev.Payload.(*workflow.Admitted); ok && ev.VisitID() == v {
			found = true
			return errFarEnough
		}
		return s.Replay(ev, e.cfg.Programs)
	})
	if err != nil && !errors.Is(err, errFarEnough) || s.Program == nil {
		return found, err
	}
	return found, s.Decide()
}

// closeEnough is how many events are rather read than searched for a snapshot.
const closeEnough = 200

// before restores the newest snapshot in which the Program has not been at a
// visit, or one that is close to it; without any the state stays empty.
// Snapshots are in order, so the search halves the history.
func (e *Engine) before(ctx context.Context, s *history.State, v workflow.VisitID) error {
	newest, err := e.cfg.Store.Snapshot(ctx, s.ID, 0)
	if err != nil {
		return fmt.Errorf("reading run %s: %w", s.ID, err)
	}
	for low, high := int64(0), newest.Seq; high-low > closeEnough; {
		middle := high
		if high-low > int64(e.cfg.Snapshot) { // else there is one at most
			middle = low + (high-low+1)/2
		}
		snap, err := e.cfg.Store.Snapshot(ctx, s.ID, middle)
		if err != nil {
			return fmt.Errorf("reading run %s: %w", s.ID, err)
		}
		if snap.Seq <= low { // none is in the lower half
			low = middle
			continue
		}
		at := &history.State{ID: s.ID, Values: s.Values}
		if err := at.Restore(snap.State, snap.Seq, e.cfg.Programs); err != nil {
			return nil //nolint:nilerr // a snapshot that does not fit is passed over; what was found so far is good
		}
		finder, ok := at.Program.(workflow.Pathfinder)
		if !ok || finder.Been(v) {
			high = snap.Seq - 1
		} else {
			low = snap.Seq
			*s, *at = *at, *s
		}
		closeProgram(at)
	}
	return nil
}

// closeProgram frees a state that is not used any more.
func closeProgram(s *history.State) {
	if s.Program != nil {
		_ = s.Program.Close() // it frees memory
	}
}

// failedFan finds the last map or parallel that settled with failed branches.
func (e *Engine) failedFan(ctx context.Context, run workflow.RunID) (cut int64, v workflow.VisitID, err error) {
	kinds := map[string]string{}
	err = e.cfg.Store.Events(ctx, run, 0, func(ev workflow.Event) error {
		switch p := ev.Payload.(type) {
		case *workflow.Admitted:
			kinds[ev.ID] = p.Kind
		case *workflow.Settled:
			kind := kinds[ev.ID]
			delete(kinds, ev.ID)
			if kind != workflow.KindMap && kind != workflow.KindParallel {
				return nil
			}
			raw, err := p.Output.Load(blobs{e.cfg.Store})
			if err != nil {
				return err
			}
			var out struct {
				Failed int `json:"failed"`
			}
			if json.Unmarshal(raw, &out) == nil && out.Failed > 0 {
				cut, v = ev.Seq-1, ev.VisitID()
			}
		}
		return nil
	})
	if err == nil && v == "" {
		err = workflow.Errorf(workflow.CodeForkNotFound, "run %s has no map or parallel with failed branches", run).
			WithHint("fork before the node that failed: tenon fork %s --from NODE", run)
	}
	return cut, v, err
}

// cut finds the last seq before the visit, and the visit's scope.
func (e *Engine) cut(ctx context.Context, q ForkRequest) (seq int64, scope string, err error) {
	want := workflow.VisitID("")
	type arrival struct {
		seq    int64
		id     string
		number int
	}
	var found []arrival
	err = e.cfg.Store.Events(ctx, q.Run, 0, func(ev workflow.Event) error {
		switch p := ev.Payload.(type) {
		case *workflow.QuestionOpened:
			if q.Question != "" && p.Question.ID == q.Question {
				want = ev.VisitID()
			}
		case *workflow.Admitted:
			if ev.Attempt == 1 && !p.Continued {
				found = append(found, arrival{ev.Seq, ev.ID, ev.Visit})
			}
			_ = p
		}
		return nil
	})
	var hits []arrival
	for _, a := range found {
		switch {
		case q.Question != "":
			if a.id == string(want) {
				hits = append(hits, a)
			}
		case a.id == q.Node, workflow.VisitID(a.id).Path() == q.Node && (q.Number == 0 || a.number == q.Number):
			hits = append(hits, a)
		}
	}
	var damage *store.Damaged
	if err != nil && (len(hits) == 0 || !errors.As(err, &damage)) { // before a damage a run can be forked
		return 0, "", fmt.Errorf("reading run %s: %w", q.Run, err)
	}
	return pick(q, len(found), hits, func(a arrival) (int64, string) { return a.seq - 1, a.id })
}

func pick[A any](q ForkRequest, all int, hits []A, of func(A) (int64, string)) (int64, string, error) {
	switch {
	case all == 0:
		return 0, "", workflow.Errorf(workflow.CodeRunNotFound, "run %s is not in this project's store", q.Run).WithHint("list runs with: tenon ls")
	case len(hits) == 0 && q.Number > 0:
		return 0, "", workflow.Errorf(workflow.CodeForkNotFound, "run %s has no visit %d of %q", q.Run, q.Number, q.Node).
			WithHint("list its visits with: tenon show %s", q.Run)
	case len(hits) == 0:
		return 0, "", workflow.Errorf(workflow.CodeForkNotFound, "run %s never came to %q", q.Run, q.Node+q.Question).
			WithHint("list its visits with: tenon show %s", q.Run)
	case len(hits) > 1 && q.Number > 0:
		return 0, "", workflow.Errorf(workflow.CodeForkAmbiguous, "%d visits of %q have the number %d", len(hits), q.Node, q.Number).
			WithHint("name one visit, such as the ids that tenon show %s lists", q.Run)
	}
	seq, id := of(hits[len(hits)-1])
	return seq, workflow.VisitID(id).Scope(), nil
}
