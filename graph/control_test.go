package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

func TestCondition(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, expr, want, warning string
	}{
		{"true", "1 < 2", "true", ""},
		{"false", "2 < 1", "false", ""},
		{"missing variable", "$vars.nope == 1", "false", ""},
		{"not true when unset", "$vars.stop != true", "true", ""},
		{"error is false", "1 + \\\"a\\\" > 0", "false", "taken as false"},
		{"division", "1 / 0 > 0", "false", "taken as false"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc2(graphOf("c", node("c", "condition", `{"expr":"`+tt.expr+`"}`, "true>done", "false>bad"))))
			res := p.results["c"]
			if res.Outcome != tt.want {
				t.Fatalf("outcome %q, want %q: %s", res.Outcome, tt.want, text(res))
			}
			if tt.warning == "" {
				if len(res.Warnings) > 0 || res.Completion != nil {
					t.Errorf("it warns: %s", text(res))
				}
				return
			}
			if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], tt.warning) || !strings.Contains(p.output("c"), `"error"`) {
				t.Errorf("warnings %q, output %s", res.Warnings, p.output("c"))
			}
			if res.Completion == nil || res.Completion.Reasons[0] != "condition_error:c" {
				t.Errorf("completion %s", text(res.Completion))
			}
		})
	}
}

func TestAssign(t *testing.T) {
	t.Parallel()
	const most = 1<<53 - 1
	tests := []struct {
		name, before, params string
		want                 string // vars, or the code of the failure
	}{
		{"set", `{}`, `{"set":{"a":1,"b":[true,null],"c":"x"}}`, `{"a":1,"b":[true,null],"c":"x"}`},
		{"increment", `{"n":3}`, `{"increment":{"n":-5}}`, `{"n":-2}`},
		{"both", `{"n":0}`, `{"increment":{"n":1},"set":{"m":1}}`, `{"m":1,"n":1}`},
		{"whole float", `{"n":2.0}`, `{"increment":{"n":1}}`, `{"n":3}`},
		{"to the edge", fmt.Sprintf(`{"n":%d}`, most-1), `{"increment":{"n":1}}`, fmt.Sprintf(`{"n":%d}`, most)},
		{"overflow", fmt.Sprintf(`{"n":%d}`, most), `{"increment":{"n":1}}`, "invalid_assignment"},
		{"underflow", fmt.Sprintf(`{"n":%d}`, -most), `{"increment":{"n":-1}}`, "invalid_assignment"},
		{"too large a start", `{"n":9007199254740992}`, `{"increment":{"n":-1}}`, "invalid_assignment"},
		{"fraction", `{"n":1.5}`, `{"increment":{"n":1}}`, "invalid_assignment"},
		{"text", `{"n":"1"}`, `{"increment":{"n":1}}`, "invalid_assignment"},
		{"null", `{"n":null}`, `{"increment":{"n":1}}`, "invalid_assignment"},
		{"missing", `{}`, `{"increment":{"n":1}}`, "invalid_assignment"},
		{"all or nothing", `{"n":1}`, `{"increment":{"n":1,"nope":1},"set":{"z":1}}`, "invalid_assignment"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc2(graphOf("w", task("w", "a"), node("a", "assign", tt.params, "next>see", "failed>see"), task("see", "done"))))
			var vars map[string]json.RawMessage
			if err := json.Unmarshal([]byte(tt.before), &vars); err != nil {
				t.Fatal(err)
			}
			set := map[string]workflow.Value{}
			for k, v := range vars {
				set[k] = workflow.Inline(v)
			}
			p.settle("w", workflow.Settled{Outcome: "next", Vars: set})
			res := p.results["a"]
			if strings.HasPrefix(tt.want, "{") {
				if got := p.output("a"); res.Outcome != "next" || got != `{"vars":`+tt.want+`}` {
					t.Errorf("%s with output %s, want %s", res.Outcome, got, tt.want)
				}
				p.wantLookup("see", tt.want, "$vars")
				return
			}
			if res.Outcome != "failed" || res.Status != workflow.VisitFailed || res.Error == nil || string(res.Error.Code) != tt.want || res.Error.Node != "a" {
				t.Fatalf("result %s, want a failure %s", text(res), tt.want)
			}
			var want any
			if err := json.Unmarshal([]byte(tt.before), &want); err != nil {
				t.Fatal(err)
			}
			p.wantLookup("see", text(want), "$vars")
		})
	}
}

