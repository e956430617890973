package graph_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/tenonrun/tenon/workflow"
)

// laws folds the history again: in batches of every kind, and from a snapshot
// at every point. The wishes must be the same in the same order.
func (p *play) laws() {
	p.f.Helper()
	every := func(int) bool { return true }
	one := p.commands(p.fresh(), p.events, every)
	p.same("one batch", p.commands(p.fresh(), p.events, func(int) bool { return false }), one)
	for seed := range uint64(3) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		p.same(fmt.Sprintf("batches of seed %d", seed), p.commands(p.fresh(), p.events, func(int) bool { return rnd.IntN(3) == 0 }), one)
	}
	for n := 1; n < len(p.events); n += 1 + len(p.events)/p.points {
		a, b := p.fresh(), p.fresh()
		p.commands(a, p.events[:n], every)
		raw, err := a.Snapshot()
		if err != nil {
			p.f.Fatalf("snapshot at %d: %v", n, err)
		}
		if err := b.Restore(raw); err != nil {
			p.f.Fatalf("restore at %d: %v", n, err)
		}
		again, err := b.Snapshot()
		if err != nil || string(again) != string(raw) {
			p.f.Fatalf("the snapshot at %d is another after a restore (%v):\n%s\n%s", n, err, raw, again)
		}
		p.same(fmt.Sprintf("from the snapshot at %d", n), p.commands(b, p.events[n:], every), p.commands(a, p.events[n:], every))
	}
}

func (p *play) commands(prog workflow.Program, events []workflow.Event, cut func(int) bool) []string {
	p.f.Helper()
	var out []string
	decide := func() {
		wishes, err := prog.Decide(nil)
		if err != nil {
			p.f.Fatalf("decide: %v", err)
		}
		for _, c := range wishes {
			out = append(out, fmt.Sprintf("%T %s", c, text(c)))
		}
	}
	for i, e := range events {
		if err := prog.Apply(e); err != nil {
			p.f.Fatalf("apply %d %s %s: %v", e.Seq, e.Type(), e.ID, err)
		}
		if cut(i) {
			decide()
		}
	}
	decide()
	return out
}

func (p *play) same(what string, got, want []string) {
	p.f.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			p.f.Fatalf("%s: command %d is missing: %s", what, i, want[i])
		case i >= len(want):
			p.f.Fatalf("%s: command %d is new: %s", what, i, got[i])
		case got[i] != want[i]:
			p.f.Fatalf("%s: command %d is\n%s\nwant\n%s", what, i, got[i], want[i])
		}
	}
}
