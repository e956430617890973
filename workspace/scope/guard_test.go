package scope_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
	"github.com/tenonrun/tenon/workspace/scope"
)

// told is a report in short form, sorted.
func told(r scope.Report) string {
	var lines []string
	for _, c := range r.Changes {
		lines = append(lines, c.Path+" "+c.What+" "+c.Done)
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// TestTricks changes things outside of the scope; afterwards everything is as it
// was, whatever state that was, and the report tells it.
func TestTricks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before func(w *work)
		turn   func(w *work)
		want   string
	}{
		"nothing":        {nil, func(*work) {}, ""},
		"committed file": {nil, func(w *work) { w.write("lib/a.go", "evil") }, "lib/a.go changed put back"},
		"same size":      {nil, func(w *work) { w.write("lib/a.go", "package x") }, "lib/a.go changed put back"},
		"removed":        {nil, func(w *work) { w.remove("lib") }, "lib/a.go removed put back; lib/b.go removed put back; lib/deep/c.go removed put back"},
		"new":            {nil, func(w *work) { w.write("other/deep/x", "1"); w.write("y.new", "1") }, "other/deep/x added taken away; y.new added taken away"},
		"permissions":    {nil, func(w *work) { w.must(os.Chmod(w.path("run.sh"), 0o600)) }, "run.sh permissions put back"},
		"closed file":    {nil, func(w *work) { w.must(os.Chmod(w.path("lib/a.go"), 0)) }, "lib/a.go permissions put back"},
		"link":           {nil, func(w *work) { w.remove("link"); w.must(os.Symlink("/etc", w.path("link"))) }, "link changed put back"},
		"link to file":   {nil, func(w *work) { w.remove("link"); w.write("link", "x") }, "link changed put back"},
		"file to link":   {nil, func(w *work) { w.remove("run.sh"); w.must(os.Symlink("app/main.go", w.path("run.sh"))) }, "run.sh changed put back"},
		"file to dir":    {nil, func(w *work) { w.remove("run.sh"); w.write("run.sh/x", "1") }, "run.sh changed put back; run.sh/x added taken away"},
		"dir to file":    {nil, func(w *work) { w.remove("lib/deep"); w.write("lib/deep", "1") }, "lib/deep added taken away; lib/deep/c.go removed put back"},
		"dir to pipe": {nil, func(w *work) {
			w.remove("run.sh")
			w.must(exec.CommandContext(w.t.Context(), "mkfifo", w.path("run.sh")).Run())
		}, "run.sh changed put back"},
		"committed":       {nil, func(w *work) { w.write("lib/a.go", "evil"); w.git("commit", "-qam", "hide") }, "lib/a.go changed put back"},
		"staged":          {nil, func(w *work) { w.write("z", "1"); w.git("add", "z") }, "z added taken away"},
		"untracked by rm": {nil, func(w *work) { w.git("rm", "-q", "lib/a.go") }, "lib/a.go removed put back"},
		"other branch": {func(w *work) {
			w.git("checkout", "-qb", "other")
			w.write("lib/a.go", "other")
			w.git("commit", "-qam", "y")
			w.git("checkout", "-q", "main")
		}, func(w *work) { w.git("checkout", "-q", "other") }, "lib/a.go changed put back"},
		"dirty before":          {func(w *work) { w.write("lib/a.go", "mine") }, func(w *work) { w.write("lib/a.go", "evil") }, "lib/a.go changed put back"},
		"dirty before, cleaned": {func(w *work) { w.write("lib/a.go", "mine") }, func(w *work) { w.git("checkout", "-q", "--", "lib/a.go") }, "lib/a.go changed put back"},
		"dirty before, left":    {func(w *work) { w.write("lib/a.go", "mine"); w.write("u", "1"); w.remove("lib/b.go") }, func(w *work) { w.write("app/x", "1"); w.remove("app/x") }, ""},
		"deleted before, back":  {func(w *work) { w.remove("lib/b.go") }, func(w *work) { w.git("checkout", "-q", "--", "lib/b.go") }, "lib/b.go added taken away"},
		"untracked before":      {func(w *work) { w.write("u/v/x", "mine") }, func(w *work) { w.remove("u"); w.write("lib/n", "1") }, "lib/n added taken away; u/v/x removed put back"},
		"untracked, cleaned":    {func(w *work) { w.write("u/v/x", "mine") }, func(w *work) { w.git("clean", "-fdq") }, "u/v/x removed put back"},
		"hidden by the index": {nil, func(w *work) {
			w.git("update-index", "--assume-unchanged", "lib/a.go")
			w.git("update-index", "--skip-worktree", "lib/b.go")
			w.write("lib/a.go", "evil")
			w.write("lib/b.go", "evil")
		}, "lib/a.go changed put back; lib/b.go changed put back"},
		"hidden before": {func(w *work) { w.git("update-index", "--assume-unchanged", "lib/a.go"); w.write("lib/a.go", "mine") },
			func(w *work) { w.write("lib/a.go", "evil") }, "lib/a.go changed put back"},
		"hidden by info/exclude": {nil, func(w *work) { w.write(".git/info/exclude", "*\n"); w.write("n", "1") }, "n added taken away"},
		"hidden by .gitignore":   {nil, func(w *work) { w.write(".gitignore", "*\n"); w.write("n", "1") }, ".gitignore changed put back; n added taken away"},
		"new repository":         {nil, func(w *work) { w.write("n/x", "1"); w.gitIn("n", "init", "-q") }, ""},
		"odd names": {func(w *work) { w.write("a\nb", "1"); w.write("\xff", "1") },
			func(w *work) { w.write("a\nb", "2"); w.write("\xff", "2"); w.write("c\td\xfe", "3") },
			`"\xff" changed put back; "a\nb" changed put back; "c\td\xfe" added taken away`},
		"line endings": {func(w *work) {
			w.write(".gitattributes", "*.txt text eol=crlf\n")
			w.write("lib/t.txt", "a\r\nb\r\n")
			w.git("add", "-A")
			w.git("commit", "-qm", "t")
		}, func(w *work) { w.write("lib/t.txt", "x") }, "lib/t.txt changed put back"},
		"merge": {func(w *work) {
			w.git("checkout", "-qb", "other")
			w.write("lib/a.go", "theirs")
			w.git("commit", "-qam", "y")
			w.git("checkout", "-q", "main")
			w.write("lib/a.go", "ours")
			w.git("commit", "-qam", "z")
			w.try("merge", "other")
		}, func(w *work) { w.write("lib/a.go", "resolved") }, "lib/a.go changed put back"},
		"submodule": {func(w *work) { w.submodule("sub") }, func(w *work) { w.write("sub/f", "evil"); w.write("sub/n", "1") },
			"sub/f changed put back; sub/n added taken away"},
		"moved away and linked": {nil, func(w *work) {
			w.must(os.Rename(w.path("lib"), w.path("app/lib")))
			w.must(os.Symlink("app/lib", w.path("lib")))
			w.remove("app/lib")
		}, "lib added taken away; lib/a.go removed put back; lib/b.go removed put back; lib/deep/c.go removed put back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := repo(t)
			if tc.before != nil {
				tc.before(w)
			}
			want := w.tree()
			report := w.around(func() { tc.turn(w) })
			if name == "new repository" { // git's own files are many
				if len(report.Failed()) > 0 || !strings.Contains(told(report), "n/.git/HEAD added taken away; ") || !strings.Contains(told(report), "n/x added taken away") {
					t.Errorf("told %s", told(report))
				}
			} else if got := told(report); got != tc.want {
				t.Errorf("told %q, want %q", got, tc.want)
			}
			w.same(want)
			for _, c := range report.Changes {
				if c.Kept != "" && !strings.HasPrefix(c.Kept, w.desk) {
					t.Errorf("kept at %s", c.Kept)
				}
			}
		})
	}
}

