package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

func TestLostAttempts(t *testing.T) {
	t.Parallel()
	doc := doc2(graphOf("w", node("w", "work", `{"effect":"write","uncertain":true}`, "next>done", "failed>bad")))
	t.Run("runs again", func(t *testing.T) {
		t.Parallel()
		p := begin(t, doc)
		p.say("w", &workflow.Lost{Code: workflow.CodeOwnerLost})
		p.wantNodes("w#1")
		if c := p.find("w"); c.Number != 1 || !c.Uncertain || c.Effect != workflow.EffectWrite {
			t.Errorf("wanted is %s", text(c))
		}
		p.next("w")
		p.wantEnd(workflow.StatusSucceeded)
	})
	for how, status := range map[string]workflow.Status{workflow.RecoverRerun: workflow.StatusSucceeded, workflow.RecoverDone: workflow.StatusSucceeded, workflow.RecoverFail: workflow.StatusFailed} {
		t.Run("uncertain, "+how, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc)
			p.say("w", &workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: true})
			p.wantNodes()
			p.record(workflow.Event{}, &workflow.Resumed{})
			p.record(workflow.Event{}, &workflow.LimitRaised{Tokens: 1})
			p.wantNodes()
			e := about("w#1", "w", 1, 1)
			p.record(e, &workflow.Recovered{How: how})
			switch how {
			case workflow.RecoverRerun:
				p.next("w")
			case workflow.RecoverDone:
				p.record(e, &workflow.Settled{Outcome: "next"})
			default:
				p.record(e, &workflow.Settled{Outcome: "failed", Status: workflow.VisitFailed})
			}
			if p.ended.Status != status {
				t.Errorf("the run ended %s, want %s", p.ended.Status, status)
			}
		})
	}
	t.Run("out of money", func(t *testing.T) {
		t.Parallel()
		p := begin(t, doc)
		p.say("w", &workflow.Lost{Code: workflow.CodeBudgetExhausted})
		p.wantNodes()
		p.record(workflow.Event{}, &workflow.Resumed{})
		p.wantNodes()
		p.record(workflow.Event{}, &workflow.LimitRaised{Tokens: 10})
		p.wantNodes("w#1")
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	doc := doc2(graphOf("w", task("w", "done")))
	for code, lifted := range map[workflow.Code]string{workflow.CodeFailFast: "resume", workflow.CodeBudgetExhausted: "raise", workflow.CodeRecursionLimit: "raise"} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			refusing := true
			p := begin(t, doc, func(p *play) {
				p.refuse = func(workflow.StartVisit) workflow.Code {
					if refusing {
						return code
					}
					return ""
				}
			})
			p.wantNodes()
			refusing = false
			p.record(workflow.Event{}, &workflow.Resumed{})
			if lifted == "resume" {
				p.wantNodes("w#1")
				return
			}
			p.wantNodes()
			p.record(workflow.Event{}, &workflow.LimitRaised{Transitions: 5})
			p.wantNodes("w#1")
			p.next("w")
			p.wantEnd(workflow.StatusSucceeded)
		})
	}
}

// refuser refuses the visits of some nodes until it is told to stop.
type refuser struct {
	code  workflow.Code
	nodes []string
}

func (r *refuser) refuse(c workflow.StartVisit) workflow.Code {
	if slices.Contains(r.nodes, c.Node) {
		return r.code
	}
	return ""
}

