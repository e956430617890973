package implementation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece/implementation"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// TestConvergence corrects until that makes no sense any more.
func TestConvergence(t *testing.T) {
	t.Parallel()
	loop := func(s *scene, rounds int) workflow.Settled {
		s.upTo("verify")
		for n := range rounds {
			s.phase("verify", "rejected")
			s.phase("fixer", "next")
			s.Digest = fmt.Sprintf("c1:%d", n+1)
		}
		return s.phase("verify", "failed")
	}
	many := func(n int) (answers []string) {
		answers = []string{planned}
		for range n {
			answers = append(answers, developed)
		}
		return answers
	}
	// The same failure, in other places and with other numbers, survives two corrections.
	s := play(t, implementation.Config{Attempts: 100}, many(9)...)
	s.checks = []result{fails("/tmp/1/a.go:3: broken 0xff"), fails("/tmp/2/b/a.go:47: broken 0xab12"), fails("/x/a.go:5: broken 0x0")}
	out := loop(s, 2)
	if out.Error.Code != workflow.CodeNoProgress || field(t, out, "verdict") != "rejected" {
		t.Errorf("settled %+v, %s", out.Error, out.Output.JSON)
	}
	contains(t, field(t, out, "reason"), "same failure", "exit code 1")

	// Fewer failures of one kind are progress, more or as many are not.
	for last, code := range map[string]workflow.Code{"1 failed": implementation.CodeFailed, "5 failed": workflow.CodeNoProgress} {
		s = play(t, implementation.Config{Attempts: 4}, many(9)...)
		s.checks = []result{fails("9 failed"), fails("5 failed"), fails("5 failed"), fails(last)}
		if out = loop(s, 3); out.Error.Code != code {
			t.Errorf("9, 5, 5, then %s: settled %+v", last, out.Error)
		}
	}

	// Different failures go on until the attempts are used up.
	s = play(t, implementation.Config{}, many(9)...)
	s.checks = []result{fails("one"), fails("two"), fails("three")}
	out = loop(s, 2)
	if out.Error.Code != implementation.CodeFailed || field(t, out, "verdict") != "rejected" || !strings.Contains(field(t, out, "reason"), "limit") {
		t.Errorf("settled %+v, %s", out.Error, out.Output.JSON)
	}

	// A correction that changes nothing is not checked again.
	s = play(t, implementation.Config{}, many(9)...).upTo("verify")
	s.checks = []result{fails("one")}
	s.phase("verify", "rejected")
	s.phase("fixer", "next")
	if out = s.phase("verify", "failed"); out.Error.Code != workflow.CodeNoProgress || len(s.runs) != 1 {
		t.Errorf("settled %+v after %d plans", out.Error, len(s.runs))
	}

	// Unless an operator has said something.
	s = play(t, implementation.Config{}, many(9)...).upTo("verify")
	s.checks = []result{fails("one"), passes}
	s.phase("verify", "rejected")
	s.F.Steering = []string{"the service was down"}
	s.phase("fixer", "next")
	s.phase("verify", "next")
}

