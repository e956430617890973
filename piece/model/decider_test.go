package model_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
)

const goOn, stopNow = `{"verdict":"continue","reason":"more to do"}`, `{"verdict":"stop","reason":"done"}`

func decider(extra string) string { return `{"roleId":"rev","goal":"all green"` + extra + `}` }

func TestDeciderVerdicts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, outcome, history string }{
		"stop":     {stopNow, "stop", "stop: done"},
		"continue": {"I think:\n```json\n" + goOn + "\n```", "continue", "continue: more to do"},
	} {
		s := play(t, model.Config{}, "decider", 1, decider(""), piecetest.Step{Text: tc.text})
		s.F.Context.History = "[check] FAIL"
		got := s.settled()
		if got.Outcome != tc.outcome || got.History != tc.history || got.Session != nil {
			t.Errorf("%s: %+v", name, got)
		}
		in := s.lastTurn()
		if in.Access != workflow.EffectRead || in.Role != "rev" || in.Schema != nil {
			t.Errorf("%s: turn %+v", name, in)
		}
		contains(t, in.Prompt, "all green", "[check] FAIL", `"verdict"`)
	}
}

func TestDeciderRepairs(t *testing.T) {
	t.Parallel()
	s := play(t, model.Config{}, "decider", 1, decider(""), piecetest.Step{Text: "go on"}, piecetest.Step{Text: `{"verdict":"maybe","reason":"x"}`}, piecetest.Step{Text: stopNow})
	if got := s.settled(); got.Outcome != "stop" || s.Calls() != 3 {
		t.Errorf("%+v after %d calls", got, s.Calls())
	}
	contains(t, s.lastTurn().Prompt, "/verdict: want continue, stop or blocked")
	s = play(t, model.Config{}, "decider", 2, decider(`,"schemaRetries":1`), piecetest.Step{Text: "a"}, piecetest.Step{Text: "b"})
	got := s.settled()
	if got.Outcome != "failed" || got.Error.Code != workflow.CodeInvalidRoleOutput || s.Calls() != 2 {
		t.Errorf("%+v after %d calls", got, s.Calls())
	}
	contains(t, string(got.Output.JSON), `"text":"b"`)
}

// TestDeciderStall plays visits one after the other: each is a candidate and
// the outcome that is expected.
func TestDeciderStall(t *testing.T) {
	t.Parallel()
	type visit struct{ candidate, text, outcome string }
	for name, tc := range map[string]struct {
		level    int
		params   string
		policies workflow.Policies
		visits   []visit
	}{
		"param":           {1, decider(`,"noProgress":2`), workflow.Policies{}, []visit{{"c1:a", goOn, "continue"}, {"c1:a", goOn, "failed"}}},
		"policy":          {1, decider(""), workflow.Policies{NoProgress: 2}, []visit{{"c1:a", goOn, "continue"}, {"c1:a", goOn, "failed"}}},
		"param wins":      {1, decider(`,"noProgress":3`), workflow.Policies{NoProgress: 1}, []visit{{"c1:a", goOn, "continue"}, {"c1:a", goOn, "continue"}, {"c1:a", goOn, "failed"}}},
		"progress resets": {1, decider(`,"noProgress":2`), workflow.Policies{}, []visit{{"c1:a", goOn, "continue"}, {"c1:b", goOn, "continue"}, {"c1:b", goOn, "failed"}}},
		"stop resets":     {1, decider(`,"noProgress":2`), workflow.Policies{}, []visit{{"c1:a", goOn, "continue"}, {"c1:a", stopNow, "stop"}, {"c1:a", goOn, "continue"}}},
		"no limit in 1":   {1, decider(""), workflow.Policies{}, []visit{{"c1:a", goOn, "continue"}, {"c1:a", goOn, "continue"}, {"c1:a", goOn, "continue"}}},
		"default in 2":    {2, decider(""), workflow.Policies{}, []visit{{"c1:a", goOn, "continue"}, {"c1:a", goOn, "failed"}}},
	} {
		var private workflow.Value
		for i, v := range tc.visits {
			s := play(t, model.Config{}, "decider", tc.level, tc.params, piecetest.Step{Text: v.text})
			s.F.Policies, s.F.Context.Private, s.Digest = tc.policies, private, v.candidate
			got := s.settled()
			if got.Outcome != v.outcome {
				t.Fatalf("%s, visit %d: %q, want %q", name, i+1, got.Outcome, v.outcome)
			}
			if v.outcome == "failed" {
				contains(t, string(got.Output.JSON), `"stalled":true`, `"verdict":"continue"`)
				if got.Error.Code != workflow.CodeNoProgress || got.Completion == nil || got.Completion.OK || strings.Join(got.Completion.Reasons, "") != "no_progress" {
					t.Errorf("%s: %+v, %+v", name, got.Error, got.Completion)
				}
			}
			private = got.Private
		}
	}
}