// TestAllowed changes what may be changed; nothing is put back.
func TestAllowed(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]func(w *work){
		"the scope": func(w *work) { w.write("app/main.go", "x"); w.write("app/new/y", "1"); w.remove("app/package.json") },
		"ignored":   func(w *work) { w.write("x.log", "1"); w.write("build/out", "1") },
		"generated": func(w *work) { w.write("node_modules/x/y.js", "1"); w.write(".claude/agent-memory/m.md", "1") },
		"state":     func(w *work) { w.write("state/tenon.db", "1") },
		"change":    func(w *work) { w.write("openspec/changes/c1/tasks.md", "[x]") },
		"lock": func(w *work) {
			w.write("app/package.json", `{"a":1}`)
			w.write("yarn.lock", "v2")
			w.write(".yarn/cache/a.zip", "z")
			w.write(".pnp.cjs", "1")
		},
		"new manifest":    func(w *work) { w.write("app/sub/package.json", `{}`); w.write("yarn.lock", "v2") },
		"no longer there": func(w *work) { w.remove("app/package.json"); w.remove("yarn.lock") },
		"linked scope":    func(w *work) { w.remove("app"); w.must(os.Symlink("/nowhere", w.path("app"))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := repo(t)
			w.change, w.cfg.State = "c1", []string{w.path("state")}
			var want map[string]string
			report := w.around(func() { turn(w); want = w.tree() })
			if len(report.Changes) > 0 {
				t.Errorf("told %s", told(report))
			}
			w.same(want)
		})
	}
}

