package graph_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

// fork begins a run at the cut before a wanted visit, as an engine does it.
func (p *play) fork(patch workflow.Patch) {
	p.f.Helper()
	for _, c := range p.wanted {
		p.phase[c.Visit] = resting
	}
	for v := range p.phase {
		if patch.Reopen != "" && strings.HasPrefix(string(v), string(patch.Reopen)) {
			delete(p.phase, v)
		}
	}
	p.wanted, p.cancelled = nil, nil
	p.record(workflow.Event{}, &workflow.Forked{Parent: "rtest", Cut: int64(len(p.events)), Patch: patch})
}

func TestForkPatches(t *testing.T) {
	t.Parallel()
	doc := doc2(graphOf("w", task("w", "c"), node("c", "component", `{"ref":"part"}`, "next>done", "failed>bad")),
		components("part", body("a", task("a", "b"), node("b", "work", `{"v":"{{vars.v}}","o":"{{outputs.a}}","q":"{{answers.a}}"}`, "next>", "failed>"))))
	one := func(v any) map[string]workflow.Value { return map[string]workflow.Value{"v": value(v)} }
	tests := []struct {
		name, params string
		patch        workflow.Patch
		verified     string
	}{
		{"nothing", `{"o":"out","q":"old","v":1}`, workflow.Patch{Scope: "c#1"}, `"r1"`},
		{"vars", `{"o":"out","q":"old","v":2}`, workflow.Patch{Scope: "c#1", Vars: one(2)}, "absent"},
		{"outputs", `{"o":[2],"q":"old","v":1}`, workflow.Patch{Scope: "c#1", Outputs: map[string]workflow.Value{"a": value([]int{2})}}, "absent"},
		{"answers", `{"o":"out","q":"new","v":1}`, workflow.Patch{Scope: "c#1", Answers: map[string]workflow.Value{"a": value("new"), "z": value("z")}}, "absent"},
		{"another scope", `{"o":"out","q":"old","v":1}`, workflow.Patch{Vars: one(2)}, "absent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc)
			p.next("w")
			p.settle("c/a", workflow.Settled{
				Outcome: "next", Output: value("out"), Vars: one(1), Verified: &workflow.Verified{Receipt: "r1"},
				Answers: []workflow.NamedAnswer{{Value: value("old")}}, Session: &workflow.Session{ID: "s"},
			})
			p.fork(tt.patch)
			p.wantNodes("c#1/b#1")
			if got := string(p.find("c/b").Params); got != tt.params {
				// The order of members is that of the document.
				if !sameJSON(got, tt.params) {
					t.Errorf("params %s, want %s", got, tt.params)
				}
			}
			p.wantLookup("c/b", tt.verified, "$verified", "receiptId")
			p.next("c/b")
			p.wantEnd(workflow.StatusSucceeded)
		})
	}
}

// A fork can give what was missing.
func TestForkMendsAMissingVariable(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("w", task("w", "x"), node("x", "work", `{"v":"{{vars.v}}"}`, "next>done", "failed>bad"))), func(p *play) {
		p.hold = func(c workflow.StartVisit) bool { return c.Node == "x" }
	})
	p.next("w")
	if !p.find("x").Self {
		t.Error("a visit without its variable is no failure")
	}
	p.fork(workflow.Patch{Vars: map[string]workflow.Value{"v": value(5)}})
	if c := p.find("x"); c.Self || string(c.Params) != `{"v":5}` {
		t.Fatalf("wanted is %s", text(c))
	}
	p.next("x")
	p.wantEnd(workflow.StatusSucceeded)
}

func TestForkDropsSessions(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("w", task("w", "x"), task("x", "w"))))
	p.settle("w", workflow.Settled{Outcome: "next", Session: &workflow.Session{ID: "s"}, Private: value("kept")})
	p.fork(workflow.Patch{})
	p.next("x")
	if c := p.find("w").Context; c.Session != nil || string(c.Private.JSON) != `"kept"` {
		t.Errorf("the fork sees %s", text(c))
	}
}

