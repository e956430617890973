package verify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/piece/verify"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/verification/host"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// runner gives each command the exit that stands under its text; others exit 0.
type runner struct {
	exits map[string]workspace.Exit
	ends  map[string]workspace.Exit // by how the text ends
	errs  map[string]error
	after map[string]func() // what a command does to later ones
	ran   []string
	got   []workspace.Command
}

func (r *runner) Run(_ context.Context, c workspace.Command) (workspace.Exit, error) {
	name := strings.Join(c.Argv, " ") + c.Line
	r.ran, r.got = append(r.ran, name), append(r.got, c)
	exit := r.exits[name]
	for end, e := range r.ends {
		if strings.HasSuffix(name, end) {
			exit = e
		}
	}
	if then := r.after[name]; then != nil {
		then()
	}
	return exit, r.errs[name]
}

type stage struct {
	*piecetest.Context
	*runner
	piece  piece.Piece
	env    piece.Env
	traits piece.Traits
	run    func(context.Context) (workflow.Settled, error)
}

func play(t *testing.T, level int, params string) *stage {
	t.Helper()
	s := &stage{runner: &runner{exits: map[string]workspace.Exit{}, errs: map[string]error{}}}
	p := verify.Pieces(verify.Config{Runner: s.runner, Redactor: text.NewRedactor(nil, "hunter2hunter2")})[0]
	s.piece, s.env = p, piece.Env{Level: level}
	s.traits, _ = p.Describe(json.RawMessage(params), s.env)
	s.Context = &piecetest.Context{Digest: "c1:a", F: piece.Frame{
		Run: "run1", Node: "check", Kind: "verify", Level: level, Params: json.RawMessage(params),
		Repositories: []workflow.RepositoryInfo{{ID: "repo", Path: t.TempDir()}, {ID: "lib", Path: t.TempDir()}},
		Checks: []workflow.Check{
			{Key: "test", RepositoryID: "repo", Command: "go", Args: []string{"test"}}, {RepositoryID: "lib", Command: "make"},
		},
	}}
	s.runner.exits["true"] = workspace.Exit{}
	s.run = func(ctx context.Context) (workflow.Settled, error) { return p.Run(ctx, s.Context) }
	return s
}

type output struct {
	Valid           bool
	Verified        any
	Reason, Kind    string
	Failure         string
	CandidateHash   string
	ReceiptID       string
	Repair          map[string]any
	NoProgressCount int

	UnverifiedRepositories []string
	OmittedCommands        int
	Blocker                map[string]any
	Commands               []verification.Diagnostic
	raw                    string
}

