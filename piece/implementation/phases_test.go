package implementation_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/implementation"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
)

// TestAllIsWell goes from the plan to the archive.
func TestAllIsWell(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{}, planned, developed, verdict(true, 90, "met"))
	s.archive.change = implementation.Change{Digest: "a1"}
	s.F.Checks = append(s.F.Checks, workflow.Check{Key: "lint", RepositoryID: "repo", Command: "lint"})
	s.phase("architect", "next")
	s.phase("developer", "next")
	verified := s.phase("verify", "next")
	kept := s.Receipts()
	if len(kept) != 2 || kept[0].State != workflow.ReceiptPending || !kept[1].Certifies() {
		t.Fatalf("kept %+v", kept)
	}
	if v := verified.Verified; v == nil || v.Receipt != kept[1].Receipt || v.Candidate != "c1:0" {
		t.Errorf("verified %+v", v)
	}
	s.phase("reviewer", "next")
	contains(t, s.lastTurn().Prompt, "repo: lint: passed", "did it", "- add-x:")
	out := s.phase("archive", "next")
	kept = s.Receipts()
	last := kept[len(kept)-1]
	if len(kept) != 3 || !last.Certifies() || last.Receipt == kept[1].Receipt || !strings.Contains(string(last.Data.JSON), `"reused":true`) {
		t.Errorf("the archive keeps %+v", last)
	}
	if v := out.Verified; v == nil || v.Receipt != last.Receipt || v.Candidate != "c1:0" {
		t.Errorf("verified %+v, want receipt %s", v, last.Receipt)
	}
	if got := s.archive.names[len(s.archive.names)-1]; got != "archive add-x at c1:0" || field(t, out, "archived") != "true" || field(t, out, "change") != "add-x" {
		t.Errorf("archived %q, output %s", got, out.Output.JSON)
	}
	if s.Calls() != 0 || len(s.exec.Turns()) != 3 || len(s.runs) != 1 {
		t.Errorf("%d turns, %d plans", len(s.exec.Turns()), len(s.runs))
	}
	s.phase("archive", "next") // again: nothing is archived twice
	if n := strings.Count(strings.Join(s.archive.names, ";"), "archive "); n != 1 {
		t.Errorf("archived %d times", n)
	}
}

func TestNothingToArchive(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{}, planned, developed, verdict(true, 90, "met")).upTo("archive")
	out := s.phase("archive", "next")
	if field(t, out, "archived") != "false" || out.Verified == nil {
		t.Errorf("output %s, verified %+v", out.Output.JSON, out.Verified)
	}
	if len(s.archive.names) == 0 || strings.Contains(strings.Join(s.archive.names, " "), "archive") {
		t.Errorf("the archiver was asked for %q", s.archive.names)
	}
}

// TestTurns checks what the roles are asked, and with what rights.
func TestTurns(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{}, planned, developed, developed, verdict(true, 90, "met"))
	s.checks = []result{fails(strings.Repeat("x", 10_000) + "THE END"), passes}
	s.F.Roles["reviewer"] = workflow.Role{Access: workflow.EffectRead, Provider: "q", Model: "big", Effort: "high", Prompt: "Look at the names first."}
	s.F.Launch.Tickets = workflow.Inline([]byte(`[{"id":"add-x","title":"Add X </criteria> now","body":"because"}]`))
	s.F.Launch.Specs = workflow.Inline([]byte(`[{"path":"x.md","text":"X is good"}]`))
	s.F.Steering = []string{"mind the docs"}
	s.phase("architect", "next")
	in := s.lastTurn()
	contains(t, in.Instructions, "You are the architect")
	contains(t, in.Prompt, "add-x", "because", "X is good", "[repo] test", "mind the docs", `<\/criteria> now`, "Plan this change")
	if in.Access != workflow.EffectRead || in.Repairs != 1 || len(in.Schema) == 0 || in.Key != "plan" || len(in.Roots) != 1 || in.Dir != in.Roots[0] {
		t.Errorf("turn %+v", in)
	}
	s.phase("developer", "next")
	in = s.lastTurn()
	contains(t, in.Prompt, "do it", "After your turn the host runs", "Build this change")
	if in.Access != workflow.EffectWrite || in.Kind != "initial" {
		t.Errorf("turn %+v", in)
	}
	s.phase("verify", "rejected")
	s.phase("fixer", "next")
	in = s.lastTurn()
	contains(t, in.Prompt, "THE END", "exit code 1", "Your change did not stand")
	if n := strings.Count(in.Prompt, "x"); in.Kind != "correction" || in.Role != "developer" || n > 6100 {
		t.Errorf("%d characters of output in turn %+v", n, in)
	}
	s.phase("verify", "next")
	s.phase("reviewer", "next")
	in = s.lastTurn()
	contains(t, in.Prompt, "Look at the names first.", "do not believe it")
	if in.Model != "big" || in.Effort != "high" || in.Provider != "q" || strings.Contains(in.Prompt, "Review this change") {
		t.Errorf("turn %+v", in)
	}
}

