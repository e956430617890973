package openspec_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/piece/openspec"
	"github.com/tenonrun/tenon/workflow"
)

// script writes a program of the shell and returns its path. Tests that run
// beside others give it to sh: a file that was just written cannot be executed
// while another process that is being started holds it open.
func script(t testing.TB, path, body string) string {
	t.Helper()
	write(t, path, "#!/bin/sh\n"+body+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const fine = `{"items":[{"id":"other","type":"change","valid":false},{"id":"dim-lamp","type":"change","valid":true,"issues":[]}]}`

// TestAnswers gives every answer of a command line that can be thought of.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body    string
		outcome string
		code    workflow.Code
		said    []string
	}{
		"good":              {"echo '" + fine + "'", "pass", "", nil},
		"noise on stderr":   {"echo '" + fine + "'; echo notice >&2", "pass", "", nil},
		"good, exit 1":      {"echo '" + fine + "'; exit 1", "fail", "", nil},
		"bad, exit 0":       {`echo '{"items":[{"id":"dim-lamp","valid":false}]}'`, "fail", "", nil},
		"no items":          {`echo '{"status":[{"code":"unknown_item","message":"Unknown item"}]}'; exit 1`, "", workflow.CodeOpenSpecOutput, []string{"no verdict", "unknown_item"}},
		"other items":       {`echo '{"items":[{"id":"dim-lamp","type":"spec","valid":true}]}'`, "", workflow.CodeOpenSpecOutput, []string{"no verdict about change dim-lamp"}},
		"empty items":       {`echo '{"items":[]}'`, "", workflow.CodeOpenSpecOutput, nil},
		"other root":        {`echo '{"items":[],"root":{"path":"/"}}'`, "", workflow.CodeArtifactScope, []string{"worked on / instead of"}},
		"text":              {"echo Change is valid, token hunter2hunter2", "", workflow.CodeOpenSpecOutput, []string{"Change is valid", "exit code 0", "--strict"}},
		"two documents":     {"echo '" + fine + fine + "'", "", workflow.CodeOpenSpecOutput, nil},
		"other document":    {`echo '{"ok":true}'`, "", workflow.CodeOpenSpecOutput, nil},
		"array":             {"echo '[]'", "", workflow.CodeOpenSpecOutput, nil},
		"nothing":           {"exit 1", "", workflow.CodeOpenSpecOutput, []string{"no output", "exit code 1"}},
		"only stderr":       {"echo SyntaxError >&2; exit 1", "", workflow.CodeOpenSpecOutput, []string{"SyntaxError"}},
		"flood":             {"yes '{}' | head -c 9000000", "", workflow.CodeOpenSpecOutput, []string{"9000000 bytes"}},
		"not UTF-8":         {`printf '\377\000'`, "", workflow.CodeOpenSpecOutput, nil},
		"killed":            {"kill -9 $$", "", workflow.CodeOpenSpecFailed, []string{"SIGKILL"}},
		"no node":           {"echo \"env: 'node': No such file\" >&2; exit 127", "", workflow.CodeOpenSpecNotFound, []string{"node 20.19", "'node'", "npm install"}},
		"leaves a process":  {"sleep 600 & echo '" + fine + "'", "pass", "", nil},
		"closes its output": {"exec >&- 2>&-; exit 0", "", workflow.CodeOpenSpecOutput, []string{"no output"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t, nil)
			fake := script(t, filepath.Join(t.TempDir(), "openspec"), `[ "$1" = --version ] && { echo `+openspec.Version+`; exit; }`+"\n"+tc.body)
			s, err := visit(t, dir, "openspec-validate", plain, realRunner("sh", fake)).run(context.Background())
			if workflow.CodeOf(err) != tc.code || s.Outcome != tc.outcome || len(s.Warnings) > 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			for _, part := range tc.said {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if err != nil && (strings.Contains(err.Error(), "hunter2") || len(err.Error()) > 2000) {
				t.Errorf("the error says too much: %q", err)
			}
		})
	}
}