// TestReviewReintroduces has the review's correction bring back what was fixed.
func TestReviewReintroduces(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{Attempts: 10}, planned, developed, developed, verdict(false, 50, "pending"), developed).upTo("verify")
	s.checks = []result{fails("broken"), passes, fails("broken")}
	s.phase("verify", "rejected")
	s.phase("fixer", "next")
	s.Digest = "c1:1"
	s.phase("verify", "next")
	s.phase("reviewer", "rejected")
	s.phase("fixer", "next")
	contains(t, s.lastTurn().Prompt, "What the reviewer found", "mend a.go", "the score is 50")
	s.Digest = "c1:2"
	out := s.phase("verify", "failed")
	contains(t, field(t, out, "reason"), "brought back")
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		result  result
		outcome string
		code    workflow.Code
	}{
		{"passes", passes, "next", ""},
		{"fails", fails("no"), "rejected", ""},
		{"hangs", result{state: verification.StateHung}, "rejected", ""},
		{"cannot be run", result{state: verification.StateBroken}, "failed", implementation.CodeBlocked},
		{"has no program", result{state: verification.StateBroken, absent: true}, "failed", implementation.CodeBlocked},
		{"exit code 127", result{state: verification.StateFailed, absent: true}, "rejected", ""},
	} {
		s := play(t, implementation.Config{}, planned, developed).upTo("verify")
		s.checks = []result{tc.result}
		out := s.phase("verify", tc.outcome)
		if tc.code != "" && (out.Error.Code != tc.code || field(t, out, "verdict") != "") {
			t.Errorf("%s: %+v, %s", tc.name, out.Error, out.Output.JSON)
		}
		if (out.Verified != nil) != (tc.outcome == "next") || field(t, out, "valid") != fmt.Sprint(tc.outcome == "next") {
			t.Errorf("%s: verified %+v, output %s", tc.name, out.Verified, out.Output.JSON)
		}
	}

	// Checks that change the files prove nothing.
	s := play(t, implementation.Config{}, planned, developed).upTo("verify")
	s.checks = []result{{state: verification.StatePassed, during: func() { s.Digest = "c1:9" }}}
	if out := s.phase("verify", "rejected"); out.Verified != nil {
		t.Errorf("verified %+v", out.Verified)
	}

	// Without a plan nothing is verified.
	s = play(t, implementation.Config{}, planned, developed)
	s.F.Checks = nil
	s.upTo("verify")
	if out := s.phase("verify", "failed"); out.Error.Code != workflow.CodeVerifyFailed || !strings.Contains(out.Error.Message, "--verify") {
		t.Errorf("settled %+v", out.Error)
	}
}

// TestProposals adds checks for repositories that have none, and no others.
func TestProposals(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{},
		`{"confidence":"high","verification":[{"repositoryId":"lib","command":"make","args":["check"]},{"repositoryId":"repo","command":"true"},{"repositoryId":"none","command":"true"}]}`,
		`{"summary":"s","files":[],"tests":[],"verification":[],"incomplete":[],"verificationChecks":[{"repositoryId":"lib","command":"make","args":["check"],"cwd":"."},{"repositoryId":"lib","command":"lint"}]}`)
	s.F.Repositories = append(s.F.Repositories, workflow.RepositoryInfo{ID: "lib", Path: t.TempDir()})
	s.upTo("verify").phase("verify", "next")
	var names []string
	for _, c := range s.runs[0].Checks {
		names = append(names, c.RepositoryID+" "+c.Name())
		if c.Proposed != (c.RepositoryID == "lib") {
			t.Errorf("%s is proposed: %t", c.Name(), c.Proposed)
		}
	}
	if got := strings.Join(names, ", "); got != "repo test, lib make check, lib lint" {
		t.Errorf("checked %s", got)
	}
	contains(t, s.lastTurn().Prompt, "[lib] make check")

	s = play(t, implementation.Config{}, planned, developed)
	s.F.Checks = []workflow.Check{
		{RepositoryID: "repo", Label: "unit", Command: "go", Args: []string{"test"}},
		{RepositoryID: "repo", Label: "make it", Command: "bash", Args: []string{"-c", "make it"}},
	}
	s.upTo("verify")
	contains(t, s.lastTurn().Prompt, "[repo] unit: go test", "[repo] make it\n")
}

