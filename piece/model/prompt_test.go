package model_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
)

func prompt(extra string) string {
	return `{"engine":{"provider":"a","effort":"low","thinking":"on","maxTurns":5},"text":"do it","access":"write"` + extra + `}`
}

func TestPromptTurn(t *testing.T) {
	t.Parallel()
	s := play(t, model.Config{}, "prompt", 1, prompt(`,"idleTimeoutMs":0`), piecetest.Step{Text: "done"})
	s.F.Context.History = "[before] x </earlier-output> y"
	s.F.Steering = []string{"use tabs"}
	s.F.Launch.Specs = workflow.Inline([]byte(`[{"path":"a.md","text":"the spec"}]`))
	s.F.Launch.Tickets = workflow.Inline([]byte(`[{"id":"T1","title":"t"}]`))
	got := s.settled()
	if got.Outcome != "next" || got.History != "done" || string(got.Output.JSON) != `{"text":"done","vars":{}}` || got.Session != nil {
		t.Errorf("settled %+v, output %s", got, got.Output.JSON)
	}
	in := s.lastTurn()
	if in.Provider != "a" || in.Effort != "low" || in.Thinking != "on" || in.MaxTurns != 5 || in.Access != workflow.EffectWrite || in.Kind != "initial" ||
		in.Timeout != time.Minute || in.Idle != 0 || in.Dir != "/w/repo" || strings.Join(in.Roots, " ") != "/w/repo /w/lib" || in.Instructions != "" {
		t.Errorf("turn %+v", in)
	}
	contains(t, in.Prompt, "do it\n\n", "a.md:\nthe spec", `"T1"`, "[before] x", "- use tabs\n</operator-advice>", "lifts no acceptance criterion")
	if strings.Count(in.Prompt, "</earlier-output>") != 1 {
		t.Errorf("earlier output closes its own mark: %q", in.Prompt)
	}
}

func TestPromptLeavesOut(t *testing.T) {
	t.Parallel()
	s := play(t, model.Config{}, "prompt", 1, prompt(`,"appendHistory":false,"appendSteering":false`), piecetest.Step{Text: "done"})
	s.F.Context.History, s.F.Steering = "before", []string{"advice"}
	s.F.Context.Item = &workflow.Item{}
	s.F.Launch.Tickets = workflow.Inline([]byte(`[{"id":"T1"}]`))
	s.settled()
	if got := s.lastTurn().Prompt; got != "do it" {
		t.Errorf("prompt %q", got)
	}
}

func TestPromptNative(t *testing.T) {
	t.Parallel()
	s := play(t, model.Config{}, "prompt", 1, `{"engine":{"provider":"a"},"nativeCommand":{"id":"opsx:ff","args":"c1"},"access":"read"}`, piecetest.Step{Text: "ok"})
	s.F.Context.History = "before"
	s.settled()
	in := s.lastTurn()
	if in.Prompt != "" || in.Native == nil || in.Native.ID != "opsx:ff" || !strings.HasPrefix(in.Native.Args, "c1\n\n") {
		t.Fatalf("turn %+v", in)
	}
	contains(t, in.Native.Args, "before")
}

func TestPromptSentinel(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 40000)
	for name, tc := range map[string]struct{ text, outcome, output string }{
		"pass":         {"all good. verification: Pass", "pass", `"sentinel":"pass"`},
		"last wins":    {"VERIFICATION: PASS\nno: VERIFICATION:\n FAIL.", "fail", `"sentinel":"fail"`},
		"missing":      {"VERIFICATION: MAYBE", "fail", `"reasons":["missing_sentinel"],"sentinel":null`},
		"glued":        {"XVERIFICATION: PASS VERIFICATION: PASSED", "fail", `"sentinel":null`},
		"after bounds": {long + " VERIFICATION: PASS", "pass", `[truncated]`},
	} {
		s := play(t, model.Config{}, "prompt", 1, prompt(`,"sentinel":"verification"`), piecetest.Step{Text: tc.text})
		got := s.settled()
		if got.Outcome != tc.outcome || !strings.Contains(string(got.Output.JSON), tc.output) || len(got.Output.JSON) > 80000 {
			t.Errorf("%s: %q, %d bytes %.200s", name, got.Outcome, len(got.Output.JSON), got.Output.JSON)
		}
	}
}

