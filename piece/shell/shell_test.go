package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/piece/shell"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// runner answers every command with one exit and keeps what it was given.
type runner struct {
	exit workspace.Exit
	err  error
	got  []workspace.Command
}

func (r *runner) Run(_ context.Context, c workspace.Command) (workspace.Exit, error) {
	r.got = append(r.got, c)
	if c.OnOutput != nil {
		c.OnOutput(workspace.Stdout, r.exit.Stdout)
	}
	return r.exit, r.err
}

func repository(t *testing.T, scope ...string) []workflow.RepositoryInfo {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"pkg/a", "pkg/b", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return []workflow.RepositoryInfo{{ID: "repo", Path: dir, Scope: scope}}
}

func setup(t *testing.T, level int, params string, r *runner, repos []workflow.RepositoryInfo) (*piecetest.Context, func(context.Context) (workflow.Settled, error)) {
	t.Helper()
	p := shell.Pieces(shell.Config{Runner: r, Redactor: text.NewRedactor(nil, "hunter2hunter2")})[0]
	c := &piecetest.Context{F: piece.Frame{
		Run: "run1", Node: "s", Kind: "shell", Level: level, Params: json.RawMessage(params), Repositories: repos,
	}}
	return c, func(ctx context.Context) (workflow.Settled, error) { return p.Run(ctx, c) }
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	p := shell.Pieces(shell.Config{})[0]
	for _, tc := range []struct {
		level     int
		params    string
		effect    workflow.Effect
		uncertain bool
		problem   string
		warning   bool
	}{
		{1, `{"repositoryId":"repo","argv":["a"]}`, workflow.EffectWrite, true, "", false},
		{2, `{"argv":["a"]}`, workflow.EffectWrite, true, "", false},
		{2, `{"argv":["a"],"effect":"read"}`, workflow.EffectRead, false, "", false},
		{2, `{"argv":["a"],"effect":"write","idempotent":true,"stdin":"x"}`, workflow.EffectWrite, false, "", false},
		{1, `{"argv":["a"]}`, "", false, "repositoryId", false},
		{1, `{"repositoryId":"repo","argv":["a"],"effect":"read"}`, "", false, "/effect", false},
		{1, `{"repositoryId":"repo"}`, "", false, "alternatives", false},
		{1, `{"repositoryId":"repo","argv":["a"],"commandLine":"a"}`, "", false, "alternatives", false},
		{1, `{"repositoryId":"repo","argv":["a"],"timeoutMs":7200001}`, "", false, "/timeoutMs", false},
		{1, `{"repositoryId":"repo","argv":["a"],"outputCapBytes":1}`, "", false, "/outputCapBytes", false},
		{1, `{"repositoryId":"repo","commandLine":"a | b; c"}`, workflow.EffectWrite, true, "unchecked_pipe /commandLine", true},
		{2, `{"commandLine":"a | b; c"}`, workflow.EffectWrite, true, "unchecked_pipe /commandLine", false},
		{2, `{"commandLine":"a {{vars.x}} | b; c"}`, workflow.EffectWrite, true, "", false},
		{2, `{"commandLine":"if"}`, workflow.EffectWrite, true, "invalid_piece_params /commandLine", false},
		{1, `{"repositoryId":"repo","argv":["a"],"captureVars":[{"name":"a","pattern":"("}]}`, workflow.EffectWrite, true, "invalid_expression /captureVars/0/pattern", false},
		{1, `{"repositoryId":"repo","argv":["a"],"captureVars":[{"name":"1","pattern":"a"}]}`, "", false, "/captureVars/0/name", false},
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
		if traits.Effect != tc.effect || traits.Uncertain != tc.uncertain || strings.Join(traits.Outcomes, " ") != "ok fail failed" {
			t.Errorf("%s: traits %+v", tc.params, traits)
		}
		got, warning := "", false
		if len(problems) > 0 {
			got, warning = string(problems[0].Code)+" "+problems[0].Pointer, problems[0].Warning
		}
		if got != tc.problem || warning != tc.warning {
			t.Errorf("%s: problem %q (warning %v), want %q (%v)", tc.params, got, warning, tc.problem, tc.warning)
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		exit    workspace.Exit
		err     error
		outcome string
		code    workflow.Code
	}{
		"ok":          {workspace.Exit{}, nil, "ok", ""},
		"code":        {workspace.Exit{Code: 3}, nil, "fail", ""},
		"timeout":     {workspace.Exit{Code: -1, TimedOut: true}, nil, "failed", workflow.CodeTimeout},
		"idle":        {workspace.Exit{Code: -1, IdleOut: true}, nil, "failed", workflow.CodeIdleTimeout},
		"signal":      {workspace.Exit{Code: -1, Signal: "SIGSEGV"}, nil, "failed", workflow.CodeShellFailed},
		"not started": {workspace.Exit{Code: -1}, &workspace.SpawnError{Program: "x", Dir: "/", Err: os.ErrNotExist}, "failed", workflow.CodeShellFailed},
	} {
		_, run := setup(t, 1, `{"repositoryId":"repo","argv":["x"]}`, &runner{exit: tc.exit, err: tc.err}, repository(t))
		s, err := run(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var code workflow.Code
		if s.Error != nil {
			code = s.Error.Code
		}
		if s.Outcome != tc.outcome || code != tc.code || (code != "") != (s.Status == workflow.VisitFailed) {
			t.Errorf("%s: %+v (%+v)", name, s, s.Error)
		}
	}
}

func TestCancelledIsNoResult(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, run := setup(t, 1, `{"repositoryId":"repo","argv":["x"]}`, &runner{exit: workspace.Exit{Code: -1}, err: context.Canceled}, repository(t))
	if _, err := run(ctx); workflow.CodeOf(err) != workflow.CodeAborted || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	r := &runner{exit: workspace.Exit{
		Code: 1, Stdout: []byte("version=1.2 key hunter2hunter2\xff\n" + strings.Repeat("ä", 200)), Stderr: []byte("line 7"), Truncated: true,
	}}
	params := `{"repositoryId":"repo","commandLine":"make","timeoutMs":5000,"outputCapBytes":128,"env":{"A":"b"},"captureVars":[
		{"name":"v","pattern":"version=([0-9.]+)"},{"name":"none","pattern":"zzz(.)"},{"name":"nogroup","pattern":"key"},{"name":"whole","pattern":"line \\d","group":0}]}`
	c, run := setup(t, 1, params, r, repository(t))
	s, err := run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		ExitCode        int
		Stdout, Stderr  string
		Vars            map[string]string
		OutputTruncated bool
	}
	if err := json.Unmarshal(s.Output.JSON, &out); err != nil {
		t.Fatal(err)
	}
	if out.ExitCode != 1 || out.Stderr != "line 7" || !out.OutputTruncated || len(out.Stdout) > 128 || strings.Contains(out.Stdout, "hunter2") {
		t.Errorf("output %+v", out)
	}
	if len(out.Vars) != 2 || out.Vars["v"] != "1.2" || out.Vars["whole"] != "line 7" || string(s.Vars["v"].JSON) != `"1.2"` || len(s.Vars) != 2 {
		t.Errorf("vars %v, %v", out.Vars, s.Vars)
	}
	if s.History != out.Stdout+"\nline 7" || len(s.Warnings) != 0 {
		t.Errorf("history %q, warnings %q", s.History, s.Warnings)
	}
	if got := r.got[0]; got.Line != "make" || got.Timeout != 5*time.Second || got.OutputCap != 128 || got.Env["A"] != "b" || got.Marker != "run1" {
		t.Errorf("command %+v", got)
	}
	for _, p := range c.Shown() {
		if strings.Contains(p.Text, "hunter2") {
			t.Errorf("progress shows a secret: %q", p.Text)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	r := &runner{}
	_, run := setup(t, 2, `{"argv":["a","b c"],"stdin":"in"}`, r, repository(t))
	if _, err := run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := r.got[0]
	if strings.Join(got.Argv, "|") != "a|b c" || string(got.Stdin) != "in" || got.Timeout != shell.DefaultTimeout {
		t.Errorf("command %+v", got)
	}
}

// TestRefused starts nothing, and says why.
func TestRefused(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 128<<10)
	for name, tc := range map[string]struct {
		params any
		want   string
	}{
		"repository":   {map[string]any{"repositoryId": "rep", "argv": []string{"a"}}, `did you mean "repo"`},
		"outside":      {map[string]any{"repositoryId": "repo", "argv": []string{"a"}, "cwd": "../.."}, "leads out"},
		"missing cwd":  {map[string]any{"repositoryId": "repo", "argv": []string{"a"}, "cwd": "nope"}, "nope"},
		"env value":    {map[string]any{"repositoryId": "repo", "argv": []string{"a"}, "env": map[string]string{"BIG": big}}, "stdin or a file"},
		"argument":     {map[string]any{"repositoryId": "repo", "argv": []string{"a", big}}, "stdin or a file"},
		"command line": {map[string]any{"repositoryId": "repo", "commandLine": big}, "stdin"},
		"NUL":          {map[string]any{"repositoryId": "repo", "argv": []string{"a\x00"}}, "NUL"},
		"env name":     {map[string]any{"repositoryId": "repo", "argv": []string{"a"}, "env": map[string]string{"A=B": "c"}}, "A=B"},
	} {
		raw, err := json.Marshal(tc.params)
		if err != nil {
			t.Fatal(err)
		}
		r := &runner{}
		_, run := setup(t, 1, string(raw), r, repository(t))
		s, err := run(t.Context())
		if err != nil || s.Outcome != "failed" || s.Error == nil || s.Error.Code != workflow.CodeShellFailed || !strings.Contains(s.Error.Message, tc.want) {
			t.Errorf("%s: %+v %+v, %v", name, s, s.Error, err)
		}
		if len(r.got) > 0 {
			t.Errorf("%s: a command was started", name)
		}
	}
}

// TestEvidence keeps a scoped receipt beside the usual output.
func TestEvidence(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		exit    workspace.Exit
		err     error
		hashes  []string
		outcome string
		code    workflow.Code
		state   string
		reason  string
	}{
		"pass":        {workspace.Exit{Stdout: []byte("fine")}, nil, []string{"c1:a", "c1:a"}, "ok", "", workflow.ReceiptValid, ""},
		"tree moved":  {workspace.Exit{Stdout: []byte("fine")}, nil, []string{"c1:a", "c1:b"}, "ok", "", workflow.ReceiptInvalid, "changed"},
		"green lie":   {workspace.Exit{Stdout: []byte("Tests: 1 failed, 2 passed")}, nil, []string{"c1:a", "c1:a"}, "ok", "", workflow.ReceiptInvalid, "1 failed"},
		"code":        {workspace.Exit{Code: 3}, nil, []string{"c1:a", "c1:a"}, "fail", "", workflow.ReceiptInvalid, "exit code 3"},
		"silent":      {workspace.Exit{Code: -1, IdleOut: true}, nil, []string{"c1:a", "c1:a"}, "failed", workflow.CodeIdleTimeout, workflow.ReceiptInvalid, "silent"},
		"not started": {workspace.Exit{Code: -1}, &workspace.SpawnError{Program: "x", Err: os.ErrNotExist}, []string{"c1:a", "c1:a"}, "failed", workflow.CodeShellFailed, workflow.ReceiptInvalid, "starting"},
	} {
		r := &runner{exit: tc.exit, err: tc.err}
		c, run := setup(t, 2, `{"argv":["x","y"],"stdin":"in","evidence":true}`, r, repository(t))
		c.Hash = func() (string, error) { next := tc.hashes[0]; tc.hashes = tc.hashes[1:]; return next, nil }
		s, err := run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Stdout   string
			Evidence struct {
				ReceiptID, Reason string
				Valid             bool
			}
		}
		if err := json.Unmarshal(s.Output.JSON, &out); err != nil {
			t.Fatal(err)
		}
		kept := c.Receipts()
		if len(kept) != 2 || kept[0].State != workflow.ReceiptPending || kept[1].State != tc.state || kept[1].Scope != workflow.ReceiptScoped || kept[1].Certifies() {
			t.Errorf("%s: receipts %+v", name, kept)
		}
		if s.Outcome != tc.outcome || s.Verified != nil || (tc.code != "") != (s.Error != nil && s.Error.Code == tc.code) {
			t.Errorf("%s: %+v, %+v", name, s, s.Error)
		}
		if e := out.Evidence; e.ReceiptID != kept[1].Receipt || e.Valid != (tc.state == workflow.ReceiptValid) || !strings.Contains(e.Reason, tc.reason) || out.Stdout != string(tc.exit.Stdout) {
			t.Errorf("%s: output %s", name, s.Output.JSON)
		}
		if got := r.got[0]; string(got.Stdin) != "in" || !got.KillRest || got.Timeout != shell.DefaultTimeout {
			t.Errorf("%s: command %+v", name, got)
		}
	}
}
