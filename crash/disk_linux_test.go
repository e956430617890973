package crash_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenonrun/tenon/workflow"
)

// disk gives the scene a state directory on a small disk of its own, where the
// test may mount one.
func (s *scene) disk(size string) {
	s.t.Helper()
	must(s.t, os.Mkdir(s.state, 0o700))
	if err := unix.Mount("tmpfs", s.state, "tmpfs", 0, "size="+size); err != nil {
		s.t.Skipf("mounting a small disk needs root: %v", err)
	}
	s.t.Cleanup(func() {
		if err := unix.Unmount(s.state, unix.MNT_DETACH); err != nil {
			s.t.Error(err)
		}
	})
}

// fill takes all the room that is left, and returns how to give it back.
func (s *scene) fill() (free func()) {
	s.t.Helper()
	name := filepath.Join(s.state, "ballast")
	f, err := os.Create(name)
	must(s.t, err)
	for _, size := range []int{1 << 16, 1 << 12, 1} {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			s.t.Fatalf("the disk does not get full: %v", err)
		}
		err = nil
	}
	must(s.t, f.Close())
	return func() { must(s.t, os.Remove(name)) }
}

// TestFullDisk: on a full disk nothing begins, and nothing is lost. With room
// again everything goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newScene(t, "r-full", new(tally))
	s.disk("24m")
	a, b := s.note("a"), s.note("b")
	free := s.fill()
	full := []string{"no space left", "free some space", " resume`", "tenon -C "}
	s.says(workflow.StatusFailed, full, "answer", a.ID, strings.Repeat("yes", 100_000))
	s.ends(workflow.StatusSucceeded, "show", string(a.Run))
	if got := s.heads(); got[a.Run] != workflow.StatusWaiting || got[b.Run] != workflow.StatusWaiting {
		t.Errorf("on a full disk tenon ls lists %v", got)
	}
	if s.count("a") != 2 || s.count("b") != 2 {
		t.Errorf("effects are %v", s.effects())
	}
	free()
	if _, code := s.cli("resume", string(a.Run)); code == workflow.StatusWaiting.Exit() { // there was no room for the answer either
		s.ends(workflow.StatusSucceeded, "answer", a.ID, "yes")
	}
	s.ends(workflow.StatusSucceeded, "resume", string(a.Run))
	s.ends(workflow.StatusSucceeded, "answer", b.ID, "yes")
	s.ends(workflow.StatusSucceeded, "doctor")
	if s.count("a") != 3 || s.count("b") != 3 {
		t.Errorf("effects are %v", s.effects())
	}
}

// TestDiskGetsFull: the disk gets full while a run is driven. What was recorded
// stays, and the run goes on when there is room.
func TestDiskGetsFull(t *testing.T) {
	t.Parallel()
	s := newScene(t, "r-filling", new(tally))
	s.disk("20m")
	ballast := filepath.Join(s.state, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 6<<20), 0o600))
	s.says(workflow.StatusFailed, []string{"no space left", "free some space", " resume`", "tenon -C "}, "run", "fill")
	did := len(s.effects())
	if did < 3 || did > 38 {
		t.Fatalf("%d commands ran before the disk was full", did)
	}
	out, code := s.cli("resume", "--last") // small events may have room in the log
	if code != workflow.StatusWaiting.Exit() && (code != workflow.StatusFailed.Exit() || !strings.Contains(out, "free some space")) {
		t.Errorf("on a full disk the resume ends with %d: %s", code, out)
	}
	if len(s.effects()) != did {
		t.Errorf("on a full disk the resume ran commands: %v", s.effects())
	}
	must(t, os.Remove(ballast))
	must(t, unix.Mount("", s.state, "", unix.MS_REMOUNT, "size=64m"))
	res := result(t, s.ends(workflow.StatusWaiting, "resume", "--last", "--json"))
	if len(res.Uncertain) != 1 || res.Uncertain[0].Node != "say" {
		t.Fatalf("uncertain is %+v, want the command whose end could not be recorded", res.Uncertain)
	}
	s.ends(workflow.StatusSucceeded, "recover", "--last", "--done")
	for line, n := range s.effects() {
		if n != 1 {
			t.Errorf("%s was done %d times", line, n)
		}
	}
	if n := len(s.effects()); n != 40 {
		t.Errorf("%d commands ran, want 40", n)
	}
	s.ends(workflow.StatusSucceeded, "doctor")
}

// TestReadOnlyState: a state directory that cannot be written is named, with
// the way out, before anything begins.
func TestReadOnlyState(t *testing.T) {
	t.Parallel()
	s := newScene(t, "r-read-only", new(tally))
	s.disk("16m")
	q := s.note("a")
	readOnly(t, s.state)
	for _, args := range [][]string{{"run", "note", "-i", "name=b"}, {"resume", string(q.Run)}, {"answer", q.ID, "yes"}, {"ls"}} {
		s.says(workflow.StatusInvalid, []string{s.state, "--state"}, args...)
	}
	if s.count("b") != 0 {
		t.Error("a run began that cannot be recorded")
	}
	must(t, unix.Mount("", s.state, "", unix.MS_REMOUNT, ""))
	s.ends(workflow.StatusSucceeded, "answer", q.ID, "yes")
}

// readOnly makes a mount read-only. A process that another test is just starting
// has copies of all descriptors for a moment, and the mount is busy until then.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			must(t, err)
			return
		}
	}
}

// TestUnreadableState: the state of another user is refused.
func TestUnreadableState(t *testing.T) {
	t.Parallel()
	s := newScene(t, "r-unreadable", new(tally))
	q := s.note("a")
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", append(s.flags(), "answer", q.ID, "yes")...)
	cmd.Env, cmd.Stdin, cmd.Dir = append(os.Environ(), cliEnv+"=1"), strings.NewReader("\n"), "/"
	must(t, os.Chmod(filepath.Dir(s.dir), 0o755))
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	} else {
		must(t, os.Chmod(s.home(), 0))
		t.Cleanup(func() { _ = os.Chmod(s.home(), 0o700) })
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != workflow.StatusInvalid.Exit() {
		t.Errorf("the answer ends with %v: %s", err, out)
	}
	for _, text := range []string{"permission denied", s.state, "--state"} {
		if !strings.Contains(string(out), text) {
			t.Errorf("the answer does not say %q: %s", text, out)
		}
	}
	if s.count("a") != 2 {
		t.Errorf("effects are %v", s.effects())
	}
}
