package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// maxDepth is how deep child runs may be nested.
const maxDepth = 8

// kid is a child run of this run.
type kid struct {
	run    workflow.RunID
	visit  workflow.VisitID
	ref    string
	inputs workflow.Value
	budget workflow.Budget // what of this run's is kept for it
	due    bool            // to be driven after the next append
	active bool
	cancel context.CancelFunc // of an active one
	unwant bool               // its end no longer matters: it is told to cancel until it hears
	rest   *history.Result    // where it rests, when it is not active
	err    error
}

// refusal is a child that could not begin: that is its end.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }

func (r *refusal) Unwrap() error { return r.err }

func (r *run) startChild(c workflow.StartChild) error {
	budget, refused := r.Gate.ReserveChild(c.Visit)
	switch {
	case refused != nil && (r.activeKids()+len(r.live) > 0 || r.dueKids()):
		r.waiting = append(r.waiting, c) // something may be given back
		return nil
	case refused != nil:
		r.dirty = true
		return r.record(r.visitRef(c.Visit), &workflow.Lost{Code: refused.Code, Message: refused.Message})
	}
	id := workflow.RunID(ident.Derive("r", string(r.ID), string(c.Visit)))
	k := &kid{run: id, visit: c.Visit, ref: c.Ref, inputs: c.Inputs, budget: budget, due: true}
	r.kids[c.Visit] = k
	return r.record(r.visitRef(c.Visit), k.started())
}

func (k *kid) started() *workflow.ChildStarted {
	return &workflow.ChildStarted{Run: k.run, Ref: k.ref, Inputs: k.inputs, Budget: k.budget}
}

// wishAgain repeats the wishes for children that waited for others.
func (r *run) wishAgain() {
	r.Wishes = append(r.Wishes, r.waiting...)
	r.waiting = nil
}

// raiseKids passes a raise on to the open children: a share of what this run
// now has, or the very caps where this run has none.
func (r *run) raiseKids(p *workflow.LimitRaised) error {
	for _, v := range sortedKeys(r.kids) {
		k := r.kids[v]
		m := workflow.LimitRaised{Tokens: p.Tokens, CostUSD: p.CostUSD, DurationMs: p.DurationMs, Transitions: p.Transitions, By: p.By}
		if more, refused := r.Gate.ReserveChild(v); refused == nil && (more.MaxTokens > 0 || more.MaxCostUSD > 0) {
			k.budget = more
			m.Tokens, m.CostUSD = min(m.Tokens, more.MaxTokens), min(m.CostUSD, more.MaxCostUSD)
			if err := r.record(r.visitRef(v), k.started()); err != nil {
				return err
			}
		}
		c := store.Control{ID: fmt.Sprintf("raise:parent:%d", r.Seq), Run: k.run, Kind: store.ControlRaise, By: p.By, At: r.Last, Data: rawOf(m)}
		r.after = append(r.after, func() { r.tellRaise(k, c) })
	}
	return nil
}

func (r *run) tellRaise(k *kid, c store.Control) {
	if err := r.e.cfg.Store.Post(context.Background(), c); err != nil && workflow.CodeOf(err) != workflow.CodeRunNotFound {
		r.e.cfg.Log.Warn("raising the limits of a child run", "run", k.run, "err", err)
	}
	if !k.active {
		k.due = true
	}
}

// startKids drives the children that are due.
func (r *run) startKids(ctx context.Context) error {
	for _, k := range r.kids {
		if !k.due || r.stopping {
			continue
		}
		k.due, k.active, k.rest = false, true, nil
		var own context.Context
		own, k.cancel = context.WithCancel(ctx)
		r.e.wg.Add(1)
		go func() {
			defer r.e.wg.Done()
			res, err := r.driveKid(own, k)
			r.inbox <- &kidDone{visit: k.visit, result: res, err: err}
		}()
	}
	return nil
}

func (r *run) activeKids() (n int) {
	for _, k := range r.kids {
		if k.active {
			n++
		}
	}
	return n
}

func (r *run) dueKids() bool {
	for _, k := range r.kids {
		if k.due {
			return true
		}
	}
	return false
}

func (r *run) driveKid(ctx context.Context, k *kid) (history.Result, error) {
	heads, err := r.e.cfg.Store.Runs(ctx, store.Query{Run: k.run, Limit: 1})
	if err != nil {
		return history.Result{}, err
	}
	if len(heads) > 0 {
		return r.e.drive(ctx, k.run, r.by)
	}
	l, err := r.childLaunch(k)
	if err != nil {
		return history.Result{}, &refusal{err}
	}
	return r.e.start(ctx, l)
}

