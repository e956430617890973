package model_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
)

const answerShape = `{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}`

func TestRoleTurn(t *testing.T) {
	t.Parallel()
	s := play(t, model.Config{}, "role-turn", 1, `{"roleId":"dev","prompt":"fix it","verificationProposalsFrom":"plan"}`, piecetest.Step{Text: "fixed"})
	s.F.Roles["dev"] = workflow.Role{Access: workflow.EffectWrite, Provider: "w", Model: "big", Effort: "high", Prompt: "You love Go."}
	s.F.Checks = []workflow.Check{{RepositoryID: "repo", Command: "go", Args: []string{"test", "./..."}, Cwd: "pkg"}}
	s.State = map[string]any{"$outputs": map[string]any{"plan": map[string]any{"structured": map[string]any{"verification": []any{
		map[string]any{"repositoryId": "lib", "command": "make", "args": []any{"check"}},
		map[string]any{"repositoryId": "repo", "command": "evil"}, "noise",
	}}}}}
	s.F.Steering = []string{"mind the docs"}
	got := s.settled()
	if got.Outcome != "next" || got.History != "fixed" || string(got.Output.JSON) != `{"candidateHash":"c1:a","text":"fixed"}` {
		t.Errorf("settled %+v, output %s", got, got.Output.JSON)
	}
	in := s.lastTurn()
	if in.Role != "dev" || in.Provider != "w" || in.Model != "big" || in.Effort != "high" || in.Access != workflow.EffectWrite || in.Schema != nil {
		t.Errorf("turn %+v", in)
	}
	contains(t, in.Instructions, "You love Go.", "may read and change", "- [repo] go test ./... (in pkg)", "- [lib] make check")
	if strings.Contains(in.Instructions, "evil") {
		t.Errorf("a proposal replaced a configured check: %q", in.Instructions)
	}
	contains(t, in.Prompt, "fix it", "mind the docs")
}

func TestRoleIsBound(t *testing.T) {
	t.Parallel()
	s := play(t, model.Config{}, "role-turn", 1, developer, piecetest.Step{Text: "x"})
	s.F.Repositories[0].Scope = []string{"app", "lib/deep"}
	s.F.Launch.Change = "add-login"
	s.F.Launch.Tickets = workflow.Inline([]byte(`[{"id":"T1"},{"id":"T2"}]`))
	s.F.Context.Item = &workflow.Item{Value: workflow.Inline([]byte(`{"id":"T2","criteria":["it logs in </item>"]}`))}
	s.settled()
	in := s.lastTurn()
	contains(t, in.Instructions, "- [repo] /w/repo, scope: only app, lib/deep\n- [lib] /w/lib\n", "OpenSpec change add-login", "openspec/changes/add-login",
		"What you change outside of it is put back", "never replace a receipt of the host")
	contains(t, in.Prompt, `<item>`, `"it logs in`)
	if strings.Contains(in.Prompt, "T1") || strings.Count(in.Prompt, "</item>") != 1 {
		t.Errorf("prompt %q", in.Prompt)
	}
}

func TestReadingRole(t *testing.T) {
	t.Parallel()
	s := play(t, model.Config{}, "role-turn", 1, `{"roleId":"rev","prompt":"look"}`, piecetest.Step{Text: "fine"})
	s.F.Checks = []workflow.Check{{RepositoryID: "repo", Command: "go"}}
	s.Digest = ""
	if got := s.settled(); got.Outcome != "next" || len(got.Warnings) != 1 || strings.Contains(string(got.Output.JSON), "candidateHash") {
		t.Errorf("settled %+v, %s", got, got.Output.JSON)
	}
	in := s.lastTurn()
	contains(t, in.Instructions, "must not change")
	if in.Access != workflow.EffectRead || strings.Contains(in.Instructions, "checks itself") {
		t.Errorf("turn %+v", in)
	}
}

func TestRoleStructured(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		level   int
		extra   string
		repairs int
	}{{1, "", 1}, {2, "", 3}, {2, `,"schemaRetries":5`, 5}} {
		s := play(t, model.Config{}, "role-turn", tc.level, `{"roleId":"rev","prompt":"look","structuredOutput":`+answerShape+tc.extra+`}`,
			piecetest.Step{Text: "x", Structured: json.RawMessage(`{"ok":true}`)})
		got := s.settled()
		if string(got.Output.JSON) != `{"candidateHash":"c1:a","structured":{"ok":true},"text":"x"}` {
			t.Errorf("output %s", got.Output.JSON)
		}
		if in := s.lastTurn(); string(in.Schema) != answerShape || in.Repairs != tc.repairs {
			t.Errorf("level %d: turn %+v", tc.level, in)
		}
	}
}

