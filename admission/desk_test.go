package admission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/workflow"
)

// desk is a Gate with a driver before it that records every verdict.
type desk struct {
	t interface {
		Helper()
		Fatalf(string, ...any)
	}
	g   *admission.Gate
	now workflow.Time
	seq int64
}

func open(t *testing.T, opts workflow.Options) *desk {
	t.Helper()
	return &desk{t: t, g: admission.New(opts), now: 1_000_000}
}

// apply records a fact about a visit (or the run, with "").
func (d *desk) apply(visit string, p workflow.Payload) {
	d.seq++
	e := workflow.Event{Seq: d.seq, At: d.now, ID: visit, Node: visit, Payload: p}
	if o, ok := d.g.Visit(workflow.VisitID(visit)); ok {
		e.Attempt = o.Attempt
	}
	d.g.Apply(e)
}

// call records a fact about an invocation.
func (d *desk) call(visit string, n int, p workflow.Payload) {
	d.seq++
	d.g.Apply(workflow.Event{Seq: d.seq, At: d.now, ID: visit, Invocation: n, Payload: p})
}

func (d *desk) wait(t time.Duration) { d.now = d.now.Add(t) }

// want makes wishes: "r" reads, "w" writes, "a" calls a model, "s" is the
// graph's own, in any combination before a colon: "ra:name".
func (d *desk) want(wishes ...string) {
	for _, w := range wishes {
		d.g.Want(wish(w))
	}
}

func wish(w string) workflow.StartVisit {
	traits, name, _ := strings.Cut(w, ":")
	c := workflow.StartVisit{Visit: workflow.VisitID(name), Node: name, Number: 1, Kind: "work"}
	for _, t := range traits {
		switch t {
		case 'r':
			c.Effect = workflow.EffectRead
		case 'w':
			c.Effect = workflow.EffectWrite
		case 'a':
			c.AI, c.Provider = true, "fake"
		case 's':
			c.Self = true
		}
	}
	return c
}

// next records the next verdict and tells it: "+name" admitted, "-name code"
// refused, "" held.
func (d *desk) next() string {
	d.t.Helper()
	v, ok := d.g.Next(d.now)
	if !ok {
		return ""
	}
	name := string(v.Command.Visit)
	d.seq++
	e := workflow.Event{Seq: d.seq, At: d.now, ID: name, Node: v.Command.Node, Visit: v.Command.Number, Attempt: v.Attempt}
	switch {
	case v.Admitted != nil && v.Refused == nil:
		e.Payload = v.Admitted
		d.g.Apply(e)
		return "+" + name
	case v.Refused != nil && v.Admitted == nil:
		e.Payload = v.Refused
		d.g.Apply(e)
		return "-" + name + " " + string(v.Refused.Code)
	}
	d.t.Fatalf("a verdict that is both or neither: %+v", v)
	return ""
}

// all records verdicts until the rest is held.
func (d *desk) all() string {
	d.t.Helper()
	var out []string
	for s := d.next(); s != ""; s = d.next() {
		out = append(out, s)
		if len(out) > 1000 {
			d.t.Fatalf("verdicts without end: %v", out[:10])
		}
	}
	return strings.Join(out, ", ")
}

func (d *desk) is(what string) {
	d.t.Helper()
	if got := d.all(); got != what {
		d.t.Fatalf("verdicts are %q, want %q", got, what)
	}
}

func (d *desk) done(names ...string) {
	for _, n := range names {
		d.apply(n, &workflow.Settled{Outcome: "next"})
	}
}

func failed() *workflow.Settled { return &workflow.Settled{Status: workflow.VisitFailed} }

func policies(p workflow.Policies) workflow.Options { return workflow.Options{Policies: p} }
