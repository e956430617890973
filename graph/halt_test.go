package graph_test

import (
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