// What goes wrong first is told first, in every replay.
func TestAssignTellsTheSameProblem(t *testing.T) {
	t.Parallel()
	for range 20 {
		p := begin(t, doc2(graphOf("a", node("a", "assign", `{"increment":{"b":1,"a":1,"d":1,"c":1}}`, "next>done", "failed>bad"))))
		if msg := p.results["a"].Error.Message; !strings.Contains(msg, "incrementing a:") {
			t.Fatalf("the problem is %q", msg)
		}
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	tests := []struct {
		name, params string
		delivery     *bool
		work         string // outcome of the work before; "" when the end is not a piece's
		status       workflow.Status
		reasons      []string
	}{
		{"success", `{"outcome":"success"}`, nil, "", workflow.StatusSucceeded, nil},
		{"failure", `{"outcome":"failure"}`, nil, "", workflow.StatusFailed, nil},
		{"with a reason", `{"outcome":"failure","reason":"too_slow"}`, nil, "", workflow.StatusFailed, []string{"too_slow"}},
		{"success with a reason", `{"outcome":"success","reason":"nothing to do"}`, nil, "", workflow.StatusSucceeded, []string{"nothing to do"}},
		{"not required", `{"outcome":"success"}`, &no, "", workflow.StatusSucceeded, nil},
		{"a failure proves nothing", `{"outcome":"failure"}`, &yes, "", workflow.StatusFailed, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc2(`"entry":"e","nodes":{`+node("e", "end", tt.params)+`}`), func(p *play) { p.start.Options.Verified = tt.delivery })
			p.wantEnd(tt.status, tt.reasons...)
		})
	}
}

// An end that must prove its success is a piece's work: it is told so whatever
// else its params say.
func TestEndThatMustProve(t *testing.T) {
	t.Parallel()
	yes := true
	required := func(p *play) { p.start.Options.Verified = &yes }
	tests := []struct {
		name, params, want string
		tune               func(*play)
	}{
		{"its own word", `{"outcome":"success","requiresVerified":true}`, `{"outcome":"success","requiresVerified":true}`, func(*play) {}},
		{"the delivery's", `{"outcome":"success","reason":"r"}`, `{"outcome":"success","reason":"r","requiresVerified":true}`, required},
		{"with a token", `{"outcome":"success","reason":"{{vars.why}}"}`, `{"outcome":"success","reason":"because","requiresVerified":true}`, required},
		{"with a blocker", `{"outcome":"success","blockerFrom":"w"}`, `{"blockerFrom":"w","outcome":"success","requiresVerified":true}`, required},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc2(`"entry":"w","nodes":{`+task("w", "e")+","+node("e", "end", tt.params)+`}`), tt.tune)
			p.settle("w", workflow.Settled{Outcome: "next", Vars: map[string]workflow.Value{"why": value("because")}})
			c := p.find("e")
			var got any
			if err := json.Unmarshal(c.Params, &got); err != nil {
				t.Fatal(err)
			}
			if c.Self || text(got) != tt.want {
				t.Fatalf("self %v, params %s, want %s", c.Self, text(got), tt.want)
			}
			p.settle("e", workflow.Settled{Completion: &workflow.Completion{OK: true, Verified: true}})
			p.wantEnd(workflow.StatusSucceeded)
		})
	}
}

