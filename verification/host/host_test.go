//go:build unix

package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/verification/host"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a repository, a host over real processes, and what was kept.
type scene struct {
	t      *testing.T
	dir    string
	config host.Config
	q      host.Request
	kept   []workflow.EvidenceKept
	lines  []string
}

func play(t *testing.T, checks ...verification.Check) *scene {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, dir: filepath.Join(dir, "repo")}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.write("file", "content")
	s.config = host.Config{
		Runner:   process.New(process.Config{Grace: 200 * time.Millisecond, Home: dir}),
		Redactor: text.NewRedactor(nil, "hunter2hunter2"),
	}
	s.q = host.Request{
		ID: "rc-1", Run: "run-" + filepath.Base(filepath.Dir(dir)), Visit: "check#1", Node: "check", Attempt: 1, Checks: checks,
		Repositories: []workflow.RepositoryInfo{{ID: "repo", Path: s.dir}},
		Candidate:    func(context.Context) (string, error) { return tree(s.dir) },
		Keep:         func(_ context.Context, e workflow.EvidenceKept) error { s.kept = append(s.kept, e); return nil },
		Progress:     func(line string) { s.lines = append(s.lines, line) },
	}
	return s
}

func (s *scene) write(name, content string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o755); err != nil { //nolint:gosec // some are programs
		s.t.Fatal(err)
	}
}

// run runs the plan and checks what holds for every receipt.
func (s *scene) run() verification.Receipt {
	s.t.Helper()
	r, err := host.New(s.config).Run(s.t.Context(), s.q)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(s.kept) != 2 || s.kept[0].State != workflow.ReceiptPending || s.kept[1].State != r.State || s.kept[0].Receipt != r.ID || s.kept[0].Commands != 0 {
		s.t.Errorf("kept %+v", s.kept)
	}
	if r.Started > r.Ended || r.Started == 0 || len(r.Commands) != len(s.q.Checks) {
		s.t.Errorf("receipt %+v", r)
	}
	if (r.State == workflow.ReceiptValid) != (r.Reason == "") {
		s.t.Errorf("receipt is %s because of %q", r.State, r.Reason)
	}
	return r
}

// tree hashes names, modes and contents below a directory.
func tree(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var content []byte
		if d.Type().IsRegular() {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(h, "%s %s %x\n", path, d.Type(), content)
		return nil
	})
	return "c1:" + hex.EncodeToString(h.Sum(nil)), err
}

func sh(script string) verification.Check {
	return verification.Check{Command: "/bin/sh", Args: []string{"-c", script}}
}

func line(s string) verification.Check { return verification.Check{CommandLine: s} }

func TestValid(t *testing.T) {
	t.Parallel()
	s := play(t, sh("echo out hunter2hunter2; echo err >&2"), line("printf a | cat"), verification.Check{Command: "./file", Cwd: "."})
	s.write("file", "#!/bin/sh\nexit 0\n")
	r := s.run()
	if r.State != workflow.ReceiptValid || !r.Certifies() || r.Candidate != r.After || r.Scope != workflow.ReceiptFull || r.Passed() != 3 || !s.kept[1].Certifies() {
		t.Errorf("%+v", r)
	}
	first, second := r.Commands[0], r.Commands[1]
	if first.ID != "rc-1/1" || first.Output != "out "+text.Mark+"\nerr\n" || first.ExitCode != 0 || first.StdoutBytes != 19 || first.StderrBytes != 4 || first.Dir != "." ||
		!strings.HasPrefix(first.OutputDigest, "sha256:") || !strings.HasPrefix(first.EnvDigest, "sha256:") || first.Argv[0] != "/bin/sh" || first.Started == 0 || first.Ended < first.Started {
		t.Errorf("%+v", first)
	}
	if second.Line != "printf a | cat" || second.Shell == "" || !second.Pipefail || second.Output != "a" {
		t.Errorf("%+v", second)
	}
	if r.Environment.Digest != first.EnvDigest || len(r.Environment.Keys) == 0 || first.EnvKeys != nil {
		t.Errorf("environment %+v, first %v", r.Environment, first.EnvKeys)
	}
	if got := strings.Join(s.lines, ""); !strings.Contains(got, text.Mark) || strings.Contains(got, "hunter2") {
		t.Errorf("progress %q", got)
	}
	back, err := verification.Parse(s.kept[1].Data.JSON)
	if err != nil || back.Digest() != r.Digest() {
		t.Errorf("what was kept is not the receipt: %v", err)
	}
}

