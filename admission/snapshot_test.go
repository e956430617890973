package admission_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/workflow"
)

// world does to one gate what may happen to a run, and to another the same.
type world struct {
	t     *rapid.T
	desks []*desk
	made  int
	calls map[string]int
}

func (w *world) each(do func(*desk)) {
	for _, d := range w.desks {
		do(d)
	}
}

func (w *world) draw(label string, n int) int { return rapid.IntRange(0, n-1).Draw(w.t, label) }

// in draws one of the visits in a state; "" when there is none.
func (w *world) in(s admission.State) string {
	all := w.desks[0].g.InState(s)
	if len(all) == 0 {
		return ""
	}
	return string(all[w.draw("visit", len(all))].Command.Visit)
}

func (w *world) again(visit string) {
	w.each(func(d *desk) {
		if o, ok := d.g.Visit(workflow.VisitID(visit)); ok {
			d.g.Want(o.Command)
		}
	})
}

// verdicts asks all gates, which must agree.
func (w *world) verdicts() {
	w.t.Helper()
	for range 50 {
		first := w.desks[0].next()
		for _, d := range w.desks[1:] {
			if got := d.next(); got != first {
				w.t.Fatalf("one gate says %q, the other %q", first, got)
			}
		}
		if first == "" {
			return
		}
	}
}

func (w *world) arrive() {
	w.made++
	c := wish(rapid.SampledFrom([]string{":", "r:", "w:", "ra:", "wa:", "s:"}).Draw(w.t, "wish") + fmt.Sprintf("v%02d", w.made))
	c.Steerable, c.Uncertain = c.AI, w.draw("uncertain", 2) == 0
	if w.draw("limited", 2) == 0 {
		c.Limits = []workflow.Limit{{ID: fmt.Sprintf("m%d", w.draw("limit", 2)), Max: 1 + w.draw("max", 2)}}
	}
	c.BodyCount, c.BodyMax = w.made, 40
	w.each(func(d *desk) { d.g.Want(c) })
}

// move ends or changes an attempt that runs.
func (w *world) move() {
	v := w.in(admission.Running)
	if v == "" {
		return
	}
	both := func(p workflow.Payload) { w.each(func(d *desk) { d.apply(v, p) }) }
	switch w.draw("how", 8) {
	case 0, 1:
		both(&workflow.Settled{Outcome: "next"})
	case 2:
		both(failed())
	case 3:
		both(&workflow.Retrying{After: w.desks[0].now.Add(time.Duration(w.draw("backoff", 3)) * time.Second)})
		w.again(v)
	case 4:
		both(&workflow.QuestionOpened{})
	case 5:
		both(&workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: w.draw("unsure", 2) == 0})
		if w.in(admission.Lost) != v {
			w.again(v)
		}
	case 6:
		both(&workflow.Lost{Code: workflow.CodeQuotaExhausted, Until: w.desks[0].now + 5})
		w.again(v)
	case 7:
		w.call(v)
	}
}

func (w *world) call(v string) {
	var offers []admission.Offer
	w.each(func(d *desk) {
		o, r := d.g.Reserve(workflow.VisitID(v), admission.Call{PromptBytes: 100, MaxOutput: 500}, d.now)
		if r != nil {
			o.Output = -1
		}
		offers = append(offers, o)
	})
	for _, o := range offers[1:] {
		if o != offers[0] {
			w.t.Fatalf("one gate offers %+v, the other %+v", offers[0], o)
		}
	}
	if offers[0].Hold || offers[0].Output < 0 {
		return
	}
	w.calls[v]++
	n := w.calls[v]
	w.each(func(d *desk) { d.call(v, n, &workflow.InvocationReserved{Tokens: offers[0].Tokens, CostUSD: 0.01}) })
	if w.draw("settled", 3) == 0 {
		return
	}
	u := usage(int64(w.draw("in", 100)), int64(w.draw("out", 100)))
	if w.draw("known", 3) == 0 {
		u.Output = nil
	}
	status := rapid.SampledFrom([]string{workflow.InvocationOK, workflow.InvocationFailed, workflow.InvocationLost}).Draw(w.t, "status")
	w.each(func(d *desk) { d.call(v, n, &workflow.InvocationSettled{Status: status, Usage: u}) })
}