func TestOnExhaustedAtTheRoot(t *testing.T) {
	t.Parallel()
	doc := doc2(graphOf("w", task("w", "x"), task("x", "done"), task("rescue", "sorry"), node("sorry", "end", `{"outcome":"failure","reason":"out_of_it"}`)), `"onExhausted":"rescue"`)
	start := func(t *testing.T, code workflow.Code) (*play, *refuser) {
		t.Helper()
		r := &refuser{code: code, nodes: []string{"x"}}
		p := begin(t, doc, func(p *play) { p.refuse = r.refuse })
		p.next("w")
		p.wantNodes("rescue#1")
		if c := p.find("rescue"); !c.Unlimited {
			t.Error("the last visit is limited")
		}
		return p, r
	}
	t.Run("ends exhausted", func(t *testing.T) {
		t.Parallel()
		p, _ := start(t, workflow.CodeRecursionLimit)
		p.next("rescue")
		p.wantEnd(workflow.StatusExhausted, "out_of_it")
		p.record(workflow.Event{}, &workflow.Resumed{}) // lifts nothing
		p.wantNodes()
	})
	t.Run("raised after it", func(t *testing.T) {
		t.Parallel()
		p, r := start(t, workflow.CodeRecursionLimit)
		p.next("rescue")
		r.nodes = nil
		p.record(workflow.Event{}, &workflow.LimitRaised{Transitions: 9})
		p.wantNodes("x#1")
		if p.find("x").Unlimited {
			t.Error("what follows a raise is unlimited")
		}
		p.next("x")
		p.wantEnd(workflow.StatusSucceeded)
	})
	t.Run("raised on the way", func(t *testing.T) {
		t.Parallel()
		p, r := start(t, workflow.CodeRecursionLimit)
		r.nodes = nil
		p.record(workflow.Event{}, &workflow.LimitRaised{Transitions: 9})
		p.wantNodes("rescue#1")
		p.next("rescue")
		p.wantNodes("x#1")
		if p.ended != nil {
			t.Errorf("the run ended %s", text(p.ended))
		}
		p.next("x")
		p.wantEnd(workflow.StatusSucceeded)
	})
	t.Run("exhausted a second time", func(t *testing.T) {
		t.Parallel()
		p, _ := start(t, workflow.CodeRecursionLimit)
		p.next("rescue")
		p.record(workflow.Event{}, &workflow.LimitRaised{Transitions: 9}) // too little
		p.wantNodes("rescue#2")
		p.next("rescue")
		p.wantEnd(workflow.StatusExhausted, "out_of_it")
	})
	t.Run("failures in a row, resumed", func(t *testing.T) {
		t.Parallel()
		p, r := start(t, workflow.CodeFailFast)
		p.next("rescue")
		p.wantEnd(workflow.StatusExhausted, "out_of_it")
		r.nodes = nil
		p.record(workflow.Event{}, &workflow.Resumed{})
		p.wantNodes("x#1")
		if p.find("x").Unlimited {
			t.Error("what follows a resume is unlimited")
		}
		p.next("x")
		p.wantEnd(workflow.StatusSucceeded)
	})
	t.Run("failures in a row, resumed on the way", func(t *testing.T) {
		t.Parallel()
		p, _ := start(t, workflow.CodeFailFast)
		p.say("rescue", &workflow.Lost{Code: workflow.CodeOwnerLost})
		p.record(workflow.Event{}, &workflow.Resumed{})
		p.wantNodes("rescue#1")
		p.next("rescue")
		p.wantEnd(workflow.StatusExhausted, "out_of_it")
	})
	t.Run("cancelled on the way", func(t *testing.T) {
		t.Parallel()
		p, _ := start(t, workflow.CodeRecursionLimit)
		p.cancel()
		p.wantEnd(workflow.StatusCancelled)
	})
}

// The way of onExhausted is short, whatever the document says.
func TestOnExhaustedIsShort(t *testing.T) {
	t.Parallel()
	r := &refuser{code: workflow.CodeRecursionLimit, nodes: []string{"w"}}
	p := begin(t, doc2(graphOf("w", task("w", "done"), task("r", "r")), `"onExhausted":"r"`), func(p *play) { p.refuse = r.refuse })
	for n := 0; p.ended == nil; n++ {
		if n > 10 {
			t.Fatal("it goes on and on")
		}
		p.next("r")
	}
	p.wantEnd(workflow.StatusExhausted, "recursion_limit")
}

// The way is taken when nothing else can move: not while another branch works,
// and once for all that is refused.
func TestOnExhaustedWaitsForTheOthers(t *testing.T) {
	t.Parallel()
	r := &refuser{code: workflow.CodeBudgetExhausted, nodes: []string{"p/a/w", "p/c/w"}}
	branch := body("w", task("w", ""))
	p := begin(t, doc2(graphOf("p", node("p", "parallel", `{"branches":{"a":`+branch+`,"b":`+branch+`,"c":`+branch+`}}`, "next>done", "fail>bad"), node("r", "end", `{"outcome":"failure","reason":"short"}`)), `"onExhausted":"r"`),
		func(p *play) { p.refuse = r.refuse })
	p.wantNodes("p#1[b]/w#1")
	p.next("p/b/w")
	p.wantEnd(workflow.StatusExhausted, "short")
	r.nodes = nil
	p.record(workflow.Event{}, &workflow.LimitRaised{Tokens: 9})
	p.wantNodes("p#1[a]/w#1", "p#1[c]/w#1")
	p.next("p/a/w", "p/c/w")
	p.wantEnd(workflow.StatusSucceeded)
	if strings.Count(p.output("p"), `"outcome":"next"`) != 3 {
		t.Errorf("output %s", p.output("p"))
	}
}

func TestOnExhaustedInAComponent(t *testing.T) {
	t.Parallel()
	inside := `{"entry":"w","onExhausted":"r","nodes":{` + task("w", "x") + "," + task("x", "") + "," + task("r", "e") + "," + node("e", "end", `{"outcome":"success","exit":"short"}`) + `}}`
	r := &refuser{code: workflow.CodeRecursionLimit, nodes: []string{"c/x"}}
	doc := doc2(graphOf("c", node("c", "component", `{"ref":"part"}`, "next>bad", "failed>bad", "short>after"), task("after", "done")), components("part", inside), `"onExhausted":"bad"`)
	p := begin(t, doc, func(p *play) { p.refuse = r.refuse })
	p.next("c/w")
	p.wantNodes("c#1/r#1")
	if !slices.Equal(p.cancelled, []workflow.VisitID{"c#1/x#1"}) || !p.find("c/r").Unlimited {
		t.Errorf("cancelled are %v", p.cancelled)
	}
	p.record(workflow.Event{}, &workflow.LimitRaised{Transitions: 9}) // below the root there is no way back
	p.wantNodes("c#1/r#1")
	p.next("c/r")
	p.wantNodes("after#1")
	if p.find("after").Unlimited {
		t.Error("what follows the component is unlimited")
	}
	p.next("after")
	p.wantEnd(workflow.StatusSucceeded)
}