func TestLockWithoutManifest(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]func(w *work){
		"alone":          func(w *work) { w.write("yarn.lock", "v2") },
		"other manifest": func(w *work) { w.write("app/go.mod", "module x"); w.write("yarn.lock", "v2") },
		"lock is a link": func(w *work) {
			w.write("app/package.json", "1")
			w.remove("yarn.lock")
			w.must(os.Symlink("/etc/passwd", w.path("yarn.lock")))
		},
		"not around":      func(w *work) { w.write("app/package.json", "1"); w.write("lib/yarn.lock", "v2") },
		"yarn's programs": func(w *work) { w.write("app/package.json", "1"); w.write(".yarn/releases/yarn.cjs", "v2") },
		"root manifest":   func(w *work) { w.write("app/package.json", "1"); w.write("package.json", "evil") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := repo(t)
			report := w.around(func() { turn(w) })
			if len(report.Changes) != 1 || report.Changes[0].Done == "" {
				t.Errorf("told %s", told(report))
			}
		})
	}
}

func TestWithoutGit(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]func(t *testing.T) *work{
		"plain": plain,
		"ignored as a whole": func(t *testing.T) *work {
			w := plain(t)
			w.git("init", "-q")
			w.write(".gitignore", "in\n")
			w.dir = w.path("in")
			return w
		},
		"no git program": func(t *testing.T) *work {
			w := plain(t)
			w.cfg.Runner = process.New(process.Config{Environ: func() []string { return []string{"PATH=" + t.TempDir()} }})
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.must(os.MkdirAll(w.path("empty"), 0o755))
			w.fill()
			want := w.tree()
			report := w.around(func() {
				w.write("lib/a.go", "evil")
				w.remove("lib/deep")
				w.write("empty/x/y", "1")
				w.must(os.Remove(w.path("link")))
				w.write("app/new", "1")
				w.write("node_modules/x", "1")
			})
			if got := told(report); got != "empty/x/y added taken away; lib/a.go changed put back; lib/deep/c.go removed put back; link removed put back" {
				t.Errorf("told %q", got)
			}
			w.remove("app/new")
			w.remove("node_modules")
			w.same(want)
		})
	}
}

func TestUnborn(t *testing.T) {
	t.Parallel()
	w := plain(t)
	w.git("init", "-q")
	w.fill()
	want := w.tree()
	if got := told(w.around(func() { w.write("run.sh", "evil"); w.git("add", "-A"); w.git("commit", "-qm", "first") })); got != "run.sh changed put back" {
		t.Errorf("told %q", got)
	}
	w.same(want)
}

func TestRepositoryBelowTheWorkTree(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.dir = w.path("lib")
	w.scopes = []string{"deep"}
	want := w.tree()
	if got := told(w.around(func() { w.write("a.go", "evil"); w.write("n", "1"); w.write("../run.sh", "not of this repository") })); got != "a.go changed put back; n added taken away" {
		t.Errorf("told %q", got)
	}
	w.same(want)
}

