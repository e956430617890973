package implementation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece/implementation"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
	"github.com/tenonrun/tenon/workspace/scope"
)

// TestOnHost runs real commands.
func TestOnHost(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{Runner: process.New(process.Config{Home: t.TempDir()})}, planned, developed, developed, developed)
	dir := s.F.Repositories[0].Path
	s.F.Checks = []workflow.Check{
		{RepositoryID: "repo", Command: "test", Args: []string{"-d", "."}},
		{RepositoryID: "repo", Command: "cat", Args: []string{"made"}},
	}
	s.upTo("verify")
	out := s.phase("verify", "rejected")
	contains(t, string(out.Output.JSON), `"state":"passed"`, `"state":"failed"`, "exit code 1")
	s.phase("fixer", "next")
	contains(t, s.lastTurn().Prompt, "cat made", "No such file")
	if err := os.WriteFile(filepath.Join(dir, "made"), []byte("yes"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Digest = "c1:1"
	if out := s.phase("verify", "next"); out.Verified == nil || out.Verified.Candidate != "c1:1" {
		t.Errorf("verified %+v, %s", out.Verified, out.Output.JSON)
	}
	s.F.Checks[1] = workflow.Check{RepositoryID: "repo", Command: "sh", Args: []string{"-c", "there-is-no-such-program"}}
	contains(t, field(t, s.phase("verify", "rejected"), "blocker"), "toolchain", "requiredAction")
	s.phase("fixer", "next")
	s.Digest = "c1:2"
	s.F.Checks[1].Command = "there-is-no-such-program"
	out = s.phase("verify", "failed")
	if out.Error.Code != implementation.CodeBlocked {
		t.Errorf("settled %+v", out.Error)
	}
	contains(t, field(t, out, "blocker"), "toolchain", "requiredAction")
}

// TestChangeScope has what a developer writes outside of the scope put back and
// told.
func TestChangeScope(t *testing.T) {
	t.Parallel()
	guard, err := scope.New(scope.Config{Runner: process.New(process.Config{Home: t.TempDir()})})
	if err != nil {
		t.Fatal(err)
	}
	s := play(t, implementation.Config{Guard: guard}, planned, half, developed)
	repo := &s.F.Repositories[0]
	repo.Scope, s.Desk = []string{"pkg"}, t.TempDir()
	if err := os.Mkdir(filepath.Join(repo.Path, "pkg"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(repo.Path, name), []byte("x"), 0o600); err != nil {
			t.Error(err)
		}
	}
	s.exec.Steps[1].Before = func() { write("pkg/in"); write("out") }
	s.upTo("developer")
	out := s.phase("developer", "incomplete")
	if _, err := os.Stat(filepath.Join(repo.Path, "out")); err == nil {
		t.Error("what is outside of the scope stays changed")
	}
	if _, err := os.Stat(filepath.Join(repo.Path, "pkg", "in")); err != nil {
		t.Error(err)
	}
	contains(t, field(t, out, "outside"), "out: added")
	if len(out.Warnings) != 1 || !strings.Contains(strings.Join(s.Notes(), ";"), "change_scope") {
		t.Errorf("warnings %q, notes %q", out.Warnings, s.Notes())
	}
	s.Desk = t.TempDir() // each visit has its own
	s.phase("developer", "next")
	contains(t, s.lastTurn().Prompt, "Stay inside of it", "out: added", "only inside pkg")
}

// TestProposedOnHost has roles propose the only checks: they run, and they prove
// nothing.
func TestProposedOnHost(t *testing.T) {
	t.Parallel()
	s := play(t, implementation.Config{Runner: process.New(process.Config{Home: t.TempDir()})},
		`{"confidence":"high","plan":"do it","verification":[{"repositoryId":"repo","command":"true"}]}`, developed, verdict(true, 90, "met"))
	s.F.Checks = nil
	s.upTo("verify")
	out := s.phase("verify", "next")
	if out.Verified != nil || field(t, out, "scope") != workflow.ReceiptScoped || field(t, out, "unverified") != `["repo"]` {
		t.Errorf("verified %+v, %s", out.Verified, out.Output.JSON)
	}
	s.phase("reviewer", "next")
	if out := s.phase("archive", "next"); out.Verified != nil {
		t.Errorf("verified %+v", out.Verified)
	}
}