func (s *stage) settled(t *testing.T) (workflow.Settled, output) {
	t.Helper()
	got, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out output
	if !got.Output.Absent() {
		if err := json.Unmarshal(got.Output.JSON, &out); err != nil {
			t.Fatal(err)
		}
		out.raw = string(got.Output.JSON)
	}
	found := false
	for _, o := range s.traits.Outcomes {
		found = found || o == got.Outcome
	}
	if !found {
		t.Errorf("outcome %q is not one of %q", got.Outcome, s.traits.Outcomes)
	}
	if (got.Verified != nil) != (out.Verified != nil) || got.Verified != nil && (got.Outcome != "pass" || out.Kind != "full" || !out.Valid) {
		t.Errorf("verified is %+v, the output says %s", got.Verified, out.raw)
	}
	return got, out
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	p := verify.Pieces(verify.Config{})[0]
	for _, tc := range []struct {
		level    int
		params   string
		outcomes string
		problem  string
	}{
		{1, `{"commands":"configured"}`, "pass fail failed", ""},
		{1, `{"commands":[{"repositoryId":"r","command":"go","args":[]}],"additionalCommandsFrom":"x","unverified":true,"maxConcurrency":2}`, "pass fail failed", ""},
		{1, `{"commands":"configured","hostBlockers":true,"setup":"configured"}`, "pass fail blocked failed", ""},
		{1, `{"commands":"all"}`, "", "/commands"},
		{1, `{"commands":[{"repositoryId":"r","command":"go"}]}`, "", "args"},
		{1, `{"checks":[{"clean":true}]}`, "", "checks"},
		{2, `{"commands":[{"command":"go"}]}`, "pass fail failed", ""},
		{2, `{"checks":[{"command":"go","args":["vet"]},{"commandLine":"a | b"},{"file":{"path":"x","exists":true}},{"json":{"path":"x","schema":{}}},{"clean":true},{"clean":{"repositoryId":"r"}}]}`, "pass fail failed", ""},
		{2, `{"checks":[{"commandLine":"a | b; c"}]}`, "pass fail failed", "unchecked_pipe /checks/0/commandLine"},
		{2, `{"checks":[{"json":{"path":"x","schema":{"typ":1}}}]}`, "pass fail failed", "invalid_piece_params /checks/0/json/schema"},
		{2, `{"checks":[{"file":{"path":"x"}}]}`, "", "/checks/0"},
		{2, `{"checks":[]}`, "", "/checks"},
		{2, `{"commands":"configured","checks":[{"clean":true}]}`, "", "alternatives"},
	} {
		s, err := schema.Compile(p.Schema(tc.level))
		if err != nil {
			t.Fatal(err)
		}
		if ps := s.Validate(json.RawMessage(tc.params)); ps != nil {
			if tc.problem == "" || !strings.Contains(ps.Error(), tc.problem) {
				t.Errorf("%s: %v, want %q", tc.params, ps, tc.problem)
			}
			continue
		}
		traits, problems := p.Describe(json.RawMessage(tc.params), piece.Env{Level: tc.level})
		got := ""
		if len(problems) > 0 {
			got = string(problems[0].Code) + " " + problems[0].Pointer
		}
		if strings.Join(traits.Outcomes, " ") != tc.outcomes || got != tc.problem || traits.Effect != workflow.EffectWrite || traits.Uncertain {
			t.Errorf("%s: %+v, %q", tc.params, traits, got)
		}
	}
}

func TestPass(t *testing.T) {
	t.Parallel()
	s := play(t, 1, `{"commands":"configured"}`)
	start := time.Unix(0, 0)
	s.exits["go test"] = workspace.Exit{Stdout: []byte("ok \x1b[32mgreen\x1b[0m hunter2hunter2"), Start: start, End: start.Add(2 * time.Second)}
	got, out := s.settled(t)
	if got.Outcome != "pass" || got.Status != "" || got.History != "2 checks passed" || strings.Join(s.ran, ", ") != "go test, make" {
		t.Errorf("%+v; ran %q", got, s.ran)
	}
	if !out.Valid || out.Reason != "" || out.Kind != "full" || out.CandidateHash != "c1:a" || len(out.Commands) != 2 {
		t.Errorf("output %s", out.raw)
	}
	if kept := s.Receipts(); len(kept) != 2 || kept[0].State != workflow.ReceiptPending || !kept[1].Certifies() ||
		*got.Verified != (workflow.Verified{Receipt: kept[1].Receipt, Candidate: "c1:a"}) || out.ReceiptID != kept[0].Receipt {
		t.Errorf("receipts %+v, verified %+v", kept, got.Verified)
	}
	if d := out.Commands[0]; d.Key != "test" || d.State != "passed" || d.DurationMs != 2000 || d.Output != "ok green "+text.Mark || d.Truncated {
		t.Errorf("diagnostic %+v", d)
	}
	if c := s.got[0]; c.Timeout != 15*time.Minute || c.Idle != host.DefaultIdle || c.Marker != "run1" || !c.KillRest {
		t.Errorf("command %+v", c)
	}
}

func TestFirstFailureStops(t *testing.T) {
	t.Parallel()
	s := play(t, 1, `{"commands":[{"repositoryId":"repo","command":"a","args":[]},{"repositoryId":"repo","command":"b","args":["x"]},{"repositoryId":"lib","command":"c","args":[]}]}`)
	s.exits["b x"] = workspace.Exit{Code: 2, Stdout: []byte("noise"), Stderr: []byte("boom")}
	got, out := s.settled(t)
	if got.Outcome != "fail" || got.Status != "" || got.Error != nil || strings.Join(s.ran, ", ") != "a, b x" || out.Valid {
		t.Errorf("%+v; ran %q", got, s.ran)
	}
	var states []string
	for _, d := range out.Commands {
		states = append(states, d.Command+" "+d.State)
	}
	if strings.Join(states, ", ") != "b failed, a passed, c not-run" {
		t.Errorf("states %q", states)
	}
	if d := out.Commands[0]; d.ExitCode != 2 || d.Output != "noise\nboom" || out.Failure != "b x: exit code 2" {
		t.Errorf("%+v, failure %q", d, out.Failure)
	}
	if !strings.Contains(got.History, "b x") || !strings.HasSuffix(got.History, "boom") {
		t.Errorf("history %q", got.History)
	}
}

