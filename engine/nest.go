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
	// Make gives the launch of the run, within a budget; its ID is set already.
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

// Nest drives the run of a step until it is over or rests. What it uses is taken
// from the budget of the run whose step it is.
func (e *Engine) Nest(ctx context.Context, n Nested) (history.Result, error) {
	e.mu.Lock()
	parent := e.runs[n.Run]
	e.mu.Unlock()
	if parent == nil {
		return history.Result{}, workflow.Errorf(workflow.CodeInterrupted, "run %s is not driven by this process", n.Run)
	}
	a := &attempt{r: parent}
	m := &nest{n: n, id: workflow.RunID(ident.Derive("r", string(n.Run), string(n.Visit), n.Step)), reply: make(chan error, 1)}
	if err := a.send(m); err != nil {
		return history.Result{}, err
	}
	refused, err := hear(a, m.reply)
	if err = errors.Join(err, refused); err != nil {
		return history.Result{}, err
	}
	res, err := e.nested(ctx, m)
	end := &workflow.ChildEnded{Run: m.id, Step: n.Step, Status: res.Status, Reasons: res.Reasons, Usage: res.Usage.Totals, Made: res.Artifacts}
	switch {
	case m.unborn:
		end.Status, end.Reasons = workflow.StatusInvalid, []string{err.Error()}
	case err != nil || !res.Status.Terminal():
		return res, err // it may go on; what was kept for it is, too
	}
	done := &fact{about: m.about, p: end, reply: make(chan error, 1)}
	if gone := a.send(done); gone != nil {
		return res, gone
	}
	_, gone := hear(a, done.reply)
	return res, errors.Join(err, gone)
}

// nested begins the run, or goes on with it. When nobody wants its end any more,
// it is cancelled.
func (e *Engine) nested(ctx context.Context, m *nest) (history.Result, error) {
	heads, err := e.cfg.Store.Runs(ctx, store.Query{Run: m.id, Limit: 1})
	if err != nil {
		return history.Result{}, err
	}
	var res history.Result
	if len(heads) > 0 {
		res, err = e.drive(ctx, m.id, m.by)
	} else {
		var l Launch
		if l, err = m.n.Make(ctx, m.id, m.budget); err != nil {
			m.unborn = true
			return res, err
		}
		l.ID, l.By = m.id, m.by
		l.Started.Parent, l.Started.Root = &m.parent, m.root
		res, err = e.start(ctx, l)
	}
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
	n      Nested
	id     workflow.RunID
	reply  chan error
	about  ref
	by     string
	budget workflow.Budget
	parent workflow.ParentRef
	root   workflow.RunID
	unborn bool
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
	budget, refused := r.Gate.ReserveChild(admission.StepChild(m.n.Visit, m.n.Step))
	switch {
	case m.parent.Depth > maxDepth:
		m.reply <- workflow.Errorf(workflow.CodeComponentDepth, "runs are nested more than %d deep", maxDepth)
		return nil
	case refused != nil:
		m.reply <- workflow.Errorf(refused.Code, "%s", refused.Message)
		return nil
	}
	m.about, m.budget = r.visitRef(m.n.Visit), budget
	err := r.record(m.about, &workflow.ChildStarted{Run: m.id, Ref: m.n.Ref, Budget: budget, Step: m.n.Step})
	if err != nil {
		return err
	}
	r.after = append(r.after, func() { m.reply <- nil })
	return nil
}
