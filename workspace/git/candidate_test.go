package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/git"
)

// sample makes a tree of the usual kinds of files.
func sample(w work) {
	w.write("a.txt", "one\n")
	w.write("crlf.txt", "one\r\n")
	w.write("dir/b.go", "package b\n")
	w.write("run.sh", "#!/bin/sh\n")
	w.must(os.Chmod(w.path("run.sh"), 0o755))
	w.must(os.Symlink("dir/b.go", w.path("in")))
	w.must(os.Symlink("../out", w.path("out")))
	w.write(".gitignore", "*.log\nbuild/\n")
}

func TestDigestChanges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(w work)
		same   bool
	}{
		"nothing":                      {func(work) {}, true},
		"touched":                      {func(w work) { w.write("a.txt", "one\n") }, true},
		"content":                      {func(w work) { w.write("a.txt", "two\n") }, false},
		"line ends":                    {func(w work) { w.write("crlf.txt", "one\n") }, false},
		"executable":                   {func(w work) { w.must(os.Chmod(w.path("a.txt"), 0o755)) }, false},
		"not executable":               {func(w work) { w.must(os.Chmod(w.path("run.sh"), 0o644)) }, false},
		"executable for the group":     {func(w work) { w.must(os.Chmod(w.path("a.txt"), 0o654)) }, true},
		"group permission":             {func(w work) { w.must(os.Chmod(w.path("a.txt"), 0o660)) }, true},
		"deleted":                      {func(w work) { w.must(os.Remove(w.path("a.txt"))) }, false},
		"deleted directory":            {func(w work) { w.must(os.RemoveAll(w.path("dir"))) }, false},
		"renamed":                      {func(w work) { w.must(os.Rename(w.path("a.txt"), w.path("c.txt"))) }, false},
		"staged only":                  {func(w work) { w.write("a.txt", "two\n"); w.git("add", "."); w.write("a.txt", "one\n") }, true},
		"committed":                    {func(w work) { w.git("commit", "-q", "--allow-empty", "-m", "y") }, true},
		"another branch":               {func(w work) { w.git("checkout", "-q", "-b", "other") }, true},
		"untracked":                    {func(w work) { w.write("new.txt", "") }, false},
		"ignored":                      {func(w work) { w.write("x.log", ""); w.write("build/x", "") }, true},
		"tracked although ignored":     {func(w work) { w.write("x.log", ""); w.git("add", "-f", "x.log") }, false},
		"person's excludes":            {func(w work) { w.write("n.txt", "") }, false},
		"excludes of the checkout":     {func(w work) { w.write(".git/info/exclude", "n.md\n"); w.write("n.md", "") }, false},
		"only excludes":                {func(w work) { w.write(".git/info/exclude", "a.txt\n*.log\n") }, true},
		"negated in the checkout":      {func(w work) { w.write(".git/info/exclude", "!x.log\n"); w.write("x.log", "") }, true},
		"empty directory":              {func(w work) { w.must(os.Mkdir(w.path("empty"), 0o755)) }, true},
		"link text":                    {func(w work) { w.must(os.Remove(w.path("in"))); w.must(os.Symlink("./dir/b.go", w.path("in"))) }, false},
		"link target":                  {func(w work) { w.must(os.WriteFile(filepath.Join(filepath.Dir(w.dir), "out"), nil, 0o644)) }, true},
		"link made a file":             {func(w work) { w.must(os.Remove(w.path("in"))); w.write("in", "dir/b.go") }, false},
		"file made a directory":        {func(w work) { w.must(os.Remove(w.path("a.txt"))); w.write("a.txt/x", "one\n") }, false},
		"not UTF-8":                    {func(w work) { w.write("\xff\xfe", "") }, false},
		"newline in name":              {func(w work) { w.write("a\nb", "") }, false},
		"name like a record":           {func(w work) { w.write("H 100644 0 0\tx", "") }, false},
		"generated, untracked":         {func(w work) { w.write("node_modules/x/y.js", ""); w.write("dir/__pycache__/z", "") }, true},
		"generated, tracked":           {func(w work) { w.write("node_modules/x.js", ""); w.git("add", "-f", "node_modules/x.js") }, false},
		"file named as generated tree": {func(w work) { w.write("coverage", "") }, false},
		"agent memory":                 {func(w work) { w.write(".claude/agent-memory/n.md", "") }, true},
		"agent settings":               {func(w work) { w.write(".claude/settings.json", "") }, false},
		"memory of no agent":           {func(w work) { w.write("agent-memory/n.md", "") }, false},
		"hidden from the index":        {func(w work) { w.git("update-index", "--assume-unchanged", "a.txt"); w.write("a.txt", "2") }, false},
		"nested repository":            {func(w work) { w.write("n/x", ""); w.in("n").git("init", "-q") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := repo(t)
			sample(w)
			w.commit()
			before := w.digest()
			tc.change(w)
			if same := w.digest() == before; same != tc.same {
				t.Errorf("digest unchanged: %v, want %v", same, tc.same)
			}
		})
	}
}