func TestHungAndBroken(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		exit        workspace.Exit
		err         error
		one, two    string
		reasonHolds string
	}{
		"timeout": {workspace.Exit{Code: -1, TimedOut: true}, nil, "failed", "fail", "longer than"},
		"silent":  {workspace.Exit{Code: -1, IdleOut: true}, nil, "failed", "fail", "silent"},
		"signal":  {workspace.Exit{Code: -1, Signal: "SIGSEGV"}, nil, "failed", "fail", "SIGSEGV"},
		"spawn":   {workspace.Exit{Code: -1}, &workspace.SpawnError{Program: "go", Err: fs.ErrNotExist}, "failed", "failed", "starting"},
	} {
		for level, want := range map[int]string{1: tc.one, 2: tc.two} {
			s := play(t, level, `{"commands":"configured"}`)
			s.exits["go test"], s.errs["go test"] = tc.exit, tc.err
			got, out := s.settled(t)
			if got.Outcome != want || !strings.Contains(out.Failure, tc.reasonHolds) || (want == "failed") != (got.Error != nil && got.Error.Code == workflow.CodeVerifyFailed) {
				t.Errorf("%s, level %d: %+v, %+v, failure %q", name, level, got.Outcome, got.Error, out.Failure)
			}
			if len(s.ran) != 1 {
				t.Errorf("%s: went on: %q", name, s.ran)
			}
		}
	}
}

func TestHostBlockers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		exit workspace.Exit
		err  error
		want string
	}{
		"no program": {workspace.Exit{Code: -1}, &workspace.SpawnError{Program: "go", Err: fs.ErrNotExist}, "blocked"},
		"127":        {workspace.Exit{Code: 127}, nil, "blocked"},
		"1":          {workspace.Exit{Code: 1}, nil, "fail"},
		"127, alone": {workspace.Exit{Code: 127}, nil, "fail"},
	} {
		s := play(t, 1, fmt.Sprintf(`{"commands":"configured","hostBlockers":%t}`, !strings.HasSuffix(name, "alone")))
		s.exits["go test"], s.errs["go test"] = tc.exit, tc.err
		got, out := s.settled(t)
		if got.Outcome != tc.want || (tc.want == "blocked") != (got.Status == workflow.VisitBlocked) || (name != "1") != (out.Blocker["kind"] == "toolchain") {
			t.Errorf("%s: %+v, %s", name, got, out.raw)
		}
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	s := play(t, 1, `{"commands":"configured"}`)
	s.errs["go test"] = context.Canceled
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.run(ctx); workflow.CodeOf(err) != workflow.CodeAborted {
		t.Errorf("got %v", err)
	}
}

// TestNoProgress plays visits one after the other.
func TestNoProgress(t *testing.T) {
	t.Parallel()
	type visit struct {
		candidate string
		code      int
		outcome   string
	}
	for name, visits := range map[string][]visit{
		"same":           {{"c1:a", 1, "fail"}, {"c1:a", 1, "fail"}, {"c1:a", 1, "failed"}},
		"other files":    {{"c1:a", 1, "fail"}, {"c1:a", 1, "fail"}, {"c1:b", 1, "fail"}},
		"other code":     {{"c1:a", 1, "fail"}, {"c1:a", 2, "fail"}, {"c1:a", 1, "fail"}},
		"pass resets":    {{"c1:a", 1, "fail"}, {"c1:a", 1, "fail"}, {"c1:a", 0, "pass"}, {"c1:a", 1, "fail"}},
		"unknown is new": {{"", 1, "fail"}, {"", 1, "fail"}, {"", 1, "fail"}},
	} {
		var private workflow.Value
		for i, v := range visits {
			s := play(t, 2, `{"commands":"configured"}`)
			s.F.Context.Private, s.Digest = private, v.candidate
			s.exits["go test"] = workspace.Exit{Code: v.code}
			got, _ := s.settled(t)
			if got.Outcome != v.outcome || v.outcome == "failed" && got.Error.Code != workflow.CodeVerifyNoProgress {
				t.Errorf("%s, visit %d: %+v, want %s", name, i+1, got, v.outcome)
			}
			private = got.Private
		}
	}
}

