package shell_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/shell"
)

// until reads a background command until its text so far holds a word.
func (a *agent) until(id, word string) (string, shell.Report) {
	a.t.Helper()
	all := ""
	for range 200 {
		got, report := a.run(map[string]any{"id": id, "timeoutMs": 500})
		if all += got; strings.Contains(all, word) {
			return all, report
		}
	}
	a.t.Fatalf("%s never said %q: %q", id, word, all)
	return "", shell.Report{}
}

func TestBackground(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	got, report := a.run(map[string]any{"command": "echo one; while ! test -e go; do sleep 0.02; done; echo two; exit 5", "background": true})
	if !report.Running || report.ID != "b1" || !strings.Contains(got, "b1") {
		t.Fatalf("%q, %+v", got, report)
	}
	a.until("b1", "one")
	if got, report := a.run(map[string]any{"id": "b1"}); !report.Running || !strings.Contains(got, "still runs") || strings.Contains(got, "one") {
		t.Errorf("while it runs: %q, %+v", got, report)
	}
	a.fence.Put(t, "go", "")
	got, report = a.until("b1", "exit code")
	if !strings.Contains(got, "two\n") || report.Running || report.Code != 5 || report.Bytes != 8 {
		t.Errorf("at the end: %q, %+v", got, report)
	}
	if got, report := a.run(map[string]any{"id": "b1", "kill": true}); report.Killed || report.Code != 5 {
		t.Errorf("killed after its end: %q, %+v", got, report)
	}
}

func TestBackgroundKill(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	a.run(map[string]any{"command": "bash -c 'exec 9>>alive; flock -s 9; echo up; sleep 60' & setsid sleep 60 & wait", "background": true})
	a.until("b1", "up")
	got, report := a.run(map[string]any{"id": "b1", "kill": true})
	if !report.Killed || report.Running || !strings.Contains(got, "[killed]") {
		t.Errorf("%q, %+v", got, report)
	}
	if got, report := a.run(command("flock -n alive echo free")); report.Code != 0 {
		t.Errorf("something still lives: %q", got)
	}
	var failed *tool.Failed
	if _, err := a.call(context.Background(), map[string]any{"id": "b9"}); !errors.As(err, &failed) || !strings.Contains(err.Error(), "b1") {
		t.Errorf("an unknown id: %v", err)
	}
}

func TestBackgroundIsBounded(t *testing.T) {
	t.Parallel()
	a := newAgent(t, func(c *shell.Config) { c.OutputCap, c.MaxBackground = 1000, 2 })
	a.run(map[string]any{"command": "head -c 3000000 /dev/zero | tr '\\0' x; printf end; sleep 60", "background": true})
	a.run(map[string]any{"command": "sleep 60", "background": true})
	var failed *tool.Failed
	if _, err := a.call(context.Background(), map[string]any{"command": "sleep 60", "background": true}); !errors.As(err, &failed) {
		t.Errorf("a third command: %v", err)
	}
	var got string
	var report shell.Report
	for range 200 {
		got, report = a.run(map[string]any{"id": "b1", "timeoutMs": 200})
		if report.Bytes == 3_000_003 {
			break
		}
	}
	if len(got) > 1300 || report.Bytes != 3_000_003 {
		t.Errorf("%d bytes of text, %+v", len(got), report)
	}
	a.run(map[string]any{"id": "b2", "kill": true})
	a.run(map[string]any{"command": "true", "background": true})
}

func TestBackgroundEndsWithShell(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	a.run(map[string]any{"command": "trap '' TERM; echo up; touch started; sleep 60; touch late", "background": true})
	a.until("b1", "up")
	if err := a.shell.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(a.fence.Path("late")); err == nil {
		t.Error("it went on")
	}
	var failed *tool.Failed
	if _, err := a.call(context.Background(), map[string]any{"command": "true", "background": true}); !errors.As(err, &failed) {
		t.Errorf("started after the end: %v", err)
	}
}

func TestBackgroundTimeout(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	a.run(map[string]any{"command": "echo up; sleep 60", "background": true, "timeoutMs": 2000})
	if got, report := a.until("b1", "time limit"); !report.TimedOut || !strings.Contains(got, "up\n") {
		t.Errorf("%q, %+v", got, report)
	}
}
