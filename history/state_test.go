package history_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/store"
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
	if err := f.Replay(e, taped); err != nil {
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

func TestStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(*fold)
		want workflow.Status
	}{
		{"for a signal", func(*fold) {}, workflow.StatusWaiting},
		{"paused", func(f *fold) { f.add("", 0, &workflow.Paused{}) }, workflow.StatusWaiting},
		{"uncertain", func(f *fold) { f.add("a", 0, &workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: true}) }, workflow.StatusWaiting},
		{"refused", func(f *fold) { f.add("a", 0, &workflow.Lost{Code: workflow.CodeBudgetExhausted}) }, workflow.StatusExhausted},
		{"parked", func(f *fold) {
			f.add("a", 0, &workflow.Lost{Code: workflow.CodeQuotaExhausted, Until: 99})
			f.wish(workflow.StartVisit{Visit: "a", AI: true})
		}, workflow.StatusUnavailable},
		{"refused and asked", func(f *fold) {
			f.add("a", 0, &workflow.Lost{Code: workflow.CodeBudgetExhausted})
			f.add("b", 0, &workflow.QuestionOpened{Question: workflow.Question{ID: "q"}})
		}, workflow.StatusWaiting},
		{"ended", func(f *fold) { f.add("", 0, &workflow.Ended{Status: workflow.StatusUnproven}) }, workflow.StatusUnproven},
	}
	for _, tt := range tests {
		f := begun(t)
		f.visit("a", workflow.Admitted{AI: true})
		tt.do(f)
		if got := f.Status(); got != tt.want {
			t.Errorf("%s: status %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestQuotaReset(t *testing.T) {
	t.Parallel()
	f := begun(t)
	if _, ok := f.QuotaReset(); ok {
		t.Error("a quota holds a run that began just now")
	}
	f.add("", 0, &workflow.BreakerOpened{Provider: "p", Code: workflow.CodeQuotaExhausted, Until: 50})
	f.visit("a", workflow.Admitted{AI: true})
	f.add("a", 0, &workflow.Lost{Code: workflow.CodeRateLimited, Until: 70})
	f.wish(workflow.StartVisit{Visit: "a", AI: true})
	if at, ok := f.QuotaReset(); !ok || at != 70 {
		t.Errorf("it is back at %d, %v", at, ok)
	}
}

func TestStandingOfHeads(t *testing.T) {
	t.Parallel()
	owner := &store.Holder{PID: 1}
	for _, tt := range []struct {
		status workflow.Status
		owner  *store.Holder
		want   workflow.Status
	}{
		{workflow.StatusRunning, owner, workflow.StatusRunning},
		{workflow.StatusRunning, nil, workflow.StatusInterrupted},
		{workflow.StatusWaiting, nil, workflow.StatusWaiting},
		{workflow.StatusWaiting, owner, workflow.StatusRunning},
		{workflow.StatusExhausted, owner, workflow.StatusRunning},
		{workflow.StatusFailed, owner, workflow.StatusFailed},
		{workflow.StatusSucceeded, nil, workflow.StatusSucceeded},
	} {
		if got := history.Standing(store.Head{Status: tt.status, Owner: tt.owner}); got != tt.want {
			t.Errorf("%s with owner %v stands as %s, want %s", tt.status, tt.owner, got, tt.want)
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

// full is a state with something of everything.
func full(t *testing.T) *fold {
	t.Helper()
	f := begun(t)
	f.add("", 0, &workflow.Steered{Text: "left over"})
	f.visit("a", workflow.Admitted{AI: true, Effect: workflow.EffectRead})
	f.add("a", 1, &workflow.InvocationReserved{Key: "k/1", Tokens: 100})
	f.add("a", 1, &workflow.InvocationSettled{Key: "k/1", Status: workflow.InvocationOK, Usage: tokens(20, 10), Memo: workflow.Text("m")})
	f.add("a", 2, &workflow.InvocationReserved{Key: "k/2", Tokens: 70})
	f.visit("q", workflow.Admitted{})
	f.add("q", 0, &workflow.QuestionOpened{Question: workflow.Question{ID: "q1", Run: "r1", Visit: "q", Node: "q", Kind: workflow.AskQuestion, Text: "Which?", Options: []string{"a", "b"}, Round: 1, Asked: 6}})
	f.visit("l", workflow.Admitted{Effect: workflow.EffectWrite, Uncertain: true})
	f.add("l", 0, &workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: true})
	f.visit("r", workflow.Admitted{AI: true})
	f.add("r", 0, &workflow.Lost{Code: workflow.CodeBudgetExhausted, Message: "no money"})
	f.visit("d", workflow.Admitted{AI: true})
	f.add("d", 0, &workflow.Settled{Status: workflow.VisitFailed, Error: &workflow.Failure{Code: workflow.CodeTimeout, Message: "late", Node: "d"}, Warnings: []string{"slow"}})
	f.add("w", 0, &workflow.TimerStarted{Until: 99_000_000})
	f.add("k", 0, &workflow.ChildStarted{Run: "kid", Ref: "sub"})
	f.add("x", 1, &workflow.InvocationSettled{Key: "k", Status: workflow.InvocationLost})
	return f
}

func TestEncodeAndRestore(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*fold{"full": full(t), "just begun": begun(t)} {
		raw, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		g := &history.State{ID: "r1", Values: history.NewLayered(nothing{})}
		if err := g.Restore(raw, f.Seq, taped); err != nil {
			t.Fatal(err)
		}
		again, err := g.Encode()
		if err != nil || string(again) != string(raw) {
			t.Errorf("%s: the snapshot is another after a restore (%v):\n%s\n%s", name, err, raw, again)
		}
		if !reflect.DeepEqual(g.Memory, f.Memory) || g.Seq != f.Seq || g.Begun != f.Begun || g.Last != f.Last || g.Program.(*tape).Length != f.Program.(*tape).Length {
			t.Errorf("%s: the state is another after a restore:\n%+v\n%+v", name, f.Memory, g.Memory)
		}
		a, err := f.Result(f.Status())
		if err != nil {
			t.Fatal(err)
		}
		b, err := g.Result(g.Status())
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the result is another after a restore (%v):\n%+v\n%+v", name, err, a, b)
		}
		r := &fold{g, t} // and it goes on: no map is missing
		r.visit("new", workflow.Admitted{AI: true})
		r.add("new", 1, &workflow.InvocationReserved{Key: "k"})
		r.add("new", 0, &workflow.QuestionOpened{Question: workflow.Question{ID: "qn"}})
		r.add("new", 0, &workflow.TimerStarted{Until: 1})
		r.add("new", 0, &workflow.ChildStarted{})
		r.add("", 0, &workflow.Steered{Text: "t"})
	}
	g := &history.State{ID: "r1", Values: history.NewLayered(nothing{})}
	for _, raw := range []string{`{`, `{"start":{"kind":"opera"}}`, `{"start":{"kind":"graph"},"program":"x","gate":{}}`, `{"start":{"kind":"graph"},"program":1,"gate":[]}`} {
		if err := g.Restore([]byte(raw), 1, taped); err == nil {
			t.Errorf("%s is restored", raw)
		}
	}
}

// The printed form of a run is read by programs: its members stay as they are.
func TestResultAsJSON(t *testing.T) {
	t.Parallel()
	empty, err := begun(t).Result(workflow.StatusWaiting)
	if err != nil {
		t.Fatal(err)
	}
	res, err := full(t).Result(workflow.StatusWaiting)
	if err != nil {
		t.Fatal(err)
	}
	over := begun(t)
	over.add("", 0, &workflow.Ended{
		Status: workflow.StatusFailed, Completion: &workflow.Completion{Reasons: []string{"why"}},
		Outputs: map[string]workflow.Value{"w": workflow.Text("x")}, Failures: []workflow.Failure{{Code: "timeout", Message: "late", Node: "w"}}, Warnings: []string{"odd"},
	})
	ended, err := over.Result(over.Status())
	if err != nil {
		t.Fatal(err)
	}
	child := history.Result{Run: "kid", Questions: []workflow.Question{{ID: "qk", Run: "kid"}}, ResumeAfter: 7_000_000}
	res.Adopt(child)
	raw, err := json.MarshalIndent(map[string]any{"empty": empty, "full": res, "ended": ended}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "result.json")
	if *update {
		if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(raw) {
		t.Errorf("the result is printed as\n%s\nwant\n%s", raw, want)
	}
}
