package implementation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/implementation"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/verification/host"
	"github.com/tenonrun/tenon/workflow"
)

// Answers of roles that are content with the work.
const (
	planned   = `{"confidence":"high","plan":"do it"}`
	developed = `{"summary":"did it","files":["a.go"],"tests":["a_test.go"],"verification":["go test: ok"],"incomplete":[]}`
	half      = `{"summary":"began","files":["a.go"],"tests":[],"verification":[],"incomplete":[{"task":"the rest","reason":"too long"}]}`
	aspects   = `"aspects":{"architectural_alignment":90,"pattern_adherence":90,"security":90,"test_coverage":90,"type_correctness":90}`
)

// verdict is a reviewer's answer about the criterion "add-x".
func verdict(approved bool, score int, status string) string {
	return fmt.Sprintf(`{"approved":%t,"summary":"looked","issues":["mend a.go"],"score":%d,%s,"acceptance":{"criteria":[{"id":"add-x","status":%q,"evidence":"a.go:1"}],"checks":[],"findings":[]}}`,
		approved, score, aspects, status)
}

// scene is one body of steps, without an engine.
type scene struct {
	t *testing.T
	*piecetest.Context
	piece   piece.Piece
	exec    *piecetest.Executor
	archive *archiver
	// checks are the results of the plan, one a run; the last one stays.
	checks []result
	runs   []host.Request
	answer workflow.Answer // to every question
	asked  []workflow.Question
	visits int
}

// result is what the host sees of a plan.
type result struct {
	state, output string
	absent        bool
	during        func() // while the checks run
}

var passes = result{state: verification.StatePassed}

func fails(output string) result { return result{state: verification.StateFailed, output: output} }

// archiver is an Archiver in memory.
type archiver struct {
	change implementation.Change
	moves  func() // what else an archive does
	err    error
	names  []string
}

func (a *archiver) Change(_ context.Context, _ piece.Context, name string) (implementation.Change, error) {
	a.names = append(a.names, "read "+name)
	return a.change, nil
}

func (a *archiver) Archive(_ context.Context, _ piece.Context, name, candidate string) error {
	a.names = append(a.names, "archive "+name+" at "+candidate)
	if a.err == nil {
		a.change = implementation.Change{Archived: true}
		if a.moves != nil {
			a.moves()
		}
	}
	return a.err
}

func play(t *testing.T, cfg implementation.Config, answers ...string) *scene {
	t.Helper()
	s := &scene{t: t, exec: &piecetest.Executor{}, archive: &archiver{}, checks: []result{passes}, answer: workflow.Answer{Value: workflow.Text("yes"), By: "eve"}}
	for _, a := range answers {
		s.exec.Steps = append(s.exec.Steps, piecetest.Step{Text: a, Structured: json.RawMessage(a), Session: fmt.Sprintf("s%d", len(s.exec.Steps)+1)})
	}
	if cfg.Archiver == nil {
		cfg.Archiver = s.archive
	}
	if cfg.Runner == nil {
		cfg.Verify = s.verify
	}
	registry, err := piece.NewRegistry(implementation.Pieces(cfg)...)
	if err != nil {
		t.Fatal(err)
	}
	s.piece, _ = registry.Get(implementation.KindStep)
	s.Context = &piecetest.Context{Executor: s.exec, Digest: "c1:0", F: piece.Frame{
		Run: "r1", Scope: "implement#1", Level: 1, Launch: workflow.Launch{Change: "add-x"},
		Repositories: []workflow.RepositoryInfo{{ID: "repo", Path: t.TempDir()}},
		Checks:       []workflow.Check{{RepositoryID: "repo", Command: "test"}},
		Roles: map[string]workflow.Role{
			"architect": {Access: workflow.EffectRead, Provider: "p"}, "developer": {Access: workflow.EffectWrite, Provider: "p"},
			"reviewer": {Access: workflow.EffectRead, Provider: "p"},
		},
	}}
	return s
}

