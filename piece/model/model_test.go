package model_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
)

func get(t *testing.T, cfg model.Config, kind string) piece.Piece {
	t.Helper()
	r, err := piece.NewRegistry(model.Pieces(cfg)...)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := r.Get(kind)
	if !ok {
		t.Fatalf("no piece %q", kind)
	}
	return p
}

// backends are: a with a model and efforts, b without a model, w uncertain.
func backends(name string) (executor.Capabilities, bool) {
	caps, ok := map[string]executor.Capabilities{
		"a": {Model: "a-model", Efforts: []string{"low", "high"}, Sessions: true},
		"b": {}, "w": {Model: "w-model", Uncertain: true},
	}[name]
	return caps, ok
}

func env(level int) piece.Env {
	return piece.Env{
		Level: level, Backend: backends, Providers: []string{"a", "b", "w"}, Declared: []string{"dev", "rev", "lost", "plain"},
		Roles: map[string]workflow.Role{
			"dev": {Access: workflow.EffectWrite, Provider: "w"}, "rev": {Access: workflow.EffectRead, Provider: "a", Model: "r-model"},
			"plain": {Provider: "b"}, "other": {Provider: "a"},
		},
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind, params string
		level        int
		want         string // "outcomes; effect; provider model; flags", or
		problem      string // code and pointer of the first problem, or a word of the schema's
	}{
		{"prompt", `{"engine":{"provider":"a"},"text":"x","access":"read"}`, 1, "next failed; read; a a-model; steerable", ""},
		{"prompt", `{"engine":{"provider":"w","model":"m"},"text":"x","access":"write","sentinel":"blocked","appendSteering":false}`, 1, "next blocked failed; write; w m; uncertain", ""},
		{"prompt", `{"engine":{"provider":"a"},"nativeCommand":{"id":"opsx:ff"},"access":"write","sentinel":"verification"}`, 1, "pass fail failed; write; a a-model; steerable", ""},
		{"prompt", `{"engine":{"provider":"b"},"text":"x","access":"read"}`, 1, "next failed; read; b ; steerable", "model_missing /engine/provider"},
		{"prompt", `{"engine":{"provider":"aa"},"text":"x","access":"read"}`, 1, "next failed; read; aa ; steerable", `provider_not_found /engine/provider did you mean "a"?`},
		{"prompt", `{"engine":{"provider":"a","effort":"max"},"text":"x","access":"read"}`, 1, "next failed; read; a a-model; steerable", "invalid_piece_params /engine/provider it knows low, high"},
		{"prompt", `{"engine":{"provider":"w","effort":"max"},"text":"x","access":"read"}`, 1, "next failed; read; w w-model; steerable", "warning invalid_piece_params /engine/provider"},
		{"prompt", `{"engine":{"provider":"a"},"text":"x","access":"read","captureVars":[{"name":"v","pattern":"(?=x)"}]}`, 1, "next failed; read; a a-model; steerable", "invalid_expression /captureVars/0/pattern"},
		{"prompt", `{"engine":{"provider":"a"},"text":"x","nativeCommand":{"id":"y"},"access":"read"}`, 1, "", "alternatives"},
		{"prompt", `{"engine":{"provider":"a"},"access":"read"}`, 1, "", "alternatives"},
		{"prompt", `{"text":"x","access":"read"}`, 1, "", "engine"},
		{"prompt", `{"text":"x","access":"read"}`, 2, "next failed; read;  ; steerable", "provider_not_found /engine/provider"},
		{"prompt", `{"engine":{"provider":"a"},"text":"x","access":"all"}`, 1, "", "/access"},
		{"prompt", `{"engine":{"provider":"a"},"text":"x","access":"read","timeoutMs":-1}`, 1, "", "/timeoutMs"},
		{"role-turn", `{"roleId":"dev","prompt":"x"}`, 1, "next failed; write; w w-model; steerable uncertain", ""},
		{"role-turn", `{"roleId":"rev","prompt":"x","structuredOutput":{"type":"object"}}`, 1, "next invalid failed; read; a r-model; steerable", ""},
		{"role-turn", `{"roleId":"rev","prompt":"x","structuredOutput":{"typ":"object"}}`, 1, "next invalid failed; read; a r-model; steerable", "invalid_piece_params /structuredOutput/typ"},
		{"role-turn", `{"roleId":"rev","prompt":"x","engine":{"provider":"w"},"schemaRetries":0,"appendSteering":false}`, 2, "next failed; read; w w-model;", ""},
		{"role-turn", `{"roleId":"rev","prompt":"x","schemaRetries":0}`, 1, "", "/schemaRetries"},
		{"role-turn", `{"roleId":"other","prompt":"x"}`, 1, "next failed; read;  ; steerable", "role_undeclared /roleId"},
		{"role-turn", `{"roleId":"lost","prompt":"x"}`, 1, "next failed; read;  ; steerable", "role_not_found /roleId"},
		{"role-turn", `{"roleId":"plain","prompt":"x"}`, 1, "next failed; read; b ; steerable", "model_missing /roleId"},
		{"decider", `{"roleId":"rev","goal":"g","continueWhen":"$vars.n < 2","noProgress":3}`, 1, "continue stop failed; read; a r-model;", ""},
		{"decider", `{"roleId":"dev","goal":"g"}`, 1, "continue stop failed; read; w w-model;", "invalid_role_access /roleId"},
		{"decider", `{"roleId":"rev","goal":"g","continueWhen":"$vars.n <"}`, 1, "continue stop failed; read; a r-model;", "invalid_expression /continueWhen"},
		{"decider", `{"roleId":"rev","goal":""}`, 1, "", "/goal"},
	} {
		got, problem := examine(t, get(t, model.Config{}, tc.kind), tc.params, env(tc.level))
		if got != tc.want || (tc.problem == "") != (problem == "") || !strings.Contains(problem, tc.problem) {
			t.Errorf("%s %s, level %d:\n got %q, %q\nwant %q, %q", tc.kind, tc.params, tc.level, got, problem, tc.want, tc.problem)
		}
	}
}