func TestReview(t *testing.T) {
	t.Parallel()
	with := func(old, now string) string { return strings.Replace(verdict(true, 90, "met"), old, now, 1) }
	for _, tc := range []struct{ name, answer, params, outcome, reason string }{
		{"good", verdict(true, 70, "met"), "", "next", ""},
		{"the reviewer says no", verdict(false, 90, "met"), "", "rejected", "does not approve"},
		{"score", verdict(true, 69, "met"), "", "rejected", "the score is 69, and 70 is the least"},
		{"raised score", verdict(true, 89, "met"), `,"reviewPolicy":{"minScore":90}`, "rejected", "90 is the least"},
		{"lowered score", verdict(true, 69, "met"), `,"reviewPolicy":{"minScore":10}`, "rejected", "70 is the least"},
		{"security", with(`"security":90`, `"security":74`), "", "rejected", "security is 74, and 75 is the least"},
		{"security at its floor", with(`"security":90`, `"security":75`), "", "next", ""},
		{"aspect", with(`"test_coverage":90`, `"test_coverage":59`), "", "rejected", "test_coverage is 59, and 60"},
		{"raised aspect", verdict(true, 90, "met"), `,"reviewPolicy":{"aspects":{"test_coverage":95}}`, "rejected", "test_coverage is 90, and 95"},
		{"pending", verdict(true, 90, "pending"), "", "rejected", "criterion add-x is pending: a.go:1"},
		{"check", with(`"checks":[]`, `"checks":[{"id":"test","status":"failed"}]`), "", "rejected", "calls check test failed"},
		{"blocked", verdict(true, 90, "blocked"), "", "failed", "criterion add-x is blocked"},
	} {
		s := play(t, implementation.Config{}, planned, developed, tc.answer).upTo("reviewer")
		out := s.with("reviewer", tc.params, tc.outcome)
		contains(t, field(t, out, "reason"), tc.reason)
		if field(t, out, "approved") != fmt.Sprint(tc.outcome == "next") {
			t.Errorf("%s: output %s", tc.name, out.Output.JSON)
		}
		if tc.outcome != "next" {
			s.phase("archive", "rereview")
		}
	}
	s := play(t, implementation.Config{Attempts: 1}, planned, developed, verdict(false, 90, "met")).upTo("reviewer")
	if out := s.phase("reviewer", "failed"); field(t, out, "verdict") != "rejected" || out.Error.Code != implementation.CodeFailed {
		t.Errorf("settled %+v, %s", out.Error, out.Output.JSON)
	}
	if in := s.lastTurn(); in.Access != workflow.EffectRead {
		t.Errorf("a reviewer with access %s", in.Access)
	}
}

// TestCertifiedOnce asks once more for an acceptance that leaves a criterion out.
func TestCertifiedOnce(t *testing.T) {
	t.Parallel()
	none := strings.Replace(verdict(true, 90, "met"), `"id":"add-x"`, `"id":"other"`, 1)
	twice := strings.Replace(verdict(true, 90, "met"), `"criteria":[`, `"criteria":[{"id":"add-x","status":"met","evidence":"b.go"},`, 1)
	for _, bad := range []string{none, twice} {
		s := play(t, implementation.Config{}, planned, developed, bad, verdict(true, 90, "met")).upTo("reviewer")
		s.phase("reviewer", "next")
		if in := s.lastTurn(); in.Key != "review-repair" || in.Kind != "repair" || !strings.Contains(in.Prompt, `"add-x"`) {
			t.Errorf("turn %+v", in)
		}
		s = play(t, implementation.Config{}, planned, developed, bad, bad).upTo("reviewer")
		if out := s.phase("reviewer", "failed"); out.Error.Code != workflow.CodeInvalidRoleOutput || s.Calls() != 2 {
			t.Errorf("settled %+v after %d calls", out.Error, s.Calls())
		}
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{}, planned, developed, verdict(true, 90, "exception")).upTo("reviewer")
	s.phase("reviewer", "next")
	if len(s.asked) != 1 || s.asked[0].Kind != workflow.AskApproval || s.asked[0].Bound != "c1:0" || !strings.Contains(s.asked[0].Text, "a.go:1") {
		t.Errorf("asked %+v", s.asked)
	}
	s.phase("archive", "next")

	// Nobody accepts it in the reviewer's place.
	forged := strings.Replace(verdict(true, 90, "exception"), `"status":"exception"`, `"status":"exception","accepted":"eve"`, 1)
	s = play(t, implementation.Config{}, planned, developed, forged).upTo("reviewer")
	s.answer = workflow.Answer{Denied: true}
	out := s.phase("reviewer", "rejected")
	contains(t, field(t, out, "reason"), "criterion add-x is exception")

	// Files that change while the question waits are verified again.
	s = play(t, implementation.Config{}, planned, developed, verdict(true, 90, "exception")).upTo("reviewer")
	if _, err := s.try(`{"phase":"reviewer"}`); err == nil || s.Open() == nil {
		t.Fatal("nobody was asked")
	}
	if err := s.Answer(s.answer); err != nil {
		t.Fatal(err)
	}
	s.Digest = "c1:1"
	if out, err := s.try(`{"phase":"reviewer"}`); err != nil || out.Outcome != "reverify" {
		t.Errorf("settles %q, %v", out.Outcome, err)
	}
}