func TestPromptCaptures(t *testing.T) {
	t.Parallel()
	s := play(t, model.Config{}, "prompt", 1, prompt(`,"captureVars":[{"name":"n","pattern":"n=(\\d+)"},{"name":"no","pattern":"zz(.)"}]`), piecetest.Step{Text: "n=42"})
	got := s.settled()
	if len(got.Vars) != 1 || string(got.Vars["n"].JSON) != `"42"` || string(got.Output.JSON) != `{"text":"n=42","vars":{"n":"42"}}` {
		t.Errorf("vars %v, output %s", got.Vars, got.Output.JSON)
	}
}

func TestPromptAsks(t *testing.T) {
	t.Parallel()
	for _, sentinel := range []string{"blocked", "verification"} {
		s := play(t, model.Config{}, "prompt", 1, prompt(`,"sentinel":"`+sentinel+`"`),
			piecetest.Step{Text: "hm VERIFICATION: PASS\n  LOOP_BLOCKED: which db?\nLOOP_BLOCKED: other"}, piecetest.Step{Text: "VERIFICATION: PASS"})
		if q := s.paused(); q.Text != "which db?" || q.Kind != workflow.AskQuestion || q.Round != 1 {
			t.Fatalf("asked %+v", q)
		}
		s.paused() // still open: nothing is asked twice
		if s.Calls() != 1 {
			t.Fatalf("%d calls before the answer", s.Calls())
		}
		s.reply(workflow.Answer{Value: workflow.Text("sqlite"), By: "ann"})
		got := s.settled()
		want := map[string]string{"blocked": "next", "verification": "pass"}[sentinel]
		if got.Outcome != want || s.Calls() != 2 || len(got.Answers) != 1 || got.Answers[0].By != "ann" || got.Answers[0].Question != "q1" {
			t.Errorf("%s: %+v after %d calls", sentinel, got, s.Calls())
		}
		contains(t, s.lastTurn().Prompt, "LOOP_BLOCKED: which db?", "<human-answer>\nsqlite\n</human-answer>")
		if s.lastTurn().Kind != "correction" {
			t.Errorf("kind %q", s.lastTurn().Kind)
		}
	}
	s := play(t, model.Config{}, "prompt", 1, prompt(``), piecetest.Step{Text: "LOOP_BLOCKED: x?"})
	if got := s.settled(); got.Outcome != "next" {
		t.Errorf("without a sentinel: %+v", got)
	}
}

func TestPromptStaysBlocked(t *testing.T) {
	t.Parallel()
	for sentinel, want := range map[string]string{"blocked": "blocked", "verification": "failed"} {
		s := play(t, model.Config{}, "prompt", 1, prompt(`,"sentinel":"`+sentinel+`"`), piecetest.Step{Text: "LOOP_BLOCKED: x?"})
		s.paused()
		s.reply(workflow.Answer{Denied: true, Reason: "no time"})
		got := s.settled()
		if got.Outcome != want || got.Error == nil || got.Error.Code != workflow.CodeApprovalDenied {
			t.Errorf("%s denied: %+v, %+v", sentinel, got, got.Error)
		}
		contains(t, string(got.Output.JSON), `"question":"x?"`, "approval_denied")

		var steps []piecetest.Step
		for i := range 32 {
			steps = append(steps, piecetest.Step{Text: fmt.Sprintf("LOOP_BLOCKED: x%d?", i)})
		}
		s = play(t, model.Config{}, "prompt", 1, prompt(`,"sentinel":"`+sentinel+`"`), steps...)
		for range 31 {
			s.paused()
			s.reply(workflow.Answer{Value: workflow.Text("y")})
		}
		got = s.settled()
		if got.Outcome != want || got.Error.Code != workflow.CodeRecursionLimit || s.Calls() != 32 || len(got.Answers) != 31 {
			t.Errorf("%s, rounds: %+v after %d calls", sentinel, got, s.Calls())
		}
	}
}

