package guard_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/tool/shell/guard"
)

// tree is a work tree with guarded places.
type tree struct {
	*testing.T
	dir, home string
}

func newTree(t *testing.T) *tree {
	t.Helper()
	w := &tree{T: t, dir: t.TempDir(), home: t.TempDir()}
	w.write(".git/config", "[core]\n\tbare = false\n")
	w.write(".git/hooks/pre-commit", "echo mine")
	w.write(".git/objects/x", "an object")
	w.write(".claude/settings.json", "{}")
	return w
}

func (w *tree) guard() *guard.Guard {
	return guard.New(guard.Config{
		Places: []string{w.path(".claude"), w.path(".tenon"), w.path(".bashrc")}, Git: []string{w.path(".git")},
		Except: []string{w.dir, w.path(".tenon/state")}, Home: w.home,
		SameConfig: func(before, after []byte) bool { return !strings.Contains(string(after), "hooksPath") },
	})
}

func (w *tree) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *tree) write(name, content string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	w.must(os.WriteFile(w.path(name), []byte(content), 0o755))
}

func (w *tree) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// all is what stands in the tree.
func (w *tree) all() map[string]string {
	w.Helper()
	all := map[string]string{}
	w.must(filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		w.must(err)
		name, _ := filepath.Rel(w.dir, path)
		info, err := d.Info()
		w.must(err)
		switch {
		case d.IsDir():
		case info.Mode()&os.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			all[name] = "-> " + to
		default:
			raw, _ := os.ReadFile(path)
			all[name] = info.Mode().String() + " " + string(raw)
		}
		return nil
	}))
	return all
}

