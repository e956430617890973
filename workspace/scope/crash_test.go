package scope_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

func TestCrash(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write("u", "mine")
	want := w.tree()
	if _, err := w.guard().Before(t.Context(), w.turn()); err != nil {
		t.Fatal(err)
	}
	w.write("u", "evil") // the turn of the process that died
	w.write("lib/a.go", "evil")
	w.git("commit", "-qam", "evil")

	ran := false
	report := w.around(func() { ran = true })
	if got := told(report); got != "lib/a.go changed put back; u changed put back" || !ran {
		t.Errorf("told %q", got)
	}
	w.same(want)

	w.write("u", "by a person, later")
	again := w.around(func() {})
	if told(again) != told(report) || w.tree()["u"] != "644 by a person, later" {
		t.Errorf("the finished turn was measured again: %s", told(again))
	}
}

// TestKilled kills a real process between its turn and what follows.
func TestKilled(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write("u", "mine")
	want := w.tree()
	self, err := os.Executable()
	w.must(err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "SCOPE_TEST_DIR="+w.dir, "SCOPE_TEST_DESK="+w.desk)
	out, err := cmd.StdoutPipe()
	w.must(err)
	in, err := cmd.StdinPipe()
	w.must(err)
	defer in.Close() //nolint:errcheck // nothing is written
	w.must(cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	w.must(errors.Join(err, cmd.Process.Kill()))
	if err := cmd.Wait(); err == nil || line != "written\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	if got := told(w.around(func() {})); got != "lib/a.go changed put back; n added taken away; u changed put back" {
		t.Errorf("told %q", got)
	}
	w.same(want)
}

// TestCrashWhilePuttingBack stops at every command of git that After runs, and
// goes on in another process.
func TestCrashWhilePuttingBack(t *testing.T) {
	t.Parallel()
	for stop := 1; ; stop++ {
		w := repo(t)
		w.write("u", "mine")
		want := w.tree()
		c, err := w.guard().Before(t.Context(), w.turn())
		w.must(err)
		_ = c
		w.write("lib/a.go", "evil")
		w.write("u", "evil")
		w.write("n/m", "1")
		ctx, cancel := context.WithCancel(t.Context())
		runner := &stopping{Runner: w.cfg.Runner, left: stop, stop: cancel}
		half := *w
		half.cfg.Runner = runner
		_, err = half.guard().Around(ctx, half.turn(), func(context.Context) error { return nil })
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at %d: %v", stop, err)
		}
		report := w.around(func() {})
		if got := told(report); got != "lib/a.go changed put back; n/m added taken away; u changed put back" {
			t.Errorf("stopped at %d: told %q", stop, got)
		}
		for _, kept := range report.Changes {
			if kept.Kept == "" {
				t.Errorf("stopped at %d: nothing is kept of %s", stop, kept.Path)
			}
		}
		w.same(want)
		if err == nil {
			return
		}
	}
}

func TestFailedTurn(t *testing.T) {
	t.Parallel()
	w := repo(t)
	want := w.tree()
	boom := workflow.Errorf(workflow.CodeProviderOverloaded, "boom")
	report, err := w.guard().Around(t.Context(), w.turn(), func(context.Context) error { w.write("run.sh", "evil"); return boom })
	if !errors.Is(err, boom) || workflow.CodeOf(err) != workflow.CodeProviderOverloaded || told(report) != "run.sh changed put back" {
		t.Errorf("%v, told %s", err, told(report))
	}
	w.must(os.Chmod(w.path("run.sh"), 0o755))
	w.same(want)
	w.write("u", "by a person, between the attempts")
	report = w.around(func() { w.write("n", "1") })
	if got := told(report); got != "n added taken away; run.sh changed put back" || w.tree()["u"] == "" {
		t.Errorf("second attempt: told %q", got)
	}
}

func TestStoppedTurn(t *testing.T) {
	t.Parallel()
	w := repo(t)
	want := w.tree()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := w.guard().Around(ctx, w.turn(), func(ctx context.Context) error {
		w.write("lib/a.go", "evil")
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	w.same(want)
}
