package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/shell"
	"github.com/tenonrun/tenon/tool/shell/confine"
	"github.com/tenonrun/tenon/tool/tooltest"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
)

func TestMain(m *testing.M) {
	confine.Main()
	os.Exit(m.Run())
}

// fence is the fence of the tests of tools, which keeps what it was asked.
type fence struct {
	*tooltest.Fence

	mu       sync.Mutex
	requests []tool.ShellRequest
}

func (f *fence) JudgeShell(ctx context.Context, r tool.ShellRequest) error {
	f.mu.Lock()
	f.requests = append(f.requests, r)
	f.mu.Unlock()
	return f.Fence.JudgeShell(ctx, r)
}

// agent is a set with the tool bash, on a new directory.
type agent struct {
	t       *testing.T
	fence   *fence
	shell   *shell.Shell
	set     *tool.Set
	session *tool.Session
}

func unconfined() (confine.Kind, string) { return confine.None, "this is a test" }

func newAgent(t *testing.T, change func(*shell.Config)) *agent {
	t.Helper()
	f := &fence{Fence: tooltest.New(t)}
	ids := 0
	c := shell.Config{
		Runner: process.New(process.Config{Grace: 100 * time.Millisecond}), Dir: f.Root, Access: workflow.EffectWrite, Roots: []string{f.Root},
		NewID: func() string { ids++; return "b" + string(rune('0'+ids)) },
	}
	if change != nil {
		change(&c)
	}
	s, err := shell.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	set, err := tool.NewSet(s.Tool())
	if err != nil {
		t.Fatal(err)
	}
	return &agent{t: t, fence: f, shell: s, set: set, session: &tool.Session{}}
}

func (a *agent) call(ctx context.Context, args map[string]any) (tool.Result, error) {
	a.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.set.Run(ctx, "bash", raw, tool.Call{Fence: a.fence, Session: a.session})
}

// run runs a command that must be run and returns its text and report.
func (a *agent) run(args map[string]any) (string, shell.Report) {
	a.t.Helper()
	r, err := a.call(context.Background(), args)
	if err != nil {
		a.t.Fatalf("%v: %v", args, err)
	}
	var report shell.Report
	if err := json.Unmarshal(r.Data, &report); err != nil {
		a.t.Fatal(err)
	}
	return r.Text, report
}

func command(text string) map[string]any { return map[string]any{"command": text} }

func TestRun(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	for _, c := range []struct {
		text, want string
		code       int
	}{
		{"echo a; echo b >&2; echo c", "a\nb\nc\n[exit code 0]", 0},
		{"exit 3", "[exit code 3]", 3},
		{"false | true", "[exit code 1]", 1},
		{"bash -c 'exit 7'", "[exit code 7]", 7},
		{"printf 'a\\0b\\377'", "a\uFFFDb\uFFFD\n[exit code 0]", 0},
		{"cat", "[exit code 0]", 0},
		{"#!/bin/bash\necho x", "x\n[exit code 0]", 0},
		{"echo $PAGER; echo \"${BASH_ENV-none}\"", "cat\nnone\n[exit code 0]", 0},
		{"kill -9 $$", "[ended by SIGKILL]", -1},
		{"trap 'echo bye' EXIT; cd .", "bye\n[exit code 0]", 0},
	} {
		got, report := a.run(command(c.text))
		if got != c.want || report.Code != c.code || report.Running {
			t.Errorf("%q: %q, %+v, want %q and code %d", c.text, got, report, c.want, c.code)
		}
	}
}