// outside is what people and providers do.
func (w *world) outside() {
	both := func(p workflow.Payload) { w.each(func(d *desk) { d.apply("", p) }) }
	switch w.draw("outside", 9) {
	case 0:
		both(&workflow.Steered{Text: "faster"})
	case 1:
		both(&workflow.BreakerOpened{Provider: "fake", Code: workflow.CodeQuotaExhausted})
	case 2:
		both(&workflow.Paused{})
	case 3, 4:
		both(&workflow.Resumed{})
	case 5:
		both(&workflow.LimitRaised{Tokens: 20_000, Transitions: 60})
		if v := w.in(admission.Refused); v != "" {
			w.again(v)
		}
	case 6:
		if v := w.in(admission.Waiting); v != "" {
			w.again(v)
		}
	case 7:
		if v := w.in(admission.Lost); v != "" {
			w.each(func(d *desk) { d.apply(v, &workflow.Recovered{How: workflow.RecoverRerun}) })
			w.again(v)
		}
	case 8:
		both(&workflow.Forked{Parent: "r"})
	}
}

func (w *world) step() {
	switch w.draw("step", 4) {
	case 0:
		w.arrive()
	case 1, 2:
		w.move()
	case 3:
		w.outside()
	}
	pause := time.Duration(w.draw("pause", 3)) * time.Second
	w.each(func(d *desk) { d.wait(pause) })
	w.verdicts()
}

// permits are what can never be: two writers, a reader beside a writer, more
// than a limit allows.
func (w *world) permits(concurrency int) {
	w.t.Helper()
	readers, writers, ai, limits := 0, 0, 0, map[string]int{}
	for _, o := range w.desks[0].g.InState(admission.Running) {
		c := o.Command
		switch c.Effect {
		case workflow.EffectRead:
			readers++
		case workflow.EffectWrite:
			writers++
		}
		if c.AI {
			ai++
		}
		if c.Self {
			continue
		}
		for _, l := range c.Limits {
			limits[l.ID]++
			if limits[l.ID] > 2 {
				w.t.Fatalf("%d visits run under the limit %+v", limits[l.ID], l)
			}
		}
	}
	if writers > 1 || writers == 1 && readers > 0 || ai > concurrency {
		w.t.Fatalf("%d writers, %d readers, %d model calls run at once", writers, readers, ai)
	}
}

// A gate that is restored goes on like the one it was taken from.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		opts := workflow.Options{
			Budget: workflow.Budget{MaxTokens: 10_000, MaxCostUSD: 5, MaxDurationMs: 60_000}, Transitions: 30,
			Policies: workflow.Policies{FailFast: 3, Concurrency: 2},
		}
		one := &desk{t: t, g: admission.New(opts), now: 1_000_000}
		w := &world{t: t, desks: []*desk{one}, calls: map[string]int{}}
		for range rapid.IntRange(0, 60).Draw(t, "before") {
			w.step()
			w.permits(2)
		}
		raw, err := one.g.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(raw) {
			t.Fatalf("the snapshot is no JSON: %s", raw)
		}
		g, err := admission.Restore(raw)
		if err != nil {
			t.Fatal(err)
		}
		again, err := g.Snapshot()
		if err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("the snapshot is another after a restore (%v):\n%s\n%s", err, raw, again)
		}
		w.desks = append(w.desks, &desk{t: t, g: g, now: one.now, seq: one.seq})
		for range 40 {
			w.step()
			w.permits(2)
		}
		if a, b := one.g.Spent(), g.Spent(); a != b || one.g.Running() != g.Running() || one.g.Transitions() != g.Transitions() {
			t.Fatalf("the gates differ: %+v %+v", a, b)
		}
	})
}
