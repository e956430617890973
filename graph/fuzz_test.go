package graph_test

import (
	"errors"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

// fuzzDocs are the definitions that histories are thrown at.
func fuzzDocs() []string {
	w := body("w", task("w", "v"), task("v", ""))
	return []string{
		doc2(graphOf("w", task("w", "m"), node("m", "map", `{"over":{"items":[0,1,2]},"body":"one","concurrency":2}`, "next>j"), node("j", "join", `{"reduce":"any-ok"}`, "next>p", "fail>bad"),
			node("p", "parallel", `{"branches":{"a":`+w+`,"b":`+body("q", node("q", "wait", `{"signal":"go","timeout":"1m"}`, "next>", "expired>"))+`}}`, "next>c", "fail>c"),
			node("c", "component", `{"ref":"two"}`, "next>k", "failed>bad"), node("k", "workflow", `{"name":"kid"}`, "next>done", "failed>bad"), task("r", "done")),
			components("one", w, "two", `{"entry":"w","onExhausted":"x","nodes":{`+task("w", "x")+","+task("x", "")+`}}`), `"onExhausted":"r"`),
		doc2(graphOf("t", node("t", "wait", `{"for":"1s"}`, "next>a"), node("a", "assign", `{"set":{"n":1}}`, "next>b", "failed>bad"),
			node("b", "work", `{"x":"{{vars.n}}"}`, "next>c", "failed>bad"), node("c", "condition", `{"expr":"$vars.n < 3"}`, "true>i", "false>done"), node("i", "assign", `{"increment":{"n":1}}`, "next>b", "failed>bad"))),
	}
}

// fuzzFacts are the events of the fuzz test: a type, and texts of its payload.
var fuzzFacts = []struct {
	typ  workflow.EventType
	data []string
}{
	{workflow.TypeAdmitted, []string{`{"kind":"work","effect":"write"}`, `{"kind":"map","self":true}`, `{"kind":"parallel","self":true}`, `{"kind":"component","self":true}`, `{"kind":"join","self":true}`, `{"kind":"wait","self":true}`, `{"kind":"workflow","self":true}`, `{"kind":"assign","self":true}`, `{"kind":"condition","self":true}`, `{"kind":"end","self":true}`}},
	{workflow.TypeSettled, []string{`{"outcome":"next"}`, `{"outcome":"failed","status":"failed","error":{"code":"timeout","message":"m"}}`, `{}`, `{"completion":{"ok":true,"exit":"odd"}}`, `{"outcome":"next","output":{"blob":"gone","size":9},"vars":{"n":{"json":"x"},"m":null}}`, `{"outcome":"true"}`}},
	{workflow.TypeRefused, []string{`{"code":"budget_exhausted"}`, `{"code":"fail_fast"}`}},
	{workflow.TypeRetrying, []string{`{"code":"timeout"}`}},
	{workflow.TypeLost, []string{`{"code":"owner_lost"}`, `{"code":"owner_lost","uncertain":true}`, `{"code":"budget_exhausted"}`}},
	{workflow.TypeRecovered, []string{`{"how":"rerun"}`, `{"how":"done"}`}},
	{workflow.TypeQuestionOpened, []string{`{"question":{"id":"q"}}`}},
	{workflow.TypeQuestionAnswered, []string{`{"question":"q","answer":{}}`}},
	{workflow.TypeTimerStarted, []string{`{"until":"2026-11-30T20:00:00Z"}`}},
	{workflow.TypeTimerFired, []string{`{}`}},
	{workflow.TypeChildStarted, []string{`{"run":"k"}`}},
	{workflow.TypeChildEnded, []string{`{"run":"k","status":"succeeded","outputs":{"json":{}}}`, `{"run":"k","status":"failed"}`}},
	{workflow.TypeSignal, []string{`{"name":"go"}`, `{"name":"go","value":{"blob":"gone","size":9}}`}},
	{workflow.TypeLimitRaised, []string{`{"tokens":5}`}},
	{workflow.TypeResumed, []string{`{}`}},
	{workflow.TypeCancelRequested, []string{`{}`}},
	{workflow.TypeForked, []string{`{"parent":"p","cut":3}`, `{"patch":{"vars":{"n":{"json":[]}},"answers":{"b":null}}}`, `{"patch":{"reopen":"m#1"}}`, `{"patch":{"reopen":"p#1"}}`}},
	{workflow.TypeEnded, []string{`{"status":"exhausted"}`, `{"status":"succeeded"}`}},
	{workflow.TypeRunStarted, []string{`{"kind":"graph"}`}},
	{workflow.TypeInvocationSettled, []string{`{"key":"k","status":"ok","usage":{"input":1,"output":2}}`}},
}

// FuzzApply gives a program any events, mostly about visits that it knows. It
// may refuse them; it never panics, nor does a program restored from it.
func FuzzApply(f *testing.F) {
	f.Add(byte(0), []byte{0, 0, 0, 1, 0, 0})
	f.Add(byte(1), []byte{0, 0, 5, 9, 0, 0, 1, 0, 0, 0, 0, 7})
	f.Add(byte(0), []byte{0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 0, 16, 0, 2, 15, 0, 0, 1, 1, 1})
	f.Add(byte(0), []byte{0, 0, 0, 1, 0, 0, 2, 0, 0, 13, 0, 0, 4, 0, 1, 5, 0, 0, 6, 0, 0, 7, 0, 0})
	f.Fuzz(func(t *testing.T, which byte, script []byte) {
		docs := fuzzDocs()
		p := prepare(t, docs[int(which)%len(docs)])
		prog := p.fresh()
		start := p.start
		known := []workflow.VisitID{"nobody#1"}
		apply := func(e workflow.Event) bool {
			p.now += 1000
			e.Seq, e.At = e.Seq+1, p.now
			if err := prog.Apply(e); err != nil {
				var d *workflow.Divergence
				var bad *workflow.Damage
				if !errors.As(err, &d) && !errors.As(err, &bad) {
					t.Fatalf("%s of %s gives %T: %v", e.Type(), e.ID, err, err)
				}
				return false
			}
			wishes, err := prog.Decide(nil)
			if err != nil {
				t.Fatalf("decide: %v", err)
			}
			for _, c := range wishes {
				known = append([]workflow.VisitID{workflow.VisitID(c.CommandID())}, known...)
			}
			return true
		}
		apply(workflow.Event{Payload: &start})
		for len(script) >= 3 && len(known) < 200 {
			fact := fuzzFacts[int(script[0])%len(fuzzFacts)]
			payload, err := workflow.DecodePayload(fact.typ, []byte(fact.data[int(script[2])%len(fact.data)]))
			if err != nil {
				t.Fatal(err)
			}
			visit := known[int(script[1])%len(known)]
			if !apply(workflow.Event{ID: string(visit), Attempt: 1, Payload: payload}) {
				script = script[3:] // a driver would stop here; the test goes on
				continue
			}
			script = script[3:]
		}
		raw, err := prog.Snapshot()
		if err != nil {
			t.Fatalf("snapshot: %v", err)
		}
		again := p.fresh()
		if again.Restore(raw) == nil {
			prog = again
			apply(workflow.Event{Payload: &workflow.CancelRequested{}})
		}
	})
}