func TestRunBoundsOutput(t *testing.T) {
	t.Parallel()
	a := newAgent(t, func(c *shell.Config) { c.OutputCap = 1000 })
	got, report := a.run(command("printf start; head -c 15000000 /dev/zero | tr '\\0' x; printf end"))
	if len(got) > 1200 || !strings.HasPrefix(got, "start") || !strings.Contains(got, "end\n") || report.Bytes != 15_000_008 || !report.Truncated {
		t.Errorf("%d bytes of text, %+v", len(got), report)
	}
	if !strings.Contains(got, "[15000008 bytes of output, not all shown]") {
		t.Errorf("the true size is not told: %q", got[len(got)-100:])
	}
	if got, _ := a.run(command("for i in $(seq 600); do printf 'a\\0\\377'; done")); len(got) > 1400 || !strings.HasPrefix(got, "a\uFFFD") {
		t.Errorf("%d bytes of what is no text", len(got))
	}
	if got, _ := a.run(command("head -c 900 /dev/zero")); got != "\uFFFD\n[exit code 0]" {
		t.Errorf("zeros are %q", got)
	}
}

func TestRunLimits(t *testing.T) {
	t.Parallel()
	a := newAgent(t, func(c *shell.Config) { c.Idle = time.Second })
	got, report := a.run(map[string]any{"command": "echo before; while :; do echo x; sleep 0.05; done | head -c 4; while :; do echo y; sleep 0.05; done >&2", "timeoutMs": 2000})
	if !report.TimedOut || !strings.HasPrefix(got, "before") || !strings.Contains(got, "time limit") {
		t.Errorf("the time limit: %q, %+v", got, report)
	}
	if got, report := a.run(command("echo before; sleep 60")); !report.IdleOut || !strings.HasPrefix(got, "before\n") {
		t.Errorf("the idle limit: %q, %+v", got, report)
	}
	if got, _ := a.run(map[string]any{"command": "true", "timeoutMs": 1 << 40}); !strings.Contains(got, "lowered") {
		t.Errorf("a long time limit: %q", got)
	}
}

// TestRunEndsAll checks that nothing of a command outlives it: not in the
// background, not in a group or session of its own.
func TestRunEndsAll(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	pipe := a.fence.Path("alive")
	// Each holds the file locked as long as it lives.
	_, report := a.run(command("for s in env setsid nohup; do $s bash -c 'exec 9>>alive; flock -s 9; echo up >> ups; sleep 60' & done; until [ \"$(grep -c up ups)\" = 3 ]; do sleep 0.01; done"))
	if report.Code != 0 {
		t.Fatalf("%+v", report)
	}
	if got, report := a.run(command("flock -n " + pipe + " echo free")); report.Code != 0 {
		t.Errorf("something still lives: %q", got)
	}
}

