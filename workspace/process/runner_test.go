//go:build unix

package process_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runner has short pauses; PATH is all that it inherits.
func runner(env ...string) *process.Runner {
	return process.New(process.Config{
		Grace:   100 * time.Millisecond,
		Environ: func() []string { return append([]string{"PATH=" + os.Getenv("PATH")}, env...) },
	})
}

func run(t *testing.T, c workspace.Command, env ...string) workspace.Exit {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	exit, err := runner(env...).Run(t.Context(), c)
	if err != nil {
		t.Fatalf("Run(%v%s): %v", c.Argv, c.Line, err)
	}
	return exit
}

func TestRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		command        workspace.Command
		env            []string
		code           int
		signal         string
		stdout, stderr string
	}{
		"argv":            {command: workspace.Command{Argv: []string{"echo", "a;b $HOME *"}}, stdout: "a;b $HOME *\n"},
		"code":            {command: workspace.Command{Argv: []string{"sh", "-c", "echo no >&2; exit 7"}}, code: 7, stderr: "no\n"},
		"signal":          {command: workspace.Command{Argv: []string{"sh", "-c", "kill -9 $$"}}, code: -1, signal: "SIGKILL"},
		"line":            {command: workspace.Command{Line: "printf %s a | tr a b"}, stdout: "b"},
		"pipefail":        {command: workspace.Command{Line: "exit 3 | cat"}, code: 3},
		"leading dash":    {command: workspace.Command{Line: "-x 2>/dev/null"}, code: 127},
		"added env":       {command: workspace.Command{Line: "echo $A", Env: map[string]string{"A": "2"}}, env: []string{"A=1"}, stdout: "2\n"},
		"inherited env":   {command: workspace.Command{Line: "echo $A"}, env: []string{"A=1"}, stdout: "1\n"},
		"unset env":       {command: workspace.Command{Line: "echo ${A-none}", Unset: []string{"A"}}, env: []string{"A=1"}, stdout: "none\n"},
		"agent env":       {command: workspace.Command{Line: "echo ${CLAUDECODE-none}"}, env: []string{"CLAUDECODE=1"}, stdout: "none\n"},
		"agent env added": {command: workspace.Command{Line: "echo $CLAUDECODE", Env: map[string]string{"CLAUDECODE": "2"}}, stdout: "2\n"},
		"run marker":      {command: workspace.Command{Line: "echo $TENON_RUN", Marker: "r1"}, stdout: "r1\n"},
		"no input":        {command: workspace.Command{Argv: []string{"cat"}}},
		"input":           {command: workspace.Command{Argv: []string{"cat"}, Stdin: []byte("x")}, stdout: "x"},
		"input unread":    {command: workspace.Command{Argv: []string{"true"}, Stdin: make([]byte, 1<<20)}},
		"odd bytes":       {command: workspace.Command{Line: `printf 'a\000\377\303'`}, stdout: "a\x00\xff\xc3"},
		"PATH of command": {command: workspace.Command{Argv: []string{"sh", "-c", "echo $PATH"}, Env: map[string]string{"PATH": "/bin"}}, stdout: "/bin\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exit := run(t, tc.command, tc.env...)
			if exit.Code != tc.code || exit.Signal != tc.signal {
				t.Errorf("code %d signal %q, want %d %q; stderr %q", exit.Code, exit.Signal, tc.code, tc.signal, exit.Stderr)
			}
			if string(exit.Stdout) != tc.stdout || string(exit.Stderr) != tc.stderr {
				t.Errorf("output %q, %q, want %q, %q", exit.Stdout, exit.Stderr, tc.stdout, tc.stderr)
			}
			if exit.Truncated || exit.PipeHeld || exit.TimedOut || exit.IdleOut {
				t.Errorf("unexpected flags in %+v", exit)
			}
		})
	}
}

