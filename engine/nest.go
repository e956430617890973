package engine

import (
	"context"
	"errors"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Nested is a run that a step of an agent starts. The same step starts the same
// run again, and goes on with it.
type Nested struct {
	Run   workflow.RunID
	Visit workflow.VisitID
	Step  string
	Ref   string // the workflow, for people
	// Make gives the launch of the run to Hatch, within a budget; its ID is set.
	Make func(ctx context.Context, id workflow.RunID, budget workflow.Budget) (Launch, error)
}

// drives remembers a run that this process drives, until the loop has left it.
func (e *Engine) drives(r *run) (left func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs == nil {
		e.runs = map[workflow.RunID]*run{}
	}
	e.runs[r.ID] = r
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.runs[r.ID] == r {
			delete(e.runs, r.ID)
		}
	}
}

// Hatch makes the run of a step and does not drive it: Nest does.
func (e *Engine) Hatch(ctx context.Context, n Nested) (workflow.RunID, error) {
	m, a, err := e.reserveNest(ctx, n)
	if err != nil || m.made {
		return m.id, err
	}
	l, err := n.Make(ctx, m.id, m.budget)
	if err != nil {
		return m.id, errors.Join(err, a.tell(m.about, &workflow.ChildEnded{Run: m.id, Step: n.Step, Status: workflow.StatusInvalid, Reasons: []string{err.Error()}}))
	}
	l.ID, l.By = m.id, m.by
	l.Started.Parent, l.Started.Root = &m.parent, m.root
	return m.id, e.Prepare(ctx, l)
}

// Nest drives the run that a step has hatched until it is over or rests. What it
// uses is taken from the budget of the run whose step it is. The error has
// workflow.CodeRunNotFound when the run is gone.
func (e *Engine) Nest(ctx context.Context, n Nested) (history.Result, error) {
	m, a, err := e.reserveNest(ctx, n)
	if err != nil {
		return history.Result{}, err
	}
	res, err := e.nested(ctx, m)
	if err != nil || !res.Status.Terminal() || m.counted {
		return res, err // it may go on, and what was kept for it is; or all is known
	}
	return res, a.tell(m.about, &workflow.ChildEnded{Run: m.id, Step: n.Step, Status: res.Status, Reasons: res.Reasons, Usage: res.Usage.Totals, Made: res.Artifacts})
}

// reserveNest keeps something of the budget of a run for the run of a step. What it
// returns is not nil beside an error.
func (e *Engine) reserveNest(ctx context.Context, n Nested) (*nest, *attempt, error) {
	m := &nest{n: n, id: workflow.RunID(ident.Derive("r", string(n.Run), string(n.Visit), n.Step)), reply: make(chan error, 1)}
	e.mu.Lock()
	parent := e.runs[n.Run]
	e.mu.Unlock()
	if parent == nil {
		return m, nil, workflow.Errorf(workflow.CodeInterrupted, "run %s is not driven by this process", n.Run)
	}
	heads, err := e.cfg.Store.Runs(ctx, store.Query{Run: m.id, Limit: 1})
	if err != nil {
		return m, nil, err
	}
	if m.made = len(heads) > 0; m.made {
		m.over = heads[0].Status.Terminal()
	}
	a := &attempt{r: parent}
	if err := a.send(m); err != nil {
		return m, a, err
	}
	refused, err := hear(a, m.reply)
	return m, a, errors.Join(err, refused)
}

// nested goes on with the run. When nobody wants its end any more, it is cancelled.
func (e *Engine) nested(ctx context.Context, m *nest) (history.Result, error) {
	res, err := e.drive(ctx, m.id, m.by)
	switch workflow.CodeOf(context.Cause(ctx)) {
	case workflow.CodeAborted, workflow.CodeSkipped:
		stop := store.Control{ID: "cancel:parent", Run: m.id, Kind: store.ControlCancel, By: m.by, At: e.now(), Data: []byte("{}")}
		if e.cfg.Store.Post(context.WithoutCancel(ctx), stop) == nil {
			return e.drive(context.WithoutCancel(ctx), m.id, m.by)
		}
	}
	return res, err
}

// nest asks to keep something of the budget for the run of a step.
type nest struct {
	n       Nested
	id      workflow.RunID
	reply   chan error
	about   ref
	by      string
	budget  workflow.Budget
	parent  workflow.ParentRef
	root    workflow.RunID
	made    bool // the run is there
	over    bool // and has ended
	counted bool // and that is recorded
}

func (m *nest) handle(r *run) error {
	if r.live[m.n.Visit] == nil || r.stopping {
		m.reply <- interruption()
		return nil
	}
	m.parent = workflow.ParentRef{Run: r.ID, Visit: m.n.Visit, Depth: 1}
	if p := r.Start.Parent; p != nil {
		m.parent.Depth = p.Depth + 1
	}
	m.root, m.by = r.Start.Root, "run "+string(r.ID)
	if m.root == "" {
		m.root = r.ID
	}
	m.about = r.visitRef(m.n.Visit)
	child := admission.StepChild(m.n.Visit, m.n.Step)
	kept := r.Gate.KeepsChild(child)
	if budget, ok := r.hatched[m.id]; m.over || ok && kept {
		m.budget, m.counted = budget, !kept
		m.reply <- nil
		return nil
	}
	budget, refused := r.Gate.ReserveChild(child)
	switch {
	case m.parent.Depth > maxDepth:
		m.reply <- workflow.Errorf(workflow.CodeComponentDepth, "runs are nested more than %d deep", maxDepth)
		return nil
	case refused != nil:
		m.reply <- workflow.Errorf(refused.Code, "%s", refused.Message)
		return nil
	}
	m.budget = budget
	if r.hatched == nil {
		r.hatched = map[workflow.RunID]workflow.Budget{}
	}
	r.hatched[m.id] = budget
	err := r.record(m.about, &workflow.ChildStarted{Run: m.id, Ref: m.n.Ref, Budget: budget, Step: m.n.Step})
	if err != nil {
		return err
	}
	r.after = append(r.after, func() { m.reply <- nil })
	return nil
}