func TestLinkedDirectoryIsNotFollowed(t *testing.T) {
	t.Parallel()
	w, other := repo(t), plain(t)
	sample(w)
	w.commit()
	other.write("b.go", "package b\n")
	w.must(os.RemoveAll(w.path("dir")))
	gone := w.digest()
	w.must(os.Symlink(other.dir, w.path("dir")))
	linked := w.digest()
	other.write("b.go", "changed")
	if linked == gone || linked != w.digest() {
		t.Error("a directory behind a link counts as part of the tree")
	}
}

func TestSameContentSameDigest(t *testing.T) {
	t.Parallel()
	w := repo(t)
	sample(w)
	w.commit()
	want := w.digest()
	at := func(dir string) work { return work{t, dir} }

	clone := filepath.Join(t.TempDir(), "clone")
	w.git("clone", "-q", w.dir, clone)
	tree := filepath.Join(t.TempDir(), "tree")
	w.git("worktree", "add", "-q", tree)
	alias := filepath.Join(t.TempDir(), "alias")
	w.must(os.Symlink(clone, alias))
	untracked := repo(t)
	sample(untracked)
	for name, dir := range map[string]string{"clone": clone, "worktree": tree, "through a link": alias, "nothing tracked": untracked.dir} {
		if at(dir).digest() != want {
			t.Errorf("%s has another digest", name)
		}
	}
	moved := w.dir + "-moved"
	w.must(os.Rename(w.dir, moved))
	if at(moved).digest() != want {
		t.Error("the renamed checkout has another digest")
	}
}

func TestSubdirectory(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write(".gitignore", "*.log\n/private/\n")
	w.write("svc/a", "1")
	w.write("private/a", "1")
	w.write("private/x.log", "1")
	before, private := w.in("svc").digest(), w.in("private").digest()
	w.write("svc/x.log", "1")
	w.write("other", "1")
	if w.in("svc").digest() != before {
		t.Error("an ignored or outside file counts")
	}
	w.write("svc/b", "1")
	if w.in("svc").digest() == before {
		t.Error("a new file does not count")
	}
	w.write("private/x.log", "2")
	if w.in("private").digest() == private {
		t.Error("a directory that is ignored as a whole is not read")
	}
}

