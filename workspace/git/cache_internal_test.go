//go:build unix

package git

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

func TestNoChangeReadsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, reads := b.check()
	if reads != 21 {
		t.Errorf("the first digest read %d files, want 21", reads)
	}
	before, err := os.Stat(b.file())
	b.must(err)
	if again, reads := b.check(); again != first || reads != 0 {
		t.Errorf("without a change: same digest %v, %d reads", again == first, reads)
	}
	if after, err := os.Stat(b.file()); err != nil || !os.SameFile(before, after) {
		t.Error("the cache was written without a change", err)
	}
	b.write("dir1/sub/file1", "other")
	if changed, reads := b.check(); changed == first || reads != 1 {
		t.Errorf("after one edit: same digest %v, %d reads", changed == first, reads)
	}
	b.must(os.Remove(b.path("untracked")))
	b.check()
	if _, reads := b.check(); reads != 0 {
		t.Errorf("after a removal: %d reads", reads)
	}
}

func TestWithoutGitTheCacheWorksToo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(os.RemoveAll(b.path(".git")))
	first, _ := b.check()
	if again, reads := b.check(); again != first || reads != 0 {
		t.Errorf("without a change: same digest %v, %d reads", again == first, reads)
	}
}

func TestDirtySubmoduleUsesTheCache(t *testing.T) {
	t.Parallel()
	b, inner := newBench(t), newBench(t)
	b.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.dir, "sub")
	b.write("sub/new", "1")
	b.check()
	if _, reads := b.check(); reads != 0 {
		t.Errorf("%d reads", reads)
	}
	b.write("sub/new", "2")
	if _, reads := b.check(); reads != 1 {
		t.Errorf("after an edit: %d reads", reads)
	}
}

func TestFreshFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ahead = 0
	b.check()
	if _, reads := b.check(); reads != 21 {
		t.Errorf("files younger than the tick: %d reads, want all", reads)
	}
	b.ahead = later
	if _, reads := b.check(); reads != 21 {
		t.Errorf("files that have settled: %d reads, want all once more", reads)
	}
	if _, reads := b.check(); reads != 0 {
		t.Errorf("files that were read when settled: %d reads", reads)
	}
	future := time.Now().Add(24 * time.Hour)
	b.must(os.Chtimes(b.path("untracked"), future, future))
	b.check()
	if _, reads := b.check(); reads != 1 {
		t.Errorf("file of tomorrow: %d reads, want one each time", reads)
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	read := time.Unix(1000, 500)
	for name, tc := range map[string]struct {
		mtime, ctime time.Time
		want         bool
	}{
		"old":          {time.Unix(10, 0), time.Unix(900, 0), true},
		"just older":   {time.Unix(10, 0), time.Unix(998, 499), true},
		"one tick":     {time.Unix(10, 0), time.Unix(998, 500), false},
		"now":          {time.Unix(1000, 500), time.Unix(1000, 500), false},
		"mtime now":    {time.Unix(1000, 0), time.Unix(10, 0), false},
		"future ctime": {time.Unix(10, 0), time.Unix(2000, 0), false},
		"future mtime": {time.Unix(2000, 0), time.Unix(10, 0), false},
	} {
		s := stamp{mtime: tc.mtime.UnixNano(), ctime: tc.ctime.UnixNano()}
		if got := s.settled(read, slack); got != tc.want {
			t.Errorf("%s: settled %v", name, got)
		}
	}
}

func TestClockSetBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ahead = 2 * later
	b.check()
	b.ahead = later
	if _, reads := b.check(); reads != 21 {
		t.Errorf("a cache from the future: %d reads, want all", reads)
	}
	if _, reads := b.check(); reads != 0 {
		t.Errorf("the cache written since: %d reads", reads)
	}
}

