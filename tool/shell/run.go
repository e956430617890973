package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/shell/line"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// arguments are those of a call.
type arguments struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Cwd         string `json:"cwd"`
	TimeoutMs   int64  `json:"timeoutMs"`
	Background  bool   `json:"background"`
	ID          string `json:"id"`
	Kill        bool   `json:"kill"`
}

// Report is the Data of a result.
type Report struct {
	Command   string  `json:"command"`
	Dir       string  `json:"dir"`
	ID        string  `json:"id,omitempty"` // of a background command
	Running   bool    `json:"running,omitempty"`
	Code      int     `json:"code"` // -1 when a signal ended it or it still runs
	Signal    string  `json:"signal,omitempty"`
	TimedOut  bool    `json:"timedOut,omitempty"`
	IdleOut   bool    `json:"idleOut,omitempty"`
	Killed    bool    `json:"killed,omitempty"` // by a call
	Bytes     int64   `json:"bytes"`            // of output, in all
	Truncated bool    `json:"truncated,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`
	Digest    string  `json:"digest,omitempty"` // see workspace.Exit.OutputDigest
	Confined  string  `json:"confined,omitempty"`
}

// Run carries out one call of the tool bash.
func (s *Shell) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var a arguments
	if err := json.Unmarshal(c.Args.Raw, &a); err != nil {
		return tool.Result{}, &tool.BadArguments{Tool: c.Tool, Problems: []string{err.Error()}}
	}
	r, err := s.run(ctx, c, a)
	if err == nil {
		s.tellUndone(&r, c.Tool)
	}
	return r, err
}

func (s *Shell) run(ctx context.Context, c tool.Call, a arguments) (tool.Result, error) {
	switch {
	case a.ID != "" && a.Command == "":
		return s.follow(ctx, c, a)
	case a.ID != "" || a.Command == "":
		return tool.Result{}, &tool.BadArguments{Tool: c.Tool, Problems: []string{"exactly one of command and id is needed"}, Next: "send command to run something, id to look at a background command"}
	case a.Kill:
		return tool.Result{}, &tool.BadArguments{Tool: c.Tool, Problems: []string{"kill needs the id of a background command"}}
	}
	dir := s.start(c, a)
	if err := s.judge(ctx, c, a, dir); err != nil {
		return tool.Result{}, err
	}
	if c.Host.Progress != nil {
		what := a.Description
		if what == "" {
			what = a.Command
		}
		c.Host.Progress(text.Head(strings.Join(strings.Fields(what), " "), 100, "…"))
	}
	if a.Background {
		return s.launch(ctx, c, a, dir)
	}
	return s.wait(ctx, c, a, dir)
}

// start is the directory that a call starts in.
func (s *Shell) start(c tool.Call, a arguments) string {
	dir := c.Cwd
	if dir == "" {
		dir = s.config.Dir
	}
	switch {
	case a.Cwd == "":
		return dir
	case filepath.IsAbs(a.Cwd):
		return filepath.Clean(a.Cwd)
	}
	return filepath.Join(dir, a.Cwd)
}

// judge reads the command and puts it before the fence.
func (s *Shell) judge(ctx context.Context, c tool.Call, a arguments, dir string) error {
	l, err := line.Read(a.Command, line.Options{Cwd: dir, Home: s.config.Home, ReadDir: readDir, IsDir: isDir})
	if err != nil {
		return &tool.BadArguments{Tool: c.Tool, Problems: []string{err.Error()}, Next: "send a command line that Bash can read"}
	}
	r := tool.ShellRequest{Tool: c.Tool, Text: a.Command, Cwd: dir, Commands: l.Commands, Opaque: l.Opaque, Confined: s.Confined()}
	for _, command := range l.Commands {
		for _, o := range command.Opaque {
			if !slices.Contains(r.Opaque, o) {
				r.Opaque = append(r.Opaque, o)
			}
		}
	}
	if a.Cwd != "" {
		r.Commands = append([]tool.ShellCommand{entering(a.Cwd, dir, "argument cwd")}, r.Commands...)
	}
	if err := c.Fence.JudgeShell(ctx, r); err != nil {
		return err
	}
	return s.deep(ctx, c, l)
}

// maxDeep bounds how many entries below a directory are looked at.
const maxDeep = 200_000