func TestUnprovenEnds(t *testing.T) {
	t.Parallel()
	yes := true
	required := func(p *play) { p.start.Options.Verified = &yes }
	// An edge to nothing is a success that proves nothing.
	p := begin(t, doc2(`"entry":"w","nodes":{`+task("w", "")+`}`), required)
	p.next("w")
	p.wantEnd(workflow.StatusUnproven, "unverified")
	// So is one with a proof that a later write revoked.
	p = begin(t, doc2(`"entry":"v","nodes":{`+task("v", "w")+","+node("w", "work", `{"effect":"write"}`, "next>")+`}`), required)
	p.settle("v", workflow.Settled{Outcome: "next", Verified: &workflow.Verified{Receipt: "r1", Candidate: "c1:a"}})
	p.wantLookup("w", `{"candidateHash":"c1:a","receiptId":"r1"}`, "$verified")
	p.next("w")
	p.wantEnd(workflow.StatusUnproven, "unverified")
	// With a proof that stands, it is done.
	p = begin(t, doc2(`"entry":"v","nodes":{`+task("v", "")+`}`), required)
	p.settle("v", workflow.Settled{Outcome: "next", Verified: &workflow.Verified{Receipt: "r1", Candidate: "c1:a"}})
	p.wantEnd(workflow.StatusSucceeded)
}

func TestBlockerFrom(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(`"entry":"w","nodes":{`+task("w", "e")+","+node("e", "end", `{"outcome":"failure","blockerFrom":"w"}`)+`}`))
	p.settle("w", workflow.Settled{Outcome: "next", Output: value(map[string]any{"blocker": map[string]any{"kind": "network"}})})
	if got := p.output("e"); got != `{"blocker":{"kind":"network"}}` {
		t.Errorf("output %s", got)
	}
	p = begin(t, doc2(`"entry":"w","nodes":{`+task("w", "e")+","+node("e", "end", `{"outcome":"failure","blockerFrom":"nobody"}`)+`}`))
	p.next("w")
	p.wantEnd(workflow.StatusFailed)
	if !p.results["e"].Output.Absent() {
		t.Errorf("output %s without a blocker", p.output("e"))
	}
}

func TestWaitForTime(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("w", node("w", "wait", `{"for":"90s"}`, "next>done"))))
	at := p.timers["w#1"]
	if got := time.Duration(at-p.events[1].At) * time.Microsecond; got != 90*time.Second {
		t.Errorf("the timer is set for %s after the admission", got)
	}
	p.record(about("w#1", "w", 1, 1), &workflow.TimerFired{})
	p.wantEnd(workflow.StatusSucceeded)

	until := time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)
	p = begin(t, doc2(graphOf("w", node("w", "wait", `{"until":"2026-12-24T19:00:00+01:00"}`, "next>done"))))
	if p.timers["w#1"] != workflow.TimeOf(until) {
		t.Errorf("the timer is set for %v", p.timers["w#1"].Std())
	}
	p.record(about("w#1", "w", 1, 1), &workflow.TimerFired{})
	p.wantEnd(workflow.StatusSucceeded)
}

func TestWaitThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, params := range []string{`{"for":"{{vars.d}}"}`, `{"until":"{{vars.d}}"}`, `{"signal":"go","timeout":"{{vars.d}}"}`} {
		p := begin(t, doc2(graphOf("a", node("a", "assign", `{"set":{"d":"soon"}}`, "next>w", "failed>bad"), node("w", "wait", params, "next>done", "expired>done"))))
		p.wantEnd(workflow.StatusFailed, "invalid_piece_params")
	}
}

