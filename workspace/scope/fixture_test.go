package scope_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/process"
	"github.com/tenonrun/tenon/workspace/scope"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "scope-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	text := "[core]\n\texcludesFile = " + filepath.Join(dir, "ignore") + "\n[user]\n\tname = T\n\temail = t@example.org\n" +
		"[protocol \"file\"]\n\tallow = always\n[init]\n\tdefaultBranch = main\n"
	for name, content := range map[string]string{".gitconfig": text, "ignore": "*.new\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	for key, value := range map[string]string{ // a hostile surrounding
		"HOME": dir, "XDG_CONFIG_HOME": dir, "GIT_DIR": filepath.Join(dir, "elsewhere"), "GIT_WORK_TREE": dir, "GIT_INDEX_FILE": "x",
	} {
		os.Setenv(key, value)
	}
	if desk := os.Getenv("SCOPE_TEST_DESK"); desk != "" {
		child(os.Getenv("SCOPE_TEST_DIR"), desk)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// work is a repository with the scope "app", and the directory of a turn.
type work struct {
	t      *testing.T
	dir    string
	desk   string
	cfg    scope.Config
	scopes []string
	change string
}

func plain(t *testing.T) *work {
	return &work{t: t, dir: t.TempDir(), desk: filepath.Join(t.TempDir(), "desk"), cfg: scope.Config{Runner: process.New(process.Config{})}, scopes: []string{"app"}}
}

// repo has committed files in and out of its scope.
func repo(t *testing.T) *work {
	w := plain(t)
	w.git("init", "-q")
	w.fill()
	w.git("add", "-A", "-f")
	w.git("commit", "-q", "-m", "x")
	return w
}

func (w *work) fill() {
	w.write("app/main.go", "package main")
	w.write("app/package.json", "{}")
	w.write("package.json", "{}")
	w.write("yarn.lock", "v1")
	w.write("lib/a.go", "package a")
	w.write("lib/b.go", "package b")
	w.write("lib/deep/c.go", "package c")
	w.write("run.sh", "#!/bin/sh\n")
	w.must(os.Chmod(w.path("run.sh"), 0o755))
	w.must(os.Symlink("lib/a.go", w.path("link")))
	w.write(".gitignore", "*.log\nbuild/\n")
}

func (w *work) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *work) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *work) write(name, content string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	w.must(os.WriteFile(w.path(name), []byte(content), 0o644))
}

func (w *work) remove(name string) {
	w.t.Helper()
	w.must(os.RemoveAll(w.path(name)))
}

func (w *work) git(args ...string) {
	w.t.Helper()
	w.gitIn("", args...)
}

func (w *work) gitIn(dir string, args ...string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir = w.path(dir)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// tree is every file, link and directory with its permissions and content,
// without git's own data.
func (w *work) tree() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	w.must(filepath.WalkDir(w.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w.dir, name)
		if err != nil {
			return err
		}
		switch {
		case d.Name() == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type()&fs.ModeSymlink != 0:
			text, err := os.Readlink(name)
			all[rel] = "-> " + text
			return err
		case d.IsDir():
			all[rel] = "dir"
		case d.Type().IsRegular():
			content, err := os.ReadFile(name)
			all[rel] = fmt.Sprintf("%o %s", info.Mode().Perm(), content)
			return err
		default:
			all[rel] = "other"
		}
		return nil
	}))
	return all
}

func (w *work) turn() scope.Turn {
	return scope.Turn{Repositories: []workflow.RepositoryInfo{{ID: "repo", Path: w.dir, Scope: w.scopes}}, Dir: w.desk, Change: w.change}
}

func (w *work) guard() *scope.Guard {
	w.t.Helper()
	g, err := scope.New(w.cfg)
	w.must(err)
	return g
}

// around runs a turn that succeeds.
func (w *work) around(turn func()) scope.Report {
	w.t.Helper()
	report, err := w.guard().Around(w.t.Context(), w.turn(), func(context.Context) error { turn(); return nil })
	w.must(err)
	return report
}

// same compares two trees.
func (w *work) same(want map[string]string) {
	w.t.Helper()
	got := w.tree()
	for name, content := range want {
		if got[name] != content {
			w.t.Errorf("%s is %.80q, want %.80q", name, got[name], content)
		}
	}
	for name, content := range got {
		if _, ok := want[name]; !ok {
			w.t.Errorf("%s is there: %.80q", name, content)
		}
	}
}

// try runs git and does not mind when it fails.
func (w *work) try(args ...string) {
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir = w.dir
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	out, err := cmd.CombinedOutput()
	w.t.Logf("git %v: %v: %s", args, err, out)
}

// submodule adds a repository with the file "f".
func (w *work) submodule(at string) {
	w.t.Helper()
	inner := plain(w.t)
	inner.git("init", "-q")
	inner.write("f", "1")
	inner.git("add", "-A")
	inner.git("commit", "-qm", "f")
	w.git("submodule", "--quiet", "add", inner.dir, at)
	w.git("commit", "-qm", "sub")
}

// stopping is a Runner that ends a context before its n-th command.
type stopping struct {
	workspace.Runner
	left int
	stop func()
}

func (s *stopping) Run(ctx context.Context, c workspace.Command) (workspace.Exit, error) {
	if s.left--; s.left == 0 {
		s.stop()
	}
	return s.Runner.Run(ctx, c)
}

// child is the process of a test that is killed: its turn writes outside of the
// scope, says so and never ends.
func child(dir, desk string) {
	g, err := scope.New(scope.Config{Runner: process.New(process.Config{})})
	if err == nil {
		t := scope.Turn{Repositories: []workflow.RepositoryInfo{{ID: "repo", Path: dir, Scope: []string{"app"}}}, Dir: desk}
		_, err = g.Around(context.Background(), t, func(context.Context) error {
			for _, name := range []string{"u", "lib/a.go", "n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("evil"), 0o600); err != nil {
					return err
				}
			}
			fmt.Println("written")
			_, err := os.Stdin.Read(make([]byte, 1))
			return err
		})
	}
	fmt.Println(err)
	os.Exit(1)
}
