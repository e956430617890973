package git_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/git"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(child); dir != "" {
		answerAsChild(dir, os.Stdout)
		return
	}
	// A hostile surrounding: none of it may change an answer.
	dir, err := os.MkdirTemp("", "git-test")
	if err != nil {
		panic(err)
	}
	config := filepath.Join(dir, "config")
	text := "[core]\n\texcludesFile = " + filepath.Join(dir, "ignore") + "\n[protocol \"file\"]\n\tallow = always\n" +
		"[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n[submodule]\n\trecurse = true\n"
	for name, content := range map[string]string{config: text, filepath.Join(dir, "ignore"): "*.txt\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			panic(err)
		}
	}
	os.Setenv("HOME", dir)
	os.Setenv("XDG_CONFIG_HOME", dir)
	if err := os.Rename(config, filepath.Join(dir, ".gitconfig")); err != nil {
		panic(err)
	}
	os.Setenv("GIT_DIR", filepath.Join(dir, "elsewhere"))
	os.Setenv("GIT_WORK_TREE", dir)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// work is a directory that a test writes to.
type work struct {
	t   testing.TB
	dir string
}

// plain returns an empty directory, repo one with git in it.
func plain(t testing.TB) work { return work{t, t.TempDir()} }

func repo(t testing.TB) work {
	w := plain(t)
	w.git("init", "-q")
	return w
}

func (w work) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w work) in(name string) work { return work{w.t, w.path(name)} }

func (w work) write(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w work) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w work) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = w.dir
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w work) commit() {
	w.t.Helper()
	w.git("add", "-A", "-f")
	w.git("commit", "-q", "-m", "x", "--allow-empty")
}

// digest is that of one repository with the id "repo".
func (w work) digest() string {
	w.t.Helper()
	return digest(w.t, git.Config{Repositories: []workspace.Repository{{ID: "repo", Path: w.dir}}})
}

func digest(t testing.TB, c git.Config) string {
	t.Helper()
	k, err := git.New(c)
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(d) != 3+64 || !strings.HasPrefix(d, "c1:") {
		t.Fatalf("digest %q has not the format of a candidate", d)
	}
	return d
}

const child = "GIT_TEST_CHILD"

// answerAsChild prints the digest of the directory in the environment.
func answerAsChild(dir string, w io.Writer) {
	k, err := git.New(git.Config{Repositories: []workspace.Repository{{ID: "repo", Path: dir}}})
	if err == nil {
		var digest string
		digest, err = k.Digest(context.Background())
		fmt.Fprintln(w, digest)
	}
	if err != nil {
		fmt.Fprintln(w, "error:", err)
	}
}
