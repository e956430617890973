package confine_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/tool/shell/confine"
)

func TestMain(m *testing.M) {
	confine.Main()
	os.Exit(m.Run())
}

// run runs a script confined and returns its output and exit code.
func run(t *testing.T, s confine.Spec, script string) (string, int) {
	t.Helper()
	argv, err := s.Argv([]string{"/bin/sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func needs(t *testing.T) {
	t.Helper()
	if kind, why := confine.Available(); kind == confine.None {
		t.Skip(why)
	}
}

func temp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestConfinedWrites tries every way to change a file, inside and outside.
func TestConfinedWrites(t *testing.T) {
	t.Parallel()
	needs(t)
	in, out := temp(t), temp(t)
	for _, dir := range []string{in, out} {
		write(t, dir+"/old", "old")
		write(t, dir+"/sub/old", "old")
	}
	for _, script := range []string{
		"echo x > D/new", "echo x > D/old", ": > D/old", "echo x >> D/old", "rm D/old", "mkdir D/d", "rmdir D/empty",
		"mv D/old D/moved", "ln D/old D/hard", "ln -s x D/link", "mkfifo D/pipe", "truncate -s 0 D/old",
		"mv D/old D/sub/moved", "(sh -c 'echo x > D/deep')", "(setsid echo x > D/away)", "tee D/tee < /dev/null",
	} {
		spec := confine.Spec{Write: []string{in}}
		if err := errors.Join(os.MkdirAll(in+"/empty", 0o755), os.MkdirAll(out+"/empty", 0o755)); err != nil {
			t.Fatal(err)
		}
		write(t, in+"/old", "old")
		if text, code := run(t, spec, strings.ReplaceAll(script, "D/", in+"/")); code != 0 {
			t.Errorf("inside: %s: exit %d: %s", script, code, text)
		}
		if text, code := run(t, spec, strings.ReplaceAll(script, "D/", out+"/")); code == 0 {
			t.Errorf("outside: %s: exit 0: %s", script, text)
		}
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 3 {
		t.Errorf("outside are %v, %v, want old, sub and empty", entries, err)
	}
	if content, err := os.ReadFile(out + "/old"); err != nil || string(content) != "old" {
		t.Errorf("old is %q, %v", content, err)
	}
}

func TestConfinedLinks(t *testing.T) {
	t.Parallel()
	needs(t)
	in, out := temp(t), temp(t)
	write(t, out+"/victim", "v")
	if err := os.Symlink(out+"/victim", in+"/link"); err != nil {
		t.Fatal(err)
	}
	spec := confine.Spec{Write: []string{in}}
	for _, script := range []string{"echo x > " + in + "/link", "mv " + out + "/victim " + in, "ln " + out + "/victim " + in + "/hard && echo x > " + in + "/hard"} {
		if text, code := run(t, spec, script); code == 0 {
			t.Errorf("%s: exit 0: %s", script, text)
		}
	}
	if content, err := os.ReadFile(out + "/victim"); err != nil || string(content) != "v" {
		t.Errorf("the victim is %q, %v", content, err)
	}
}

func TestConfinedReadOnly(t *testing.T) {
	t.Parallel()
	needs(t)
	dir := temp(t)
	write(t, dir+"/f", "content")
	if text, code := run(t, confine.Spec{}, "cat "+dir+"/f > /dev/null && cat "+dir+"/f | sort && ls / > /dev/null"); code != 0 || text != "content\n" {
		t.Errorf("reading: exit %d: %q", code, text)
	}
	if text, code := run(t, confine.Spec{}, "echo x > "+dir+"/f"); code == 0 {
		t.Errorf("writing: exit 0: %s", text)
	}
}

func TestConfinedSignals(t *testing.T) {
	t.Parallel()
	needs(t)
	victim := exec.Command("sleep", "60")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	pid := victim.Process.Pid
	script := "kill -0 " + strconv.Itoa(pid) + " && exit 9; sleep 60 & kill $! && exit 0"
	if text, code := run(t, confine.Spec{}, script); code == 9 {
		t.Skip("this kernel does not scope signals")
	} else if code != 0 {
		t.Errorf("exit %d: %s", code, text)
	}
}

func TestConfinedHide(t *testing.T) {
	t.Parallel()
	needs(t)
	home := temp(t)
	write(t, home+"/.ssh/id", "secret")
	write(t, home+"/note", "open")
	write(t, home+"/sub/f", "open")
	if err := os.Symlink(home+"/.ssh", home+"/keys"); err != nil {
		t.Fatal(err)
	}
	spec := confine.Spec{Hide: []string{home + "/keys", home + "/none"}}
	if text, code := run(t, spec, "cat "+home+"/note "+home+"/sub/f && ls "+home); code != 0 || !strings.HasPrefix(text, "openopen") {
		t.Errorf("what is not hidden: exit %d: %s", code, text)
	}
	for _, p := range []string{"/.ssh/id", "/keys/id", "/sub/../.ssh/id"} {
		if text, code := run(t, spec, "cat "+home+p); code == 0 {
			t.Errorf("%s was read: %s", p, text)
		}
	}
	if text, code := run(t, spec, "cat /proc/self/root"+home+"/.ssh/id"); code == 0 {
		t.Errorf("read through /proc: %s", text)
	}
	write(t, home+"/.ssh/open/f", "open")
	spec.Read = []string{home + "/.ssh/open"}
	if text, code := run(t, spec, "cat "+home+"/.ssh/open/f"); code != 0 || text != "open" {
		t.Errorf("what may be read in a hidden place: exit %d: %s", code, text)
	}
	for _, script := range []string{"cat " + home + "/.ssh/id", "echo x > " + home + "/.ssh/open/f", "touch " + home + "/.ssh/open/g"} {
		if text, code := run(t, spec, script); code == 0 {
			t.Errorf("%s: %s", script, text)
		}
	}
}

func TestChildRefuses(t *testing.T) {
	t.Parallel()
	needs(t)
	for _, args := range [][]string{{"__confined", "{", "/bin/true"}, {"__confined", "{}", "/nowhere/program"}} {
		out, err := exec.Command("/proc/self/exe", args...).CombinedOutput()
		var failed *exec.ExitError
		if !errors.As(err, &failed) || failed.ExitCode() != 126 || !strings.Contains(string(out), "was not started") {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}

func TestArgvRefuses(t *testing.T) {
	t.Parallel()
	if _, err := (confine.Spec{Write: []string{"rel"}}).Argv([]string{"/bin/true"}); err == nil {
		t.Error("a relative path was taken")
	}
	if _, err := (confine.Spec{}).Argv([]string{"true"}); err == nil {
		t.Error("a relative program was taken")
	}
}

// The keys of the process that starts a command stay its own, also for a superuser.
func TestOtherProcessesAreClosed(t *testing.T) {
	t.Parallel()
	needs(t)
	for _, script := range []string{"cat /proc/$PPID/environ", "cat /proc/$PPID/maps"} {
		if out, code := run(t, confine.Spec{Write: []string{temp(t)}}, script); code == 0 || !strings.Contains(out, "denied") {
			t.Errorf("%s: exit code %d, %q", script, code, out)
		}
	}
}