func examine(t *testing.T, p piece.Piece, params string, e piece.Env) (traits, problem string) {
	t.Helper()
	s, err := schema.Compile(p.Schema(e.Level))
	if err != nil {
		t.Fatal(err)
	}
	if ps := s.Validate(json.RawMessage(params)); ps != nil {
		return "", ps.Error()
	}
	tr, problems := p.Describe(json.RawMessage(params), e)
	if len(problems) > 0 {
		problem = strings.Join([]string{string(problems[0].Code), problems[0].Pointer, problems[0].Hint}, " ")
		if problems[0].Warning {
			problem = "warning " + problem
		}
	}
	if !tr.AI {
		t.Errorf("%s is no AI piece", p.Kind)
	}
	flags := ""
	if tr.Steerable {
		flags += " steerable"
	}
	if tr.Uncertain {
		flags += " uncertain"
	}
	return strings.Join(tr.Outcomes, " ") + "; " + string(tr.Effect) + "; " + tr.Provider + " " + tr.Model + ";" + flags, problem
}

func TestDescribeWithoutConfiguration(t *testing.T) {
	t.Parallel()
	e := piece.Env{Level: 1, Structural: true, Declared: []string{"dev"}}
	for kind, params := range map[string]string{
		"prompt": `{"engine":{"provider":"zzz"},"text":"x","access":"read"}`, "role-turn": `{"roleId":"dev","prompt":"x"}`, "decider": `{"roleId":"dev","goal":"g"}`,
	} {
		tr, problems := get(t, model.Config{}, kind).Describe(json.RawMessage(params), e)
		if len(problems) > 0 || tr.Effect != workflow.EffectRead {
			t.Errorf("%s: %+v, %+v", kind, tr, problems)
		}
	}
}

func TestOnlyProviderIsTaken(t *testing.T) {
	t.Parallel()
	e := piece.Env{Level: 2, Backend: backends, Providers: []string{"a"}}
	tr, problems := get(t, model.Config{}, "prompt").Describe(json.RawMessage(`{"text":"x","access":"read"}`), e)
	if len(problems) > 0 || tr.Provider != "a" || tr.Model != "a-model" {
		t.Errorf("%+v, %+v", tr, problems)
	}
}

// stage is a visit of a piece that can be run again.
type stage struct {
	t *testing.T
	*piecetest.Context
	ex  *piecetest.Executor
	run func() (workflow.Settled, error)
}

func play(t *testing.T, cfg model.Config, kind string, level int, params string, steps ...piecetest.Step) *stage {
	t.Helper()
	p, e := get(t, cfg, kind), env(level)
	traits, _ := p.Describe(json.RawMessage(params), e)
	s := &stage{t: t, ex: &piecetest.Executor{Steps: steps}}
	s.Context = &piecetest.Context{Digest: "c1:a", Executor: s.ex, F: piece.Frame{
		Run: "r", Visit: "n#1", Node: "n", Number: 1, Kind: kind, Level: level, Params: json.RawMessage(params), Roles: e.Roles,
		Repositories: []workflow.RepositoryInfo{{ID: "repo", Path: "/w/repo"}, {ID: "lib", Path: "/w/lib"}},
		Timeouts:     workflow.Timeouts{TurnMs: 60000, IdleMs: 1000},
		Traits:       piece.Traits{Effect: traits.Effect, AI: true, Provider: traits.Provider},
	}}
	s.run = func() (workflow.Settled, error) { return p.Run(t.Context(), s.Context) }
	return s
}

// settled runs the piece to its result, and once more to see that nothing is
// asked again.
func (s *stage) settled() workflow.Settled {
	s.t.Helper()
	first, err := s.run()
	if err != nil {
		s.t.Fatal(err)
	}
	calls := s.Calls()
	again, err := s.run()
	if err != nil {
		s.t.Fatal(err)
	}
	if s.Calls() != calls {
		s.t.Errorf("the second run made %d calls", s.Calls()-calls)
	}
	a, b := toJSON(s.t, first), toJSON(s.t, again)
	if a != b {
		s.t.Errorf("the second run settled differently:\n%s\n%s", a, b)
	}
	return first
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func (s *stage) paused() *workflow.Question {
	s.t.Helper()
	if _, err := s.run(); !errors.Is(err, piece.ErrPaused) {
		s.t.Fatalf("got %v, want ErrPaused", err)
	}
	return s.Open()
}

func (s *stage) reply(a workflow.Answer) {
	s.t.Helper()
	if err := s.Answer(a); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) lastTurn() executor.Turn {
	turns := s.ex.Turns()
	return turns[len(turns)-1]
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not hold %q", text, part)
		}
	}
}
