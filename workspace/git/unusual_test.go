//go:build unix

package git_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/git"
)

// fails checks the error of the digest of one repository.
func (w work) fails(parts ...string) {
	w.t.Helper()
	k, err := git.New(git.Config{Repositories: []workspace.Repository{{ID: "repo", Path: w.dir}}})
	w.must(err)
	digest, err := k.Digest(w.t.Context())
	if err == nil {
		w.t.Fatalf("digest %s, want an error", digest)
	}
	for _, part := range append(parts, "repository repo") {
		if !strings.Contains(err.Error(), part) {
			w.t.Errorf("error %q lacks %q", err, part)
		}
	}
}

func TestBrokenRepositories(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(w work)
		parts []string
	}{
		"no index":    {func(w work) { w.must(os.Remove(w.path(".git/index"))) }, nil},
		"empty index": {func(w work) { w.must(os.WriteFile(w.path(".git/index"), nil, 0o600)) }, []string{"index", "git reset"}},
		"index of text": {func(w work) {
			w.must(os.WriteFile(w.path(".git/index"), []byte("no index, but long enough to be one\n"), 0o600))
		}, []string{"index", "git reset"}},
		"torn index":             {func(w work) { w.must(os.Truncate(w.path(".git/index"), 100)) }, []string{"index", "git reset"}},
		"no HEAD":                {func(w work) { w.must(os.Remove(w.path(".git/HEAD"))) }, []string{"repair or remove"}},
		".git of text":           {func(w work) { w.must(os.RemoveAll(w.path(".git"))); w.write(".git", "text") }, []string{".git"}},
		".git that leads away":   {func(w work) { w.must(os.RemoveAll(w.path(".git"))); w.write(".git", "gitdir: /nowhere/at/all") }, []string{"repair or remove"}},
		"bare by configuration":  {func(w work) { w.git("config", "core.bare", "true") }, []string{"repair or remove"}},
		"unreadable settings":    {func(w work) { w.write(".git/config", "[core\n") }, []string{"config"}},
		"version of tomorrow":    {func(w work) { w.git("config", "core.repositoryFormatVersion", "99") }, []string{"99"}},
		"a pipe where a file is": {func(w work) { w.must(os.Remove(w.path("a.txt"))); w.must(syscall.Mkfifo(w.path("a.txt"), 0o600)) }, []string{"a.txt", "pipe"}},
		"a socket where a file is": {func(w work) {
			w.must(os.Remove(w.path("a.txt")))
			w.must(syscall.Mknod(w.path("a.txt"), syscall.S_IFSOCK|0o600, 0))
		}, []string{"a.txt", "socket"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := repo(t)
			sample(w)
			w.commit()
			tc.spoil(w)
			if tc.parts != nil {
				w.fails(tc.parts...)
				return
			}
			// Without an index all files are untracked.
			fresh := repo(t)
			sample(fresh)
			if w.digest() != fresh.digest() {
				t.Error("another digest than that of untracked files")
			}
		})
	}
}

func TestBareRepository(t *testing.T) {
	t.Parallel()
	w := plain(t)
	w.git("init", "-q", "--bare")
	w.fails(w.dir, "bare", "name a work tree")
}

func TestWithoutCommits(t *testing.T) {
	t.Parallel()
	w := repo(t)
	sample(w)
	before := w.digest()
	w.git("add", "-f", "a.txt")
	if w.digest() != before {
		t.Error("the index counts")
	}
	w.must(os.Remove(w.path("a.txt")))
	if w.digest() == before {
		t.Error("a removed file is not seen")
	}
}

func TestMiddleOfAMerge(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write("a", "base\n")
	w.write("b", "base\n")
	w.commit()
	w.git("checkout", "-q", "-b", "side")
	w.write("a", "side\n")
	w.git("rm", "-q", "b")
	w.git("commit", "-q", "-a", "-m", "side")
	w.git("checkout", "-q", "main")
	w.write("a", "main\n")
	w.write("b", "main\n")
	w.git("commit", "-q", "-a", "-m", "main")
	merge := exec.Command("git", "merge", "side")
	merge.Dir, merge.Env = w.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	if out, err := merge.CombinedOutput(); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	conflict := w.digest()
	copied := repo(t)
	for _, name := range []string{"a", "b"} {
		raw, err := os.ReadFile(w.path(name))
		w.must(err)
		copied.write(name, string(raw))
	}
	if conflict != copied.digest() {
		t.Error("a conflict counts beside what is in the files")
	}
	w.write("a", "resolved\n")
	if w.digest() == conflict {
		t.Error("an edit in the middle of a merge is not seen")
	}
}

// Settings of a repository that make git blind to changes.
func TestBlindGit(t *testing.T) {
	t.Parallel()
	for name, blind := range map[string]func(w work){
		"file modes": func(w work) { w.git("config", "core.fileMode", "false") },
		"stat data": func(w work) {
			w.git("config", "core.checkStat", "minimal")
			w.git("config", "core.trustCtime", "false")
		},
		"assume unchanged": func(w work) { w.git("update-index", "--assume-unchanged", "a.txt") },
		"skip work tree":   func(w work) { w.git("update-index", "--skip-worktree", "a.txt") },
		"a filter": func(w work) {
			w.git("config", "filter.hide.clean", "echo one")
			w.write(".git/info/attributes", "a.txt filter=hide\n")
		},
		"untracked files": func(w work) { w.git("config", "status.showUntrackedFiles", "no") },
		"a monitor":       func(w work) { w.git("config", "core.fsmonitor", "true") },
		"a sparse index": func(w work) {
			w.write("far/x", "1")
			w.commit()
			w.git("sparse-checkout", "set", "--cone", "--sparse-index", "dir")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := repo(t)
			sample(w)
			w.commit()
			blind(w)
			seen := map[string]string{w.digest(): "before"}
			for _, step := range []struct {
				name string
				do   func()
			}{
				{"edit", func() { w.write("a.txt", "ONE\n") }},
				{"mode", func() { w.must(os.Chmod(w.path("a.txt"), 0o755)) }},
				{"untracked", func() { w.write("new", "") }},
			} {
				step.do()
				digest := w.digest()
				if seen[digest] != "" {
					t.Errorf("after %q the digest is as %q", step.name, seen[digest])
				}
				seen[digest] = step.name
			}
		})
	}
}

