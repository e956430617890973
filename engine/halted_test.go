package engine_test

import (
	"sync/atomic"
	"testing"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/workflow"
)

// halting makes Programs that a person stops once, when they decide what follows
// from the end of a visit.
type halting struct {
	workflow.Factory
	visit workflow.VisitID
	left  *atomic.Int64
}

func (h halting) New(run workflow.RunID, start workflow.RunStarted, values workflow.Values) (workflow.Program, error) {
	p, err := h.Factory.New(run, start, values)
	return &haltingProgram{Program: p, h: h}, err
}

type haltingProgram struct {
	workflow.Program
	h    halting
	near bool // the visit has just ended
}

func (p *haltingProgram) Apply(e workflow.Event) error {
	p.near = p.near || e.Type() == workflow.TypeSettled && e.VisitID() == p.h.visit
	return p.Program.Apply(e)
}

func (p *haltingProgram) Decide(dst []workflow.Command) ([]workflow.Command, error) {
	if p.near && p.h.left.Add(-1) >= 0 {
		return dst, workflow.Errorf(workflow.CodeInterrupted, "a person stopped it")
	}
	return p.Program.Decide(dst)
}

// TestHaltedProgramKeepsWhatHappened: what led to the code that a person stopped is
// recorded, and is not done again.
func TestHaltedProgramKeepsWhatHappened(t *testing.T) {
	t.Parallel()
	var left atomic.Int64
	left.Store(1)
	r := newRig(t, func(c *engine.Config) {
		c.Programs = map[string]workflow.Factory{workflow.KindGraph: halting{c.Programs[workflow.KindGraph], "first#1", &left}}
	})
	l := launch(t, def2("first", step("first", `,"effect":"write"`, "second")+","+step("second", "", "done")+","+ends))
	l.ID = "r1"
	_, err := r.engine.Start(t.Context(), l)
	wantCode(t, err, workflow.CodeInterrupted)
	if !r.recorded("r1")["first"] {
		t.Error("the end of the first visit is lost")
	}
	res, err := r.engine.Inspect(t.Context(), "r1")
	if err != nil || res.Status != workflow.StatusInterrupted {
		t.Errorf("the run is %s, %v", res.Status, err)
	}
	wantStatus(t, r.drive("r1"), workflow.StatusSucceeded)
	if n := r.w.count("first"); n != 1 {
		t.Errorf("the first visit was made %d times", n)
	}
}
