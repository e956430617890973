package history_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/workflow"
)

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