func TestWaitForASignal(t *testing.T) {
	t.Parallel()
	wait := func(params string, ends ...string) string {
		return doc2(graphOf("w", node("w", "wait", params, ends...), node("x", "end", `{"outcome":"failure","reason":"expired"}`)))
	}
	sig := func(name, val string) *workflow.Signal { return &workflow.Signal{Name: name, Value: value(val)} }

	t.Run("in time", func(t *testing.T) {
		t.Parallel()
		p := begin(t, wait(`{"signal":"go"}`, "next>done"))
		p.record(workflow.Event{}, sig("other", "1"))
		p.record(workflow.Event{}, sig("go", "2"))
		p.wantEnd(workflow.StatusSucceeded)
		if got := p.output("w"); got != `{"signal":"go","value":"2"}` {
			t.Errorf("output %s", got)
		}
	})
	t.Run("early", func(t *testing.T) {
		t.Parallel()
		p := begin(t, doc2(graphOf("a", task("a", "w"), node("w", "wait", `{"signal":"go"}`, "next>v"), node("v", "wait", `{"signal":"go"}`, "next>done"))))
		p.record(workflow.Event{}, sig("go", "1"))
		p.record(workflow.Event{}, sig("go", "2"))
		p.next("a")
		p.wantEnd(workflow.StatusSucceeded)
		if p.output("w") != `{"signal":"go","value":"1"}` || p.output("v") != `{"signal":"go","value":"2"}` {
			t.Errorf("outputs %s %s", p.output("w"), p.output("v"))
		}
	})
	t.Run("without a value", func(t *testing.T) {
		t.Parallel()
		p := begin(t, wait(`{"signal":"go"}`, "next>done"))
		p.record(workflow.Event{}, &workflow.Signal{Name: "go"})
		if got := p.output("w"); got != `{"signal":"go"}` {
			t.Errorf("output %s", got)
		}
	})
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		p := begin(t, wait(`{"signal":"go","timeout":"1m"}`, "next>done", "expired>x"))
		p.record(about("w#1", "w", 1, 1), &workflow.TimerFired{})
		p.wantEnd(workflow.StatusFailed, "expired")
		p.record(workflow.Event{}, sig("go", "late")) // kept, and harmless
	})
	t.Run("in time, with a timer", func(t *testing.T) {
		t.Parallel()
		p := begin(t, wait(`{"signal":"go","timeout":"1m"}`, "next>done", "expired>x"))
		p.record(workflow.Event{}, sig("go", "1"))
		p.wantEnd(workflow.StatusSucceeded)
		if len(p.timers) > 0 {
			t.Errorf("the timer still runs: %v", p.timers)
		}
	})
	t.Run("signal and timer at once", func(t *testing.T) {
		t.Parallel()
		p := begin(t, wait(`{"signal":"go","timeout":"1m"}`, "next>done", "expired>x"))
		p.must(p.apply(workflow.Event{}, sig("go", "1"))) // nobody drove the run when it came due
		p.must(p.apply(about("w#1", "w", 1, 1), &workflow.TimerFired{}))
		p.work()
		p.wantEnd(workflow.StatusSucceeded)
	})
	t.Run("timer and signal at once", func(t *testing.T) {
		t.Parallel()
		p := begin(t, wait(`{"signal":"go","timeout":"1m"}`, "next>done", "expired>x"))
		p.must(p.apply(about("w#1", "w", 1, 1), &workflow.TimerFired{}))
		p.must(p.apply(workflow.Event{}, sig("go", "1")))
		p.work()
		p.wantEnd(workflow.StatusFailed, "expired")
	})
}

// Of several waits the oldest signal goes to one, in the order of their ids.
func TestSignalsAreGivenOnce(t *testing.T) {
	t.Parallel()
	wait := body("w", node("w", "wait", `{"signal":"go"}`, "next>"))
	p := begin(t, doc2(graphOf("both", node("both", "parallel", `{"branches":{"a":`+wait+`,"b":`+wait+`}}`, "next>done", "fail>bad"))))
	p.record(workflow.Event{}, &workflow.Signal{Name: "go", Value: value(1)})
	if p.output("both/a/w") != `{"signal":"go","value":1}` || p.ended != nil {
		t.Fatalf("results %s", text(p.results))
	}
	p.record(workflow.Event{}, &workflow.Signal{Name: "go", Value: value(2)})
	if p.output("both/b/w") != `{"signal":"go","value":2}` {
		t.Fatalf("results %s", text(p.results))
	}
	p.wantEnd(workflow.StatusSucceeded)
}

