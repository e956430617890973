package openspec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// Bounds of what is read of the command line, and of what is shown of it when it
// makes no sense, in bytes.
const (
	maxReport = 4 << 20
	maxShown  = 500
)

// install is what to type when the command line is missing.
const install = "npm install --save-dev @fission-ai/openspec@" + Version

// find returns the program and its first arguments.
func (v *visit) find() ([]string, error) {
	if len(v.Command) > 0 {
		argv := append([]string(nil), v.Command...)
		if strings.ContainsRune(filepath.ToSlash(argv[0]), '/') && !filepath.IsAbs(argv[0]) {
			argv[0] = filepath.Join(v.root, argv[0])
		}
		return argv, nil
	}
	local := filepath.Join(v.root, "node_modules", ".bin", "openspec")
	if runtime.GOOS == "windows" {
		local += ".cmd"
	}
	if info, err := os.Stat(local); err == nil && info.Mode().IsRegular() {
		return []string{local}, nil
	}
	path, err := exec.LookPath("openspec")
	if err != nil {
		return nil, v.errorf(workflow.CodeOpenSpecNotFound, "there is no openspec in %s and none in PATH", filepath.Join(v.root, "node_modules")).
			WithHint("run `%s`, or set openspec.command in the configuration", install)
	}
	return []string{path}, nil
}

// report is what the command line says in JSON.
type report struct {
	Items   *[]item   `json:"items"`
	Archive *archived `json:"archive"`
	Status  []status  `json:"status"`
	Root    *struct {
		Path string `json:"path"`
	} `json:"root"`
}

type item struct {
	ID     string  `json:"id"`
	Type   string  `json:"type"`
	Valid  bool    `json:"valid"`
	Issues []issue `json:"issues"`
}

type issue struct {
	Level   string `json:"level"`
	Path    string `json:"path,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

type archived struct {
	Change       string         `json:"change"`
	ArchivedAs   string         `json:"archivedAs"`
	SpecsUpdated bool           `json:"specsUpdated"`
	Totals       map[string]int `json:"totals,omitempty"`
	Warnings     []string       `json:"warnings,omitempty"`
}

type status struct {
	Severity string `json:"severity,omitempty"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
}

// call runs the command line in a root and returns its exit code and its report.
func (v *visit) call(ctx context.Context, root string, args ...string) (int, report, error) {
	argv, err := v.find()
	if err != nil {
		return 0, report{}, err
	}
	v.c.Progress(executor.Progress{Kind: "tool", Text: "openspec " + strings.Join(args, " ") + "\n"})
	exit, err := v.run(ctx, argv, root, args)
	if err != nil {
		return 0, report{}, err
	}
	var r report
	out := bytes.TrimSpace(exit.Stdout)
	if exit.Truncated || json.Unmarshal(out, &r) != nil || r.Items == nil && r.Archive == nil && r.Status == nil {
		return 0, report{}, v.nonsense(exit, args, "did not print the report that was asked for")
	}
	if r.Root != nil && !sameDir(r.Root.Path, root) {
		return 0, report{}, v.errorf(workflow.CodeArtifactScope, "openspec worked on %s instead of %s", r.Root.Path, root).
			WithHint("the change must lie in the repository itself, not in a store or a parent directory")
	}
	return exit.Code, r, nil
}

// run returns how the command line ended by itself.
func (v *visit) run(ctx context.Context, argv []string, dir string, args []string) (workspace.Exit, error) {
	exit, err := v.Runner.Run(ctx, workspace.Command{
		Argv: append(argv, args...), Dir: dir, Timeout: v.Timeout, OutputCap: maxReport, KillRest: true, Marker: string(v.f.Run),
		Env: map[string]string{"OPENSPEC_TELEMETRY": "0", "OPENSPEC_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"},
	})
	var spawn *workspace.SpawnError
	switch {
	case errors.As(err, &spawn):
		return exit, v.errorf(workflow.CodeOpenSpecNotFound, "%w", err).WithHint("run `%s`, or set openspec.command in the configuration", install)
	case ctx.Err() != nil:
		return exit, v.errorf(workflow.CodeAborted, "openspec was stopped: %w", context.Cause(ctx))
	case err != nil:
		return exit, v.errorf(workflow.CodeOpenSpecFailed, "running openspec: %w", err)
	case exit.TimedOut:
		return exit, v.errorf(workflow.CodeTimeout, "openspec %s did not end within %s; nothing was changed", args[0], v.Timeout).
			WithHint("run it by hand in %s to see why", v.root)
	case command.Failure(exit) != "":
		return exit, v.errorf(workflow.CodeOpenSpecFailed, "openspec %s was ended by %s; nothing was changed", args[0], exit.Signal)
	case exit.Code == 126 || exit.Code == 127: // the shell's and env's words for a program that cannot be started
		return exit, v.errorf(workflow.CodeOpenSpecNotFound, "%s cannot be started: %s", argv[0], v.shown(exit)).
			WithHint("it needs node 20.19 or newer in PATH, and `%s`", install)
	}
	return exit, nil
}

// nonsense is the error about an answer that cannot be used.
func (v *visit) nonsense(exit workspace.Exit, args []string, what string) error {
	return v.errorf(workflow.CodeOpenSpecOutput, "openspec %s %s (exit code %d, %d bytes): %s", args[0], what, exit.Code, exit.StdoutBytes, v.shown(exit)).
		WithHint("run `openspec %s` in %s and look; this was tested with version %s", strings.Join(args, " "), v.root, Version)
}

// shown is the beginning of what the command line printed.
func (v *visit) shown(exit workspace.Exit) string {
	out := exit.Stdout
	if len(bytes.TrimSpace(out)) == 0 {
		out = exit.Stderr
	}
	if len(bytes.TrimSpace(out)) == 0 {
		return "no output"
	}
	return command.Clean(v.Redactor, bytes.TrimSpace(out), maxShown)
}

// sameDir compares directories with their links resolved.
func sameDir(a, b string) bool {
	ra, errA := filepath.EvalSymlinks(a)
	rb, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && ra == rb
}
