package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/graph"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// checkLaws folds every history that a test left behind again: in batches of
// every kind, and from a snapshot at every point. The commands must be the same
// in the same order.
func (r *rig) checkLaws() {
	r.t.Helper()
	heads, err := r.store.Runs(context.Background(), store.Query{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range heads {
		var events []workflow.Event
		err := r.store.Events(context.Background(), h.Run, 0, func(e workflow.Event) error {
			events = append(events, e)
			return nil
		})
		if err != nil {
			r.t.Errorf("reading %s: %v", h.Run, err)
			continue
		}
		l := law{r.t, r, h.Run, events}
		l.batches()
		l.snapshots()
	}
}

type law struct {
	t      *testing.T
	r      *rig
	run    workflow.RunID
	events []workflow.Event
}

func (l law) program() workflow.Program {
	pieces, err := piece.NewRegistry(kinds(l.r.w)...)
	if err != nil {
		l.t.Fatal(err)
	}
	backend := func(string) (executor.Capabilities, bool) { return executor.Capabilities{Model: "m"}, true }
	start, ok := l.events[0].Payload.(*workflow.RunStarted)
	if !ok {
		l.t.Fatalf("run %s begins with %s", l.run, l.events[0].Type())
	}
	p, err := graph.New(graph.Config{Pieces: pieces, Backend: backend}).New(l.run, *start, values{l.r})
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

type values struct{ r *rig }

func (v values) Load(d workflow.Digest) ([]byte, error) {
	return v.r.store.Blob(context.Background(), d)
}

// commands folds events in batches that cut decides about.
func (l law) commands(p workflow.Program, events []workflow.Event, cut func(i int) bool) []string {
	l.t.Helper()
	var out []string
	decide := func() {
		cmds, err := p.Decide(nil)
		if err != nil {
			l.t.Fatalf("run %s: decide: %v", l.run, err)
		}
		for _, c := range cmds {
			raw, err := json.Marshal(c)
			if err != nil {
				l.t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%T %s", c, raw))
		}
	}
	for i, e := range events {
		if err := p.Apply(e); err != nil {
			l.t.Fatalf("run %s: apply %d %s %s: %v", l.run, e.Seq, e.Type(), e.ID, err)
		}
		if cut(i) {
			decide()
		}
	}
	decide()
	return out
}

func (l law) same(what string, got, want []string) {
	l.t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			l.t.Fatalf("run %s, %s: command %d is missing: %s", l.run, what, i, want[i])
		case i >= len(want):
			l.t.Fatalf("run %s, %s: command %d is new: %s", l.run, what, i, got[i])
		case got[i] != want[i]:
			l.t.Fatalf("run %s, %s: command %d is\n%s\nwant\n%s", l.run, what, i, got[i], want[i])
		}
	}
}

func (l law) batches() {
	one := l.commands(l.program(), l.events, func(int) bool { return true })
	l.same("one batch", l.commands(l.program(), l.events, func(int) bool { return false }), one)
	for seed := range uint64(5) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		got := l.commands(l.program(), l.events, func(int) bool { return rnd.IntN(3) == 0 })
		l.same(fmt.Sprintf("batches of seed %d", seed), got, one)
	}
}

func (l law) snapshots() {
	for n := 1; n < len(l.events); n += 1 + len(l.events)/40 {
		p := l.program()
		l.commands(p, l.events[:n], func(int) bool { return true })
		raw, err := p.Snapshot()
		if err != nil {
			l.t.Fatalf("run %s: snapshot at %d: %v", l.run, n, err)
		}
		q := l.program()
		if err := q.Restore(raw); err != nil {
			l.t.Fatalf("run %s: restore at %d: %v", l.run, n, err)
		}
		again, err := q.Snapshot()
		if err != nil || string(again) != string(raw) {
			l.t.Fatalf("run %s: the snapshot at %d is another after a restore:\n%s\n%s", l.run, n, raw, again)
		}
		every := func(int) bool { return true }
		l.same(fmt.Sprintf("from the snapshot at %d", n), l.commands(q, l.events[n:], every), l.commands(p, l.events[n:], every))
	}
}