func TestWithoutGit(t *testing.T) {
	t.Parallel()
	w := plain(t)
	sample(w)
	before := w.digest()
	w.write("node_modules/x", "")
	w.must(os.Mkdir(w.path("empty"), 0o755))
	if w.digest() != before {
		t.Error("a generated tree or an empty directory counts")
	}
	w.write("x.log", "")
	logged := w.digest()
	if logged == before {
		t.Error("a file that only git would ignore does not count")
	}
	w.write("sub/f", "")
	w.in("sub").git("init", "-q")
	inner := w.digest()
	w.write("sub/f", "2")
	if inner == logged || w.digest() == inner {
		t.Error("a repository below does not count")
	}
	alias := work{t, filepath.Join(t.TempDir(), "alias")}
	w.must(os.Symlink(w.dir, alias.dir))
	if alias.digest() != w.digest() {
		t.Error("the path through a link has another digest")
	}
	r := repo(t)
	sample(r)
	p := plain(t)
	sample(p)
	if r.digest() != p.digest() {
		t.Error("the same files with and without git have different digests")
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	if repo(t).digest() != plain(t).digest() {
		t.Error("an empty repository and an empty directory differ")
	}
}

func TestRepositoriesAndExcludes(t *testing.T) {
	t.Parallel()
	w, v := repo(t), repo(t)
	w.write("openspec/changes/x/tasks.md", "[ ]")
	w.write("state/db", "1")
	w.commit()
	v.write("f", "1")
	config := func() git.Config {
		return git.Config{Repositories: []workspace.Repository{{ID: "w", Path: w.dir}, {ID: "v", Path: v.dir}}}
	}
	one := digest(t, config())
	swapped := config()
	swapped.Repositories[0], swapped.Repositories[1] = swapped.Repositories[1], swapped.Repositories[0]
	if digest(t, swapped) != one {
		t.Error("the order of repositories counts")
	}
	renamed := config()
	renamed.Repositories[0].ID = "u"
	if digest(t, renamed) == one {
		t.Error("the id of a repository does not count")
	}

	idle := config()
	idle.Exclude = []git.Exclude{{Path: "none"}}
	other := config()
	other.Exclude = []git.Exclude{{Path: "nothing"}}
	if digest(t, idle) == one || digest(t, idle) == digest(t, other) {
		t.Error("excludes that meet no file are not part of the digest")
	}
	soft, hard := config(), config()
	soft.Exclude = []git.Exclude{{Repository: "w", Path: "openspec/changes/x"}}
	hard.Exclude = []git.Exclude{{Repository: "w", Path: "openspec/changes/x/", Tracked: true}}
	softBefore, hardBefore := digest(t, soft), digest(t, hard)
	if softBefore == one || hardBefore == one || softBefore == hardBefore {
		t.Error("excludes are not part of the digest")
	}
	w.write("openspec/changes/x/new.md", "untracked")
	if digest(t, soft) != softBefore || digest(t, hard) != hardBefore {
		t.Error("an untracked file below an exclude counts")
	}
	w.write("openspec/changes/x/tasks.md", "[x]")
	if digest(t, soft) == softBefore || digest(t, hard) != hardBefore {
		t.Error("tracked files must count unless excluded as well")
	}
	w.write("openspec/changes/xy", "no prefix of a name")
	if digest(t, hard) == hardBefore {
		t.Error("an exclude reaches a path that only starts like it")
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write("a", "1")
	c := git.Config{
		Repositories: []workspace.Repository{{ID: "repo", Path: w.dir}},
		State:        []string{w.path("deep/state"), t.TempDir()},
	}
	before := digest(t, c)
	w.write("deep/state/tenon.db", "x")
	if digest(t, c) != before || before != func() string { w.must(os.RemoveAll(w.path("deep"))); return w.digest() }() {
		t.Error("state counts, or is visible in the digest")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	one := []workspace.Repository{{ID: "a", Path: t.TempDir()}}
	for want, c := range map[string]git.Config{
		"no repository":   {},
		"has no id":       {Repositories: []workspace.Repository{{Path: "/x"}}},
		"used twice":      {Repositories: []workspace.Repository{{ID: "a", Path: "/x"}, {ID: "a", Path: "/y"}}},
		"not absolute":    {Repositories: []workspace.Repository{{ID: "a", Path: "x"}}},
		"below the":       {Repositories: one, Exclude: []git.Exclude{{Path: "../x"}}},
		`exclude "/x"`:    {Repositories: one, Exclude: []git.Exclude{{Path: "/x"}}},
		`exclude "."`:     {Repositories: one, Exclude: []git.Exclude{{Path: "."}}},
		"unknown reposit": {Repositories: one, Exclude: []git.Exclude{{Repository: "b", Path: "x"}}},
	} {
		if _, err := git.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestDigestErrors(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write("a", "1")
	k, err := git.New(git.Config{Repositories: []workspace.Repository{{ID: "repo", Path: w.dir}}})
	w.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Digest(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	w.must(os.RemoveAll(w.path(".git")))
	w.must(os.Mkdir(w.path(".git"), 0o755))
	if _, err := k.Digest(t.Context()); !errors.Is(err, git.ErrNoRepository) || !strings.Contains(err.Error(), "repair") {
		t.Errorf("broken repository: %v", err)
	}
	w.must(os.RemoveAll(w.dir))
	if _, err := k.Digest(t.Context()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "repo") {
		t.Errorf("missing directory: %v", err)
	}
}

// TestHiddenByTheCheckout writes to a file that only .git/info/exclude hides,
// after that was set up.
func TestHiddenByTheCheckout(t *testing.T) {
	t.Parallel()
	w := super(t)
	w.write(".git/info/exclude", "*\n")
	w.write(w.modules("sub")+"/info/exclude", "*\n")
	seen := map[string]string{w.digest(): "nothing"}
	for _, name := range []string{"n.md", "deep/n.md", "sub/n.md"} {
		for _, content := range []string{"1", "2"} {
			w.write(name, content)
			d := w.digest()
			if old := seen[d]; old != "" {
				t.Errorf("%s with %s has the digest of %s", name, content, old)
			}
			seen[d] = name + " with " + content
		}
	}
}

// modules is the git directory of a submodule, relative to the work tree.
func (w work) modules(name string) string {
	w.t.Helper()
	rel, err := filepath.Rel(w.dir, w.in(name).git("rev-parse", "--absolute-git-dir"))
	w.must(err)
	return filepath.ToSlash(rel)
}