func TestEditsAreSeen(t *testing.T) {
	t.Parallel()
	const name = "dir1/sub/file1"
	for label, edit := range map[string]func(b *bench){
		"same size":      func(b *bench) { b.write(name, "CONTENT 1\n") },
		"mtime restored": func(b *bench) { b.keepTimes(name, func() { b.write(name, "CONTENT 1\n") }) },
		"in place": func(b *bench) {
			f, err := os.OpenFile(b.path(name), os.O_WRONLY, 0)
			b.must(err)
			_, err = f.WriteAt([]byte("X"), 3)
			b.must(errors.Join(err, f.Close()))
		},
		"mode":         func(b *bench) { b.must(os.Chmod(b.path(name), 0o755)) },
		"made a link":  func(b *bench) { b.replace(name, func(p string) error { return os.Symlink("file4", p) }) },
		"a directory":  func(b *bench) { b.replace(name, func(p string) error { return os.Mkdir(p, 0o755) }) },
		"gone":         func(b *bench) { b.must(os.Remove(b.path(name))) },
		"swapped":      func(b *bench) { b.swap(name, "dir1/sub/file4") },
		"inode reused": func(b *bench) { b.keepTimes(name, func() { b.reuse(name, "CONTENT 1\n") }) },
		"linked directory": func(b *bench) {
			b.must(os.Rename(b.path("dir1"), b.path(".git/dir1")))
			b.must(os.Symlink(".git/dir1", b.path("dir1")))
		},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			before, _ := b.check()
			if _, reads := b.check(); reads != 0 {
				t.Fatalf("the cache does not work: %d reads", reads)
			}
			b.tick()
			edit(b)
			if after, _ := b.check(); after == before {
				t.Error("the edit is not seen")
			}
			b.check()
		})
	}
}

func TestCheckoutBackAndForth(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one, _ := b.check()
	b.git("checkout", "-q", "-b", "other")
	b.write("dir1/sub/file1", "CONTENT 1\n")
	b.git("commit", "-q", "-a", "-m", "y")
	two, _ := b.check()
	for range 3 {
		b.tick()
		b.git("checkout", "-q", "-")
		if again, _ := b.check(); again != one {
			t.Error("not the digest of the first branch")
		}
		b.tick()
		b.git("checkout", "-q", "-")
		if again, _ := b.check(); again != two {
			t.Error("not the digest of the second branch")
		}
	}
}

func TestBadCacheFileIsIgnored(t *testing.T) {
	t.Parallel()
	rewrite := func(change func(raw []byte) []byte) func(b *bench, file string) {
		return func(b *bench, file string) {
			raw, err := os.ReadFile(file)
			b.must(err)
			b.must(os.WriteFile(file, change(raw), 0o600))
		}
	}
	sealed := func(change func(raw []byte)) func(b *bench, file string) {
		return rewrite(func(raw []byte) []byte {
			raw = raw[:len(raw)-sha256.Size]
			change(raw)
			sum := sha256.Sum256(raw)
			return append(raw, sum[:]...)
		})
	}
	for label, spoil := range map[string]func(b *bench, file string){
		"empty":         rewrite(func([]byte) []byte { return nil }),
		"half":          rewrite(func(raw []byte) []byte { return raw[:len(raw)/2] }),
		"one byte less": rewrite(func(raw []byte) []byte { return raw[:len(raw)-1] }),
		"one byte more": rewrite(func(raw []byte) []byte { return append(raw, 0) }),
		"flipped bit":   rewrite(func(raw []byte) []byte { raw[len(raw)/2] ^= 1; return raw }),
		"text":          rewrite(func([]byte) []byte { return bytes.Repeat([]byte("no cache\n"), 100) }),
		"other version": sealed(func(raw []byte) { raw[len(magic)-1]++ }),
		"other owner":   sealed(func(raw []byte) { raw[len(magic)]++ }),
		"wrong count":   sealed(func(raw []byte) { raw[headSize-8]++ }),
		"huge count":    sealed(func(raw []byte) { raw[headSize-2] = 0xff }),
		"long name":     sealed(func(raw []byte) { raw[headSize+47] = 0x7f }),
		"out of order":  sealed(func(raw []byte) { raw[headSize+recordSize] = 0xff }),
		"for everybody": func(b *bench, file string) { b.must(os.Chmod(file, 0o666)) },
		"a link":        func(b *bench, file string) { b.must(os.Rename(file, file+"2")); b.must(os.Symlink(file+"2", file)) },
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			before, _ := b.check()
			spoil(b, b.file())
			if after, reads := b.check(); after != before || reads != 21 {
				t.Errorf("same digest %v, %d reads, want all", after == before, reads)
			}
			if _, reads := b.check(); reads != 0 {
				t.Errorf("the cache was not mended: %d reads", reads)
			}
		})
	}
}