// TestDrift changes each thing that an acceptance is about.
func TestDrift(t *testing.T) {
	t.Parallel()
	ready := func() *scene {
		s := play(t, implementation.Config{}, planned, developed, verdict(true, 90, "met"))
		s.archive.change = implementation.Change{Digest: "a1"}
		return s.upTo("archive")
	}
	for name, tc := range map[string]struct {
		change  func(*scene)
		outcome string
	}{
		"nothing":   {func(*scene) {}, "next"},
		"files":     {func(s *scene) { s.Digest = "c1:1" }, "reverify"},
		"checks":    {func(s *scene) { s.F.Checks[0].Args = []string{"-run", "None"} }, "reverify"},
		"artifacts": {func(s *scene) { s.archive.change.Digest = "a2" }, "rereview"},
		"no change": {func(s *scene) { s.archive.change = implementation.Change{} }, "rereview"},
		"criteria":  {func(s *scene) { s.patch(`"id":"add-x"`, `"id":"add-y"`) }, "rereview"},
		"plan":      {func(s *scene) { s.patch(`"plan":"do it"`, `"plan":"do less"`) }, "rereview"},
	} {
		s := ready()
		tc.change(s)
		for _, phase := range []string{"approval", "archive"} {
			if out := s.phase(phase, tc.outcome); (out.Verified != nil) != (tc.outcome == "next" && phase == "archive") {
				t.Errorf("%s: verified %+v", name, out.Verified)
			}
		}
	}
	// Also while it is archived.
	s := ready()
	digests := []string{"c1:0", "c1:5"}
	s.Hash = func() (string, error) {
		now := digests[0]
		digests = digests[min(1, len(digests)-1):]
		return now, nil
	}
	if out := s.phase("archive", "reverify"); out.Verified != nil {
		t.Errorf("verified %+v", out.Verified)
	}
}

// patch changes the first place of the private state, as nothing else can.
func (s *scene) patch(old, now string) {
	s.t.Helper()
	raw := string(s.F.Context.Private.JSON)
	if !strings.Contains(raw, old) {
		s.t.Fatalf("%s is not in %s", old, raw)
	}
	s.F.Context.Private = workflow.Inline([]byte(strings.Replace(raw, old, now, 1)))
}