func TestRunCancelled(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := a.call(ctx, command("sleep 60")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWorkingDirectory(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	a.fence.Put(t, "sub/deep/f", "x")
	if err := os.Symlink(t.TempDir(), a.fence.Path("out")); err != nil {
		t.Fatal(err)
	}
	sub := a.fence.Path("sub")
	for _, step := range []struct {
		args  map[string]any
		after string
		text  string // in the result
	}{
		{command("cd sub"), sub, "[working directory: " + sub + "]"},
		{command("pwd"), sub, sub + "\n"},
		{command("cd deep && false"), sub + "/deep", "exit code 1"},
		{command("(cd ..); exit 4"), sub + "/deep", "exit code 4"},
		{command("d=..; cd $d"), sub, ""},
		{command("X=/; cd $X && ls > /dev/null"), sub, "the working directory stays"},
		{command("L=../out; cd $L"), sub, "the working directory stays"},
		{map[string]any{"command": "pwd", "cwd": "deep"}, sub, sub + "/deep\n"},
		{map[string]any{"command": "cd ..", "cwd": a.fence.Path("sub/deep")}, sub, ""},
		{command("mkdir gone && cd gone && rmdir ../gone"), sub, ""},
		{command("cd 'deep' & wait"), sub, ""},
	} {
		got, _ := a.run(step.args)
		cwd := a.session.Cwd()
		if cwd == "" {
			cwd = a.fence.Root
		}
		if cwd != step.after || !strings.Contains(got, step.text) {
			t.Errorf("%v: in %s, %q, want %s and %q", step.args, cwd, got, step.after, step.text)
		}
	}
	for _, args := range []map[string]any{command("cd /"), {"command": "pwd", "cwd": "/"}, {"command": "pwd", "cwd": "../out"}, command("cd ../out && ls")} {
		var denied *tool.Denied
		if _, err := a.call(context.Background(), args); !errors.As(err, &denied) {
			t.Errorf("%v: %v, want a denial", args, err)
		}
	}
	var failed *tool.Failed
	if _, err := a.call(context.Background(), map[string]any{"command": "pwd", "cwd": "none"}); !errors.As(err, &failed) {
		t.Errorf("a directory that is missing: %v", err)
	}
}

// TestForgedDirectory lets a command write the report of its working directory
// itself.
func TestForgedDirectory(t *testing.T) {
	t.Parallel()
	scratch := t.TempDir()
	a := newAgent(t, func(c *shell.Config) { c.Scratch = scratch })
	for _, forged := range []string{"/", "../..", "", "a\x00b", strings.Repeat("/x", 10_000), a.fence.Path("none")} {
		a.fence.Put(t, "forged", forged)
		a.run(command("trap 'for f in 1 2 3 4 5 6 7 8 9; do cp forged \"$TMPDIR/../cwd-$PPID-$f\"; done' EXIT"))
		if cwd := a.session.Cwd(); cwd != "" {
			t.Errorf("%.20q: the working directory is %q", forged, cwd)
		}
	}
}

// TestJudgedFirst checks that a command that is denied does not run at all.
func TestJudgedFirst(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	a.fence.Deny = []string{"secret"}
	a.fence.Put(t, "secret", "s")
	for _, text := range []string{
		"touch ran; cat secret", "touch ran; cat sec*", "touch ran && (cd . && cat < ./secret)", "touch ran; echo \"$(bash -c 'cat secret')\"",
		"touch ran; cat /etc/passwd", "touch ran; echo x > /tmp/out", "touch ran; cd .. && cat x", "touch ran; f() { cat secret; }; f",
	} {
		var denied *tool.Denied
		if _, err := a.call(context.Background(), command(text)); !errors.As(err, &denied) {
			t.Errorf("%q: %v, want a denial", text, err)
		}
	}
	if _, err := os.Stat(a.fence.Path("ran")); err == nil {
		t.Error("a denied command ran")
	}
	for _, text := range []string{"echo 'open", "if", strings.Repeat("x", 200_000), "echo a\x00b"} {
		var bad *tool.BadArguments
		if _, err := a.call(context.Background(), command(text)); !errors.As(err, &bad) {
			t.Errorf("%.20q: %v, want bad arguments", text, err)
		}
	}
}

// TestDeepReads checks programs that read a whole tree in which something is denied.
func TestDeepReads(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	a.fence.Deny = []string{"src/secret"}
	a.fence.Put(t, "src/secret", "s")
	a.fence.Put(t, "src/open", "s")
	a.fence.Put(t, "lib/open", "s")
	for _, text := range []string{"grep -r s .", "grep -rn s src", "cd src && grep -r s", "cp -r src copy", "tar cf a.tar src", "bash -c 'grep -R s src | cat'", "cat $(grep -rl s src)"} {
		var denied *tool.Denied
		if _, err := a.call(context.Background(), command(text)); !errors.As(err, &denied) || !strings.Contains(err.Error(), "1 of it may not be read") {
			t.Errorf("%q: %v, want a denial", text, err)
		}
	}
	for _, text := range []string{"grep -r s lib", "grep s src/open", "ls -R src > /dev/null", "cp -r lib copy"} {
		if _, report := a.run(command(text)); report.Code != 0 {
			t.Errorf("%q: %+v", text, report)
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	a := newAgent(t, func(c *shell.Config) { c.Available = unconfined })
	a.run(command("cat $X; true > /dev/null; eval true || true"))
	r := a.fence.requests[0]
	if len(r.Opaque) != 2 || r.Confined != tool.ConfinedNot || r.Cwd != a.fence.Root || r.Text == "" {
		t.Errorf("the request is %+v", r)
	}
	for _, c := range r.Commands {
		for _, o := range c.Opaque {
			if !slices.Contains(r.Opaque, o) {
				t.Errorf("%q of a command is not in %q", o, r.Opaque)
			}
		}
	}
	if m := a.shell.Message(); !strings.Contains(m, "not confined") || !strings.Contains(m, "this is a test") {
		t.Errorf("the message is %q", m)
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	for _, args := range []map[string]any{
		{}, {"command": ""}, {"command": "x", "id": "b1"}, {"command": "true", "kill": true}, {"id": "b1", "cwd": "/"}, {"command": "true", "timeoutMs": 0}, {"command": "true", "other": 1}, {"command": 5.5, "cwd": []int{}},
	} {
		var bad *tool.BadArguments
		if _, err := a.call(context.Background(), args); !errors.As(err, &bad) {
			t.Errorf("%v: %v, want bad arguments", args, err)
		}
	}
	if got, err := a.set.Run(context.Background(), "bash", json.RawMessage(`"echo bare"`), tool.Call{Fence: a.fence}); err != nil || !strings.HasPrefix(got.Text, "bare\n") {
		t.Errorf("a bare string: %q, %v", got.Text, err)
	}
}

func TestConfinedCommands(t *testing.T) {
	t.Parallel()
	if kind, why := confine.Available(); kind == confine.None {
		t.Skip(why)
	}
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		access     workflow.Effect
		where      string
		text       string
		wantFailed bool
	}{
		{workflow.EffectWrite, "in", "D=.; echo x > $D/f", false},
		{workflow.EffectWrite, "out", "D=" + outside + "; echo x > $D/f", true},
		{workflow.EffectRead, "in", "D=.; echo x > $D/f", true},
		{workflow.EffectRead, "scratch", "mktemp > /dev/null && cat <<< text", false},
	} {
		a := newAgent(t, func(s *shell.Config) { s.Access = c.access })
		got, report := a.run(command(c.text))
		if (report.Code != 0) != c.wantFailed || report.Confined != "landlock" {
			t.Errorf("access %s, %s: %q, %+v", c.access, c.where, got, report)
		}
		if m := a.shell.Message(); !strings.Contains(m, "confined by landlock") {
			t.Errorf("the message is %q", m)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside holds %v, %v", entries, err)
	}
}

func TestScratchIsRemoved(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	got, _ := a.run(command("echo \"$TMPDIR\"; mktemp"))
	dir, _, _ := strings.Cut(got, "\n")
	if err := a.shell.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil || !filepath.IsAbs(dir) {
		t.Errorf("%q is still there", dir)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []shell.Config{{}, {Runner: process.New(process.Config{})}, {Runner: process.New(process.Config{}), Dir: "rel"}, {Runner: process.New(process.Config{}), Dir: "/", Scratch: "/none/such"}} {
		if s, err := shell.New(c); err == nil {
			t.Errorf("%+v was taken", c)
			_ = s.Close()
		}
	}
}

// TestInheritedFunctions does not run in parallel: it sets the environment.
func TestInheritedFunctions(t *testing.T) {
	t.Setenv("BASH_FUNC_ls%%", "() { echo fooled; }")
	t.Setenv("CDPATH", "/")
	t.Setenv("SHELLOPTS", "noglob")
	a := newAgent(t, nil)
	a.fence.Put(t, "file", "")
	if got, _ := a.run(command("ls f*; echo \"${CDPATH-none}\"")); !strings.HasPrefix(got, "file\nnone\n") {
		t.Errorf("the environment changes commands: %q", got)
	}
}