func TestRunRecordsTheFrame(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	r := process.New(process.Config{Clock: func() time.Time { now = now.Add(time.Second); return now }})
	dir := t.TempDir()
	exit, err := r.Run(t.Context(), workspace.Command{Line: "pwd", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(exit.Stdout)); filepath.Base(got) != filepath.Base(dir) || exit.Dir != dir {
		t.Errorf("ran in %s, recorded %s, want %s", got, exit.Dir, dir)
	}
	if exit.End.Sub(exit.Start) != time.Second {
		t.Errorf("start %v, end %v: not from the clock", exit.Start, exit.End)
	}
	if exit.Shell != "bash -o pipefail" {
		t.Errorf("shell %q", exit.Shell)
	}
}

func TestShellWithoutBash(t *testing.T) {
	t.Parallel()
	exit := run(t, workspace.Command{Line: "false | echo $0", Env: map[string]string{"PATH": t.TempDir()}})
	if exit.Shell != "/bin/sh" || string(exit.Stdout) != "/bin/sh\n" || exit.Code != 0 {
		t.Errorf("shell %q, stdout %q, code %d", exit.Shell, exit.Stdout, exit.Code)
	}
}

func TestEnvDigest(t *testing.T) {
	t.Parallel()
	base := run(t, workspace.Command{Argv: []string{"true"}, Marker: "r1"}, "A=1", "B=2")
	same := run(t, workspace.Command{Argv: []string{"false"}, Marker: "r2", Env: map[string]string{"B": "2"}}, "CLAUDE_CODE_SESSION_ID=x", "A=1")
	other := run(t, workspace.Command{Argv: []string{"true"}}, "A=1", "B=3")
	if base.EnvDigest != same.EnvDigest {
		t.Errorf("the marker or a session variable is in the digest")
	}
	if base.EnvDigest == other.EnvDigest {
		t.Errorf("a changed value does not change the digest")
	}
	if want := []string{"A", "B", "PATH"}; !slices.Equal(base.EnvKeys, want) {
		t.Errorf("keys %v, want %v", base.EnvKeys, want)
	}
}

func TestNestedCommandsKeepTheOuterId(t *testing.T) {
	t.Parallel()
	exit := run(t, workspace.Command{Line: "echo $TENON_COMMAND"}, "TENON_COMMAND=outer")
	if got := string(exit.Stdout); !strings.HasPrefix(got, "outer/") || len(got) < len("outer/")+32 {
		t.Errorf("TENON_COMMAND = %q", got)
	}
}

func TestSpawnErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"plain": 0o644, "binary": 0o755} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("\x01\x02"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "lost"), []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		command workspace.Command
		hint    string
	}{
		"not found":      {workspace.Command{Argv: []string{"no-such-program"}}, "install it or fix PATH"},
		"no file":        {workspace.Command{Argv: []string{"./none"}}, "no such file"},
		"not executable": {workspace.Command{Argv: []string{"./plain"}}, "chmod +x"},
		"not a program":  {workspace.Command{Argv: []string{"./binary"}}, "interpreter"},
		"interpreter":    {workspace.Command{Argv: []string{"./lost"}}, "interpreter"},
		"no directory":   {workspace.Command{Argv: []string{"true"}, Dir: filepath.Join(dir, "none")}, "must exist"},
		"file as dir":    {workspace.Command{Argv: []string{"true"}, Dir: filepath.Join(dir, "plain")}, "must exist"},
		"neither":        {workspace.Command{}, "or one shell string"},
		"both":           {workspace.Command{Argv: []string{"true"}, Line: "true"}, "or one shell string"},
		"empty program":  {workspace.Command{Argv: []string{""}}, "or one shell string"},
		"NUL":            {workspace.Command{Argv: []string{"echo", "a\x00b"}}, "NUL"},
		"too long":       {workspace.Command{Argv: []string{"echo", strings.Repeat("a", 4<<20)}}, "stdin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.command.Dir == "" {
				tc.command.Dir = dir
			}
			_, err := runner().Run(t.Context(), tc.command)
			var spawn *workspace.SpawnError
			if !errors.As(err, &spawn) {
				t.Fatalf("error %v, want a SpawnError", err)
			}
			if !strings.Contains(spawn.Hint, tc.hint) || !strings.Contains(err.Error(), spawn.Dir) {
				t.Errorf("%v: hint %q lacks %q, or the directory is missing", err, spawn.Hint, tc.hint)
			}
		})
	}
}