func TestPointersAreContent(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	w.write("x.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n")
	w.commit()
	pointer := w.digest()
	w.write("x.bin", "the file itself")
	if w.digest() == pointer {
		t.Error("a pointer and its file have the same digest")
	}
}

func TestOddUntrackedFiles(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]work{"git": repo(t), "no git": plain(t)} {
		sample(w)
		before := w.digest()
		w.must(syscall.Mkfifo(w.path("pipe"), 0o600))
		// The name of a socket is short, that of a test's directory is not.
		short, err := os.MkdirTemp("", "s")
		w.must(err)
		t.Cleanup(func() { os.RemoveAll(short) })
		socket, err := net.Listen("unix", filepath.Join(short, "s"))
		w.must(err)
		t.Cleanup(func() { socket.Close() })
		w.must(os.Link(filepath.Join(short, "s"), w.path("socket")))
		if w.digest() != before {
			t.Errorf("%s: a pipe or socket counts", name)
		}
		w.must(os.Symlink(".", w.path("dir/loop")))
		w.must(os.Symlink("..", w.path("dir/up")))
		w.must(os.Symlink("dangling", w.path("self")))
		w.must(os.Symlink("self", w.path("dangling")))
		if w.digest() == before {
			t.Errorf("%s: loops of links do not count", name)
		}
	}
}

func TestPathsThatGrowLong(t *testing.T) {
	t.Parallel()
	w := repo(t)
	w.write(strings.Repeat("d/", 500)+strings.Repeat("n", 200), "1")
	before := w.digest()
	w.write(strings.Repeat("d/", 500)+strings.Repeat("n", 200), "2")
	if w.digest() == before {
		t.Error("a deep file is not seen")
	}
}

func TestSubmoduleBehindALink(t *testing.T) {
	t.Parallel()
	sub, w, outside := repo(t), repo(t), plain(t)
	sub.write("s", "1")
	sub.commit()
	w.git("submodule", "--quiet", "add", sub.dir, "dir/sub")
	w.commit()
	w.must(os.Rename(w.path("dir"), outside.path("dir")))
	w.must(os.Symlink(outside.path("dir"), w.path("dir")))
	before := w.digest()
	outside.write("dir/sub/s", "2")
	if w.digest() != before {
		t.Error("a submodule behind a link counts")
	}
}

func TestBlindSubmodule(t *testing.T) {
	t.Parallel()
	w := super(t)
	sub := w.in("sub")
	sub.git("config", "core.checkStat", "minimal")
	sub.git("config", "core.trustCtime", "false")
	sub.git("config", "core.fileMode", "false")
	before := w.digest()
	w.must(os.Chmod(sub.path("s"), 0o755))
	mode := w.digest()
	w.must(os.Chmod(sub.path("s"), 0o644))
	info, err := os.Stat(sub.path("s"))
	w.must(err)
	sub.git("status")
	sub.write("s", "2")
	w.must(os.Chtimes(sub.path("s"), info.ModTime(), info.ModTime()))
	if mode == before || w.digest() == before {
		t.Error("the settings of a submodule hide its changes")
	}
}

// asNobody returns the answer of a process that permissions hold back.
func (w work) asNobody() string {
	w.t.Helper()
	home := plain(w.t)
	self, err := os.Executable()
	w.must(err)
	// Copied by a process of its own: a file that this one has open for writing
	// could not be run.
	w.must(exec.Command("cp", self, home.path("self")).Run())
	w.must(os.Chmod(home.path("self"), 0o755))
	home.write(".gitconfig", "[safe]\n\tdirectory = *\n")
	for dir := w.dir; strings.Contains(dir, "Test"); dir = filepath.Dir(dir) {
		w.must(os.Chmod(dir, 0o755))
	}
	for dir := home.dir; strings.Contains(dir, "Test"); dir = filepath.Dir(dir) {
		w.must(os.Chmod(dir, 0o755))
	}
	cmd := exec.Command(home.path("self"))
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home.dir, child + "=" + w.dir}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	w.must(err)
	return string(out)
}

func TestPermissionDenied(t *testing.T) {
	t.Parallel()
	for name, denied := range map[string]string{
		"tracked file":        "a.txt",
		"untracked file":      "new/file",
		"tracked directory":   "dir",
		"untracked directory": "new",
		"no git":              "new",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := repo(t)
			sample(w)
			w.commit()
			w.write("new/file", "1")
			w.write("closed.log", "ignored")
			w.must(os.Chmod(w.path("closed.log"), 0))
			if name == "no git" {
				w.must(os.RemoveAll(w.path(".git")))
				w.must(os.Remove(w.path("closed.log")))
			}
			if got, want := strings.TrimSpace(w.asNobody()), w.digest(); got != want {
				t.Fatalf("readable: %s, want %s", got, want)
			}
			w.must(os.Chmod(w.path(denied), 0))
			t.Cleanup(func() { os.Chmod(w.path(denied), 0o755) })
			got := w.asNobody()
			for _, part := range []string{"error:", "repository repo", denied, "ermission denied", "make it readable or name it in a .gitignore"} {
				if !strings.Contains(got, part) {
					t.Errorf("%q lacks %q", got, part)
				}
			}
		})
	}
}
