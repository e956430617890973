package openspec_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/tenonrun/tenon/piece/openspec"
)

// Environment of TestChild.
const (
	childDir  = "TENON_TEST_OPENSPEC_DIR"
	childDesk = "TENON_TEST_OPENSPEC_DESK"
	childStep = "TENON_TEST_OPENSPEC_STEP"
)

// TestChild is the process that TestProcessKilled kills: it archives, and dies
// before a step.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("it is run by TestProcessKilled")
	}
	left, err := strconv.Atoi(os.Getenv(childStep))
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(dir, "openspec-archive", plain, openspec.Config{Runner: twin("2026-01-01"), Command: command, Probe: func(string) error {
		if left--; left >= 0 {
			return nil
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			return err
		}
		select {} // until it is dead
	}})
	n.Desk = os.Getenv(childDesk)
	s, err := n.run(context.Background())
	t.Fatalf("the archive went on: %+v, %v", s, err)
}

// TestProcessKilled kills a process in the middle of an archive and lets another
// finish.
func TestProcessKilled(t *testing.T) {
	t.Parallel()
	want, steps := uninterrupted(t)
	stride := 4
	if testing.Short() {
		stride = 16
	}
	for at := 1; at < len(steps); at += stride {
		dir, desk := repository(t, nil), tempDir(t)
		notes(t, dir)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.count=1")
		cmd.Env = append(os.Environ(), childDir+"="+dir, childDesk+"="+desk, childStep+"="+strconv.Itoa(at))
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the process ended by itself before %s: %v\n%s", steps[at], err, out)
		}
		n := newNode(dir, "openspec-archive", plain, openspec.Config{Runner: twin("2026-01-01"), Command: command})
		n.Desk = desk
		s, err := n.run(context.Background())
		if err != nil || s.Outcome != "next" {
			t.Fatalf("killed before %s: %+v, %v", steps[at], s, err)
		}
		if got := list(t, dir); got != want {
			t.Fatalf("killed before %s:\n%s\nwant:\n%s", steps[at], got, want)
		}
	}
}
