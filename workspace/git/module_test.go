package git_test

import (
	"os"
	"testing"
)

// super is a repository with the submodule "sub", which has the submodule "deep".
func super(t *testing.T) work {
	deep, sub, w := repo(t), repo(t), repo(t)
	deep.write("d", "1")
	deep.commit()
	sub.write("s", "1")
	sub.write(".gitignore", "*.log\n")
	sub.git("submodule", "--quiet", "add", deep.dir, "deep")
	sub.commit()
	w.write("a", "1")
	w.git("submodule", "--quiet", "add", sub.dir, "sub")
	w.git("submodule", "--quiet", "update", "--init", "--recursive")
	w.commit()
	return w
}

func TestSubmodule(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(w work)
		same   bool
	}{
		"clean":               {func(work) {}, true},
		"touched":             {func(w work) { w.write("sub/s", "1") }, true},
		"ignored":             {func(w work) { w.write("sub/x.log", "1") }, true},
		"generated":           {func(w work) { w.write("sub/node_modules/x", "1") }, true},
		"deep, generated":     {func(w work) { w.write("sub/deep/.cache/x", "1") }, true},
		"content":             {func(w work) { w.write("sub/s", "2") }, false},
		"executable":          {func(w work) { w.must(os.Chmod(w.path("sub/s"), 0o755)) }, false},
		"untracked":           {func(w work) { w.write("sub/n", "1") }, false},
		"commit":              {func(w work) { w.in("sub").git("commit", "-q", "--allow-empty", "-m", "y") }, false},
		"deep, content":       {func(w work) { w.write("sub/deep/d", "2") }, false},
		"deep, commit":        {func(w work) { w.in("sub/deep").git("commit", "-q", "--allow-empty", "-m", "y") }, false},
		"deep, untracked":     {func(w work) { w.write("sub/deep/n", "2") }, false},
		"hidden from status":  {func(w work) { w.in("sub").git("update-index", "--assume-unchanged", "s"); w.write("sub/s", "2") }, false},
		"not expected by git": {func(w work) { w.in("sub").git("update-index", "--skip-worktree", "s"); w.write("sub/s", "2") }, false},
		"not expected, absent": {func(w work) {
			w.in("sub").git("update-index", "--skip-worktree", "s")
			w.must(os.Remove(w.path("sub/s")))
		}, true},
		"removed":     {func(w work) { w.must(os.RemoveAll(w.path("sub"))) }, false},
		"made a file": {func(w work) { w.must(os.RemoveAll(w.path("sub"))); w.write("sub", "1") }, false},
		"not set up":  {func(w work) { w.git("submodule", "--quiet", "deinit", "-f", "sub") }, true},
		"broken .git": {func(w work) { w.must(os.Remove(w.path("sub/.git"))); w.must(os.Mkdir(w.path("sub/.git"), 0o755)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := super(t)
			before := w.digest()
			tc.change(w)
			if same := w.digest() == before; same != tc.same {
				t.Errorf("digest unchanged: %v, want %v", same, tc.same)
			}
		})
	}
}

func TestDirtySubmoduleFollowsItsContent(t *testing.T) {
	t.Parallel()
	w := super(t)
	clean := w.digest()
	w.write("sub/deep/d", "2")
	one := w.digest()
	w.write("sub/deep/d", "3")
	two := w.digest()
	w.write("sub/deep/d", "2")
	again := w.digest()
	w.write("sub/deep/d", "1")
	if one == two || one != again || w.digest() != clean {
		t.Error("the digest does not follow the content of a dirty submodule")
	}
}

func TestFilesInASubmoduleThatIsNotSetUp(t *testing.T) {
	t.Parallel()
	w := super(t)
	w.git("submodule", "--quiet", "deinit", "-f", "sub")
	before := w.digest()
	w.write("sub/f", "1")
	if w.digest() == before {
		t.Error("a file in a submodule without git is not seen")
	}
}

func TestNestedRepository(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write("n/f", "1")
	w.write("n/.gitignore", "*.log\n")
	w.in("n").git("init", "-q")
	before := w.digest()
	w.write("n/x.log", "1")
	w.in("n").commit()
	if w.in("n").git("rm", "-q", "--cached", "x.log"); w.digest() != before {
		t.Error("a commit or an ignored file in a nested repository counts")
	}
	w.write("n/f", "2")
	if w.digest() == before {
		t.Error("the content of a nested repository does not count")
	}
}

func TestSparseCheckout(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write("a/f", "1")
	w.write("b/f", "1")
	w.commit()
	w.git("sparse-checkout", "set", "--no-cone", "/a/")
	before := w.digest()
	w.write("b/f", "hidden")
	if w.digest() == before {
		t.Error("a file that git does not expect is not seen")
	}
	w.must(os.RemoveAll(w.path("b")))
	if w.digest() != before {
		t.Error("the digest did not come back")
	}
}
