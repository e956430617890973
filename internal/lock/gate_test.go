package lock_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tenonrun/tenon/internal/lock"
)

func gate(t *testing.T, path string) *lock.Gate {
	t.Helper()
	g, err := lock.OpenGate(path)
	must(t, err)
	t.Cleanup(func() { must(t, g.Close()) })
	return g
}

// through goes through a gate and reports whether nobody else did since.
func through(t *testing.T, g *lock.Gate) bool {
	t.Helper()
	must(t, g.Lock())
	defer g.Unlock()
	return g.Again()
}

func TestAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w")
	a, b := gate(t, path), gate(t, path)
	for i, step := range []struct {
		gate  *lock.Gate
		again bool
	}{{a, false}, {a, true}, {a, true}, {b, false}, {b, true}, {a, false}, {b, false}, {b, true}} {
		if got := through(t, step.gate); got != step.again {
			t.Errorf("step %d: nobody else came through is %v", i, got)
		}
	}
	must(t, os.Truncate(path, 3))
	if through(t, b) {
		t.Error("a mark that was cut counts")
	}
}

// TestOneAtATime lets gates race: nobody is inside together with another, and
// who is told that nobody else came through, was the last one.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w")
	var mu sync.Mutex // guards the two; the gate is what keeps them right
	inside, last := 0, -1
	var all sync.WaitGroup
	for i := range 4 {
		g := gate(t, path)
		all.Go(func() {
			for range 100 {
				if err := g.Lock(); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if inside++; inside != 1 || g.Again() != (last == i) {
					t.Errorf("%d are inside; gate %d came after gate %d, and nobody else came through is %v", inside, i, last, g.Again())
				}
				last = i
				mu.Unlock()
				mu.Lock()
				inside--
				mu.Unlock()
				g.Unlock()
			}
		})
	}
	all.Wait()
}

// TestBusy: who has the gate too long is not waited for, and the wait goes on in
// the next Lock.
func TestBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w")
	a, b := gate(t, path), gate(t, path)
	must(t, a.Lock())
	b.Wait(time.Millisecond)
	for range 3 {
		if err := b.Lock(); !errors.Is(err, lock.ErrBusy) {
			t.Fatalf("at a gate that another has: %v", err)
		}
	}
	a.Unlock()
	b.Wait(time.Minute)
	if through(t, b) {
		t.Error("the other one came through unseen")
	}
	if through(t, a) {
		t.Error("the wait of the other one was for nothing")
	}
}
