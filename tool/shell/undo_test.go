package shell_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/shell"
	"github.com/tenonrun/tenon/tool/shell/guard"
)

// guarding gives an agent a guard of .git/hooks, where its fence lets nothing be
// written.
func guarding(t *testing.T) *agent {
	t.Helper()
	a := newAgent(t, func(c *shell.Config) {
		c.Guard = guard.New(guard.Config{Git: []string{filepath.Join(c.Dir, ".git")}, Home: t.TempDir()})
	})
	a.fence.Put(t, ".git/hooks/pre-commit", "mine")
	a.fence.Put(t, "evil.sh", "echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/pre-push; echo did it")
	a.fence.Ask = []string{".git/hooks"}
	return a
}

// untouched looks whether the hooks are what they were.
func (a *agent) untouched() {
	a.t.Helper()
	raw, err := os.ReadFile(filepath.Join(a.fence.Root, ".git/hooks/pre-commit"))
	if err != nil || string(raw) != "mine" {
		a.t.Errorf("the hook is %q, %v", raw, err)
	}
	if _, err := os.Lstat(filepath.Join(a.fence.Root, ".git/hooks/pre-push")); !errors.Is(err, os.ErrNotExist) {
		a.t.Errorf("the new hook is there: %v", err)
	}
}

func TestUndone(t *testing.T) {
	t.Parallel()
	a := guarding(t)
	r, err := a.call(t.Context(), command("sh evil.sh"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Denied == nil || r.Denied.Op != tool.OpWrite || !strings.HasSuffix(r.Denied.Spelled, "pre-commit") || !strings.Contains(r.Denied.Reason, "so it was with 1 more") {
		t.Errorf("denied is %+v", r.Denied)
	}
	for _, want := range []string{"did it", "exit code 0", "pre-commit was changed by a command and was put back", "pre-push was made by a command and was taken away"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is not in %q", want, r.Text)
		}
	}
	a.untouched()
	if r, err := a.call(t.Context(), command("true")); err != nil || r.Denied != nil {
		t.Errorf("it is told again: %+v, %v", r, err)
	}
}

// TestUndoneLater: a command in the background is undone when it ends, and so is
// one that is stopped.
func TestUndoneLater(t *testing.T) {
	t.Parallel()
	a := guarding(t)
	a.run(map[string]any{"command": "sh evil.sh; sleep 60", "background": true})
	a.until("b1", "did it")
	r, err := a.call(t.Context(), map[string]any{"id": "b1", "kill": true})
	if err != nil || r.Denied == nil {
		t.Errorf("%+v, %v", r, err)
	}
	a.untouched()

	a.run(map[string]any{"command": "sh evil.sh; sleep 60", "background": true})
	a.until("b2", "did it")
	if err := a.shell.Close(); err != nil {
		t.Error(err)
	}
	a.untouched()
}