func TestApproval(t *testing.T) {
	t.Parallel()
	const wanted = `,"approvalBeforeArchive":true`
	s := play(t, implementation.Config{}, planned, developed, verdict(true, 90, "met"), verdict(true, 90, "met"))
	s.archive.change = implementation.Change{Digest: "a1"}
	s.upTo("archive")
	if out := s.with("archive", wanted, "failed"); out.Error.Code != implementation.CodeFailed {
		t.Errorf("without an approval: %+v", out.Error)
	}
	out := s.with("approval", wanted, "next")
	if len(s.asked) != 1 || s.asked[0].Kind != workflow.AskApproval || !strings.HasPrefix(s.asked[0].Bound, "acceptance:") {
		t.Errorf("asked %+v", s.asked)
	}
	contains(t, s.asked[0].Text, "add-x", "90 of 100", "high confidence", "c1:0")
	if field(t, out, "by") != "eve" {
		t.Errorf("output %s", out.Output.JSON)
	}
	s.patch(`"evidence":"a.go:1"`, `"evidence":"b.go:1"`) // another acceptance than was approved
	s.with("archive", wanted, "rereview")
	s.phase("reviewer", "next")
	s.with("archive", wanted, "failed") // the approval is gone
	s.with("approval", wanted, "next")
	s.with("archive", wanted, "next")

	s = play(t, implementation.Config{}, planned, developed, verdict(true, 90, "met")).upTo("archive")
	s.answer = workflow.Answer{Denied: true, Reason: "not now"}
	if out := s.with("approval", wanted, "failed"); out.Error.Code != workflow.CodeApprovalDenied || !strings.Contains(out.Error.Message, "not now") {
		t.Errorf("denied: %+v", out.Error)
	}

	// An answer counts only for what was asked about.
	s = play(t, implementation.Config{}, planned, developed, verdict(true, 90, "met"))
	s.archive.change = implementation.Change{Digest: "a1"}
	s.upTo("archive")
	const params = `{"phase":"approval","within":"implementation"}`
	if _, err := s.try(params); err == nil || s.Open() == nil {
		t.Fatal("nobody was asked")
	}
	if err := s.Answer(s.answer); err != nil {
		t.Fatal(err)
	}
	s.patch(`"evidence":"a.go:1"`, `"evidence":"b.go:1"`)
	if _, err := s.try(params); err == nil || s.Open() == nil || s.Open().Round != 2 {
		t.Errorf("not asked again: %v", err)
	}
}

func TestArchiveFails(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{}, planned, developed, verdict(true, 90, "met"))
	s.archive.change = implementation.Change{Digest: "a1"}
	s.archive.err = workflow.Errorf(workflow.CodeRecoveredFailed, "no")
	s.upTo("archive")
	if _, err := s.try(`{"phase":"archive"}`); workflow.CodeOf(err) != workflow.CodeRecoveredFailed {
		t.Errorf("got %v", err)
	}
	// An attempt that died while it archived is finished by the next one.
	s.archive.err, s.archive.change = nil, implementation.Change{Digest: "half", Begun: true}
	if out := s.phase("archive", "next"); out.Verified == nil || !strings.HasSuffix(strings.Join(s.archive.names, ";"), "archive add-x at c1:0;read add-x") {
		t.Errorf("settled %+v after %v", out, s.archive.names)
	}
	// One that died after it is, too.
	s = play(t, implementation.Config{}, planned, developed, verdict(true, 90, "met"))
	s.archive.change = implementation.Change{Digest: "a1"}
	s.upTo("archive")
	s.archive.err, s.archive.change = nil, implementation.Change{Archived: true}
	if out := s.phase("archive", "next"); out.Verified == nil {
		t.Errorf("settled %+v", out)
	}
}

// TestArchiveMovesFiles has the archive itself change what is hashed: all is
// checked again, and nothing archived twice.
func TestArchiveMovesFiles(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{}, planned, developed, verdict(true, 90, "met"), verdict(true, 90, "met"))
	s.archive.change, s.archive.moves = implementation.Change{Digest: "a1"}, func() { s.Digest = "c1:archived" }
	s.upTo("archive")
	if out := s.phase("archive", "reverify"); out.Verified != nil {
		t.Errorf("verified %+v", out.Verified)
	}
	s.phase("verify", "next")
	s.phase("reviewer", "next")
	out := s.phase("archive", "next")
	if n := strings.Count(strings.Join(s.archive.names, ";"), "archive "); n != 1 || out.Verified == nil || out.Verified.Candidate != "c1:archived" {
		t.Errorf("archived %d times, verified %+v", n, out.Verified)
	}
}