// deep looks below directories that a command reads whole. A program cannot be
// told what to leave out, so nothing may lie there that is denied or asked about.
func (s *Shell) deep(ctx context.Context, c tool.Call, l line.Line) error {
	for _, command := range l.Commands {
		for _, o := range command.Operands {
			if !o.Deep || o.Base == "" && !filepath.IsAbs(o.Spelled) {
				continue
			}
			if err := s.below(ctx, c, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Shell) below(ctx context.Context, c tool.Call, o tool.Operand) error {
	full := o.Spelled
	if !filepath.IsAbs(full) {
		full = o.Base + "/" + full // links decide what ".." is
	}
	if !isDir(full) {
		return nil
	}
	args, err := tool.ParseArgs(c.Tool, data(map[string]string{"path": full}))
	if err != nil {
		return err
	}
	place, err := c.Fence.Judge(ctx, tool.Request{
		Tool: "grep", Effect: workflow.EffectRead, Args: args, Cwd: o.Base,
		Target: tool.Target{Slot: "path", Base: tool.BaseCwd, Absent: tool.AbsentNone, Op: tool.OpSearch},
	})
	if err != nil {
		return err
	}
	seen := 0
	left, err := c.Fence.Walk(ctx, place, tool.WalkOptions{}, func(tool.Entry) error {
		if seen++; seen > maxDeep {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return err
	}
	v := tool.Verdict{Tool: c.Tool, Op: tool.OpSearch, Spelled: o.Spelled, Canonical: place.Canonical}
	switch n := left.Denied + left.Asked; {
	case n > 0:
		v.Reason = fmt.Sprintf("%s reads all that lies below, and %d of it may not be read, or not without a person: name the files, or use the tool grep, which leaves those out", o.Why, n)
	case seen > maxDeep || left.Deep > 0:
		v.Reason = o.Why + " reads all that lies below, which is too much to be judged: name a smaller directory, or use the tool grep"
	default:
		return nil
	}
	return &tool.Denied{Verdict: v}
}

// entering is a change of the working directory.
func entering(spelled, dir, why string) tool.ShellCommand {
	return tool.ShellCommand{Text: "cd " + tool.Quote(spelled), Cwd: dir, Operands: []tool.Operand{{Spelled: dir, Op: tool.OpEnter, Base: dir, Why: why}}}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readDir lists a directory. A link that leads to nothing is there all the same:
// patterns match it.
func readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Lstat(dir); there == nil {
			return nil, syscall.ENOTDIR
		}
	}
	return entries, err
}

// command is what the runner is to run.
func (s *Shell) command(a arguments, dir, report string) (workspace.Command, error) {
	prelude := "exec 2>&1; "
	if report != "" {
		prelude += "trap 'builtin pwd -P >| " + strings.ReplaceAll(quote(report), "'", `'\''`) + "' EXIT; "
	}
	argv := []string{s.bash, "-o", "pipefail", "-c", "--", prelude + a.Command}
	if s.Confined() != tool.ConfinedNot {
		var err error
		if argv, err = s.spec().Argv(argv); err != nil {
			return workspace.Command{}, err
		}
	}
	env := map[string]string{"TMPDIR": filepath.Join(s.config.Scratch, "tmp"), "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
	for name, value := range s.config.Env {
		env[name] = value
	}
	return workspace.Command{
		Argv: argv, Dir: dir, Env: env, Unset: append(inherited(), s.config.Unset...),
		Idle: s.config.Idle, OutputCap: s.config.OutputCap, Marker: s.config.Marker, KillRest: true,
	}, nil
}

// inherited names variables that would change how bash reads a command: options,
// scripts it starts with, and functions with the names of programs.
func inherited() []string {
	names := []string{"BASH_ENV", "ENV", "CDPATH", "GLOBIGNORE", "POSIXLY_CORRECT", "SHELLOPTS", "BASHOPTS"}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "BASH_FUNC_") {
			names = append(names, name)
		}
	}
	return names
}

// quote makes one word of the shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// wait runs a command to its end.
func (s *Shell) wait(ctx context.Context, c tool.Call, a arguments, dir string) (tool.Result, error) {
	report := s.reportFile()
	defer os.Remove(report) //nolint:errcheck // in the scratch directory
	command, err := s.command(a, dir, report)
	if err != nil {
		return tool.Result{}, err
	}
	var notes []string
	command.Timeout = s.config.Timeout
	if a.TimeoutMs > 0 {
		command.Timeout = time.Duration(min(a.TimeoutMs, int64(s.config.MaxTimeout/time.Millisecond))) * time.Millisecond
		if a.TimeoutMs > int64(command.Timeout/time.Millisecond) {
			notes = append(notes, fmt.Sprintf("[timeoutMs was lowered to %d, the longest in the foreground]", command.Timeout/time.Millisecond))
		}
	}
	leave, err := s.guarded(ctx, c, a, dir)
	if err != nil {
		return tool.Result{}, err
	}
	exit, err := s.config.Runner.Run(ctx, command)
	leave()
	if err != nil {
		return tool.Result{}, startError(err)
	}
	result := tool.Result{}
	var moved string
	if result.Cwd, moved = s.moved(ctx, c, dir, report); moved != "" {
		notes = append(notes, moved)
	}
	r := s.report(a, exit)
	body := string(exit.Stdout) + string(exit.Stderr)
	result.Text = s.tell(body, append(s.ending(r, exit, command), notes...))
	result.Data = data(r)
	return result, nil
}

// startError tells the model what it can act on.
func startError(err error) error {
	var spawn *workspace.SpawnError
	if errors.As(err, &spawn) {
		return &tool.Failed{What: "the command was not started in " + tool.Quote(spawn.Dir), Err: spawn.Err, Next: spawn.Hint}
	}
	return err
}

// maxMark is the room for what marks a cut in output, in bytes.
const maxMark = 200

// reportFile is where a command leaves its last working directory.
func (s *Shell) reportFile() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return filepath.Join(s.config.Scratch, "cwd-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(s.calls))
}

// maxReport bounds the path of a working directory.
const maxReport = 8 << 10

// moved reads where a command left the shell. The file is of the command: what it
// says is judged like any other path.
func (s *Shell) moved(ctx context.Context, c tool.Call, dir, report string) (cwd, note string) {
	info, err := os.Lstat(report)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxReport {
		return "", ""
	}
	raw, err := os.ReadFile(report)
	if err != nil {
		return "", ""
	}
	at := strings.TrimSuffix(string(raw), "\n")
	if !filepath.IsAbs(at) || filepath.Clean(at) != at || strings.IndexByte(at, 0) >= 0 || !isDir(at) {
		return "", ""
	}
	if here, err := filepath.EvalSymlinks(dir); err == nil && here == at {
		return "", ""
	}
	r := tool.ShellRequest{Tool: c.Tool, Text: "cd " + tool.Quote(at), Cwd: dir, Commands: []tool.ShellCommand{entering(at, at, "last working directory")}, Confined: s.Confined()}
	if err := c.Fence.JudgeShell(ctx, r); err != nil {
		return "", fmt.Sprintf("[the working directory stays %s: %s was left and cannot be entered (%s)]", tool.Quote(dir), tool.Quote(at), text.Head(err.Error(), 200, "…"))
	}
	return at, "[working directory: " + tool.Quote(at) + "]"
}

func (s *Shell) report(a arguments, exit workspace.Exit) Report {
	return Report{
		Command: text.Head(text.Repair(a.Command), 2000, "…"), Dir: exit.Dir, Code: exit.Code, Signal: exit.Signal, TimedOut: exit.TimedOut, IdleOut: exit.IdleOut,
		Bytes: exit.StdoutBytes + exit.StderrBytes, Truncated: exit.Truncated, Digest: exit.OutputDigest,
		Seconds: exit.End.Sub(exit.Start).Seconds(), Confined: string(s.kind),
	}
}

// ending tells how a command ended.
func (s *Shell) ending(r Report, exit workspace.Exit, command workspace.Command) []string {
	var notes []string
	switch {
	case r.TimedOut:
		notes = append(notes, fmt.Sprintf("[ended after %s, its time limit; what it wrote until then is above. Give a longer timeoutMs, or background: true]", command.Timeout))
	case r.IdleOut:
		notes = append(notes, fmt.Sprintf("[ended because it was silent for %s; what it wrote until then is above]", command.Idle))
	case r.Killed:
		notes = append(notes, "[killed]")
	case r.Signal != "":
		notes = append(notes, "[ended by "+r.Signal+"]")
	default:
		notes = append(notes, fmt.Sprintf("[exit code %d]", r.Code))
	}
	if r.Truncated {
		notes = append(notes, fmt.Sprintf("[%d bytes of output, not all shown]", r.Bytes))
	}
	if exit.PipeHeld {
		notes = append(notes, "[a process that it started could not be ended and still holds its output]")
	}
	return notes
}

// tell puts notes under the output. A NUL would not pass every provider: a run of
// them is shown as one character, like a run of bytes that are no text.
func (s *Shell) tell(body string, notes []string) string {
	zero := false
	body = strings.Map(func(r rune) rune {
		again := zero && r == 0
		if zero = r == 0; again {
			return -1
		}
		if zero {
			return utf8.RuneError
		}
		return r
	}, text.Repair(body))
	if most := s.config.OutputCap + maxMark; len(body) > most {
		body = text.HeadBytes(body, most/2, "\n[…]\n") + text.TailBytes(body, most/2, "")
	}
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	return body + strings.Join(notes, "\n")
}

func data(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil // strings and numbers always encode
	}
	return raw
}