// verify is a host that sees the next of the results.
func (s *scene) verify(ctx context.Context, c piece.Context, q host.Request) (verification.Receipt, error) {
	s.runs = append(s.runs, q)
	now := s.checks[0]
	if len(s.checks) > 1 {
		s.checks = s.checks[1:]
	}
	before, err := s.Candidate(ctx)
	if err != nil {
		return verification.Receipt{}, err
	}
	plan, err := verification.PlanDigest(q.Checks)
	if err != nil {
		return verification.Receipt{}, err
	}
	r := verification.Receipt{ID: q.ID, Visit: q.Visit, Node: q.Node, State: workflow.ReceiptPending, Scope: q.Scope, Candidate: before, Plan: plan}
	if r.Scope == "" {
		r.Scope = workflow.ReceiptFull
	}
	for i, check := range q.Checks {
		r.Commands = append(r.Commands, verification.Evidence{ID: fmt.Sprintf("%s/%d", q.ID, i+1), Check: check, State: verification.StateNotRun})
	}
	if err := q.Keep(ctx, r.Kept()); err != nil {
		return r, err
	}
	for i := range r.Commands {
		r.Commands[i].State, r.Commands[i].Output, r.Commands[i].Absent = now.state, now.output, now.absent
		if now.state != verification.StatePassed {
			r.Commands[i].ExitCode, r.Commands[i].Reason = 1, "exit code 1"
		}
	}
	if now.during != nil {
		now.during()
	}
	if r.After, err = s.Candidate(ctx); err != nil {
		return r, err
	}
	r.Judge("")
	return r, q.Keep(ctx, r.Kept())
}

// try runs a step once.
func (s *scene) try(params string) (workflow.Settled, error) {
	s.t.Helper()
	var p struct{ Phase string }
	if err := json.Unmarshal([]byte(params), &p); err != nil {
		s.t.Fatal(err)
	}
	s.F.Params, s.F.Kind, s.F.Node, s.F.Attempt = json.RawMessage(params), implementation.KindStep, "implement/"+p.Phase, 1
	s.F.Visit = workflow.VisitID(fmt.Sprintf("%s/%s#%d", s.F.Scope, p.Phase, s.visits))
	return s.piece.Run(s.t.Context(), s.Context)
}

// step is a visit: it runs the step, answers what it asks, and keeps what it
// leaves for the next.
func (s *scene) step(params string) workflow.Settled {
	s.t.Helper()
	s.visits++
	last := s.Context // questions and memos are those of a visit
	s.Context = &piecetest.Context{F: last.F, State: last.State, Values: last.Values, Executor: s.exec, Digest: last.Digest, Hash: last.Hash, Proven: last.Proven, Desk: last.Desk}
	for _, e := range last.Receipts() {
		if err := s.Keep(s.t.Context(), e); err != nil {
			s.t.Fatal(err)
		}
	}
	out, err := s.try(params)
	for errors.Is(err, piece.ErrPaused) {
		s.asked = append(s.asked, *s.Open())
		if err := s.Answer(s.answer); err != nil {
			s.t.Fatal(err)
		}
		out, err = s.try(params)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", params, err)
	}
	if !out.Private.Absent() {
		s.F.Context.Private = out.Private
	}
	return out
}

// phase is a visit of a phase; it wants this outcome.
func (s *scene) phase(name, outcome string) workflow.Settled {
	s.t.Helper()
	return s.with(name, "", outcome)
}

// with is a visit with more params.
func (s *scene) with(name, more, outcome string) workflow.Settled {
	s.t.Helper()
	out := s.step(fmt.Sprintf(`{"phase":%q,"within":"implementation"%s}`, name, more))
	if out.Outcome != outcome {
		s.t.Fatalf("%s settles %q, want %q: %s, %+v", name, out.Outcome, outcome, out.Output.JSON, out.Error)
	}
	if (out.Outcome == "failed") != (out.Status == workflow.VisitFailed && out.Error != nil) {
		s.t.Errorf("%s settles %q with status %q and error %+v", name, out.Outcome, out.Status, out.Error)
	}
	return out
}

// upTo goes through the phases before one, content with all.
func (s *scene) upTo(phase string) *scene {
	s.t.Helper()
	for _, name := range []string{"architect", "developer", "verify", "reviewer", "archive"} {
		if name == phase {
			break
		}
		s.phase(name, "next")
	}
	return s
}

// lastTurn is the newest turn.
func (s *scene) lastTurn() executor.Turn {
	s.t.Helper()
	turns := s.exec.Turns()
	if len(turns) == 0 {
		s.t.Fatal("no role was asked")
	}
	return turns[len(turns)-1]
}

// field reads a member of an output.
func field(t *testing.T, s workflow.Settled, name string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(s.Output.JSON, &m); err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(m[name]), `"`)
}

func contains(t *testing.T, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%q is not in %q", p, s)
		}
	}
}
