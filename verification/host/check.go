package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

const (
	outputCap  = 1 << 20   // bytes kept of a stream while a check is judged
	maxTail    = 32_000    // code points of the output in evidence
	minTail    = 4_000     // of one that passed, in a long plan
	allOutputs = 1_000_000 // code points of all outputs in a receipt, about
)

// one runs a check and tells what came of it.
func (w *work) one(ctx context.Context, c verification.Check, e verification.Evidence) verification.Evidence {
	if ctx.Err() != nil {
		e.Reason = notRun(ctx)
		return e
	}
	policy, err := verification.PolicyOf(c)
	if err == nil {
		err = exactlyOne(c)
	}
	if err != nil {
		e.State, e.Reason = verification.StateBroken, err.Error()
		return e
	}
	e.Started = w.cfg.Now()
	begun := time.Now()
	switch {
	case c.File != nil:
		w.file(c, &e)
	case c.JSON != nil:
		w.json(c, &e)
	case c.Clean != nil:
		w.tidy(ctx, c, policy, &e)
	default:
		w.reusing(ctx, c, policy, &e)
	}
	if e.Ended == 0 {
		e.Ended, e.DurationMs = max(e.Started, w.cfg.Now()), time.Since(begun).Milliseconds()
	}
	return e
}

func exactlyOne(c verification.Check) error {
	n := 0
	for _, set := range []bool{c.Command != "", c.CommandLine != "", c.File != nil, c.JSON != nil, c.Clean != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("a check is exactly one of command, commandLine, file, json and clean")
	}
	if c.TimeoutMs < 0 || c.TimeoutMs > verification.MaxTimeout {
		return fmt.Errorf("timeoutMs is %d; write 1 to %d", c.TimeoutMs, verification.MaxTimeout)
	}
	return nil
}

func notRun(ctx context.Context) string {
	if cause := context.Cause(ctx); errors.Is(cause, errTimeUp) || errors.Is(cause, errAborted) {
		return cause.Error()
	}
	return "the run was stopped"
}

func repository(all []workflow.RepositoryInfo, c verification.Check) (workflow.RepositoryInfo, error) {
	return command.Repository(all, c.Repository())
}

// prepare returns the command of a check and where it runs in its repository.
func (w *work) prepare(c verification.Check) (cmd workspace.Command, dir string, err error) {
	timeout := c.TimeoutMs
	if timeout == 0 {
		timeout = verification.DefaultTimeout
	}
	wish := command.Wish{
		RepositoryID: c.RepositoryID, Line: c.CommandLine, Cwd: c.Cwd, Env: c.Env, Stdin: c.Stdin, Idle: w.cfg.Idle, OutputCap: outputCap,
		Timeout: time.Duration(timeout) * time.Millisecond,
	}
	if c.Command != "" {
		wish.Argv = append([]string{c.Command}, c.Args...)
	} else if defects := command.CheckLine(c.CommandLine); len(defects) > 0 {
		return cmd, "", defects[0]
	}
	if cmd, err = command.Prepare(w.q.Repositories, wish); err != nil {
		return cmd, "", err
	}
	repo, err := repository(w.q.Repositories, c)
	if err != nil {
		return cmd, "", err
	}
	root, err := filepath.EvalSymlinks(repo.Path)
	if err != nil {
		return cmd, "", fmt.Errorf("finding repository %s: %w", repo.ID, err)
	}
	if c.Command != "" {
		if err := insideProgram(root, cmd.Dir, c.Command); err != nil {
			return cmd, "", err
		}
	}
	if root, err = filepath.Abs(root); err != nil {
		return cmd, "", err
	}
	rel, err := filepath.Rel(root, cmd.Dir)
	cmd.Marker, cmd.KillRest = w.q.Run, true
	cmd.OnOutput = command.Lines(w.cfg.Redactor, w.show)
	return cmd, filepath.ToSlash(rel), err
}

// installed are directories whose links lead to programs of the machine.
var installed = []string{".venv", "venv", ".tox", "node_modules"}

// insideProgram refuses a program that is named by a relative path and lies
// outside of the repository.
func insideProgram(root, dir, program string) error {
	if filepath.IsAbs(program) || !strings.ContainsAny(program, `/`+string(filepath.Separator)) {
		return nil
	}
	path := filepath.Join(dir, filepath.FromSlash(program))
	if !command.Within(root, path) {
		return fmt.Errorf("the program %q leads out of the repository to %s; name it by its absolute path, or by its name alone", program, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || command.Within(root, real) {
		return nil //nolint:nilerr // the start of the command tells what is missing
	}
	if rel, err := filepath.Rel(root, path); err == nil {
		for part := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(rel)), "/") {
			if slices.Contains(installed, part) {
				return nil
			}
		}
	}
	return fmt.Errorf("the program %q is a link out of the repository to %s; name that by its absolute path", program, real)
}

