package verify_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workspace"
)

// venv makes what looks like a virtual environment.
func venv(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pyvenv.cfg", "bin/python"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil { //nolint:gosec // one is a program
			t.Fatal(err)
		}
	}
}

// TestPythonRepair: packages are installed into a virtual environment of the
// repository, never for the machine, and people see it.
func TestPythonRepair(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	venv(t, outside)
	missing := workspace.Exit{Code: 1, Stderr: []byte("ModuleNotFoundError: No module named 'x'")}
	const pip = " -m pip install -r requirements.txt"
	for name, tc := range map[string]struct {
		exit   workspace.Exit
		at     string // of the environment
		active string // VIRTUAL_ENV
		ran    string
	}{
		"own":             {missing, ".venv", "", ".venv/bin/python" + pip},
		"none":            {missing, "", "", ""},
		"active, inside":  {missing, "env", "env", "env/bin/python" + pip},
		"active, outside": {missing, "", outside, ""},
		"missing tool":    {workspace.Exit{Code: 127, Stderr: []byte("bash: frobnicate: command not found")}, ".venv", "", ""},
	} {
		env, err := json.Marshal(map[string]string{"VIRTUAL_ENV": tc.active})
		if err != nil {
			t.Fatal(err)
		}
		s := play(t, 2, `{"checks":[{"repositoryId":"repo","command":"check","args":[],"env":`+string(env)+`}]}`)
		dir := s.F.Repositories[0].Path
		if tc.at != "" {
			venv(t, filepath.Join(dir, tc.at))
		}
		if err := os.WriteFile(filepath.Join(dir, "requirements.txt"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.exits["check"] = tc.exit
		_, out := s.settled(t)
		want, shown := "check", ""
		if tc.ran != "" {
			want += ", " + tc.ran + ", check"
		}
		for _, p := range s.Shown() {
			shown += p.Text
		}
		if got := strings.Join(s.ran, ", "); got != want || (out.Repair != nil) != (tc.ran != "") || tc.ran != "" && !strings.Contains(shown, tc.ran) {
			t.Errorf("%s: ran %q, repair %v, shown %q", name, got, out.Repair, shown)
		}
	}
}
