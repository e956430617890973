//go:build unix

package disk_test

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenonrun/tenon/permission/disk"
	"github.com/tenonrun/tenon/tool"
)

// opened and refused count what became of calls that were allowed.
var opened, refused atomic.Int64

// calls is how many calls run while links are swapped.
const calls = 100_000

// TestRace swaps files, directories and links for each other while calls are
// judged and done. A read must give what a place inside holds, and a write must
// land inside, whatever was there between judging and opening.
func TestRace(t *testing.T) {
	t.Parallel()
	total := calls
	if testing.Short() || raceEnabled {
		total = calls / 10
	}
	w := newWorld(t, "proj/in/f", "proj/real/f", "out/f", "out/secret")
	must(t, os.WriteFile(w.path("out/f"), []byte("OUTSIDE"), 0o600))
	f := w.fence("deny Read(//out/**)", "deny Edit(//out/**)")
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() { swapLinks(w, stop) })
	var working sync.WaitGroup
	for part := range 2 {
		working.Go(func() { racingCalls(w, f, total/2, uint64(part)) })
	}
	working.Wait()
	close(stop)
	swapping.Wait()
	if w.read("out/f") != "OUTSIDE" {
		t.Errorf("a file outside was written: %q", w.read("out/f"))
	}
	entries, err := os.ReadDir(w.path("out"))
	must(t, err)
	if opened.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d opened and %d refused: nothing was raced", opened.Load(), refused.Load())
	}
	if len(entries) != 2 {
		t.Errorf("something was made outside: %v", entries)
	}
}

// swapLinks makes in a directory, a link inside and a link outside in turn, and
// does the same with the file in it.
func swapLinks(w *world, stop chan struct{}) {
	next := 0
	put := func(name string, make func(tmp string) error) {
		tmp := w.path("proj/tmp")
		os.RemoveAll(tmp)
		if make(tmp) != nil {
			return
		}
		os.RemoveAll(w.path(name) + ".old")
		os.Rename(w.path(name), w.path(name)+".old")
		os.Rename(tmp, w.path(name))
	}
	for {
		select {
		case <-stop:
			return
		default:
		}
		next++
		switch next % 4 {
		case 0:
			put("proj/in", func(tmp string) error { return os.Symlink(w.path("out"), tmp) })
		case 1:
			put("proj/in", func(tmp string) error {
				os.Mkdir(tmp, 0o700)
				return os.WriteFile(tmp+"/f", []byte("inside"), 0o600)
			})
		case 2:
			put("proj/in/f", func(tmp string) error { return os.Symlink(w.path("out/f"), tmp) })
		case 3:
			put("proj/in", func(tmp string) error { return os.Symlink("real", tmp) })
		}
	}
}

func racingCalls(w *world, f *disk.Fence, n int, seed uint64) {
	ctx := context.Background()
	random := rand.New(rand.NewPCG(seed, 1))
	for range n {
		switch random.IntN(8) {
		case 0:
			if p, err := f.Judge(ctx, w.request("write", "in/new")); err == nil {
				_, _ = f.Write(ctx, p, tool.Draft{Content: []byte("w")})
			}
		case 1:
			if p, err := f.Judge(ctx, w.request("grep", "in")); err == nil {
				_, _ = f.Walk(ctx, p, tool.WalkOptions{}, func(e tool.Entry) error {
					w.readInside(f, e.Place)
					return nil
				})
			}
		default:
			if p, err := f.Judge(ctx, w.request("read", "in/f")); err == nil {
				w.readInside(f, p)
			}
		}
	}
}

// readInside opens a judged place and looks whose content it is.
func (w *world) readInside(f *disk.Fence, p tool.Place) {
	h, err := f.Open(context.Background(), p)
	if err != nil {
		refused.Add(1)
		return
	}
	opened.Add(1)
	defer h.Close()
	if got, _ := io.ReadAll(h); strings.Contains(string(got), "OUTSIDE") {
		w.t.Errorf("%+v gave what is outside", p)
	}
}
