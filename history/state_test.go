package history_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/workflow"
)

func TestQuestionsAreKept(t *testing.T) {
	t.Parallel()
	f := begun(t)
	f.visit("a", workflow.Admitted{})
	f.visit("b", workflow.Admitted{})
	f.add("b", 0, &workflow.QuestionOpened{Question: workflow.Question{ID: "q2", Visit: "b", Round: 1, Asked: 5}})
	f.add("a", 0, &workflow.QuestionOpened{Question: workflow.Question{ID: "q1", Visit: "a", Round: 1, Asked: 5}})
	var ids []string
	for _, q := range f.Questions() {
		ids = append(ids, q.ID)
	}
	if !slices.Equal(ids, []string{"q1", "q2"}) {
		t.Errorf("open are %v", ids)
	}
	f.add("a", 0, &workflow.QuestionAnswered{Question: "q1", Answer: workflow.Answer{Value: workflow.Text("yes"), By: "me"}})
	if q, ok := f.Find("q1"); !ok || q.Answer == nil || q.Answer.By != "me" {
		t.Errorf("found %+v", q)
	}
	if open := f.Questions(); len(open) != 1 || open[0].ID != "q2" || f.Status() != workflow.StatusWaiting {
		t.Errorf("open are %+v, status %s", open, f.Status())
	}
	f.add("a", 0, &workflow.Settled{Outcome: "next"})
	if _, ok := f.Find("q1"); ok {
		t.Error("a question of a visit that is over is found")
	}
	f.add("", 0, &workflow.Ended{Status: workflow.StatusCancelled})
	if len(f.Asking()) > 0 || !f.Over() {
		t.Error("a run that is over asks")
	}
}

// A run shows each artifact at the version that it wrote last.
func TestArtifactsAreKept(t *testing.T) {
	t.Parallel()
	f := begun(t)
	f.visit("a", workflow.Admitted{})
	step := func(collection, id string, version int64) {
		f.add("a", 0, &workflow.StepSettled{Key: "k", Tool: "artifact_write", Made: &workflow.Made{Collection: collection, ID: id, Version: version}})
	}
	step("r1", "a", 1)
	step("r1", "b", 1)
	step("shared", "a", 7)
	step("r1", "a", 2)
	f.add("a", 0, &workflow.Settled{Outcome: "next", Made: &workflow.Made{Collection: "r1", ID: "b", Version: 2}})
	var got []string
	for _, m := range f.Memory.Made {
		got = append(got, fmt.Sprintf("%s/%s@%d", m.Collection, m.ID, m.Version))
	}
	if want := []string{"shared/a@7", "r1/a@2", "r1/b@2"}; !slices.Equal(got, want) {
		t.Errorf("the run made %q, want %q", got, want)
	}
	f.add("", 0, &workflow.Forked{Parent: "r1", Cut: 9})
	if m := f.Memory.Made; m[0].Collection != "shared" || m[1].Collection != string(f.ID) {
		t.Errorf("the fork has %+v", m)
	}
	f.visit("b", workflow.Admitted{})
	for i := range 300 {
		f.add("b", 0, &workflow.StepSettled{Made: &workflow.Made{Collection: "r1", ID: fmt.Sprint(i)}})
	}
	if n := len(f.Memory.Made); n != 100 || f.Memory.Made[99].ID != "299" {
		t.Errorf("%d are listed, the last one is %s", n, f.Memory.Made[n-1].ID)
	}
}

func TestCallsAreKept(t *testing.T) {
	t.Parallel()
	f := begun(t)
	f.visit("a", workflow.Admitted{AI: true})
	f.add("a", 1, &workflow.InvocationReserved{Key: "turn/1", Tokens: 100})
	f.add("a", 2, &workflow.InvocationReserved{Key: "turn/2", Tokens: 100})
	if want := map[string]history.LiveCall{
		"a/1": {Visit: "a", Node: "a", Number: 1, Attempt: 1, Invocation: 1, Key: "turn/1"},
		"a/2": {Visit: "a", Node: "a", Number: 1, Attempt: 1, Invocation: 2, Key: "turn/2"},
	}; !maps.Equal(f.Memory.Live, want) || f.Memory.Calls["a"] != 2 {
		t.Fatalf("live are %+v, calls %v", f.Memory.Live, f.Memory.Calls)
	}
	f.add("a", 1, &workflow.InvocationSettled{Key: "turn/1", Status: workflow.InvocationFailed, Usage: tokens(1, 0)})
	f.add("a", 2, &workflow.InvocationSettled{Key: "turn/2", Status: workflow.InvocationOK, Usage: tokens(2, 1), Memo: workflow.Text("said")})
	f.add("a", 3, &workflow.InvocationReserved{Key: "turn/1"})
	if memos := f.Memory.Memos["a"]; len(memos) != 1 || string(memos["turn/2"].JSON) != `"said"` || f.Memory.Tries["a"]["turn/1"] != 2 || len(f.Memory.Live) != 1 {
		t.Errorf("memory %+v", f.Memory)
	}
	f.add("a", 3, &workflow.InvocationSettled{Key: "turn/1", Status: workflow.InvocationLost})
	if f.Memory.Lost != 1 {
		t.Errorf("%d calls are lost", f.Memory.Lost)
	}
	f.add("a", 0, &workflow.Settled{Status: workflow.VisitFailed, Error: &workflow.Failure{Code: workflow.CodeTimeout, Message: "late"}})
	if m := f.Memory; len(m.Memos)+len(m.Calls)+len(m.Tries)+len(m.Live)+len(m.AI) > 0 {
		t.Errorf("of a visit that is over %+v is left", m)
	}
	if d := f.Memory.Dead; len(d) != 1 || d[0].Visit != "a" || d[0].Message != "late" {
		t.Errorf("dead are %+v", d)
	}
	f.visit("b", workflow.Admitted{})
	f.add("b", 0, &workflow.Settled{Status: workflow.VisitFailed, Error: &workflow.Failure{Code: workflow.CodeTimeout}})
	if len(f.Memory.Dead) != 1 {
		t.Error("a visit without a model is dead")
	}
}