func TestDeciderNeedsAWorkTreeToWatch(t *testing.T) {
	t.Parallel()
	s := play(t, model.Config{}, "decider", 1, decider(`,"noProgress":2`), piecetest.Step{Text: goOn})
	s.Digest = ""
	if _, err := s.run(); err == nil {
		t.Error("counted without a work tree")
	}
	s = play(t, model.Config{}, "decider", 1, decider(""), piecetest.Step{Text: goOn})
	s.Digest = ""
	if got := s.settled(); got.Outcome != "continue" {
		t.Errorf("%+v", got)
	}
}

func TestContinueWhen(t *testing.T) {
	t.Parallel()
	for left, want := range map[float64]string{1: "continue", 0: "stop"} {
		s := play(t, model.Config{}, "decider", 1, decider(`,"continueWhen":"$vars.left > 0","noProgress":2`), piecetest.Step{Text: stopNow})
		s.State = map[string]any{"$vars": map[string]any{"left": left}}
		s.F.Context.Private = workflow.Inline([]byte(`{"candidate":"c1:b","times":1}`))
		got := s.settled()
		if got.Outcome != want || s.Calls() != 1 {
			t.Errorf("left %v: %+v", left, got)
		}
		if want == "continue" {
			contains(t, string(got.Output.JSON), `"proposedVerdict":"stop"`, `"requiredContinue":true`, `"continueCount":1`)
		}
	}
}

func TestDeciderAsks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"verdict":"blocked","reason":"which db?"}`, "hm\nLOOP_BLOCKED: which db?"} {
		s := play(t, model.Config{}, "decider", 1, decider(`,"noProgress":2`), piecetest.Step{Text: text})
		s.F.Context.Private = workflow.Inline([]byte(`{"candidate":"c1:a","times":1}`))
		if q := s.paused(); q.Text != "which db?" {
			t.Fatalf("asked %+v", q)
		}
		s.reply(workflow.Answer{Value: workflow.Text("sqlite")})
		got := s.settled()
		if got.Outcome != "continue" || s.Calls() != 1 || string(got.Private.JSON) != `{"candidate":"c1:a","times":1}` || len(got.Answers) != 1 {
			t.Errorf("%+v after %d calls", got, s.Calls())
		}
		contains(t, got.History, "which db?", "sqlite")

		s = play(t, model.Config{}, "decider", 1, decider(""), piecetest.Step{Text: text})
		s.paused()
		s.reply(workflow.Answer{Denied: true})
		if got := s.settled(); got.Outcome != "failed" || got.Error.Code != workflow.CodeApprovalDenied {
			t.Errorf("denied: %+v", got)
		}
	}
}

func TestDeciderRole(t *testing.T) {
	t.Parallel()
	s := play(t, model.Config{}, "decider", 1, `{"roleId":"dev","goal":"g"}`)
	if _, err := s.run(); workflow.CodeOf(err) != workflow.CodeInvalidRoleAccess {
		t.Errorf("a writing role: %v", err)
	}
	s = play(t, model.Config{}, "decider", 1, `{"roleId":"ghost","goal":"g"}`)
	if _, err := s.run(); workflow.CodeOf(err) != workflow.CodeRoleNotFound {
		t.Errorf("no role: %v", err)
	}
}
