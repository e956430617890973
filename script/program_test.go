package script_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/workflow"
)

// rounds is how many completion orders each script is played in.
func rounds() int {
	if n, err := strconv.Atoi(os.Getenv("TENON_SCRIPT_RUNS")); err == nil {
		return n
	}
	if testing.Short() || raced {
		return 1
	}
	return 6
}

// TestSamples plays every script in many orders of completion, kills each run at
// random points and resumes it: the result is the same, and no call that settled
// is made again.
func TestSamples(t *testing.T) {
	t.Parallel()
	all := samples(t)
	if len(all) < 30 {
		t.Fatalf("only %d scripts", len(all))
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var names []string
			for seed := range uint64(rounds()) {
				p := begin(t, s, seed)
				p.finish()
				p.check(s)
				for id, n := range p.started {
					if n != 1 {
						t.Fatalf("seed %d: %s was started %d times", seed, id, n)
					}
				}
				if got := p.names(); names == nil || s.order {
					names = got
				} else if !slices.Equal(got, names) {
					t.Fatalf("seed %d: the calls are %v, of another order they were %v", seed, got, names)
				}
				killed(t, s, p, names)
			}
		})
	}
}

// killed cuts a run three times, each time later, and plays it to its end.
func killed(t *testing.T, s sample, p *play, names []string) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(uint64(len(p.events)), 5))
	at, cuts := 1, 3
	if raced {
		cuts = 1
	}
	for range cuts {
		at += rnd.IntN(max(1, len(p.events)-at))
		before := map[workflow.VisitID]bool{}
		for _, e := range p.events[:at] {
			if e.Type() == workflow.TypeSettled {
				before[e.VisitID()] = true
			}
		}
		p.cut(at)
		for id := range p.started {
			p.started[id] = 0
		}
		p.finish()
		p.check(s)
		for id, n := range p.started {
			if n > 0 && before[id] {
				t.Fatalf("%s had settled before the kill at %d and was started again", id, at)
			}
		}
		if got := p.names(); !s.order && !slices.Equal(got, names) {
			t.Fatalf("after a kill at %d the calls are %v, want %v", at, got, names)
		}
	}
}

// TestLaw splits histories into batches: the commands are the same in the same
// order.
func TestLaw(t *testing.T) {
	if raced {
		t.Skip("nothing here runs side by side, and a hundred histories take minutes under the race detector")
	}
	t.Parallel()
	all := samples(t)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(all).Draw(t, "script")
		p := begin(t, s, rapid.Uint64().Draw(t, "seed"))
		p.finish()
		one := p.commands(p.events, func(int) bool { return true })
		at := rapid.IntRange(1, 5).Draw(t, "batch")
		skip := rapid.SliceOfN(rapid.Bool(), len(p.events), len(p.events)).Draw(t, "cuts")
		for name, cut := range map[string]func(int) bool{
			"one batch": func(int) bool { return false }, "batches": func(i int) bool { return i%at == 0 }, "any": func(i int) bool { return skip[i] },
		} {
			if got := p.commands(p.events, cut); !slices.Equal(got, one) {
				t.Fatalf("%s: %s gives\n%v\nwant\n%v", s.name, name, got, one)
			}
		}
	})
}

// TestFactoryIsShared makes Programs of one script side by side.
func TestFactoryIsShared(t *testing.T) {
	t.Parallel()
	s := named("shared", `return agent("One => 1")`)
	first := begin(t, s, 1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			p := begin(t, s, 1, func(p *play) { p.factory = first.factory })
			p.finish()
			p.check(sample{name: s.name, status: workflow.StatusSucceeded, result: `"1"`})
		})
	}
	wg.Wait()
	if err := first.prog.Close(); err != nil {
		t.Error(err)
	}
}