func TestFormat2Checks(t *testing.T) {
	t.Parallel()
	sum := "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" // of foo
	for check, want := range map[string]string{
		`{"file":{"path":"foo","exists":true}}`:                     "pass",
		`{"file":{"path":"none","exists":true}}`:                    "fail",
		`{"file":{"path":"none","absent":true}}`:                    "pass",
		`{"file":{"path":"foo","absent":true}}`:                     "fail",
		`{"file":{"path":"foo","sha256":"` + sum + `"}}`:            "pass",
		`{"file":{"path":"data.json","sha256":"` + sum + `"}}`:      "fail",
		`{"file":{"path":"../x","exists":true}}`:                    "failed",
		`{"file":{"path":"out","exists":true}}`:                     "failed",
		`{"json":{"path":"data.json","schema":{"required":["a"]}}}`: "pass",
		`{"json":{"path":"data.json","schema":{"required":["b"]}}}`: "fail",
		`{"json":{"path":"foo","schema":true}}`:                     "fail",
		`{"json":{"path":"none","schema":true}}`:                    "fail",
		`{"clean":true}`:                                            "pass",
		`{"commandLine":"exit 3"}`:                                  "fail",
		`{"command":"true"}`:                                        "pass",
	} {
		s := play(t, 2, `{"checks":[`+check+`]}`)
		s.F.Repositories = s.F.Repositories[:1]
		dir := s.F.Repositories[0].Path
		for name, content := range map[string]string{"foo": "foo", "data.json": `{"a":1}`} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
			t.Fatal(err)
		}
		s.exits["exit 3"] = workspace.Exit{Code: 3}
		if got, out := s.settled(t); got.Outcome != want {
			t.Errorf("%s: %q, want %q (%s)", check, got.Outcome, want, out.raw)
		}
	}
	s := play(t, 2, `{"checks":[{"clean":{"repositoryId":"lib"}}]}`)
	s.ends = map[string]workspace.Exit{"--ignore-submodules=none": {Stdout: []byte(" M a.go\n")}}
	if got, out := s.settled(t); got.Outcome != "fail" || out.Commands[0].Output != " M a.go\n" || out.Commands[0].State != "failed" {
		t.Errorf("dirty tree: %+v, %s", got, out.raw)
	}
}

func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	var commands []string
	for i := range 100 {
		commands = append(commands, fmt.Sprintf(`{"repositoryId":"repo","command":"c%d","args":[%q]}`, i, strings.Repeat("a", 5000)))
	}
	s := play(t, 1, `{"commands":[`+strings.Join(commands, ",")+`]}`)
	long := []byte(strings.Repeat("ä", 50_000) + "THE END")
	for i := range 100 {
		s.exits[fmt.Sprintf("c%d %s", i, strings.Repeat("a", 5000))] = workspace.Exit{Stdout: long}
	}
	s.exits["c50 "+strings.Repeat("a", 5000)] = workspace.Exit{Code: 1, Stdout: long}
	got, out := s.settled(t)
	if len(got.Output.JSON) > 200_000 || len(out.Commands) < 10 || out.OmittedCommands+len(out.Commands) != 100 {
		t.Errorf("%d bytes, %d commands, %d omitted", len(got.Output.JSON), len(out.Commands), out.OmittedCommands)
	}
	first := out.Commands[0]
	if first.Command != "c50" || !strings.HasSuffix(first.Output, "THE END") || !first.Truncated || len([]rune(first.Output)) != 8000 || len([]rune(first.Args[0])) != 128 {
		t.Errorf("first is %s %s with %d characters", first.Command, first.State, len([]rune(first.Output)))
	}
}