func TestLargeOutput(t *testing.T) {
	t.Parallel()
	const size = 20 << 20 // one line
	var seen int64
	exit := run(t, workspace.Command{
		Line:      fmt.Sprintf("printf BEGIN; head -c %d /dev/zero | tr '\\000' a; printf END", size),
		OutputCap: 1000,
		OnOutput:  func(_ workspace.Stream, p []byte) { seen += int64(len(p)) },
	})
	if want := int64(size + 8); exit.StdoutBytes != want || seen != want {
		t.Errorf("size %d, seen %d, want %d", exit.StdoutBytes, seen, want)
	}
	got := string(exit.Stdout)
	if !exit.Truncated || len(got) > 1000 || !strings.HasPrefix(got, "BEGINa") || !strings.HasSuffix(got, "aEND") || !strings.Contains(got, "bytes omitted") {
		t.Errorf("kept %d bytes: %.80q ... ", len(got), got)
	}
	all := append(append([]byte("BEGIN"), bytes.Repeat([]byte("a"), size)...), "END"...)
	out, none := sha256.Sum256(all), sha256.Sum256(nil)
	sum := sha256.Sum256(append(out[:], none[:]...))
	if want := "sha256:" + hex.EncodeToString(sum[:]); exit.OutputDigest != want {
		t.Errorf("digest %s, want %s", exit.OutputDigest, want)
	}
}

func TestInputEcho(t *testing.T) {
	t.Parallel()
	in := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	exit := run(t, workspace.Command{Argv: []string{"cat"}, Stdin: in, OutputCap: 2 << 20})
	if !bytes.Equal(exit.Stdout, in) || exit.Truncated {
		t.Errorf("%d bytes came back, want %d", len(exit.Stdout), len(in))
	}
}

func TestConcurrentCommands(t *testing.T) {
	t.Parallel()
	r := runner()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			exit, err := r.Run(t.Context(), workspace.Command{Line: fmt.Sprintf("cat; echo %d; exit %d", i, i), Stdin: []byte("in ")})
			if want := fmt.Sprintf("in %d\n", i); err != nil || exit.Code != i || string(exit.Stdout) != want {
				t.Errorf("command %d: %v, code %d, %q", i, err, exit.Code, exit.Stdout)
			}
		})
	}
	all.Wait()
}

func TestLimits(t *testing.T) {
	t.Parallel()
	const limit = 500 * time.Millisecond
	for name, tc := range map[string]struct {
		command        workspace.Command
		timed, idle    bool
		signal, stdout string
	}{
		"timeout":             {workspace.Command{Line: "echo a; sleep 60", Timeout: limit}, true, false, "SIGTERM", "a\n"},
		"silence":             {workspace.Command{Line: "echo a; sleep 60", Idle: limit}, false, true, "SIGTERM", "a\n"},
		"TERM ignored":        {workspace.Command{Line: "trap '' TERM; echo a; while :; do sleep 1; done", Timeout: limit}, true, false, "SIGKILL", "a\n"},
		"TERM answered":       {workspace.Command{Line: "trap 'echo bye; exit 0' TERM; echo a; sleep 60 & wait", Timeout: limit}, true, false, "", "a\nbye\n"},
		"stopped":             {workspace.Command{Line: "echo a; kill -STOP $$", Timeout: limit}, true, false, "SIGKILL", "a\n"},
		"TERM ignored, child": {workspace.Command{Line: "(trap '' TERM; while :; do sleep 1; done) & echo a; wait", Timeout: limit}, true, false, "SIGTERM", "a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exit := run(t, tc.command)
			if exit.TimedOut != tc.timed || exit.IdleOut != tc.idle || exit.OK() {
				t.Errorf("timed out %v, idle %v, ok %v", exit.TimedOut, exit.IdleOut, exit.OK())
			}
			if exit.Signal != tc.signal || string(exit.Stdout) != tc.stdout || exit.PipeHeld {
				t.Errorf("signal %q, stdout %q, held %v", exit.Signal, exit.Stdout, exit.PipeHeld)
			}
		})
	}
}

func TestOutputResetsTheSilence(t *testing.T) {
	t.Parallel()
	exit := run(t, workspace.Command{Line: "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i >&2; sleep 0.1; done", Idle: time.Second})
	if !exit.OK() || exit.StderrBytes != 27 {
		t.Errorf("idle out %v, code %d, %d bytes", exit.IdleOut, exit.Code, exit.StderrBytes)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	cause := errors.New("the person said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	exit, err := runner().Run(ctx, workspace.Command{
		Line:     "echo started; sleep 60",
		OnOutput: func(workspace.Stream, []byte) { cancel(cause) },
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	if string(exit.Stdout) != "started\n" || exit.Signal != "SIGTERM" || exit.TimedOut {
		t.Errorf("exit %+v", exit)
	}
	if _, err := runner().Run(ctx, workspace.Command{Line: "true"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context starts a command: %v", err)
	}
}
