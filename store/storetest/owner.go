package storetest

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

func own(t *testing.T, s store.Store, run workflow.RunID) store.Owner {
	t.Helper()
	o, err := s.Own(t.Context(), run)
	must(t, err)
	return o
}

func owners(t *testing.T, s store.Store) {
	first := own(t, s, "r") // the run need not exist
	_, err := s.Own(t.Context(), "r")
	var held *store.Held
	if !errors.As(err, &held) || held.Holder.PID != os.Getpid() || !held.Holder.Here || held.Holder.Host == "" {
		t.Fatalf("owning a held run gives %v", err)
	}
	fails(t, err, workflow.CodeRunHeld)
	other := own(t, s, "q")
	must(t, other.Release())
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: first.Epoch(), Create: &store.Create{}, Events: note(0, first.Epoch(), "one")}))
	if h := head(t, s, "r"); h.Owner == nil || !h.Owner.Here || h.Epoch != first.Epoch() {
		t.Errorf("the head of a held run is %+v", h)
	}
	must(t, first.Release())
	must(t, first.Release())
	if h := head(t, s, "r"); h.Owner != nil {
		t.Errorf("a released run is owned by %+v", h.Owner)
	}
	second := own(t, s, "r")
	must(t, second.Release())
	third := own(t, s, "r")
	must(t, second.Release()) // does not give the third one back
	if _, err := s.Own(t.Context(), "r"); err == nil {
		t.Error("releasing an old hold again gave the run away")
	}
	if first.Epoch() >= second.Epoch() || second.Epoch() >= third.Epoch() {
		t.Errorf("epochs do not rise: %d, %d, %d", first.Epoch(), second.Epoch(), third.Epoch())
	}
	must(t, third.Release())
	if _, err := s.Own(t.Context(), "../r"); workflow.CodeOf(err) != workflow.CodeInvalidArguments {
		t.Errorf("owning a path gives %v", err)
	}
}

func ownersRace(t *testing.T, s store.Store) {
	for range 20 {
		var won atomic.Int32
		var wg sync.WaitGroup
		winners := make(chan store.Owner, 16)
		for range 16 {
			wg.Go(func() {
				o, err := s.Own(t.Context(), "r")
				if err == nil {
					won.Add(1)
					winners <- o
					return
				}
				if !errors.Is(err, &workflow.Error{Code: workflow.CodeRunHeld}) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d owners at once", won.Load())
		}
		must(t, (<-winners).Release())
	}
}

// looking: listing runs while they are taken makes no Own fail.
func looking(t *testing.T, s store.Store) {
	begin(t, s, "r", "one")
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.Runs(t.Context(), store.Query{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 200 {
		o, err := s.Own(t.Context(), "r")
		if err != nil {
			t.Error(err)
			break
		}
		must(t, o.Release())
	}
	close(done)
	wg.Wait()
}
