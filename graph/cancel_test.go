package graph_test

import (
	"fmt"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

func (p *play) cancel() {
	p.f.Helper()
	p.stopped = true
	p.record(workflow.Event{}, &workflow.CancelRequested{Reason: "enough"})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	one := doc2(graphOf("w", task("w", "x"), task("x", "done")))
	waits := func(params string) string {
		return doc2(graphOf("w", node("w", "wait", params, "next>done", "expired>bad")))
	}
	e := about("w#1", "w", 1, 1)
	tests := []struct {
		name, doc string
		before    func(*play)
		after     func(*play) // what ends it; nil when it is over at once
		cancelled string
	}{
		{"wanted", one, func(*play) {}, nil, "[w#1]"},
		{"running, then lost", one, func(p *play) { p.run("w") }, func(p *play) { p.say("w", &workflow.Lost{Code: workflow.CodeAborted}) }, "[w#1]"},
		{"running, then settled", one, func(p *play) { p.run("w") }, func(p *play) { p.next("w") }, "[w#1]"},
		{"running, then failed once", one, func(p *play) { p.run("w") }, func(p *play) { p.say("w", &workflow.Retrying{Code: workflow.CodeTimeout}) }, "[w#1]"},
		{"running, then it asks", one, func(p *play) { p.run("w") }, func(p *play) { p.say("w", &workflow.QuestionOpened{}) }, "[w#1]"},
		{"running, cancelled twice", one, func(p *play) { p.run("w") }, func(p *play) { p.cancel(); p.next("w") }, "[w#1 w#1]"},
		{"asking", one, func(p *play) { p.say("w", &workflow.QuestionOpened{}) }, nil, "[w#1]"},
		{"uncertain", one, func(p *play) { p.say("w", &workflow.Lost{Uncertain: true}) }, nil, "[w#1]"},
		{"refused", one, func(p *play) { p.say("w", &workflow.Lost{Code: workflow.CodeBudgetExhausted}) }, nil, "[w#1]"},
		{"waiting for a time", waits(`{"for":"1h"}`), func(*play) {}, nil, "[]"},
		{"waiting for a signal", waits(`{"signal":"go","timeout":"1h"}`), func(*play) {}, nil, "[]"},
		{"a child runs", doc2(graphOf("w", node("w", "workflow", `{"name":"kid"}`, "next>done", "failed>bad"))), func(*play) {},
			func(p *play) { p.record(e, &workflow.ChildEnded{Run: "rkid", Status: workflow.StatusCancelled}) }, "[w#1]"},
		{"in bodies", doc2(mapOver(`{"items":[0,1,2]}`, `,"concurrency":2`, "collect"), components("one", body("c", node("c", "component", `{"ref":"two"}`, "next>", "failed>")), "two", body("w", task("w", "")))),
			func(p *play) { p.run("m#1[1]/c#1/w#1") }, func(p *play) { p.next("m#1[1]/c#1/w#1") }, "[m#1 m#1[0]/c#1 m#1[0]/c#1/w#1 m#1[1]/c#1 m#1[1]/c#1/w#1]"},
		{"a branch that asks", doc2(mapOver(`{"items":[0,1,2]}`, `,"concurrency":1`, "collect"), components("one", body("w", task("w", "")))),
			func(p *play) { p.run("m/w") }, func(p *play) { p.say("m/w", &workflow.QuestionOpened{}) }, "[m#1 m#1[0]/w#1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, tt.doc)
			tt.before(p)
			p.cancel()
			if tt.after != nil {
				if p.ended != nil {
					t.Fatalf("the run ended while something ran: %s", text(p.ended))
				}
				tt.after(p)
			}
			p.wantEnd(workflow.StatusCancelled)
			if got := fmt.Sprint(p.cancelled); got != tt.cancelled {
				t.Errorf("cancelled are %s, want %s", got, tt.cancelled)
			}
			if len(p.timers)+len(p.nodes()) > 0 {
				t.Errorf("left over are timers %v, visits %v", p.timers, p.nodes())
			}
			p.record(workflow.Event{}, &workflow.Signal{Name: "go"}) // comes too late, and harms nothing
			p.record(e, &workflow.TimerFired{})
			p.record(workflow.Event{}, &workflow.LimitRaised{Tokens: 1})
			p.record(workflow.Event{}, &workflow.Resumed{})
		})
	}
}

func TestCancelAfterTheEnd(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("w", task("w", "done"))))
	p.run("w")
	p.must(p.apply(about("w#1", "w", 1, 1), &workflow.Settled{Outcome: "next"}))
	wishes, err := p.prog.Decide(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range wishes { // up to the end node
		p.grant(c)
	}
	for len(wishes) > 0 && p.ended == nil { // the end is wished for, and not recorded yet
		if wishes, err = p.prog.Decide(nil); err != nil {
			t.Fatal(err)
		}
		if _, last := wishes[0].(workflow.Complete); last {
			break
		}
		for _, c := range wishes {
			p.grant(c)
		}
	}
	p.must(p.apply(workflow.Event{}, &workflow.CancelRequested{}))
	for _, c := range wishes {
		p.grant(c)
	}
	p.work() // a second end fails the test
	p.wantEnd(workflow.StatusSucceeded)
}

func TestCancelKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("w", task("w", "x"), task("x", "done"))))
	p.settle("w", workflow.Settled{Outcome: "next", Output: value(1)})
	p.cancel()
	if got := text(p.ended.Outputs); got != `{"w":{"json":1}}` {
		t.Errorf("outputs %s", got)
	}
}
