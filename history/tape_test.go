package history_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/workflow"
)

// tape is a program that wishes for what it is told and keeps its length.
type tape struct {
	Length  int
	wishes  []workflow.Command
	outputs map[string]workflow.Value
}

func (p *tape) Apply(workflow.Event) error { p.Length++; return nil }

func (p *tape) Decide(dst []workflow.Command) ([]workflow.Command, error) {
	dst = append(dst, p.wishes...)
	p.wishes = nil
	return dst, nil
}

func (p *tape) Snapshot() ([]byte, error)          { return json.Marshal(p.Length) }
func (p *tape) Restore(raw []byte) error           { return json.Unmarshal(raw, &p.Length) }
func (p *tape) Close() error                       { return nil }
func (p *tape) Outputs() map[string]workflow.Value { return p.outputs }
func (p *tape) Failures() []workflow.Failure {
	return []workflow.Failure{{Code: "c", Message: "m", Node: "n"}}
}

func (p *tape) Waits() []workflow.Wait {
	return []workflow.Wait{{Visit: "w", Node: "w", Until: 99_000_000}}
}

type tapes struct{}

func (tapes) New(workflow.RunID, workflow.RunStarted, workflow.Values) (workflow.Program, error) {
	return &tape{outputs: map[string]workflow.Value{"w": workflow.Text("out")}}, nil
}

var taped = map[string]workflow.Factory{workflow.KindGraph: tapes{}}

// fold is a State that events are given to.
type fold struct {
	*history.State
	t *testing.T
}

func begun(t *testing.T) *fold {
	t.Helper()
	f := &fold{&history.State{ID: "r1", Values: history.NewLayered(nothing{})}, t}
	f.add("", 0, &workflow.RunStarted{
		Kind: workflow.KindGraph, Level: 2, Workflow: workflow.Ref{Name: "test", Digest: "d1"},
		Options: workflow.Options{Budget: workflow.Budget{MaxTokens: 1000}, Policies: workflow.Policies{Concurrency: 4}},
	})
	return f
}

// add folds an event; n is the invocation.
func (f *fold) add(visit string, n int, p workflow.Payload) {
	f.t.Helper()
	e := workflow.Event{Seq: f.Seq + 1, At: workflow.Time(1_000_000 * (f.Seq + 1)), ID: visit, Node: visit, Visit: 1, Attempt: 1, Invocation: n, Payload: p}
	if err := errors.Join(f.Replay(e, taped), f.Decide()); err != nil {
		f.t.Fatalf("%s: %v", p.EventType(), err)
	}
}

func (f *fold) wish(all ...workflow.Command) {
	f.Program.(*tape).wishes = all
	if err := f.Decide(); err != nil {
		f.t.Fatal(err)
	}
}

// visit wants and admits a visit.
func (f *fold) visit(name string, p workflow.Admitted) {
	f.t.Helper()
	p.Kind = "work"
	f.wish(workflow.StartVisit{Visit: workflow.VisitID(name), Node: name, Number: 1, Kind: "work", AI: p.AI, Effect: p.Effect, Uncertain: p.Uncertain})
	f.add(name, 0, &p)
}

func tokens(in, out int64) workflow.Usage { return workflow.Usage{Input: &in, Output: &out} }