func TestChildWorkflow(t *testing.T) {
	t.Parallel()
	sub := doc2(graphOf("a", node("a", "assign", `{"set":{"who":{"n":1}}}`, "next>sub", "failed>bad"),
		node("sub", "workflow", `{"name":"kid","inputs":{"who":"$vars.who.n","what":"plain","list":[1]}}`, "next>done", "failed>bad")))
	cost := 0.5
	tests := []struct {
		name    string
		end     workflow.ChildEnded
		status  workflow.Status
		reasons []string
		output  string
		message string
	}{
		{"succeeded", workflow.ChildEnded{Run: "rkid", Status: workflow.StatusSucceeded, Outputs: value(map[string]any{"w": 1})},
			workflow.StatusSucceeded, nil, `{"outputs":{"w":1},"run":"rkid","status":"succeeded"}`, ""},
		{"failed", workflow.ChildEnded{Run: "rkid", Status: workflow.StatusFailed, Reasons: []string{"x", "y"}},
			workflow.StatusFailed, []string{"went_bad"}, `{"run":"rkid","status":"failed"}`, "child run rkid ended failed: x, y"},
		{"cancelled", workflow.ChildEnded{Run: "rkid", Status: workflow.StatusCancelled},
			workflow.StatusFailed, []string{"went_bad"}, `{"run":"rkid","status":"cancelled"}`, "child run rkid ended cancelled: cancelled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, sub)
			c := p.children["sub#1"]
			if c.Ref != "kid" || string(c.Inputs.JSON) != `{"list":[1],"what":"plain","who":1}` {
				t.Fatalf("child %s", text(c))
			}
			tt.end.Usage = workflow.Totals{Calls: 2, Input: 100, Output: 10, CostUSD: cost}
			end := tt.end
			p.record(about("sub#1", "sub", 1, 1), &end)
			p.wantEnd(tt.status, tt.reasons...)
			if got := p.output("sub"); got != tt.output {
				t.Errorf("output %s, want %s", got, tt.output)
			}
			if tt.message == "" {
				return
			}
			if res := p.results["sub"]; res.Error == nil || res.Error.Code != workflow.CodeChildFailed || res.Error.Message != tt.message {
				t.Errorf("error %s", text(res.Error))
			}
		})
	}
}

func TestChildWithoutItsInput(t *testing.T) {
	t.Parallel()
	for input, code := range map[string]string{`"$vars.nope"`: "run_var_missing", `"$steps.x"`: "invalid_component_input"} {
		p := begin(t, doc2(graphOf("sub", node("sub", "workflow", `{"name":"kid","inputs":{"who":`+input+`}}`, "next>done", "failed>bad"))))
		p.wantEnd(workflow.StatusFailed, "went_bad")
		if res := p.results["sub"]; string(res.Error.Code) != code || len(p.children) > 0 {
			t.Errorf("%s gives %s", input, text(res))
		}
	}
}

// What a child spends is spent by the run.
func TestUsageCounts(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("a", task("a", "sub"), node("sub", "workflow", `{"file":"kid.yaml"}`, "next>b", "failed>bad"), task("b", "done"))))
	in, out, cost := int64(30), int64(12), 0.25
	p.run("a")
	p.record(about("a#1", "a", 1, 1), &workflow.InvocationSettled{Key: "k", Status: workflow.InvocationOK, Usage: workflow.Usage{Input: &in, Output: &out, CostUSD: &cost}})
	p.next("a")
	p.record(about("sub#1", "sub", 1, 1), &workflow.ChildEnded{Run: "rkid", Status: workflow.StatusSucceeded, Usage: workflow.Totals{Calls: 2, Input: 8, Output: 1, CostUSD: 1}})
	p.wantLookup("b", `{"calls":3,"costUsd":1.25,"input":38,"output":13,"tokens":51}`, "$usage")
}
