package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

func components(pairs ...string) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, fmt.Sprintf("%q:%s", pairs[i], pairs[i+1]))
	}
	return `"components":{` + strings.Join(all, ",") + `}`
}

func TestComponentInputs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, inputs, want string // the variables inside, or the code of the failure
	}{
		{"none", `{}`, `{"shared":"s"}`},
		{"literals", `{"a":1,"b":"x","c":[1],"d":null}`, `{"a":1,"b":"x","c":[1],"d":null,"shared":"s"}`},
		{"paths", `{"a":"$vars.own","b":"$outputs.w.list.1","c":"$candidate"}`, `{"a":{"k":1},"b":20,"c":"c1:a","shared":"s"}`},
		{"over a shared one", `{"shared":"mine"}`, `{"shared":"mine"}`},
		{"a whole root", `{"a":"$vars"}`, `{"a":{"own":{"k":1},"shared":"s"},"shared":"s"}`},
		{"missing path", `{"a":"$vars.nope"}`, "run_var_missing"},
		{"missing item", `{"a":"$item.value"}`, "run_var_missing"},
		{"not a path", `{"a":"$else.x"}`, "invalid_component_input"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inside := `{"entry":"in","inputs":["shared","absent"],"nodes":{` + task("in", "") + `}}`
			p := begin(t, doc2(graphOf("w", task("w", "c"), node("c", "component", `{"ref":"part","inputs":`+tt.inputs+`}`, "next>done", "failed>bad")), components("part", inside)))
			p.settle("w", workflow.Settled{
				Outcome: "next", Candidate: "c1:a", Output: value(map[string]any{"list": []int{10, 20}}),
				Vars: map[string]workflow.Value{"own": value(map[string]int{"k": 1}), "shared": value("s")},
			})
			if !strings.HasPrefix(tt.want, "{") {
				p.wantEnd(workflow.StatusFailed, "went_bad")
				if res := p.results["c"]; string(res.Error.Code) != tt.want || !strings.Contains(res.Error.Message, "input a") {
					t.Errorf("result %s", text(res))
				}
				return
			}
			p.wantLookup("c/in", tt.want, "$vars")
			p.next("c/in")
			p.wantEnd(workflow.StatusSucceeded)
		})
	}
}

func TestComponentExits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, end      string
		outcome, code  string
		status, reason string
	}{
		{"success", `{"outcome":"success"}`, "next", "", "", ""},
		{"failure", `{"outcome":"failure","reason":"r"}`, "failed", "", workflow.VisitFailed, "r"},
		{"own exit", `{"outcome":"success","exit":"twice"}`, "twice", "", "", ""},
		{"failure with an exit", `{"outcome":"failure","exit":"twice"}`, "twice", "", workflow.VisitFailed, ""},
		{"exit without an edge", `{"outcome":"success","exit":"gone"}`, "failed", "component_exit_missing", workflow.VisitFailed, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inside := body("w", task("w", "e"), node("e", "end", tt.end))
			p := begin(t, doc2(graphOf("c", node("c", "component", `{"ref":"part"}`, "next>done", "failed>bad", "twice>done")), components("part", inside)))
			p.settle("c/w", workflow.Settled{Outcome: "next", Output: value(7)})
			res := p.results["c"]
			if res.Outcome != tt.outcome || res.Status != tt.status {
				t.Fatalf("result %s, want %s %s", text(res), tt.outcome, tt.status)
			}
			if tt.code != "" {
				if res.Error == nil || string(res.Error.Code) != tt.code {
					t.Errorf("error %s", text(res.Error))
				}
				return
			}
			var out struct {
				Outputs    map[string]int
				Completion workflow.Completion
			}
			if err := json.Unmarshal([]byte(p.output("c")), &out); err != nil || out.Outputs["w"] != 7 {
				t.Errorf("output %s (%v)", p.output("c"), err)
			}
			if got := strings.Join(out.Completion.Reasons, ","); got != tt.reason {
				t.Errorf("reasons %q, want %q", got, tt.reason)
			}
		})
	}
}

// Components nest; every body has its own state, and ids tell the way.
func TestComponentsThreeDeep(t *testing.T) {
	t.Parallel()
	level := func(ref string) string {
		return body("s", node("s", "assign", `{"set":{"at":"`+ref+`"}}`, "next>c", "failed>"), node("c", "component", `{"ref":"`+ref+`"}`, "next>", "failed>"))
	}
	p := begin(t, doc2(graphOf("c", node("c", "component", `{"ref":"one"}`, "next>after", "failed>bad"), task("after", "done")),
		components("one", level("two"), "two", level("three"), "three", body("w", task("w", "")))))
	p.wantNodes("c#1/c#1/c#1/w#1")
	if c := p.find("c/c/c/w"); c.Scope != "c#1/c#1/c#1" || c.Number != 1 {
		t.Errorf("scope %q, number %d", c.Scope, c.Number)
	}
	p.wantLookup("c/c/c/w", "{}", "$vars")
	p.next("c/c/c/w")
	p.wantLookup("after", "{}", "$vars")
	p.next("after")
	p.wantEnd(workflow.StatusSucceeded)
}

// A component that is entered again begins anew, under another id.
func TestComponentTwice(t *testing.T) {
	t.Parallel()
	inside := `{"entry":"w","maxTransitions":7,"nodes":{` + task("w", "x") + "," + task("x", "") + `}}`
	p := begin(t, doc2(graphOf("c", node("c", "component", `{"ref":"part"}`, "next>q", "failed>bad"), node("q", "condition", `{"expr":"$attempts.c == 1 && $vars.twice != true"}`, "true>a", "false>done"),
		node("a", "assign", `{"set":{"twice":true}}`, "next>c", "failed>bad")), components("part", inside)))
	p.settle("c/w", workflow.Settled{Outcome: "next", Vars: map[string]workflow.Value{"v": value(1)}})
	p.wantLookup("c/x", `{"v":1}`, "$vars")
	if c := p.find("c/x"); c.BodyCount != 2 || c.BodyMax != 7 {
		t.Errorf("it is visit %d of at most %d of its body", c.BodyCount, c.BodyMax)
	}
	p.next("c/x")
	p.wantNodes("c#2/w#1")
	p.wantLookup("c/w", `{}`, "$vars")
	if c := p.find("c/w"); c.BodyCount != 1 {
		t.Errorf("it is visit %d of its body", c.BodyCount)
	}
	p.next("c/w", "c/x")
	p.wantEnd(workflow.StatusSucceeded)
}
