//go:build unix

package disk_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenonrun/tenon/tool"
)

// raceWorld has a path of three directories, each of which is swapped, and a
// place outside that looks the same. It lies in memory, where writes need not wait
// for a disk.
func raceWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	if at, err := os.MkdirTemp("/dev/shm", "tenon-race-"); err == nil {
		t.Cleanup(func() { os.RemoveAll(at) })
		w = &world{t: t, at: at}
	}
	w.put("proj/", "home/", "proj/real/b/c/f", "out/b/c/f", "out/c/f", "out/f")
	for _, name := range []string{"out/b/c/f", "out/c/f", "out/f"} {
		must(t, os.WriteFile(w.path(name), []byte("OUTSIDE word\n"), 0o600))
	}
	must(t, os.WriteFile(w.path("proj/real/b/c/f"), []byte("inside word\n"), 0o600))
	return w
}

// swapDirs puts directories, links inside, links outside and links to links in
// the place of each part of a/b/c/f, until it is stopped.
func swapDirs(w *world, stop chan struct{}) {
	random := rand.New(rand.NewPCG(7, 7))
	tree := func(at string, below ...string) {
		dir := filepath.Join(append([]string{at}, below...)...)
		_ = os.MkdirAll(dir, 0o700)
		_ = os.WriteFile(dir+"/f", []byte("inside word\n"), 0o600)
	}
	levels := []struct {
		name    string
		below   []string
		targets []string
	}{
		{"proj/a", []string{"b", "c"}, []string{w.path("out"), "../out", "real", "hop", w.path("proj/real")}},
		{"proj/a/b", []string{"c"}, []string{w.path("out/b"), "../../out/b", "../real/b", w.path("proj/hop/b")}},
		{"proj/a/b/c", nil, []string{w.path("out/b/c"), "../../../out", w.path("proj/real/b/c"), "../../hop/b/c"}},
		{"proj/hop", []string{"b", "c"}, []string{"../out", "real", w.path("out")}},
		{"proj/a/b/c/f", nil, []string{w.path("out/f"), "../../../../out/f", w.path("proj/real/b/c/f")}},
	}
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		l := levels[random.IntN(len(levels))]
		tmp, at := w.path(fmt.Sprintf("proj/tmp%d", n%8)), w.path(l.name)
		_ = os.RemoveAll(tmp)
		switch {
		case random.IntN(2) == 0:
			_ = os.Symlink(l.targets[random.IntN(len(l.targets))], tmp)
		case strings.HasSuffix(at, "/f"):
			_ = os.WriteFile(tmp, []byte("inside word\n"), 0o600)
		default:
			tree(tmp, l.below...)
		}
		// Through a link this would change what is outside: only a parent that is a
		// directory is changed.
		if real, err := filepath.EvalSymlinks(filepath.Dir(at)); err != nil || !strings.HasPrefix(real, w.path("proj")) {
			continue
		}
		swapAt(w, tmp, at, n)
	}
}

// swapAt renames tmp to a place below proj, by handle: the swapper must not go
// through its own links.
func swapAt(w *world, tmp, at string, n int) {
	root, err := os.OpenRoot(w.path("proj"))
	if err != nil {
		return
	}
	defer root.Close()
	rel := func(p string) string { return strings.TrimPrefix(p, w.path("proj")+"/") }
	old := fmt.Sprintf("old%d", n%8)
	_ = root.RemoveAll(old)
	_ = root.Rename(rel(at), old)
	_ = root.Rename(rel(tmp), rel(at))
}

// TestRaceByTools runs the tools that open files while every directory on the way
// is swapped: whatever they tell is of files inside, and nothing outside changes.
func TestRaceByTools(t *testing.T) {
	t.Parallel()
	total := calls
	if testing.Short() || raceEnabled {
		total = calls / 10
	}
	w := raceWorld(t)
	before := listOf(t, w.path("out"))
	stop := make(chan struct{})
	var swapping, working sync.WaitGroup
	swapping.Go(func() { swapDirs(w, stop) })
	var done, stopped atomic.Int64
	for part := range 2 {
		a := w.agent()
		a.call.Session = &tool.Session{}
		working.Go(func() {
			random := rand.New(rand.NewPCG(uint64(part), 3))
			list := []string{
				"read path=a/b/c/f", "read path=a/b/c/f", "read path=a/b/c/f", "read path=a/../a/b/c/f", "read path=hop/b/c/f", "edit path=a/b/c/f old_string=word new_string=word1", "edit path=a/b/c/f old_string=word1 new_string=word",
				"write path=a/b/c/f content=written overwrite=true", "write path=a/b/c/new content=written overwrite=true", "write path=a/b/c/d/new content=written overwrite=true", "grep pattern=word path=a", "grep pattern=word path=a/b/c/f", "glob pattern=**/f path=a", "ls path=a/b/c",
			}
			for range total / 2 {
				call := list[random.IntN(len(list))]
				got, told := a.does(call)
				if strings.Contains(told, "OUTSIDE") {
					t.Errorf("%s told what is outside: %s", call, told)
					return
				}
				if got == "allow" {
					done.Add(1)
				} else {
					stopped.Add(1)
				}
				if strings.HasPrefix(got, "error") {
					t.Errorf("%s: %s", call, got)
					return
				}
			}
		})
	}
	working.Wait()
	close(stop)
	swapping.Wait()
	if after := listOf(t, w.path("out")); after != before {
		t.Errorf("outside it was\n%s\nand is\n%s", before, after)
	}
	if done.Load() == 0 || stopped.Load() == 0 {
		t.Errorf("%d calls done and %d stopped: nothing was raced", done.Load(), stopped.Load())
	}
	t.Logf("%d calls done, %d stopped", done.Load(), stopped.Load())
}

// listOf tells all that is below a directory, with content.
func listOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		raw, _ := os.ReadFile(p)
		fmt.Fprintf(&b, "%s %s %q\n", strings.TrimPrefix(p, dir), d.Type(), raw)
		return nil
	}))
	return b.String()
}
