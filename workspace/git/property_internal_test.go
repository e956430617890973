package git

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// edits change a tree at random. Names are few, so that they meet.
var edits = []struct {
	name string
	do   func(b *bench, one, two string, n int) error
}{
	{"nothing", func(*bench, string, string, int) error { return nil }},
	{"wait", func(b *bench, _, _ string, _ int) error { b.tick(); return nil }},
	{"write", func(b *bench, one, _ string, n int) error { return put(b.path(one), n) }},
	{"write more", func(b *bench, one, _ string, n int) error { return put(b.path(one), n*1000) }},
	{"write and restore mtime", func(b *bench, one, _ string, n int) error {
		info, err := os.Stat(b.path(one))
		if err != nil {
			return err
		}
		if err := put(b.path(one), n); err != nil {
			return err
		}
		return os.Chtimes(b.path(one), info.ModTime(), info.ModTime())
	}},
	{"write aside and rename", func(b *bench, one, _ string, n int) error {
		if err := put(b.path("aside"), n); err != nil {
			return err
		}
		return os.Rename(b.path("aside"), b.path(one))
	}},
	{"touch", func(b *bench, one, _ string, _ int) error { return os.Chtimes(b.path(one), time.Time{}, time.Now()) }},
	{"set an old mtime", func(b *bench, one, _ string, n int) error {
		return os.Chtimes(b.path(one), time.Time{}, time.Unix(int64(n), 0))
	}},
	{"chmod", func(b *bench, one, _ string, n int) error { return os.Chmod(b.path(one), 0o644|os.FileMode(n%2)<<6) }},
	{"rename", func(b *bench, one, two string, _ int) error { return os.Rename(b.path(one), b.path(two)) }},
	{"hard link", func(b *bench, one, two string, _ int) error { return os.Link(b.path(one), b.path(two)) }},
	{"link", func(b *bench, one, two string, _ int) error { return os.Symlink(filepath.Base(one), b.path(two)) }},
	{"remove", func(b *bench, one, _ string, _ int) error { return os.RemoveAll(b.path(one)) }},
	{"directory to link", func(b *bench, one, _ string, _ int) error {
		dir := filepath.Dir(b.path(one))
		if dir == b.dir {
			return nil
		}
		if err := os.Rename(dir, dir+"2"); err != nil {
			return err
		}
		return os.Symlink(filepath.Base(dir)+"2", dir)
	}},
	{"link to directory", func(b *bench, one, _ string, _ int) error {
		dir := filepath.Dir(b.path(one))
		if err := os.Remove(dir); err != nil {
			return err
		}
		return os.Rename(dir+"2", dir)
	}},
}

// put writes a file whose size tells little of its content.
func put(name string, n int) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, fmt.Appendf(nil, "%06d", n), 0o644)
}

var names = []string{"a", "d/a", "d/b", "d/e/a", "d/e/b", "f/a"}

// agree reports what a digest with the cache and one without it disagree on.
func (b *bench) agree() error {
	warm, err := b.candidate(b.cache).Digest(b.t.Context())
	if err != nil {
		return err
	}
	cold, err := b.candidate("").Digest(b.t.Context())
	if err == nil && warm != cold {
		err = fmt.Errorf("digest with cache %s, without %s", warm, cold)
	}
	return err
}

func TestColdAndWarmAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		base, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		b := &bench{t: t, dir: filepath.Join(base, "tree"), cache: filepath.Join(base, "cache"), slack: 30 * time.Millisecond}
		for i, name := range names {
			if err := put(b.path(name), i); err != nil {
				rt.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			edit := rapid.SampledFrom(edits).Draw(rt, "edit")
			one, two := rapid.SampledFrom(names).Draw(rt, "one"), rapid.SampledFrom(names).Draw(rt, "two")
			err := edit.do(b, one, two, rapid.IntRange(0, 99).Draw(rt, "n"))
			rt.Logf("%s %s %s: %v", edit.name, one, two, err) // not every edit is possible
			if err := b.agree(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func TestColdAndWarmAgreeInGit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.slack, b.ahead = 30*time.Millisecond, 0
	random := rand.New(rand.NewPCG(3, 4))
	for step := range 60 {
		edit := edits[random.IntN(len(edits))]
		one, two, n := names[random.IntN(len(names))], names[random.IntN(len(names))], random.IntN(100)
		err := edit.do(b, one, two, n)
		t.Logf("%s %s %s %d: %v", edit.name, one, two, n, err)
		switch step % 12 {
		case 3:
			b.git("add", "-A")
		case 6:
			b.git("commit", "-q", "-a", "--allow-empty", "-m", "y")
		case 9:
			b.git("checkout", "-q", "-f", "HEAD~0")
		case 11:
			b.git("stash", "-u", "-q")
		}
		if err := b.agree(); err != nil {
			t.Fatal(err)
		}
	}
}