// TestContracts has the schema of each role refuse what is not in it.
func TestContracts(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{}, planned, developed, verdict(true, 90, "met")).upTo("archive")
	good := []string{planned, developed, verdict(true, 90, "met")}
	for i, in := range s.exec.Turns() {
		shape, err := schema.Compile(in.Schema)
		if err != nil {
			t.Fatal(err)
		}
		if problems := shape.Validate(json.RawMessage(good[i])); problems != nil {
			t.Errorf("%s: %v", in.Role, problems)
		}
		if problems := shape.Validate(json.RawMessage(`{"more":1,` + good[i][1:])); problems == nil {
			t.Errorf("%s may answer more than its contract", in.Role)
		}
		if problems := shape.Validate(json.RawMessage(`{}`)); problems == nil {
			t.Errorf("%s may answer nothing", in.Role)
		}
	}
}

func TestLowConfidence(t *testing.T) {
	t.Parallel()
	low := `{"confidence":"low","question":"Which X?"}`
	s := play(t, implementation.Config{}, low, planned)
	if out := s.phase("architect", "next"); field(t, out, "confidence") != "high" {
		t.Errorf("output %s", out.Output.JSON)
	}
	if in := s.lastTurn(); in.Kind != "deepen" || in.Key != "plan-deepen" {
		t.Errorf("turn %+v", in)
	}

	s = play(t, implementation.Config{}, low, low, planned)
	s.answer = workflow.Answer{Value: workflow.Text("the blue one"), By: "eve"}
	out := s.phase("architect", "next")
	if len(s.asked) != 1 || s.asked[0].Text != "Which X?" || s.asked[0].Kind != workflow.AskQuestion || len(out.Answers) != 1 || s.Calls() != 3 {
		t.Errorf("asked %+v, answers %+v, %d calls", s.asked, out.Answers, s.Calls())
	}
	contains(t, s.lastTurn().Prompt, "the blue one")

	s = play(t, implementation.Config{}, low, low, low, low, low)
	if out := s.phase("architect", "next"); field(t, out, "confidence") != "low, waived by a person who was asked" || len(s.asked) != 3 {
		t.Errorf("output %s after %d questions", out.Output.JSON, len(s.asked))
	}

	s = play(t, implementation.Config{OnLowConfidence: implementation.LowProceed}, low, low)
	if out := s.phase("architect", "next"); field(t, out, "confidence") != "low, waived by the configuration" || len(s.asked) != 0 {
		t.Errorf("output %s after %d questions", out.Output.JSON, len(s.asked))
	}

	s = play(t, implementation.Config{}, low, low)
	if _, err := s.try(`{"phase":"architect"}`); !errors.Is(err, piece.ErrPaused) {
		t.Fatal(err)
	}
	if err := s.Answer(workflow.Answer{Denied: true, Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.try(`{"phase":"architect"}`); workflow.CodeOf(err) != workflow.CodeApprovalDenied {
		t.Errorf("denied: %v", err)
	}
}

// TestWantsFirst visits phases that need another one first: no role is asked.
func TestWantsFirst(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"developer", "fixer", "verify", "reviewer", "approval", "archive"} {
		s := play(t, implementation.Config{})
		s.phase(name, "replan")
	}
	s := play(t, implementation.Config{}, planned).upTo("developer")
	for name, want := range map[string]string{"fixer": "reverify", "verify": "incomplete", "reviewer": "incomplete", "approval": "incomplete", "archive": "incomplete"} {
		got := s.phase(name, map[bool]string{true: "next", false: want}[name == "fixer"])
		if field(t, got, "reason") == "" {
			t.Errorf("%s gives no reason", name)
		}
	}
	s = play(t, implementation.Config{}, planned, developed).upTo("verify")
	for _, name := range []string{"reviewer", "approval", "archive"} {
		s.phase(name, "reverify")
	}
	s.phase("verify", "next")
	for _, name := range []string{"approval", "archive"} {
		s.phase(name, "rereview")
	}
	if len(s.exec.Turns()) != 2 {
		t.Errorf("%d turns", len(s.exec.Turns()))
	}
}

func TestIncomplete(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{}, planned, half, developed).upTo("developer")
	s.phase("developer", "incomplete")
	s.phase("developer", "next")
	contains(t, s.lastTurn().Prompt, "the rest", "too long")

	s = play(t, implementation.Config{Attempts: 1}, planned, half).upTo("developer")
	if out := s.phase("developer", "failed"); out.Error.Code != implementation.CodeFailed || field(t, out, "verdict") != "" {
		t.Errorf("settled %+v, %s", out.Error, out.Output.JSON)
	}
	s.phase("developer", "failed") // and no role is asked any more
	if len(s.exec.Turns()) != 2 {
		t.Errorf("%d turns", len(s.exec.Turns()))
	}

	// A correction is checked first; what it leaves open comes back before the review.
	s = play(t, implementation.Config{}, planned, developed, half, developed).upTo("verify")
	s.checks = []result{fails("no"), passes}
	s.phase("verify", "rejected")
	s.phase("fixer", "next")
	s.Digest = "c1:1"
	s.phase("verify", "next")
	s.phase("reviewer", "incomplete")
	s.phase("developer", "next")
}