func TestKeptAside(t *testing.T) {
	t.Parallel()
	w := repo(t)
	report := w.around(func() {
		w.write("lib/a.go", "what I wrote")
		w.remove("link")
		w.must(os.Symlink("/etc", w.path("link")))
		w.write("n/a.go", "new")
		w.must(os.Chmod(w.path("n/a.go"), 0))
	})
	want := map[string]string{"lib/a.go": "what I wrote", "link": "/etc", "n/a.go": "new"}
	for _, c := range report.Changes {
		kept, err := os.ReadFile(c.Kept)
		if err != nil || string(kept) != want[c.Path] {
			t.Errorf("%s: kept %q, %v", c.Path, kept, err)
		}
		if !strings.Contains(report.Text(), c.Kept) {
			t.Errorf("the text does not name %s: %s", c.Kept, report.Text())
		}
	}
	if len(report.Changes) != 3 || len(report.Failed()) != 0 {
		t.Errorf("told %s", told(report))
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.cfg.MaxFile, w.cfg.MaxTotal, w.cfg.MaxUntracked, w.cfg.MaxAside = 100, 150, 3, 1000
	w.write("a-big", strings.Repeat("x", 101))
	w.write("b1", strings.Repeat("x", 90))
	w.write("b2", strings.Repeat("x", 90))
	w.write("b3", "over the number")
	w.write("lib/b.go", "committed files are not in the number")
	report := w.around(func() {
		for _, name := range []string{"a-big", "b1", "b2", "b3", "lib/b.go"} {
			w.write(name, "evil")
		}
		w.write("huge", strings.Repeat("y", 1001))
	})
	want := "a-big changed ; b1 changed put back; b2 changed ; b3 changed ; huge added ; lib/b.go changed put back"
	if got := told(report); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	for path, reason := range map[string]string{"a-big": "larger than 100", "b2": "together", "b3": "more than 3 untracked", "huge": "not kept aside"} {
		i := slices.IndexFunc(report.Changes, func(c scope.Change) bool { return c.Path == path })
		if !strings.Contains(report.Changes[i].Reason, reason) || !strings.Contains(report.Text(), path+": ") {
			t.Errorf("%s: %q, %s", path, report.Changes[i].Reason, report.Text())
		}
	}
	if len(report.Failed()) != 4 || !strings.Contains(report.Text(), "4 paths could not be put back") {
		t.Errorf("failed %d: %s", len(report.Failed()), report.Text())
	}
	if huge := w.tree()["huge"]; len(huge) < 1000 {
		t.Error("what could not be kept aside was taken away")
	}
}

// TestNeverThroughLinks replaces a directory by a link to the outside, also one
// that git does not show.
func TestNeverThroughLinks(t *testing.T) {
	t.Parallel()
	for _, ignored := range []bool{false, true} {
		w := repo(t)
		outside := plain(t)
		outside.write("a.go", "untouched")
		if ignored {
			w.write(".git/info/exclude", "/lib\n")
		}
		want := w.tree()
		before := outside.tree()
		w.around(func() {
			w.remove("lib")
			w.must(os.Symlink(outside.dir, w.path("lib")))
		})
		w.same(want)
		outside.same(before)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, turn func(w *work)
		want         string
	}{
		"no directory":   {func(w *work) { w.remove("") }, nil, "no such file"},
		"broken git":     {func(w *work) { w.remove(".git/HEAD") }, nil, "does not accept the .git"},
		"broken index":   {func(w *work) { w.write(".git/index", "junk") }, nil, "index"},
		"git taken away": {nil, func(w *work) { w.remove(".git") }, "does not know it now"},
		"git broken":     {nil, func(w *work) { w.remove(".git/HEAD") }, "does not accept the .git"},
		"objects lost":   {nil, func(w *work) { w.remove("run.sh"); w.remove(".git/objects"); w.write(".git/objects/x", "") }, ""},
		"damaged capture": {func(w *work) {
			w.must(os.MkdirAll(w.desk, 0o700))
			w.must(os.WriteFile(filepath.Join(w.desk, "capture.json"), []byte("{"), 0o600))
		}, nil, "damaged"},
		"capture of later": {func(w *work) {
			w.must(os.MkdirAll(w.desk, 0o700))
			w.must(os.WriteFile(filepath.Join(w.desk, "capture.json"), []byte(`{"version":9}`), 0o600))
		}, nil, "version 9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := repo(t)
			if tc.before != nil {
				tc.before(w)
			}
			called := false
			report, err := w.guard().Around(t.Context(), w.turn(), func(context.Context) error {
				called = true
				if tc.turn != nil {
					tc.turn(w)
				}
				return nil
			})
			if tc.want == "" {
				if err != nil || len(report.Failed()) != 1 || !strings.Contains(report.Failed()[0].Reason, "object") {
					t.Errorf("%v, %+v", err, report)
				}
				return
			}
			if workflow.CodeOf(err) != workflow.CodeChangeScope || !strings.Contains(fmt.Sprint(err), tc.want) || !strings.Contains(fmt.Sprint(err), "repository repo") {
				t.Errorf("got %v", err)
			}
			if called != (tc.turn != nil) {
				t.Errorf("called: %v", called)
			}
		})
	}
}