// command runs a command to its end.
func (w *work) command(ctx context.Context, c verification.Check, p verification.Policy, e *verification.Evidence) {
	e.State = verification.StateBroken
	cmd, dir, err := w.prepare(c)
	if err != nil {
		e.Reason = w.clean(err.Error())
		return
	}
	shown := w.cleaned(c)
	e.Dir, e.Line = dir, shown.CommandLine
	if shown.Command != "" {
		e.Argv = append([]string{shown.Command}, shown.Args...)
	}
	exit, err := w.cfg.Runner.Run(ctx, cmd)
	var spawn *workspace.SpawnError
	if errors.As(err, &spawn) {
		e.Reason, e.Absent = w.clean(err.Error()), errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound)
		return
	}
	w.take(e, exit)
	if err != nil {
		e.State, e.Reason = verification.StateNotRun, "it was ended: "+notRun(ctx)
		if errors.Is(context.Cause(ctx), errTimeUp) {
			e.State = verification.StateHung
		} else if ctx.Err() == nil {
			e.State, e.Reason = verification.StateBroken, w.clean(err.Error())
		}
		return
	}
	judge(e, exit, cmd, p)
	if e.Failed() {
		e.Anchors = verification.Anchors(w.clean(joined(exit.Stdout, exit.Stderr)))
		return
	}
	short := text.Tail(e.Output, max(minTail, allOutputs/max(1, len(w.q.Checks)+len(w.q.Setup))), "")
	e.Truncated = e.Truncated || len(short) < len(e.Output)
	e.Output = short
}

// take copies what the host saw into evidence.
func (w *work) take(e *verification.Evidence, exit workspace.Exit) {
	e.ExitCode, e.Signal, e.TimedOut, e.IdleOut = exit.Code, exit.Signal, exit.TimedOut, exit.IdleOut
	e.Shell, e.Pipefail = exit.Shell, strings.Contains(exit.Shell, "pipefail")
	e.StdoutBytes, e.StderrBytes, e.OutputDigest, e.PipeHeld = exit.StdoutBytes, exit.StderrBytes, exit.OutputDigest, exit.PipeHeld
	e.EnvKeys, e.EnvDigest = exit.EnvKeys, exit.EnvDigest
	e.Ended, e.DurationMs = max(e.Started, w.cfg.Now()), max(0, exit.End.Sub(exit.Start).Milliseconds())
	var cut bool
	e.Output, cut = combined(w.clean(string(exit.Stdout)), w.clean(string(exit.Stderr)))
	e.Truncated = cut || exit.Truncated
}

// judge says what the end of a command means.
func judge(e *verification.Evidence, exit workspace.Exit, cmd workspace.Command, p verification.Policy) {
	switch end := command.Failure(exit); {
	case end == command.EndTimeout:
		e.State, e.Reason = verification.StateHung, fmt.Sprintf("it ran longer than %s", cmd.Timeout)
	case end == command.EndIdle:
		e.State, e.Reason = verification.StateHung, fmt.Sprintf("it was silent for %s", cmd.Idle)
	case end == command.EndSignal:
		e.State, e.Reason = verification.StateHung, "it was ended by "+exit.Signal
	case exit.Code != 0:
		e.State, e.Reason, e.Absent = verification.StateFailed, fmt.Sprintf("exit code %d", exit.Code), exit.Code == 127
	default:
		e.State = verification.StatePassed
		if e.Suspect = verification.Suspect(string(exit.Stdout), string(exit.Stderr)); e.Suspect != "" && !p.TrustExit {
			e.State = verification.StateFailed
			e.Reason = fmt.Sprintf("exit code 0, but the output says %q; make the command fail, or set policy.trustExit", e.Suspect)
		}
	}
}

// clean returns text as it may be kept.
func (w *work) clean(s string) string { return command.Clean(w.cfg.Redactor, []byte(s), 0) }

// cleaned returns a check without the secrets in it, and with the digest of its
// input in place of that.
func (w *work) cleaned(c verification.Check) verification.Check {
	if c.Stdin != "" {
		c.Stdin = fmt.Sprintf("sha256:%s (%d bytes)", canon.Sum([]byte(c.Stdin)), len(c.Stdin))
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return verification.Check{Key: c.Key, Label: c.Label} // not reached with plain data
	}
	var out verification.Check
	if err := json.Unmarshal(w.cfg.Redactor.RedactJSON(raw), &out); err != nil {
		return verification.Check{Key: c.Key, Label: c.Label}
	}
	return out
}

// joined puts one stream below the other.
func joined(stdout, stderr []byte) string {
	s := string(stdout)
	if len(stdout) > 0 && len(stderr) > 0 && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s + string(stderr)
}

// combined returns the ends of both streams, together at most maxTail code
// points; a short stream leaves its room to the other.
func combined(stdout, stderr string) (all string, cut bool) {
	out, errs := []rune(stdout), []rune(stderr)
	if len(out)+len(errs) < maxTail {
		return joined([]byte(stdout), []byte(stderr)), false
	}
	room := maxTail - 1
	forErrs := min(len(errs), max(room/2, room-len(out)))
	forOut := min(len(out), room-forErrs)
	return joined([]byte(string(out[len(out)-forOut:])), []byte(string(errs[len(errs)-forErrs:]))), true
}
