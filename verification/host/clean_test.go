//go:build unix

package host_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/verification"
)

// git runs git in a directory of a scene.
func (s *scene) git(dir string, args ...string) {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"}, args...)...)
	c.Dir = filepath.Join(s.dir, dir)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// TestCleanTree: no setting of the repository hides a change.
func TestCleanTree(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string // lines of git, or NAME=CONTENT
		state  string
		reason string
	}{
		"clean":                        {"", verification.StatePassed, ""},
		"changed":                      {"file=x", verification.StateFailed, "not committed"},
		"untracked":                    {"new=x", verification.StateFailed, "not committed"},
		"untracked, not shown":         {"git config status.showUntrackedFiles no\nnew=x", verification.StateFailed, "not committed"},
		"submodule":                    {"sub/file=x", verification.StateFailed, "not committed"},
		"submodule, ignored":           {"git config submodule.sub.ignore all\nsub/file=x", verification.StateFailed, "not committed"},
		"submodule, all ignored":       {"git config diff.ignoreSubmodules all\nsub/file=x", verification.StateFailed, "not committed"},
		"submodule, untracked":         {"git -C sub config status.showUntrackedFiles no\nsub/new=x", verification.StateFailed, "not committed"},
		"submodule, assumed unchanged": {"git -C sub update-index --assume-unchanged file\nsub/file=x", verification.StateFailed, "sub/file"},
		"assumed unchanged":            {"git update-index --assume-unchanged file\nfile=x", verification.StateFailed, "--no-assume-unchanged"},
		"not in the work tree":         {"git update-index --skip-worktree file\nfile=x", verification.StateFailed, "--no-skip-worktree"},
		"both":                         {"git update-index --skip-worktree --assume-unchanged file\nfile=x", verification.StateFailed, "file"},
		"a monitor that sees nothing":  {"git config core.fsmonitor true\nfile=x", verification.StateFailed, "not committed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, verification.Check{Clean: &verification.CleanCheck{}})
			other := filepath.Join(s.dir, "..", "other")
			if err := os.Mkdir(other, 0o755); err != nil {
				t.Fatal(err)
			}
			s.write("../other/file", "content")
			for _, dir := range []string{"../other", "."} {
				s.git(dir, "init", "-q")
				if dir == "." {
					s.git(".", "submodule", "--quiet", "add", other, "sub")
				}
				s.git(dir, "add", "-A")
				s.git(dir, "commit", "-q", "-m", "all")
			}
			for line := range strings.Lines(tc.script) {
				line = strings.TrimSpace(line)
				if args, ok := strings.CutPrefix(line, "git "); ok {
					s.git(".", strings.Fields(args)...)
					continue
				}
				file, content, _ := strings.Cut(line, "=")
				s.write(file, content)
			}
			s.q.Candidate = func(context.Context) (string, error) { return "c1:a", nil }
			r := s.run()
			if e := r.Commands[0]; e.State != tc.state || !strings.Contains(e.Reason, tc.reason) {
				t.Errorf("%s: %q, %q", e.State, e.Reason, e.Output)
			}
		})
	}
}