// TestPutBack: what a command does in a guarded place is undone and kept aside.
func TestPutBack(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(w *tree)
		want []string // changes
	}{
		{"nothing", func(*tree) {}, nil},
		{"a file beside", func(w *tree) { w.write("main.go", "x") }, nil},
		{"a hook is made", func(w *tree) { w.write(".git/hooks/post-commit", "evil") }, []string{"made .git/hooks/post-commit"}},
		{"a hook is changed", func(w *tree) { w.write(".git/hooks/pre-commit", "evil mine") }, []string{"changed .git/hooks/pre-commit"}},
		{"a hook of the same size", func(w *tree) { w.write(".git/hooks/pre-commit", "echo evil") }, []string{"changed .git/hooks/pre-commit"}},
		{"a hook is taken away", func(w *tree) { w.must(os.Remove(w.path(".git/hooks/pre-commit"))) }, []string{"removed .git/hooks/pre-commit"}},
		{"a hook may no longer run", func(w *tree) { w.must(os.Chmod(w.path(".git/hooks/pre-commit"), 0o600)) }, []string{"changed .git/hooks/pre-commit"}},
		{"the hooks are elsewhere", func(w *tree) {
			w.write("evil/pre-commit", "evil")
			w.must(os.RemoveAll(w.path(".git/hooks")))
			w.must(os.Symlink("../evil", w.path(".git/hooks")))
		}, []string{"changed .git/hooks", "removed .git/hooks/pre-commit"}},
		{"a hook is a link", func(w *tree) { w.must(os.Symlink("../../main.go", w.path(".git/hooks/pre-push"))) }, []string{"made .git/hooks/pre-push"}},
		{"git runs hooks elsewhere", func(w *tree) { w.write(".git/config", "[core]\n\thooksPath = evil\n") }, []string{"changed .git/config"}},
		{"a hook of a submodule", func(w *tree) { w.write(".git/modules/m/hooks/post-checkout", "evil") }, []string{"made .git/modules/m/hooks/post-checkout"}},
		{"settings of a work tree", func(w *tree) { w.write(".git/worktrees/w/config.worktree", "[core]\n\thooksPath = evil\n") }, []string{"made .git/worktrees/w/config.worktree"}},
		{"a folder of agents", func(w *tree) { w.write(".tenon/agents/a.md", "evil") }, []string{"made .tenon/agents/a.md"}},
		{"a start-up file", func(w *tree) { w.write(".bashrc", "evil") }, []string{"made .bashrc"}},
		{"a folder is taken away", func(w *tree) { w.must(os.RemoveAll(w.path(".claude"))) }, []string{"removed .claude/settings.json"}},
		{"a file is a folder now", func(w *tree) {
			w.must(os.Remove(w.path(".claude/settings.json")))
			w.write(".claude/settings.json/x", "evil")
		}, []string{"changed .claude/settings.json", "made .claude/settings.json/x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newTree(t)
			g := w.guard()
			before := w.all()
			w.enter(g)
			tc.do(w)
			changes := g.Leave(func(string) bool { return false })
			var got []string
			for _, c := range changes {
				name, err := filepath.Rel(w.dir, c.Path)
				w.must(err)
				got = append(got, c.What+" "+filepath.ToSlash(name))
				if c.Why != "" {
					t.Errorf("%s could not be put back: %s", name, c.Why)
				}
				if _, err := os.Lstat(c.Kept); c.Kept != "" && err != nil {
					t.Errorf("%s is not kept: %v", name, err)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("changes are %q, want %q", got, tc.want)
			}
			after := w.all()
			for name, content := range before {
				if after[name] != content {
					t.Errorf("%s is %q, was %q", name, after[name], content)
				}
			}
			for name := range after {
				if _, ok := before[name]; !ok && (strings.HasPrefix(name, ".git") || strings.HasPrefix(name, ".tenon") || strings.HasPrefix(name, ".bash")) {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}

func (w *tree) enter(g *guard.Guard) []guard.Change {
	w.Helper()
	left, err := g.Enter(w.Context())
	w.must(err)
	return left
}

// TestStays: what is allowed, what git does itself and what runs nothing stays.
func TestStays(t *testing.T) {
	w := newTree(t)
	g := w.guard()
	w.enter(g)
	w.write(".git/config", "[core]\n\tbare = false\n[branch \"x\"]\n\tremote = o\n")
	w.write(".git/hooks/pre-push.sample", "exit 1")
	w.write(".git/objects/y", "another")
	w.write(".git/worktrees/w/commondir", "../..")
	w.write(".tenon/state/x", "the program's own")
	w.write(".claude/settings.json", "allowed")
	w.write(".claude/agents/a.md", "a person's, by a tool that asked")
	g.Accept(w.path(".claude/agents/a.md"))
	before := w.all()
	if changes := g.Leave(func(path string) bool { return path == w.path(".claude/settings.json") }); len(changes) > 0 {
		t.Errorf("put back: %+v", changes)
	}
	if after := w.all(); len(after) != len(before) {
		t.Errorf("now there is %q", after)
	}
}

// TestSideBySide: while one command runs, another begins and ends: what the first
// did is no ground that the other stands on.
func TestSideBySide(t *testing.T) {
	w := newTree(t)
	g := w.guard()
	w.enter(g)
	w.write(".git/hooks/pre-commit", "evil")
	w.enter(g)
	if changes := g.Leave(nil); len(changes) != 1 {
		t.Errorf("changes are %+v", changes)
	}
	if changes := g.Leave(nil); len(changes) != 0 {
		t.Errorf("changes are %+v", changes)
	}
	if got := w.all()[".git/hooks/pre-commit"]; !strings.HasSuffix(got, "echo mine") {
		t.Errorf("the hook is %q", got)
	}
}

// TestDead: a process died while a command ran: the next one puts back, and another
// that runs at the same time stands on the same ground.
func TestDead(t *testing.T) {
	w := newTree(t)
	first := w.guard()
	w.enter(first)
	w.write(".git/hooks/pre-commit", "evil\xff")
	second := w.guard() // as in another process: the lock is held
	w.enter(second)
	if changes := second.Leave(nil); len(changes) != 1 {
		t.Errorf("changes are %+v", changes)
	}

	w.write(".git/hooks/pre-commit", "evil again")
	home := t.TempDir() // what the dead one left, without its lock
	w.must(os.CopyFS(home, os.DirFS(w.home)))
	w.home = home
	third := w.guard()
	left, err := third.Recover(t.Context())
	w.must(err)
	if len(left) != 1 || left[0].Kept == "" {
		t.Errorf("left are %+v", left)
	}
	if left, err := third.Recover(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left again: %+v, %v", left, err)
	}
	if again := w.enter(third); len(again) != 1 || again[0] != left[0] {
		t.Errorf("it is not told: %+v", again)
	}
	third.Told()
	if got := w.all()[".git/hooks/pre-commit"]; !strings.HasSuffix(got, "echo mine") {
		t.Errorf("the hook is %q", got)
	}
	if changes := third.Leave(nil); len(changes) != 0 {
		t.Errorf("changes are %+v", changes)
	}
	if left := w.enter(third); len(left) != 0 {
		t.Errorf("left are %+v", left)
	}
	third.Leave(nil)
	first.Leave(nil)
}

// BenchmarkGuard is what a command costs more.
func BenchmarkGuard(b *testing.B) {
	dir, home := b.TempDir(), b.TempDir()
	for i := range 50 {
		name := filepath.Join(dir, ".tenon", string(rune('a'+i%26)), string(rune('a'+i)))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, make([]byte, 1000), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	g := guard.New(guard.Config{Places: []string{filepath.Join(dir, ".tenon")}, Home: home})
	for b.Loop() {
		if _, err := g.Enter(b.Context()); err != nil {
			b.Fatal(err)
		}
		g.Leave(nil)
	}
}