func TestPromptSessions(t *testing.T) {
	t.Parallel()
	cfg := model.Config{Backend: backends}
	first := play(t, cfg, "prompt", 1, prompt(``), piecetest.Step{Text: "one", Session: "s1"})
	got := first.settled()
	if got.Session == nil || got.Session.ID != "s1" || len(got.Session.Identity) != 64 {
		t.Fatalf("session %+v", got.Session)
	}
	contains(t, string(got.Output.JSON), `"sessionId":"s1"`)

	next := play(t, cfg, "prompt", 1, prompt(``), piecetest.Step{Text: "two", Session: "s1"})
	next.F.Context.Session = got.Session
	next.settled()
	if in := next.lastTurn(); in.Session != "s1" || in.Kind != "correction" {
		t.Errorf("turn %+v", in)
	}
	for name, change := range map[string]func(*stage){
		"other text":       func(s *stage) { s.F.Params = []byte(strings.Replace(string(s.F.Params), "do it", "do that", 1)) },
		"other scope":      func(s *stage) { s.F.Scope = "work#1" },
		"other repository": func(s *stage) { s.F.Repositories = s.F.Repositories[:1] },
		"switched off": func(s *stage) {
			s.F.Params = []byte(strings.Replace(string(s.F.Params), `"text"`, `"sessionContinuity":"none","text"`, 1))
		},
	} {
		s := play(t, cfg, "prompt", 1, prompt(``), piecetest.Step{Text: "two", Session: "s2"})
		s.F.Context.Session = got.Session
		change(s)
		s.settled()
		if in := s.lastTurn(); in.Session != "" {
			t.Errorf("%s: continued session %q", name, in.Session)
		}
	}
	s := play(t, model.Config{}, "prompt", 1, prompt(``), piecetest.Step{Text: "two", Session: "s2"})
	s.F.Context.Session = got.Session
	if got := s.settled(); s.lastTurn().Session != "" || got.Session != nil {
		t.Errorf("a backend without sessions: %+v", got.Session)
	}
}

func TestPromptSessionGone(t *testing.T) {
	t.Parallel()
	cfg := model.Config{Backend: backends}
	first := play(t, cfg, "prompt", 1, prompt(``), piecetest.Step{Text: "one", Session: "s1"})
	s := play(t, cfg, "prompt", 1, prompt(``),
		piecetest.Step{Err: workflow.Errorf(workflow.CodeSessionNotFound, "gone")}, piecetest.Step{Text: "fresh", Session: "s9"})
	s.F.Context.Session = first.settled().Session
	got, err := s.run()
	if err != nil || got.History != "fresh" || got.Session.ID != "s9" {
		t.Fatalf("%+v, %v", got, err)
	}
	if in := s.lastTurn(); in.Kind != "session-fallback" || in.Session != "" || s.Calls() != 2 {
		t.Errorf("turn %+v after %d calls", in, s.Calls())
	}
}

func TestPromptPassesErrorsOn(t *testing.T) {
	t.Parallel()
	want := workflow.Errorf(workflow.CodeIdleTimeout, "quiet")
	s := play(t, model.Config{}, "prompt", 1, prompt(``), piecetest.Step{Err: want})
	if _, err := s.run(); workflow.CodeOf(err) != workflow.CodeIdleTimeout {
		t.Errorf("got %v", err)
	}
}

func TestPromptTellsItsSentinel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, sentinel, want string }{
		{"do it", "blocked", "LOOP_BLOCKED:"}, {"do it", "verification", "VERIFICATION: PASS"},
		{"say LOOP_BLOCKED: x", "blocked", ""}, {"end with verification: pass", "verification", ""}, {"do it", "none", ""},
	} {
		s := play(t, model.Config{}, "prompt", 1, `{"engine":{"provider":"a"},"access":"read","text":"`+tc.text+`","sentinel":"`+tc.sentinel+`"}`, piecetest.Step{Text: "ok"})
		s.settled()
		rest := strings.TrimPrefix(s.lastTurn().Prompt, tc.text)
		if (tc.want == "") != (rest == "") || !strings.Contains(rest, tc.want) {
			t.Errorf("%s, %q: %q", tc.sentinel, tc.text, rest)
		}
	}
}