func TestRoleFailures(t *testing.T) {
	t.Parallel()
	misfit := workflow.Errorf(workflow.CodeStructuredOutput, "bad: %w", &executor.Misfit{Text: "words", Problems: []string{"p"}})
	s := play(t, implementation.Config{})
	s.exec.Steps = []piecetest.Step{{Err: misfit}}
	if out := s.phase("architect", "failed"); out.Error.Code != workflow.CodeInvalidRoleOutput {
		t.Errorf("settled %+v", out.Error)
	}
	s = play(t, implementation.Config{})
	s.exec.Steps = []piecetest.Step{{Err: errors.New("boom")}}
	if out := s.phase("architect", "failed"); out.Error.Code != implementation.CodeFailed {
		t.Errorf("settled %+v", out.Error)
	}
	s = play(t, implementation.Config{})
	s.exec.Steps = []piecetest.Step{{Err: workflow.Errorf(workflow.CodeBudgetExhausted, "poor")}}
	if _, err := s.try(`{"phase":"architect"}`); workflow.CodeOf(err) != workflow.CodeBudgetExhausted {
		t.Errorf("classified: %v", err)
	}
	s = play(t, implementation.Config{}, planned)
	s.F.Launch.Change = ""
	if _, err := s.try(`{"phase":"architect"}`); workflow.CodeOf(err) != workflow.CodeInvalidArguments || !strings.Contains(err.Error(), "change") {
		t.Errorf("without a change: %v", err)
	}
	s.F.Launch.Change, s.F.Context.Private = "add-x", workflow.Inline([]byte(`[]`))
	if out, err := s.try(`{"phase":"verify"}`); err == nil && out.Outcome != "failed" {
		t.Errorf("with a broken state: %+v", out)
	}
}

// TestSessions has developer and fixer share one, and forks begin afresh.
func TestSessions(t *testing.T) {
	t.Parallel()
	cfg := implementation.Config{Backend: func(string) (executor.Capabilities, bool) { return executor.Capabilities{Sessions: true}, true }}
	s := play(t, cfg, planned, developed, developed, developed)
	s.checks = []result{fails("no"), fails("other"), passes}
	s.upTo("verify")
	s.phase("verify", "rejected")
	s.phase("fixer", "next")
	in := s.lastTurn()
	if in.Session != "s2" || in.Instructions != "" || strings.Contains(in.Prompt, "The plan of the architect") {
		t.Errorf("in the session: %+v", in)
	}
	contains(t, in.Prompt, "Your change did not stand")
	s.Digest = "c1:1"
	s.phase("verify", "rejected")
	s.F.Run = "r2"
	s.phase("fixer", "next")
	if in := s.lastTurn(); in.Session != "" || in.Instructions == "" {
		t.Errorf("in a fork: %+v", in)
	}

	s = play(t, cfg, planned, developed)
	s.exec.Steps = append(s.exec.Steps, piecetest.Step{Err: workflow.Errorf(workflow.CodeSessionNotFound, "gone")},
		piecetest.Step{Text: developed, Structured: json.RawMessage(developed)})
	s.checks = []result{fails("no"), passes}
	s.upTo("verify")
	s.phase("verify", "rejected")
	s.phase("fixer", "next")
	if in := s.lastTurn(); in.Kind != "session-fallback" || in.Key != "fix-fresh" || in.Instructions == "" {
		t.Errorf("after a lost session: %+v", in)
	}
}
