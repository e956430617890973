package agent_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/deliverable"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/agent"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
)

func ptr[T any](v T) *T { return &v }

// worker does one thing at each turn, and keeps what it was asked.
type worker struct {
	acts  []func(t executor.Turn) (executor.Reply, error)
	turns []executor.Turn
}

func (w *worker) Capabilities(string) executor.Capabilities { return executor.Capabilities{} }

func (w *worker) Execute(_ context.Context, t executor.Turn, _ executor.Host) (executor.Reply, error) {
	w.turns = append(w.turns, t)
	return w.acts[min(len(w.turns), len(w.acts))-1](t)
}

func says(text string) func(executor.Turn) (executor.Reply, error) {
	return func(executor.Turn) (executor.Reply, error) { return executor.Reply{Text: text}, nil }
}

// delivers writes the deliverable before it answers.
func delivers(content string, drained bool) func(executor.Turn) (executor.Reply, error) {
	return func(t executor.Turn) (executor.Reply, error) {
		err := os.WriteFile(filepath.Join(t.Space, "deliverables", "close.json"), []byte(content), 0o600)
		return executor.Reply{Text: "delivered", Drained: drained}, err
	}
}

const spec = `{"slug":"close","kind":"json-schema","outputContract":{"mode":"workspace-files","targetSlot":{"kind":"deliverables"},
	"files":[{"canonicalPath":"close.json","required":true,"contentKind":"json"}]},
	"contentSchema":{"type":"object","required":["total"],"properties":{"total":{"type":"integer"}}}}`

// run runs the piece over a worker; with a specification unless bare.
func run(t *testing.T, w *worker, params string, bare bool) (workflow.Settled, error) {
	t.Helper()
	cfg := agent.Config{
		Find: func(_ context.Context, _ workflow.RunID, n agent.Name) (agent.Agent, error) {
			return agent.Agent{Def: "agent:" + n.Agent, Name: n.Agent, Version: "2.0.0", Limits: &workflow.AgentLimits{MaxSpawns: ptr(9), MaxTokens: ptr(int64(500))}}, nil
		},
		Prepare: func(_ context.Context, o agent.Order) (agent.Workspace, error) {
			ws := agent.Workspace{Dir: filepath.Join(o.Dir, "ws"), Instructions: "you are " + o.Agent.Name, Closed: []string{"/closed"}}
			if bare {
				return ws, nil
			}
			var err error
			if ws.Spec, err = deliverable.Load("close", []byte(spec)); err != nil {
				return ws, err
			}
			return ws, os.MkdirAll(filepath.Join(ws.Dir, "deliverables"), 0o700)
		},
	}
	p := agent.Pieces(cfg)[0]
	c := &piecetest.Context{Executor: w, Desk: t.TempDir(), F: piece.Frame{
		Run: "r1", Node: "audit", Level: 2, Params: json.RawMessage(params), Traits: piece.Traits{Effect: workflow.EffectWrite},
		Repositories: []workflow.RepositoryInfo{{ID: "repo", Path: "/repo"}},
	}}
	return p.Run(t.Context(), c)
}

func TestDelivered(t *testing.T) {
	t.Parallel()
	w := &worker{acts: []func(executor.Turn) (executor.Reply, error){delivers(`{"total":7}`, false)}}
	s, err := run(t, w, `{"agent":"lead","prompt":"close it","limits":{"maxSpawns":3,"tokenBudget":9000},"group":"month","model":"big"}`, false)
	if err != nil || s.Outcome != "next" || s.Unproven != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	if out := string(s.Output.JSON); !strings.Contains(out, `"accepted":true`) || !strings.Contains(out, `"value":{"total":7}`) || !strings.Contains(out, `"agent":"lead"`) {
		t.Errorf("the output is %s", out)
	}
	in := w.turns[0]
	if in.Instructions != "you are lead" || in.Prompt != "close it" || in.Def != "agent:lead" || in.Model != "big" || in.Route.Group != "month" {
		t.Errorf("the turn is %+v", in)
	}
	if *in.Limits.MaxSpawns != 3 || *in.Limits.MaxTokens != 500 {
		t.Errorf("of two limits the smaller one holds: %d spawns, %d tokens", *in.Limits.MaxSpawns, *in.Limits.MaxTokens)
	}
	if in.Dir != "/repo" || !slices.Equal(in.Roots, []string{"/repo", in.Space}) || !slices.Equal(in.Closed, []string{"/closed"}) {
		t.Errorf("it works in %s, with the roots %v, closed %v", in.Dir, in.Roots, in.Closed)
	}
}

func TestOneCorrectionInTheSameConversation(t *testing.T) {
	t.Parallel()
	w := &worker{acts: []func(executor.Turn) (executor.Reply, error){delivers(`{"sum":7}`, false), delivers(`{"total":7}`, false)}}
	s, err := run(t, w, `{"agent":"lead","prompt":"p"}`, false)
	if err != nil || s.Outcome != "next" {
		t.Fatalf("%+v, %v", s, err)
	}
	if len(w.turns) != 2 || w.turns[0].Key != w.turns[1].Key || len(w.turns[1].Then) != 1 || !strings.Contains(w.turns[1].Then[0], "total") {
		t.Errorf("the correction is %+v", w.turns)
	}
}