func TestNoScope(t *testing.T) {
	t.Parallel()
	for _, scopes := range [][]string{nil, {"."}, {"app", "./"}} {
		w := repo(t)
		w.scopes = scopes
		if report := w.around(func() { w.write("lib/a.go", "x") }); len(report.Changes) > 0 || w.turn().Guards() {
			t.Errorf("%v: told %s", scopes, told(report))
		}
		if _, err := os.Lstat(w.desk); err == nil {
			t.Error("a directory was made for nothing")
		}
	}
	if _, err := scope.New(scope.Config{}); err == nil {
		t.Error("a guard without a runner")
	}
}

// TestScopes: several directories, one of them a link, written in any form.
func TestScopes(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write("real/x", "1")
	w.must(os.Symlink("real", w.path("linked")))
	w.scopes = []string{"./app/", "lib/deep", "linked"}
	report := w.around(func() {
		w.write("app/x", "1")
		w.write("lib/deep/c.go", "x")
		w.write("real/x", "2")
		w.write("application", "1")
		w.write("lib/deeper", "1")
	})
	if got := told(report); got != "application added taken away; lib/deeper added taken away" {
		t.Errorf("told %q", got)
	}
}

func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	var r scope.Report
	if r.Text() != "" {
		t.Errorf("an empty report says %q", r.Text())
	}
	for i := range 100 {
		r.Changes = append(r.Changes, scope.Change{Repository: "repo", Path: fmt.Sprintf("p%d", i), What: scope.Added, Done: scope.TakenAway})
	}
	r.Changes[99].Done, r.Changes[99].Reason = "", "no room"
	got := r.Text()
	if strings.Count(got, "\n- [repo]") != 40 || !strings.Contains(got, "and 60 more") || !strings.Contains(got, "p99: added, not put back: no room") {
		t.Errorf("text %s", got)
	}
}

// TestFiltersDoNotRun: a filter that an earlier turn configured is not a way to
// run something outside of an agent's fence.
func TestFiltersDoNotRun(t *testing.T) {
	t.Parallel()
	w := repo(t)
	ran := filepath.Join(t.TempDir(), "ran")
	w.write("app/evil.sh", "touch "+ran+"\ncat\n")
	for _, key := range []string{"clean", "smudge"} {
		w.git("config", "filter.x.y."+key, "sh "+w.path("app/evil.sh"))
	}
	w.git("config", "core.fsmonitor", "sh "+w.path("app/evil.sh"))
	w.git("config", "diff.external", "sh "+w.path("app/evil.sh"))
	w.write(".git/info/attributes", "* filter=x.y diff=x\n")
	w.write("lib/a.go", "package A") // git has to look at the contents
	want := w.tree()
	if got := told(w.around(func() { w.write("lib/a.go", "evil"); w.write("lib/b.go", "evil") })); got != "lib/a.go changed put back; lib/b.go changed put back" {
		t.Errorf("told %q", got)
	}
	w.same(want)
	if _, err := os.Lstat(ran); err == nil {
		t.Error("a filter ran")
	}
}