// TestKeptBefore: the pending receipt is there when the first command runs, also
// the first of the setup.
func TestKeptBefore(t *testing.T) {
	t.Parallel()
	s := play(t, sh("exit 0"))
	s.q.Setup = []verification.Check{sh("test -e ../pending")}
	s.q.Keep = func(_ context.Context, e workflow.EvidenceKept) error {
		s.kept = append(s.kept, e)
		return os.WriteFile(filepath.Join(s.dir, "..", e.State), nil, 0o600)
	}
	if r := s.run(); r.State != workflow.ReceiptValid {
		t.Errorf("%s", r.Reason)
	}
}

func TestNotKept(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for fail := range 2 {
		s := play(t, sh("touch ../ran"))
		calls := 0
		s.q.Keep = func(context.Context, workflow.EvidenceKept) error {
			if calls++; calls > fail {
				return full
			}
			return nil
		}
		_, err := host.New(s.config).Run(t.Context(), s.q)
		_, ran := os.Stat(filepath.Join(s.dir, "..", "ran"))
		if !errors.Is(err, full) || (fail == 0) != (ran != nil) {
			t.Errorf("keeping call %d fails: %v, command ran: %v", fail+1, err, ran == nil)
		}
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	s := play(t, sh("echo started; exec sleep 600"), sh("exit 0"))
	s.q.Progress = func(string) { stop() }
	r, err := host.New(s.config).Run(ctx, s.q)
	if workflow.CodeOf(err) != workflow.CodeAborted || !errors.Is(err, context.Canceled) || len(s.kept) != 1 || r.State != workflow.ReceiptPending {
		t.Errorf("%v, %s, kept %d times", err, r.State, len(s.kept))
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		scope      string
		unverified bool
		ids        string // repositories with a check
		proposed   string // repositories with a check that a model proposed
		want       string
		certifies  bool
		left       string
	}{
		"all":              {"", false, "repo lib", "", workflow.ReceiptFull, true, ""},
		"part":             {"", false, "repo", "", workflow.ReceiptScoped, false, ""},
		"part, waived":     {"", true, "repo", "", workflow.ReceiptFull, false, "lib"},
		"nothing, waived":  {"", true, "", "", workflow.ReceiptFull, false, "repo lib"},
		"asked scoped":     {workflow.ReceiptScoped, false, "repo lib", "", workflow.ReceiptScoped, false, ""},
		"full in vain":     {workflow.ReceiptFull, false, "repo", "", workflow.ReceiptScoped, false, ""},
		"proposed":         {"", false, "repo", "lib", workflow.ReceiptScoped, false, "lib"},
		"all proposed":     {"", false, "", "repo lib", workflow.ReceiptScoped, false, "repo lib"},
		"proposed, asked":  {workflow.ReceiptFull, false, "repo", "lib", workflow.ReceiptScoped, false, "lib"},
		"proposed, waived": {"", true, "repo", "lib", workflow.ReceiptFull, false, "lib"},
		"proposed beside":  {"", false, "repo lib", "lib", workflow.ReceiptFull, true, ""},
	} {
		s := play(t)
		s.q.Repositories = append(s.q.Repositories, workflow.RepositoryInfo{ID: "lib", Path: t.TempDir()})
		for id := range strings.FieldsSeq(tc.ids) {
			s.q.Checks = append(s.q.Checks, verification.Check{RepositoryID: id, Command: "true"})
		}
		for id := range strings.FieldsSeq(tc.proposed) {
			s.q.Checks = append(s.q.Checks, verification.Check{RepositoryID: id, Command: "true", Proposed: true})
		}
		s.q.Scope, s.q.Unverified = tc.scope, tc.unverified
		r := s.run()
		if kept := s.kept[len(s.kept)-1]; kept.Scope == workflow.ReceiptFull && tc.left != "" || kept.Certifies() != tc.certifies {
			t.Errorf("%s: kept %+v", name, kept)
		}
		if r.Scope != tc.want || r.Certifies() != tc.certifies || strings.Join(r.Unverified, " ") != tc.left || r.State != workflow.ReceiptValid {
			t.Errorf("%s: %s, certifies %v, left out %q (%s)", name, r.Scope, r.Certifies(), r.Unverified, r.Reason)
		}
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	s := play(t, sh("test -e made"))
	s.q.Setup = []verification.Check{sh("touch made"), sh("test -e made")}
	r := s.run()
	if now, err := tree(s.dir); err != nil || r.State != workflow.ReceiptValid || r.Candidate != now || len(r.Setup) != 2 || r.Setup[0].ID != "rc-1/setup-1" {
		t.Errorf("%+v, %v", r, err)
	}
	s = play(t, sh("exit 0"))
	s.q.Setup = []verification.Check{sh("exit 3"), sh("exit 0")}
	r = s.run()
	if !r.SetupFailed() || r.Commands[0].State != verification.StateNotRun || r.Setup[1].State != verification.StateNotRun || !strings.Contains(r.Reason, "setup /bin/sh") {
		t.Errorf("%+v", r)
	}
}

func TestFirstFailureStops(t *testing.T) {
	t.Parallel()
	s := play(t, sh("exit 0"), sh("echo boom; exit 7"), sh("touch ../ran"))
	r := s.run()
	var states []string
	for _, e := range r.Commands {
		states = append(states, e.State)
	}
	if strings.Join(states, " ") != "passed failed not-run" || r.Commands[1].ExitCode != 7 || r.Commands[2].ExitCode != -1 || r.Commands[2].Started != 0 {
		t.Errorf("%+v", r.Commands)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "..", "ran")); err == nil {
		t.Error("the third check was started")
	}
}

func beside(c verification.Check, repository string) verification.Check {
	c.RepositoryID, c.Policy = repository, json.RawMessage(`{"independentGroup":"g","resources":[]}`)
	return c
}

// TestTogether: two checks that wait for each other pass only when they run at
// the same time.
func TestTogether(t *testing.T) {
	t.Parallel()
	wait := func(own, other string) string {
		return fmt.Sprintf("touch ../%s; while ! test -e ../%s; do sleep 0.01; done", own, other)
	}
	s := play(t)
	lib := filepath.Join(s.dir, "..", "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	s.q.Repositories = append(s.q.Repositories, workflow.RepositoryInfo{ID: "lib", Path: lib})
	s.q.Checks = []verification.Check{beside(sh(wait("a", "b")), "repo"), beside(sh(wait("b", "a")), "lib")}
	s.q.Checks[0].TimeoutMs = 20_000
	s.q.MaxConcurrency = 2
	if r := s.run(); r.State != workflow.ReceiptValid {
		t.Errorf("%s", r.Reason)
	}

	// The first that fails ends its neighbour.
	s.kept = nil
	s.q.Checks = []verification.Check{beside(sh("touch ../up; exec sleep 600"), "repo"), beside(sh("while ! test -e ../up; do sleep 0.01; done; exit 1"), "lib")}
	r := s.run()
	if r.Commands[0].State != verification.StateNotRun || !strings.Contains(r.Commands[0].Reason, "another check") || r.Commands[1].State != verification.StateFailed || r.Bad().ID != "rc-1/2" {
		t.Errorf("%+v", r.Commands)
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	s := play(t, sh("exec sleep 600"), sh("exit 0"))
	s.q.Deadline = workflow.TimeOf(time.Now().Add(300 * time.Millisecond))
	r := s.run()
	if r.State != workflow.ReceiptInvalid || r.Reason != "the time of the run was up" || r.Commands[0].State != verification.StateHung || r.Commands[1].State != verification.StateNotRun {
		t.Errorf("%s: %+v", r.Reason, r.Commands)
	}
	s = play(t, sh("touch ../ran"))
	s.q.Deadline = 1
	if r = s.run(); r.Reason != "the time of the run was up" || r.Commands[0].State != verification.StateNotRun {
		t.Errorf("%s: %+v", r.Reason, r.Commands)
	}
}

func TestUnknownTree(t *testing.T) {
	t.Parallel()
	s := play(t, sh("echo ran"))
	s.q.Candidate = func(context.Context) (string, error) { return "", errors.New("index is broken") }
	if r := s.run(); r.State != workflow.ReceiptInvalid || !strings.Contains(r.Reason, "index is broken") || r.Commands[0].Output != "ran\n" {
		t.Errorf("%+v", r)
	}
	s.q.Candidate, s.config.Candidate, s.kept = nil, nil, nil
	if r := s.run(); r.State != workflow.ReceiptInvalid || !strings.Contains(r.Reason, "could not be hashed") {
		t.Errorf("%+v", r)
	}
}

// TestMendedTree: a tree that only the setup makes readable is known in time.
func TestMendedTree(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hashes []string
		reason string
	}{
		"mended":       {[]string{"", "c1:a", "c1:a"}, ""},
		"never":        {[]string{"", "", "c1:a"}, "index is broken"},
		"broken again": {[]string{"", "c1:a", ""}, "index is broken"},
		"by the setup": {[]string{"c1:a", "", "c1:a"}, "index is broken"},
	} {
		s := play(t, sh("exit 0"))
		s.q.Setup = []verification.Check{sh("exit 0")}
		s.q.Candidate = func(context.Context) (string, error) {
			now := tc.hashes[0]
			tc.hashes = tc.hashes[1:]
			if now == "" {
				return "", errors.New("index is broken")
			}
			return now, nil
		}
		if r := s.run(); (r.State == workflow.ReceiptValid) != (tc.reason == "") || !strings.Contains(r.Reason, tc.reason) {
			t.Errorf("%s: %s, %q", name, r.State, r.Reason)
		}
	}
}

// envRunner changes the environment between commands.
type envRunner struct {
	workspace.Runner
	mu sync.Mutex
	n  int
}

func (e *envRunner) Run(ctx context.Context, c workspace.Command) (workspace.Exit, error) {
	e.mu.Lock()
	e.n++
	r := process.New(process.Config{Environ: func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), fmt.Sprintf("STEP_%d=x", e.n)}
	}})
	e.mu.Unlock()
	return r.Run(ctx, c)
}

func TestEnvironmentDrift(t *testing.T) {
	t.Parallel()
	s := play(t, sh("exit 0"), sh("exit 0"))
	s.config.Runner = &envRunner{}
	if r := s.run(); r.State != workflow.ReceiptInvalid || !strings.Contains(r.Reason, "added STEP_2; removed STEP_1") {
		t.Errorf("%s: %q", r.State, r.Reason)
	}
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	s := play(t, make([]verification.Check, 101)...)
	if _, err := host.New(s.config).Run(t.Context(), s.q); err == nil || !strings.Contains(err.Error(), "at most 100") {
		t.Errorf("got %v", err)
	}
}

// TestStoppedWhileHashing: a visit that is stopped after its last check leaves the
// receipt pending.
func TestStoppedWhileHashing(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	s := play(t, sh("exit 0"))
	calls := 0
	s.q.Candidate = func(ctx context.Context) (string, error) {
		if calls++; calls == 2 {
			stop()
			return "", ctx.Err()
		}
		return "c1:a", nil
	}
	if _, err := host.New(s.config).Run(ctx, s.q); workflow.CodeOf(err) != workflow.CodeAborted || len(s.kept) != 1 {
		t.Errorf("%v, kept %d times", err, len(s.kept))
	}
}