func TestCommandLineThatHangs(t *testing.T) {
	t.Parallel()
	dir := repository(t, nil)
	before := list(t, dir)
	cfg := realRunner("sh", script(t, filepath.Join(t.TempDir(), "openspec"), "trap '' TERM; while :; do sleep 1; done"))
	cfg.Timeout = 100 * time.Millisecond
	for _, kind := range []string{"openspec-validate", "openspec-archive"} {
		if _, err := visit(t, dir, kind, plain, cfg).run(context.Background()); workflow.CodeOf(err) != workflow.CodeTimeout || !strings.Contains(err.Error(), "100ms") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	started := filepath.Join(t.TempDir(), "started")
	if out, err := exec.Command("mkfifo", started).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	n := visit(t, dir, "openspec-archive", plain, realRunner("sh", script(t, filepath.Join(t.TempDir(), "openspec"), "echo go >"+started+"; sleep 600")))
	go func() {
		_, _ = os.ReadFile(started) // until the command runs
		stop()
	}()
	if _, err := n.run(ctx); workflow.CodeOf(err) != workflow.CodeAborted || !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if list(t, dir) != before {
		t.Error("something was published")
	}
}

func TestManyIssues(t *testing.T) {
	t.Parallel()
	dir := repository(t, nil)
	issue := `{"level":"ERROR","path":"p","message":"` + strings.Repeat("ä", 5000) + `"}`
	write(t, filepath.Join(dir, "said"), `{"items":[{"id":"dim-lamp","issues":[`+strings.Repeat(issue+",", 299)+issue+`]}]}`)
	s, err := visit(t, dir, "openspec-validate", plain, realRunner("sh", script(t, filepath.Join(t.TempDir(), "openspec"), "cat said; exit 1"))).run(context.Background())
	if err != nil || s.Outcome != "fail" || len(s.Output.JSON) > 200_000 || output(t, s)["issueCount"] != 300.0 || !strings.Contains(s.History, "[truncated]") {
		t.Errorf("%d bytes, %.300s, %v", len(s.Output.JSON), s.History, err)
	}
}

// TestFind changes PATH, so it does not run beside others.
func TestFind(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	says := func(version string) string {
		return `[ "$1" = --version ] && { echo ` + version + `; exit; }; echo '` + fine + `'`
	}
	dir := repository(t, nil)
	run := func(command ...string) (workflow.Settled, error) {
		return visit(t, dir, "openspec-validate", plain, realRunner(command...)).run(context.Background())
	}
	if _, err := run(); workflow.CodeOf(err) != workflow.CodeOpenSpecNotFound || !strings.Contains(err.Error(), "npm install --save-dev @fission-ai/openspec@"+openspec.Version) {
		t.Errorf("nothing is installed: %v", err)
	}
	script(t, filepath.Join(bin, "openspec"), says("0.9.0"))
	if s, err := run(); err != nil || !strings.Contains(strings.Join(s.Warnings, ""), "openspec is 0.9.0, and "+openspec.Version) {
		t.Errorf("in PATH: %+v, %v", s, err)
	}
	script(t, filepath.Join(dir, "node_modules/.bin/openspec"), says("1.13.77"))
	if s, err := run(); err != nil || len(s.Warnings) > 0 {
		t.Errorf("in node_modules: %+v, %v", s, err)
	}
	script(t, filepath.Join(dir, "tools/openspec.sh"), says("9.0.0"))
	if s, err := run("tools/openspec.sh"); err != nil || !strings.Contains(strings.Join(s.Warnings, ""), "9.0.0") {
		t.Errorf("configured: %+v, %v", s, err)
	}
	if s, err := run("sh", "tools/openspec.sh"); err != nil || len(s.Warnings) != 1 {
		t.Errorf("configured with arguments: %+v, %v", s, err)
	}
	for _, gone := range []string{"tools/gone.sh", "gone-openspec"} {
		if _, err := run(gone); workflow.CodeOf(err) != workflow.CodeOpenSpecNotFound || !strings.Contains(err.Error(), "openspec.command") {
			t.Errorf("%s: %v", gone, err)
		}
	}
}