func TestUnproven(t *testing.T) {
	t.Parallel()
	for params, turns := range map[string]int{
		`{"agent":"a","prompt":"p"}`:                                   2,
		`{"agent":"a","prompt":"p","onContractViolation":"fail"}`:      1,
		`{"agent":"a","prompt":"p","onContractViolation":"continue"}`:  1,
		`{"agent":"a","prompt":"p","deliverable":"x","access":"read"}`: 2,
	} {
		w := &worker{acts: []func(executor.Turn) (executor.Reply, error){says("all done, I promise")}}
		s, err := run(t, w, params, false)
		if err != nil || s.Outcome != "unproven" || s.Unproven != workflow.CodeDeliverable || len(w.turns) != turns || len(s.Warnings) != 1 {
			t.Errorf("%s: %+v after %d turns, %v", params, s, len(w.turns), err)
		}
		if !strings.Contains(string(s.Output.JSON), "MISSING_FILE") {
			t.Errorf("%s: the output does not say what is missing: %s", params, s.Output.JSON)
		}
	}
}

// What a limit cut short counts when it meets its contract, and has no result when
// it does not: it goes on after a raise.
func TestDrained(t *testing.T) {
	t.Parallel()
	w := &worker{acts: []func(executor.Turn) (executor.Reply, error){delivers(`{"total":7}`, true)}}
	s, err := run(t, w, `{"agent":"a","prompt":"p"}`, false)
	if err != nil || s.Outcome != "next" || !strings.Contains(strings.Join(s.Warnings, " "), "budget_drained") {
		t.Errorf("%+v, %v", s, err)
	}
	for bare, act := range map[bool]func(executor.Turn) (executor.Reply, error){
		false: delivers(`{"half":`, true),
		true:  func(executor.Turn) (executor.Reply, error) { return executor.Reply{Text: "half", Drained: true}, nil },
	} {
		w := &worker{acts: []func(executor.Turn) (executor.Reply, error){act}}
		_, err := run(t, w, `{"agent":"a","prompt":"p"}`, bare)
		if workflow.CodeOf(err) != workflow.CodeBudgetExhausted || len(w.turns) != 1 || !strings.Contains(err.Error(), "raise the limit") {
			t.Errorf("bare %v: %v after %d turns", bare, err, len(w.turns))
		}
	}
}

func TestStrictLimit(t *testing.T) {
	t.Parallel()
	w := &worker{acts: []func(executor.Turn) (executor.Reply, error){func(executor.Turn) (executor.Reply, error) {
		return executor.Reply{}, workflow.Errorf(workflow.CodeCompositionBudget, "over")
	}}}
	s, err := run(t, w, `{"agent":"a","prompt":"p","limits":{"strict":true}}`, false)
	if err != nil || s.Outcome != "failed" || s.Error == nil || s.Error.Code != workflow.CodeCompositionBudget || !w.turns[0].Strict {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	p := agent.Pieces(agent.Config{Known: func(n agent.Name) error {
		if n.Agent == "nobody" {
			return workflow.Errorf(workflow.CodeRoleNotFound, "there is no agent nobody")
		}
		return nil
	}})[0]
	shape, err := schema.Compile(p.Schema(2))
	if err != nil {
		t.Fatal(err)
	}
	for params, want := range map[string]string{
		`{"agent":"a","prompt":"p"}`:                            "write",
		`{"composition":"c","prompt":"p","access":"read"}`:      "read",
		`{"agent":"a","prompt":"p","limits":{"tokenBudget":5}}`: "write",
		`{"agent":"nobody","prompt":"p"}`:                       "/agent role_not_found",
		`{"agent":"a","composition":"c","prompt":"p"}`:          "schema",
		`{"agent":"a"}`: "schema",
		`{"agent":"a","prompt":"p","limits":{"tokens":5}}`:            "schema",
		`{"agent":"a","prompt":"p","onContractViolation":"whatever"}`: "schema",
	} {
		got := "schema"
		if shape.Validate(json.RawMessage(params)) == nil {
			traits, problems := p.Describe(json.RawMessage(params), piece.Env{Level: 2})
			if got = string(traits.Effect); len(problems) > 0 {
				got = problems[0].Pointer + " " + string(problems[0].Code)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
}

// The limits of a script's agents have no schema: marks that are no parts are
// refused before a call.
func TestMarksOfScripts(t *testing.T) {
	t.Parallel()
	for limits, ok := range map[string]bool{
		`{"soft":0.5,"grace":0}`: true, `{"tokenBudget":9}`: true, `{"soft":0}`: false, `{"soft":1.5}`: false, `{"grace":-1}`: false,
	} {
		w := &worker{acts: []func(executor.Turn) (executor.Reply, error){says("done")}}
		c := &piecetest.Context{Executor: w, Desk: t.TempDir(), F: piece.Frame{
			Run: "r1", Node: "a", Level: 2, Script: true, Params: json.RawMessage(`{"prompt":"go","limits":` + limits + `}`),
		}}
		_, err := agent.Pieces(agent.Config{})[0].Run(t.Context(), c)
		if ok != (err == nil) || !ok && (workflow.CodeOf(err) != workflow.CodeInvalidPieceParams || len(w.turns) > 0) {
			t.Errorf("%s: %v after %d turns", limits, err, len(w.turns))
		}
	}
}
