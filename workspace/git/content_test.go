package git_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/git"
)

// The values were published with this format; another one needs another format.
func TestFormat(t *testing.T) {
	t.Parallel()
	w := repo(t)
	sample(w)
	w.commit()
	if got, want := w.digest(), "c1:9c29449538118b65e6ce092eb064429f254babfdbcb8c0301c6b3c8273868434"; got != want {
		t.Errorf("usual files: %s, want %s", got, want)
	}
	w.must(os.Remove(w.path("a.txt")))
	w.write("new\nname\xff", "x")
	w.write("n/f", "1")
	w.in("n").git("init", "-q")
	if got, want := w.digest(), "c1:47ad54c67ddf842d2ee921e29d876de2d2ecc4c94cf164dd84499426c39b43bb"; got != want {
		t.Errorf("odd files: %s, want %s", got, want)
	}
	c := git.Config{
		Repositories: []workspace.Repository{{ID: "w", Path: w.dir}, {ID: "v", Path: plain(t).dir}},
		Exclude:      []git.Exclude{{Path: "dir"}, {Repository: "w", Path: "out", Tracked: true}},
	}
	if got, want := digest(t, c), "c1:51757bb4fa10882e71b6d219cc298a5c5a7f4900b1ba4df9e8bec9bac532f53b"; got != want {
		t.Errorf("two repositories and excludes: %s, want %s", got, want)
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	w, v := super(t), repo(t)
	sample(w)
	w.commit()
	w.must(os.Remove(w.path("a")))
	w.write("n/f", "1")
	w.in("n").git("init", "-q")
	v.write("f", "1")
	c := git.Config{
		Repositories: []workspace.Repository{{ID: "w", Path: w.dir}, {ID: "v", Path: v.dir}},
		Exclude:      []git.Exclude{{Path: "none"}, {Repository: "w", Path: "gone"}, {Repository: "v", Path: "absent"}},
		Cache:        t.TempDir(),
	}
	k, err := git.New(c)
	w.must(err)
	got, err := k.Content(t.Context())
	w.must(err)
	if want := digest(t, c); got.Digest != want {
		t.Errorf("digest %s, want %s", got.Digest, want)
	}
	if len(got.Repositories) != 2 || got.Repositories[0].ID != "v" || got.Repositories[1].ID != "w" {
		t.Fatalf("repositories %+v", got.Repositories)
	}
	alone := git.Config{Repositories: c.Repositories[1:], Exclude: []git.Exclude{{Path: "none"}, {Repository: "v", Path: "absent"}}}
	if want := digest(t, alone); got.Repositories[0].Digest != want {
		t.Errorf("digest of v %s, want %s", got.Repositories[0].Digest, want)
	}
	sum := func(kind, content string) string { return fmt.Sprintf("%s:%x", kind, sha256.Sum256([]byte(content))) }
	find := map[string]string{
		".gitignore": sum("file", "*.log\nbuild/\n"),
		"a":          "deleted",
		"in":         "link:dir/b.go",
		"out":        "out-link:../out",
		"run.sh":     sum("executable", "#!/bin/sh\n"),
		"sub":        "module:" + w.in("sub").git("rev-parse", "HEAD"),
	}
	files := got.Repositories[1].Files
	if !slices.IsSortedFunc(files, func(a, b git.File) int { return strings.Compare(a.Path, b.Path) }) {
		t.Error("files are not sorted")
	}
	for _, f := range files {
		if want, ok := find[f.Path]; ok && f.Fingerprint != want {
			t.Errorf("%s: %s, want %s", f.Path, f.Fingerprint, want)
		}
		delete(find, f.Path)
	}
	if len(find) > 0 || len(files) != 11 {
		t.Errorf("%d files; missing %v in %v", len(files), find, files)
	}
}