// What waits outside the run is asked for again, in the fork's own name.
func TestForkAsksAgain(t *testing.T) {
	t.Parallel()
	branch := func(n string) string { return body("n", n) }
	doc := doc2(graphOf("p", node("p", "parallel", `{"branches":{`+
		`"ask":`+branch(task("n", ""))+`,"kid":`+branch(node("n", "workflow", `{"name":"kid"}`, "next>", "failed>"))+
		`,"poor":`+branch(task("n", ""))+`,"sig":`+branch(node("n", "wait", `{"signal":"go"}`, "next>"))+
		`,"time":`+branch(node("n", "wait", `{"for":"1h"}`, "next>"))+`,"work":`+branch(task("n", ""))+`}}`, "next>done", "fail>bad")))
	r := &refuser{code: workflow.CodeBudgetExhausted, nodes: []string{"p/poor/n"}}
	p := begin(t, doc, func(p *play) { p.refuse = r.refuse })
	p.say("p/ask/n", &workflow.QuestionOpened{Question: workflow.Question{ID: "q"}})
	p.wantNodes("p#1[work]/n#1")
	at := p.timers["p#1[time]/n#1"]
	p.timers, p.children = map[workflow.VisitID]workflow.Time{}, map[workflow.VisitID]workflow.StartChild{}
	r.nodes = nil
	p.fork(workflow.Patch{})
	p.wantNodes("p#1[ask]/n#1", "p#1[poor]/n#1", "p#1[work]/n#1")
	if len(p.timers) != 1 || p.timers["p#1[time]/n#1"] != at {
		t.Errorf("timers %v, the first was set for %d", p.timers, at)
	}
	if _, ok := p.children["p#1[kid]/n#1"]; !ok || len(p.children) != 1 {
		t.Errorf("children %v", p.children)
	}
	p.next("p/ask/n", "p/poor/n", "p/work/n")
	p.record(workflow.Event{}, &workflow.Signal{Name: "go"})
	p.record(about("p#1[time]/n#1", "p/time/n", 1, 1), &workflow.TimerFired{})
	p.record(about("p#1[kid]/n#1", "p/kid/n", 1, 1), &workflow.ChildEnded{Run: "rkid", Status: workflow.StatusSucceeded})
	p.wantEnd(workflow.StatusSucceeded)
}

// Failed branches run again, the others keep what they gave.
func TestReopenFailedBranches(t *testing.T) {
	t.Parallel()
	for kind, doc := range map[string]string{
		"map": doc2(mapOver(`{"items":[0,1,2,3]}`, `,"concurrency":1`, "all-ok"), components("one", body("w", task("w", "")))),
		"parallel": doc2(graphOf("m", node("m", "parallel", `{"concurrency":1,"branches":{"0":`+body("w", task("w", ""))+`,"1":`+body("w", task("w", ""))+
			`,"2":`+body("w", task("w", ""))+`,"3":`+body("w", task("w", ""))+`}}`, "next>done", "fail>bad"))),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc)
			for i := range 4 {
				res := workflow.Settled{Outcome: "next", Output: value(i)}
				if i%2 == 1 {
					res.Status = workflow.VisitFailed
				}
				c := p.run(p.nodes()[0])
				if i < 3 {
					p.settled(p.of(c), res)
					p.work()
					continue
				}
				p.must(p.apply(p.of(c), &res)) // the cut is before the fan's own result
				if _, err := p.prog.Decide(nil); err != nil {
					t.Fatal(err)
				}
			}
			p.fork(workflow.Patch{Reopen: "m#1"})
			p.wantNodes("m#1[1]/w#1")
			p.settle("m#1[1]/w#1", workflow.Settled{Outcome: "next", Output: value("again")})
			p.settle("m#1[3]/w#1", workflow.Settled{Outcome: "next", Output: value("again")})
			p.wantEnd(workflow.StatusSucceeded)
			if got := p.output("m"); strings.Count(got, `"again"`) != 2 || !strings.Contains(got, `"failed":0,"ok":4`) && !strings.Contains(got, `"failed":0`) {
				t.Errorf("output %s", got)
			}
		})
	}
}

func TestReopenOfNothing(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(mapOver(`{"items":[0,1]}`, "", "all-ok"), components("one", body("w", task("w", "")))))
	p.next("m#1[0]/w#1")
	p.fork(workflow.Patch{Reopen: "m#1"}) // it is not finished: nothing to open again
	p.wantNodes("m#1[1]/w#1")
	p.fork(workflow.Patch{Reopen: "x#1"})
	p.next("m/w")
	p.wantEnd(workflow.StatusSucceeded)
}