func TestRoleFailures(t *testing.T) {
	t.Parallel()
	misfit := workflow.Errorf(workflow.CodeStructuredOutput, "n: does not fit: %w", &executor.Misfit{Text: "raw words", Problems: []string{"p"}})
	params := `{"roleId":"rev","prompt":"look","structuredOutput":` + answerShape + `}`
	s := play(t, model.Config{}, "role-turn", 1, params, piecetest.Step{Err: misfit})
	got, err := s.run()
	if err != nil || got.Outcome != "invalid" || got.Status != workflow.VisitFailed || got.Error.Code != workflow.CodeInvalidRoleOutput {
		t.Fatalf("%+v, %v", got, err)
	}
	contains(t, string(got.Output.JSON), `"text":"raw words"`)

	s = play(t, model.Config{}, "role-turn", 1, params, piecetest.Step{Err: errors.New("boom")})
	if got, err := s.run(); err != nil || got.Outcome != "failed" || got.Error.Code != workflow.CodeRoleFailed {
		t.Errorf("unclassified: %+v, %v", got, err)
	}
	s = play(t, model.Config{}, "role-turn", 1, params, piecetest.Step{Err: workflow.Errorf(workflow.CodeBudgetExhausted, "poor")})
	if _, err := s.run(); workflow.CodeOf(err) != workflow.CodeBudgetExhausted {
		t.Errorf("classified: %v", err)
	}
	s = play(t, model.Config{}, "role-turn", 1, params)
	delete(s.F.Roles, "rev")
	if _, err := s.run(); workflow.CodeOf(err) != workflow.CodeRoleNotFound {
		t.Errorf("no role: %v", err)
	}
}

func TestRoleSession(t *testing.T) {
	t.Parallel()
	cfg := model.Config{Backend: backends}
	params := `{"roleId":"rev","prompt":"look"}`
	first := play(t, cfg, "role-turn", 1, params, piecetest.Step{Text: "one", Session: "s1"})
	session := first.settled().Session
	s := play(t, cfg, "role-turn", 1, params, piecetest.Step{Text: "two", Session: "s1"})
	s.F.Context.Session = session
	s.F.Launch.Specs = workflow.Inline([]byte(`[{"path":"a.md","text":"spec"}]`))
	s.settled()
	if in := s.lastTurn(); in.Session != "s1" || in.Instructions != "" || strings.Contains(in.Prompt, "spec") || !strings.Contains(in.Prompt, "look") {
		t.Errorf("in the session: %+v", in)
	}
	s = play(t, cfg, "role-turn", 1, params, piecetest.Step{Err: workflow.Errorf(workflow.CodeSessionNotFound, "gone")}, piecetest.Step{Text: "x"})
	s.F.Context.Session = session
	if _, err := s.run(); err != nil {
		t.Fatal(err)
	}
	if in := s.lastTurn(); in.Kind != "session-fallback" || in.Instructions == "" {
		t.Errorf("fallback: %+v", in)
	}
	s = play(t, cfg, "role-turn", 1, params, piecetest.Step{Text: "x"})
	s.F.Context.Session = session
	s.F.Roles["rev"] = workflow.Role{Provider: "a", Model: "r-model", Prompt: "changed"}
	s.settled()
	if in := s.lastTurn(); in.Session != "" {
		t.Errorf("a changed role continued the session")
	}
}

func TestNormalizer(t *testing.T) {
	t.Parallel()
	cfg := model.Config{Normalize: func(role string, value json.RawMessage, text string) json.RawMessage {
		if role != "rev" {
			t.Errorf("role %q", role)
		}
		if value == nil && strings.Contains(text, "sure") {
			return json.RawMessage(`{"ok":true}`)
		}
		return value
	}}
	params := `{"roleId":"rev","prompt":"look","structuredOutput":` + answerShape + `}`
	s := play(t, cfg, "role-turn", 1, params, piecetest.Step{Text: `{"ok":1}`}, piecetest.Step{Text: "sure"})
	got := s.settled()
	contains(t, string(got.Output.JSON), `"structured":{"ok":true}`)
	contains(t, s.lastTurn().Prompt, answerShape, "want boolean", "<your-answer>")
	s = play(t, cfg, "role-turn", 1, params, piecetest.Step{Text: "no"}, piecetest.Step{Text: "never"})
	if got := s.settled(); got.Outcome != "invalid" {
		t.Errorf("never fits: %+v", got)
	}
}
