package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/tenonrun/tenon/workspace/git"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	got, err := git.Version(t.Context())
	if err != nil || !regexp.MustCompile(`^\d+\.\d+`).MatchString(got) {
		t.Errorf("version %q, %v", got, err)
	}
}

func TestRootAndCommon(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write("dir/sub/f", "1")
	w.commit()
	real, err := filepath.EvalSymlinks(w.dir)
	w.must(err)
	tree := filepath.Join(t.TempDir(), "tree")
	w.git("worktree", "add", "-q", tree)
	realTree, err := filepath.EvalSymlinks(tree)
	w.must(err)
	alias := filepath.Join(t.TempDir(), "alias")
	w.must(os.Symlink(w.dir, alias))
	common := filepath.Join(real, ".git")
	for path, root := range map[string]string{w.dir: real, w.path("dir/sub"): real, tree: realTree, alias: real, filepath.Join(alias, "dir"): real} {
		if got, err := git.Root(t.Context(), path); err != nil || got != root {
			t.Errorf("Root(%s) = %s, %v, want %s", path, got, err, root)
		}
		if got, err := git.Common(t.Context(), path); err != nil || got != common {
			t.Errorf("Common(%s) = %s, %v, want %s", path, got, err, common)
		}
	}
}

func TestNoRepository(t *testing.T) {
	t.Parallel()
	w := plain(t)
	if _, err := git.Root(t.Context(), w.dir); !errors.Is(err, git.ErrNoRepository) {
		t.Errorf("Root: %v", err)
	}
	if _, err := git.Common(t.Context(), w.dir); !errors.Is(err, git.ErrNoRepository) {
		t.Errorf("Common: %v", err)
	}
	if _, err := git.Root(t.Context(), w.path("none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

// Not parallel: it takes git away.
func TestGitIsMissing(t *testing.T) {
	w := repo(t)
	w.write("a", "1")
	p := plain(t)
	p.write("a", "1")
	want := p.digest()
	t.Setenv("PATH", t.TempDir())
	if p.digest() != want {
		t.Error("a plain directory needs git")
	}
	if _, err := git.Version(t.Context()); !errors.Is(err, git.ErrNoGit) {
		t.Errorf("Version: %v", err)
	}
	if _, err := git.Root(t.Context(), w.dir); !errors.Is(err, git.ErrNoGit) {
		t.Errorf("Root: %v", err)
	}
}
