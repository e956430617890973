package workspace_test

import (
	"io/fs"
	"strings"
	"testing"

	"errors"

	"github.com/tenonrun/tenon/workspace"
)

func TestExitOK(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		exit workspace.Exit
		want bool
	}{
		"zero":            {workspace.Exit{}, true},
		"code":            {workspace.Exit{Code: 1}, false},
		"signal":          {workspace.Exit{Signal: "SIGKILL"}, false},
		"timeout, code 0": {workspace.Exit{TimedOut: true}, false},
		"idle, code 0":    {workspace.Exit{IdleOut: true}, false},
	} {
		if got := tc.exit.OK(); got != tc.want {
			t.Errorf("%s: OK() = %v, want %v", name, got, tc.want)
		}
	}
}

func TestSpawnError(t *testing.T) {
	t.Parallel()
	err := error(&workspace.SpawnError{Program: "gopls", Dir: "/w", Hint: "install it or fix PATH", Err: fs.ErrNotExist})
	for _, part := range []string{"gopls", "/w", "install it or fix PATH"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %q", err, part)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v does not wrap its cause", err)
	}
}