// A branch of a map has its own way out; the other branches do not notice.
func TestOnExhaustedInABranch(t *testing.T) {
	t.Parallel()
	inside := `{"entry":"w","onExhausted":"e","nodes":{` + task("w", "") + "," + node("e", "end", `{"outcome":"failure","reason":"short"}`) + `}}`
	p := begin(t, doc2(mapOver(`{"items":[0,1,2]}`, `,"concurrency":3`, "collect"), components("one", inside)), func(p *play) {
		p.refuse = func(c workflow.StartVisit) workflow.Code {
			if c.Visit == "m#1[1]/w#1" {
				return workflow.CodeBudgetExhausted
			}
			return ""
		}
	})
	p.next("m/w", "m/w")
	p.wantEnd(workflow.StatusSucceeded)
	if got := p.output("j"); !strings.Contains(got, `"failed":1,"ok":2,"results":[{"index":0,"outcome":"next"},{"index":1,"outcome":"failed"}`) {
		t.Errorf("output %s", got)
	}
}

// The way of a body inside comes before that of the body around it.
func TestOnExhaustedFromTheInside(t *testing.T) {
	t.Parallel()
	inner := `{"entry":"w","onExhausted":"r","nodes":{` + task("w", "") + "," + task("r", "") + `}}`
	r := &refuser{code: workflow.CodeRecursionLimit, nodes: []string{"p/a/w", "p/b/w"}}
	p := begin(t, doc2(graphOf("p", node("p", "parallel", `{"branches":{"a":`+inner+`,"b":`+body("w", task("w", ""))+`}}`, "next>done", "fail>bad"), task("r", "bad")), `"onExhausted":"r"`),
		func(p *play) { p.refuse = r.refuse })
	p.wantNodes("p#1[a]/r#1")
	p.next("p/a/r")
	p.wantNodes("r#1")
	p.next("r")
	p.wantEnd(workflow.StatusExhausted, "went_bad")
	r.nodes = nil
	p.record(workflow.Event{}, &workflow.LimitRaised{Transitions: 9})
	p.wantNodes("p#1[b]/w#1")
	p.next("p/b/w")
	p.wantEnd(workflow.StatusSucceeded)
}

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

// What a map runs over is fixed when it begins: a snapshot that would read
// another list is refused, so that the history is read instead.
func TestSnapshotOfAMapWhoseListChanged(t *testing.T) {
	t.Parallel()
	p := prepare(t, doc2(graphOf("a", node("a", "assign", `{"set":{"list":[1,2,3]}}`, "next>m", "failed>bad"), node("m", "map", `{"over":{"expr":"$vars.list"},"body":"one","concurrency":1}`, "next>j"), node("j", "join", `{"reduce":"all-ok"}`, "next>done", "fail>bad")),
		components("one", body("w", task("w", "")))))
	p.open()
	for _, list := range []any{[]int{1, 2, 4}, []int{1}} {
		p.fork(workflow.Patch{Vars: map[string]workflow.Value{"list": value(list)}})
		raw, err := p.prog.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.fresh().Restore(raw); err == nil || !strings.Contains(err.Error(), "m#1") {
			t.Errorf("a snapshot with another list is restored: %v", err)
		}
	}
	p.next("m/w", "m/w")
	p.wantLookup("m/w", "3", "$item", "value")
}

func TestSnapshotsThatDoNotFit(t *testing.T) {
	t.Parallel()
	p := prepare(t, doc2(graphOf("w", task("w", "p"), node("p", "parallel", `{"branches":{"a":`+body("w", task("w", ""))+`}}`, "next>done", "fail>bad"))))
	p.open()
	p.next("w")
	good, err := p.prog.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for what, raw := range map[string]string{
		"no JSON":           `{`,
		"a missing scope":   `{"visits":[{"id":"w#1","node":"w","scope":"gone","number":1,"state":"wanted"}]}`,
		"a missing node":    `{"scopes":[{"id":""}],"visits":[{"id":"x#1","node":"x","number":1,"state":"wanted"}]}`,
		"a missing origin":  `{"scopes":[{"id":""},{"id":"x","origin":"c#1"}]}`,
		"a missing branch":  strings.ReplaceAll(string(good), `"path":"p/a"`, `"path":"p/b"`),
		"a branch of no id": strings.ReplaceAll(string(good), `"path":"p/a"`, `"path":""`),
	} {
		if err := p.fresh().Restore([]byte(raw)); err == nil {
			t.Errorf("%s: it is restored", what)
		}
	}
	if err := p.apply(about("p#1[a]/w#1", "", 1, 1), &workflow.Admitted{Kind: "work"}); err != nil {
		t.Fatal(err)
	}
	p.must(p.apply(about("p#1[a]/w#1", "", 1, 1), &workflow.Settled{Outcome: "next"}))
	if _, err := p.prog.Snapshot(); err == nil {
		t.Error("a snapshot is taken before the wishes are handed out")
	}
}
