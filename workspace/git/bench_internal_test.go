package git

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenonrun/tenon/workspace"
)

// bench is a repository with a cache, a clock and a count of the files read.
type bench struct {
	t     testing.TB
	dir   string
	cache string
	ahead time.Duration // of the clock
	slack time.Duration
	reads atomic.Int64
}

// later is a clock for which all files are settled.
const later = time.Minute

func newBench(t testing.TB) *bench {
	b := &bench{t: t, dir: t.TempDir(), cache: filepath.Join(t.TempDir(), "deep", "cache"), ahead: later, slack: slack}
	b.git("init", "-q")
	for i := range 20 {
		b.write(fmt.Sprintf("dir%d/sub/file%d", i%3, i), fmt.Sprintf("content %d\n", i))
	}
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "x")
	b.write("untracked", "1")
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	b.must(os.WriteFile(b.path(name), []byte(content), 0o644))
}

func (b *bench) git(args ...string) {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = b.dir, environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func (b *bench) candidate(cache string) *Candidate {
	b.t.Helper()
	k, err := New(Config{Repositories: []workspace.Repository{{ID: "repo", Path: b.dir}}, Cache: cache})
	b.must(err)
	k.slack = b.slack
	k.now = func() time.Time { return time.Now().Add(b.ahead) }
	k.hash = func(ctx context.Context, r root, name string) ([sha256.Size]byte, stamp, error) {
		b.reads.Add(1)
		return hashFile(ctx, r, name)
	}
	return k
}

// digest returns the digest with the cache and how many files it read.
func (b *bench) digest() (string, int) {
	b.t.Helper()
	b.reads.Store(0)
	digest, err := b.candidate(b.cache).Digest(b.t.Context())
	b.must(err)
	return digest, int(b.reads.Load())
}

// check compares with a digest that has no cache and returns it and the reads.
func (b *bench) check() (string, int) {
	b.t.Helper()
	warm, reads := b.digest()
	cold, err := b.candidate("").Digest(b.t.Context())
	b.must(err)
	if warm != cold {
		b.t.Fatalf("digest with cache %s, without %s", warm, cold)
	}
	return warm, reads
}

// file returns the only cache file.
func (b *bench) file() string {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.cache, "*"))
	b.must(err)
	if len(found) != 1 {
		b.t.Fatalf("cache files %v, want one", found)
	}
	return found[0]
}

// tick returns when the clock of the file system has moved on by more than a tick.
func (b *bench) tick() {
	b.t.Helper()
	probe := filepath.Join(b.t.TempDir(), "probe")
	var first time.Time
	for {
		b.must(os.WriteFile(probe, nil, 0o600))
		info, err := os.Stat(probe)
		b.must(err)
		if first.IsZero() {
			first = info.ModTime()
		}
		if info.ModTime().Sub(first) > 30*time.Millisecond {
			return
		}
	}
}

// keepTimes restores access and modification time, as touch -r does.
func (b *bench) keepTimes(name string, edit func()) {
	info, err := os.Stat(b.path(name))
	b.must(err)
	edit()
	b.must(os.Chtimes(b.path(name), info.ModTime(), info.ModTime()))
}

func (b *bench) replace(name string, with func(path string) error) {
	b.must(os.Remove(b.path(name)))
	b.must(with(b.path(name)))
}

func (b *bench) swap(one, two string) {
	b.must(os.Rename(b.path(one), b.path("aside")))
	b.must(os.Rename(b.path(two), b.path(one)))
	b.must(os.Rename(b.path("aside"), b.path(two)))
}

// reuse removes a file and makes new ones until one has its inode or it is clear
// that this file system does not give it away again.
func (b *bench) reuse(name, content string) {
	r, err := openRoot(b.dir)
	b.must(err)
	defer r.close()
	old, err := r.lstat(name)
	b.must(err)
	b.must(os.Remove(b.path(name)))
	for i := range 50 {
		made := fmt.Sprintf(".git/made%d", i)
		b.write(made, content)
		if s, err := r.lstat(made); err == nil && s.inode == old.inode || i == 49 {
			b.must(os.Rename(b.path(made), b.path(name)))
			return
		}
	}
}