func TestSteeringTextsAreKept(t *testing.T) {
	t.Parallel()
	f := begun(t)
	f.add("", 0, &workflow.Steered{Text: "first"})
	one := f.Seq
	f.add("", 0, &workflow.Steered{Text: "second"})
	f.visit("a", workflow.Admitted{Steered: []int64{one, one + 1}})
	if !slices.Equal(f.Memory.Steering["a"], []string{"first", "second"}) || len(f.Memory.Texts) > 0 {
		t.Fatalf("memory %+v", f.Memory)
	}
	f.add("a", 0, &workflow.Admitted{Continued: true, Steered: []int64{one, one + 1}})
	if len(f.Memory.Steering["a"]) != 2 {
		t.Errorf("an attempt that goes on claims again: %v", f.Memory.Steering)
	}
	f.add("a", 0, &workflow.Settled{})
	if len(f.Memory.Steering) > 0 {
		t.Errorf("left is %v", f.Memory.Steering)
	}
}

func TestWarningsAndDeadAreBounded(t *testing.T) {
	t.Parallel()
	f := begun(t)
	for i := range 120 {
		name := fmt.Sprintf("v%d", i)
		f.visit(name, workflow.Admitted{AI: true})
		f.add(name, 0, &workflow.Settled{Status: workflow.VisitFailed, Error: &workflow.Failure{Message: name}, Warnings: []string{fmt.Sprint(i / 2)}})
	}
	if len(f.Memory.Dead) != 100 || len(f.Memory.Warnings) != 50 {
		t.Errorf("%d dead, %d warnings", len(f.Memory.Dead), len(f.Memory.Warnings))
	}
}

// Wishes are struck by the events that answer them.
func TestWishesAndTheirEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		wish workflow.Command
		by   workflow.Payload
	}{
		{workflow.SettleVisit{Visit: "a"}, &workflow.Settled{}},
		{workflow.StartTimer{Visit: "a", At: 9}, &workflow.TimerStarted{Until: 9}},
		{workflow.StartChild{Visit: "a"}, &workflow.ChildStarted{Run: "k"}},
		{workflow.Complete{}, &workflow.Ended{Status: workflow.StatusFailed}},
	}
	for _, tt := range tests {
		f := begun(t)
		f.wish(tt.wish)
		f.add("other", 0, &workflow.Progress{})
		if len(f.Wishes) != 1 {
			t.Errorf("%T is struck by another event", tt.wish)
		}
		f.add("a", 0, tt.by)
		if len(f.Wishes) != 0 {
			t.Errorf("%T is not struck by %s", tt.wish, tt.by.EventType())
		}
	}
}

func TestTimersAndChildren(t *testing.T) {
	t.Parallel()
	f := begun(t)
	f.add("w", 0, &workflow.TimerStarted{Until: 77})
	f.add("k", 0, &workflow.ChildStarted{Run: "kid", Ref: "sub", Inputs: workflow.Text("x")})
	if f.Memory.Timers["w"] != 77 || f.Memory.Children["k"].Run != "kid" || f.Status() != workflow.StatusWaiting {
		t.Fatalf("memory %+v", f.Memory)
	}
	f.add("w", 0, &workflow.TimerFired{})
	f.add("k", 0, &workflow.ChildEnded{Run: "kid", Usage: workflow.Totals{Calls: 2, Input: 5}})
	if len(f.Memory.Timers)+len(f.Memory.Children) > 0 || f.Gate.Spent().Calls != 2 {
		t.Errorf("memory %+v, spent %+v", f.Memory, f.Gate.Spent())
	}
}