func TestCacheOfAnotherRepository(t *testing.T) {
	t.Parallel()
	b, other := newBench(t), newBench(t)
	b.check()
	other.check()
	raw, err := os.ReadFile(b.file())
	b.must(err)
	b.must(os.WriteFile(other.file(), raw, 0o600))
	if _, reads := other.check(); reads != 21 {
		t.Errorf("%d reads, want all", reads)
	}
}

func TestCacheThatCannotBeKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cache = filepath.Join(b.cache, "file", "below")
	b.must(os.MkdirAll(filepath.Dir(filepath.Dir(b.cache)), 0o700))
	b.must(os.WriteFile(filepath.Dir(b.cache), nil, 0o600))
	b.check()
	if _, reads := b.check(); reads != 21 {
		t.Errorf("%d reads", reads)
	}
	b = newBench(t)
	b.check()
	file := b.file()
	b.must(os.Remove(file))
	b.must(os.MkdirAll(filepath.Join(file, "full"), 0o700))
	b.check()
	b.check()
	b.file() // nothing else is left there
}

func TestKilledWritersAreSweptUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check()
	old, young := b.file()+".1"+temporary, b.file()+".2"+temporary
	for _, name := range []string{old, young} {
		b.must(os.WriteFile(name, nil, 0o600))
	}
	past := time.Now().Add(-2 * time.Hour)
	b.must(os.Chtimes(old, past, past))
	b.write("new", "1")
	b.check()
	if exists(old) || !exists(young) {
		t.Errorf("left by a killed process: old there %v, young there %v", exists(old), exists(young))
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.slack = 30 * time.Millisecond
	b.ahead = 0
	stop := make(chan struct{})
	var edits sync.WaitGroup
	edits.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				if err := os.WriteFile(b.path("untracked"), []byte{'0' + byte(i%10)}, 0o644); err != nil {
					t.Error(err)
				}
			}
		}
	})
	var group errgroup.Group
	for range 8 {
		k := b.candidate(b.cache)
		group.Go(func() error {
			for range 5 {
				if _, err := k.Digest(t.Context()); err != nil && !errors.Is(err, errMoved) {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	close(stop)
	edits.Wait()
	b.must(err)
	b.check()
	b.ahead = later
	b.check()
	if _, reads := b.check(); reads != 0 {
		t.Errorf("%d reads", reads)
	}
	b.file()
}

func TestCacheInTheTreeIsLeftOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	without, err := b.candidate("").Digest(t.Context())
	b.must(err)
	b.cache = b.path("state/cache")
	for range 2 {
		if got, _ := b.digest(); got != without {
			t.Error("the cache counts")
		}
	}
}

func FuzzDecode(f *testing.F) {
	key := sha256.Sum256(nil)
	now := time.Unix(1000, 0)
	list := []record{{name: "a", stamp: stamp{size: 1, mode: modeRegular}}, {name: "b/\xff", stamp: stamp{mtime: -1}}}
	whole := encode(list, key, now)
	f.Add(whole[:len(whole)-sha256.Size])
	f.Add(encode(nil, key, now)[:headSize])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		raw := append(bytes.Clone(body), sum[:]...)
		list := decode(raw, key, now)
		if len(list) == 0 {
			return
		}
		if !slices.IsSortedFunc(list, func(a, b record) int { return strings.Compare(a.name, b.name) }) {
			t.Error("records out of order")
		}
		if again := decode(encode(list, key, now), key, now); !slices.Equal(again, list) {
			t.Error("records do not survive")
		}
	})
}