func (r *run) childLaunch(k *kid) (Launch, error) {
	depth := 1
	if p := r.Start.Parent; p != nil {
		depth = p.Depth + 1
	}
	if depth > maxDepth {
		return Launch{}, workflow.Errorf(workflow.CodeComponentDepth, "child runs are nested more than %d deep", maxDepth)
	}
	doc, ok := r.Start.Children[k.ref]
	if !ok || r.e.cfg.Child == nil {
		return Launch{}, workflow.Errorf(workflow.CodeWorkflowNotFound, "workflow %q is not pinned by run %s", k.ref, r.ID)
	}
	inputs, err := k.inputs.Load(r.Values)
	if err != nil {
		return Launch{}, err
	}
	text, err := r.Values.Load(doc.Digest)
	if err != nil {
		return Launch{}, err
	}
	parent := r.Start
	parent.Options.Budget = k.budget
	l, err := r.e.cfg.Child(parent, doc, text, inputs)
	if err != nil {
		return Launch{}, err
	}
	root := r.Start.Root
	if root == "" {
		root = r.ID
	}
	l.ID, l.By, l.Document = k.run, r.by, text
	l.Started.Parent = &workflow.ParentRef{Run: r.ID, Visit: k.visit, Depth: depth}
	l.Started.Root = root
	return l, nil
}

// kidDone tells that a child run ended or rests.
type kidDone struct {
	visit  workflow.VisitID
	result history.Result
	err    error
}

func (m *kidDone) handle(r *run) error {
	k := r.kids[m.visit]
	if k == nil {
		return nil
	}
	k.cancel()
	k.active, k.err = false, m.err
	r.dirty = true
	r.wishAgain()
	var never *refusal
	switch {
	case errors.As(m.err, &never):
		delete(r.kids, m.visit)
		return r.record(r.visitRef(m.visit), &workflow.ChildEnded{Run: k.run, Status: workflow.StatusInvalid, Reasons: []string{m.err.Error()}})
	case m.err != nil:
		return nil //nolint:nilerr // told with the run's result; a resume drives the child again
	case !m.result.Status.Terminal():
		k.rest = &m.result
		return nil
	}
	delete(r.kids, m.visit)
	outputs, err := json.Marshal(m.result.Outputs)
	if err != nil {
		return err
	}
	return r.record(r.visitRef(m.visit), &workflow.ChildEnded{
		Run: k.run, Status: m.result.Status, Outputs: workflow.Inline(outputs), Reasons: m.result.Reasons, Usage: m.result.Usage.Totals, Made: m.result.Artifacts,
	})
}

// cancelChild ends a child whose end no longer matters.
func (r *run) cancelChild(v workflow.VisitID) error {
	k := r.kids[v]
	switch {
	case k == nil:
		return nil
	case k.due && !k.active && k.rest == nil: // it has not begun
		delete(r.kids, v)
		return r.record(r.visitRef(v), &workflow.ChildEnded{Run: k.run, Status: workflow.StatusCancelled})
	}
	k.unwant = true
	r.after = append(r.after, r.tellUnwanted)
	return nil
}

// tellUnwanted leaves a cancellation with each child that has not heard it. One
// that cannot take it yet, because it is just being made, is told again.
func (r *run) tellUnwanted() {
	for _, k := range r.kids {
		if !k.unwant {
			continue
		}
		m := store.Control{ID: "cancel:parent", Run: k.run, Kind: store.ControlCancel, By: "run " + string(r.ID), At: r.begunAt(), Data: json.RawMessage("{}")}
		if err := r.e.cfg.Store.Post(context.Background(), m); err != nil {
			r.e.cfg.Log.Warn("cancelling a child run; it is tried again", "run", k.run, "err", err)
			continue
		}
		k.unwant = false
		if !k.active {
			k.due = true
		}
	}
}

// begunAt is a time that is the same each time: a message that is left twice is
// one message.
func (r *run) begunAt() workflow.Time { return r.Begun }

func sortedCalls(m map[string]history.LiveCall) []history.LiveCall {
	out := make([]history.LiveCall, 0, len(m))
	for _, c := range m {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b history.LiveCall) int {
		switch {
		case a.Visit < b.Visit:
			return -1
		case a.Visit > b.Visit:
			return 1
		}
		return a.Invocation - b.Invocation
	})
	return out
}