// What a run made is listed once for each artifact, at its last version, whoever
// wrote it; the list is bounded.
func TestMade(t *testing.T) {
	t.Parallel()
	f := begun(t)
	by := func(id string, version int64) workflow.Made {
		return workflow.Made{Collection: "r1", ID: id, Version: version}
	}
	a2, b1 := by("a", 2), by("b", 1)
	f.visit("x", workflow.Admitted{})
	f.add("x", 1, &workflow.StepSettled{Key: "1/1", Made: &a2})
	f.add("x", 1, &workflow.StepSettled{Key: "1/2", Made: &b1})
	f.add("k", 0, &workflow.ChildStarted{Run: "kid"})
	f.add("k", 0, &workflow.ChildEnded{Run: "kid", Made: []workflow.MadeBy{{Made: by("a", 1)}, {Made: by("c", 1), Run: "grandkid"}, {Made: by("b", 2)}}})
	child := history.Result{Run: "waits"}
	for i := range 99 {
		child.Artifacts = append(child.Artifacts, workflow.MadeBy{Made: by(fmt.Sprint(i), 1), Node: "n"})
	}
	res, err := f.Result(workflow.StatusRunning)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range res.Artifacts {
		got = append(got, fmt.Sprintf("%s@%d %s", m.ID, m.Version, m.Run))
	}
	if want := []string{"a@2 ", "c@1 grandkid", "b@2 kid"}; !slices.Equal(got, want) {
		t.Errorf("it made %q, want %q", got, want)
	}
	res.Adopt(child)
	if n := len(res.Artifacts); n != 100 || res.Artifacts[0].ID != "b" || res.Artifacts[99].Run != "waits" || res.Artifacts[99].Node != "n" {
		t.Errorf("it lists %d: %+v", n, res.Artifacts)
	}
	f.add("", 0, &workflow.Progress{Kind: workflow.ProgressEdited, Data: workflow.Inline([]byte(`{"run":"r1"}`))})
	if m := f.Memory.Made; len(m) != 3 || m[0].Collection != string(f.ID) {
		t.Errorf("after an edited workflow it made %+v", m)
	}
}

func TestForkedMemory(t *testing.T) {
	t.Parallel()
	f := begun(t)
	f.visit("a", workflow.Admitted{AI: true})
	f.add("a", 1, &workflow.InvocationReserved{Key: "k"})
	f.add("a", 0, &workflow.QuestionOpened{Question: workflow.Question{ID: "q", Visit: "a"}})
	f.add("w", 0, &workflow.TimerStarted{Until: 77})
	f.add("k", 0, &workflow.ChildStarted{Run: "kid"})
	f.wish(workflow.StartChild{Visit: "c"}, workflow.SettleVisit{Visit: "m"}, workflow.SettleVisit{Visit: "x"})
	f.add("", 0, &workflow.Forked{Parent: "r0", Cut: 6, Patch: workflow.Patch{Reopen: "m"}})
	m := f.Memory
	if len(m.Asked)+len(m.Timers)+len(m.Children)+len(m.Live) > 0 || m.ForkOf != "r0" || m.Cut != 6 {
		t.Errorf("memory %+v", m)
	}
	if len(f.Wishes) != 1 || f.Wishes[0].CommandID() != "x" {
		t.Errorf("wishes %v", f.Wishes)
	}
}

// An end that is not for good is forgotten when the run goes on.
func TestEndsThatAreNotForGood(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(*fold){
		"raised":  func(f *fold) { f.add("", 0, &workflow.LimitRaised{Tokens: 1}) },
		"resumed": func(f *fold) { f.add("", 0, &workflow.Resumed{}); f.visit("b", workflow.Admitted{}) },
	} {
		f := begun(t)
		f.add("", 0, &workflow.Ended{Status: workflow.StatusExhausted})
		if f.Status() != workflow.StatusExhausted || f.Over() {
			t.Errorf("%s: status %s", name, f.Status())
		}
		f.add("", 0, &workflow.Progress{})
		if f.Memory.Ended == nil {
			t.Errorf("%s: a note takes the end away", name)
		}
		on(f)
		if f.Memory.Ended != nil {
			t.Errorf("%s: the run goes on and has ended", name)
		}
	}
}

func TestBeginnings(t *testing.T) {
	t.Parallel()
	s := &history.State{ID: "r1", Values: history.NewLayered(nothing{})}
	var d *workflow.Damage
	if err := s.Apply(workflow.Event{Seq: 1, Payload: &workflow.Settled{}}, taped); !errors.As(err, &d) || d.Run != "r1" || d.Seq != 1 {
		t.Errorf("a history that begins with a result gives %v", err)
	}
	err := s.Apply(workflow.Event{Seq: 1, Payload: &workflow.RunStarted{Kind: "opera"}}, taped)
	if workflow.CodeOf(err) != workflow.CodeResumeIncompatible {
		t.Errorf("a workflow of unknown kind gives %v", err)
	}
}
