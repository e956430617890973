package script_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/script"
	"github.com/tenonrun/tenon/workflow"
)

// resume runs an edited script over what a run settled.
func resume(t *testing.T, old *play, mode, body string) *play {
	t.Helper()
	j, ok := old.prog.(script.Journal)
	if !ok {
		t.Fatal("the program keeps no journal")
	}
	raw, err := script.Carry(mode, j.Calls())
	if err != nil {
		t.Fatal(err)
	}
	return begin(t, named("edited", body), 3, func(p *play) {
		p.start.Options.Script.Reuse = &workflow.Reuse{From: "rold", Mode: mode, Calls: workflow.Inline(raw)}
	})
}

// live are the calls that were really made.
func (p *play) live() []string {
	var out []string
	for _, e := range p.events {
		if a, ok := e.Payload.(*workflow.Admitted); ok && !a.Self {
			out = append(out, e.ID)
		}
	}
	return out
}

const chain = `const a = await agent("One => 1");
const b = await agent("Two => 2");
const c = await agent("Three => 3");
const d = await agent("Four => 4");
return [a, b, c, d];`

func TestReuse(t *testing.T) {
	t.Parallel()
	fan := `return parallel(["a", "b", "c", "d"].map((x) => async () => agent(await agent("Look at " + x + " => look " + x) + " => seen " + x)))`
	cases := []struct {
		name, mode, old, body string
		live                  []string
		moved                 int
	}{
		{"unchanged", workflow.ReusePrefix, chain, chain, nil, 0},
		{"label changed", workflow.ReusePrefix, chain, strings.Replace(chain, `"Two => 2"`, `"Two => 2", {label: "two", phase: "p"}`, 1), nil, 0},
		{"third changed", workflow.ReusePrefix, chain, strings.Replace(chain, "Three", "Drei", 1), []string{"agent#3", "agent#4"}, 0},
		{"third changed, others kept", workflow.ReuseUnchanged, chain, strings.Replace(chain, "Three", "Drei", 1), []string{"agent#3"}, 0},
		{"one before", workflow.ReuseUnchanged, chain, `await agent("Zero => 0"); ` + chain, []string{"agent#1"}, 0},
		{"one before ends the prefix", workflow.ReusePrefix, chain, `await agent("Zero => 0"); ` + chain, []string{"agent#1", "agent#2", "agent#3", "agent#4", "agent#5"}, 0},
		{"wrapped", workflow.ReuseUnchanged, chain, `return (async () => { ` + chain + ` })()`, nil, 4},
		{"fan", workflow.ReusePrefix, fan, fan, nil, 0},
		{"one item of a fan", workflow.ReuseUnchanged, fan, strings.Replace(fan, `"c", `, `"x", `, 1), []string{"parallel#1[2]/f#1/agent#1", "parallel#1[2]/f#1/agent#2"}, 0},
		{"failed", workflow.ReuseUnchanged, strings.Replace(chain, "=> 2", "=> !die", 1), strings.Replace(chain, "=> 2", "=> !die", 1), []string{"agent#2"}, 0},
		{"failed ends the prefix", workflow.ReusePrefix, strings.Replace(chain, "=> 2", "=> !die", 1), strings.Replace(chain, "=> 2", "=> !die", 1), []string{"agent#2", "agent#3", "agent#4"}, 0},
		{"commands run again", workflow.ReuseUnchanged, `await shell(["a"]); return agent("One => 1")`, `await shell(["a"]); return agent("One => 1")`, []string{"shell#1"}, 0},
		{"commands of the prefix do not", workflow.ReusePrefix, `await shell(["a"]); return agent("One => 1")`, `await shell(["a"]); return agent("One => 1")`, nil, 0},
		{"equal calls twice", workflow.ReuseUnchanged, `return [await agent("X => 1"), await agent("X => 1")]`, `return [await agent("X => 1"), await agent("X => 1"), await agent("X => 1")]`, []string{"agent#3"}, 0},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			old := begin(t, named("old", tc.old), 7)
			old.finish()
			p := resume(t, old, tc.mode, tc.body)
			plan, err := p.factory.Foresee("rnew", p.start, p.values)
			if err != nil {
				t.Fatal(err)
			}
			p.finish()
			if got := p.live(); !slices.Equal(got, tc.live) {
				t.Errorf("live %v, want %v", got, tc.live)
			}
			if plan.Moved != tc.moved || plan.Ends != (len(tc.live) == 0) || len(tc.live) > 0 && string(plan.Live[0].ID) != tc.live[0] {
				t.Errorf("plan %+v", plan)
			}
			one := p.commands(p.events, func(int) bool { return true })
			if got := p.commands(p.events, func(i int) bool { return i%3 == 0 }); !slices.Equal(got, one) {
				t.Error("the commands depend on the batches")
			}
		})
	}
}

// TestPlanSays: where a run goes on live, why, what it costs, and what would be
// written again.
func TestPlanSays(t *testing.T) {
	t.Parallel()
	wrote := `await agent("One => 1"); await shell(["a"]); await shell(["b"], {effect: "read"}); const x = await agent("Two => !die"); return x ?? agent("Three => 3")`
	cases := []struct {
		name, mode, old, body, says string
		again                       int
		saved, ahead                int64
	}{
		{"unchanged", workflow.ReusePrefix, chain, chain, "", 0, 400, 0},
		{"changed", workflow.ReusePrefix, chain, strings.Replace(chain, "Three", "Drei", 1), `agent#3 (edited.js:4:17): its prompt or its options have changed`, 0, 200, 200},
		{"new", workflow.ReuseUnchanged, chain, chain[:len(chain)-len("return [a, b, c, d];")] + `return agent("Five")`, `agent#5 (edited.js:6:8): the earlier run made no such call`, 0, 400, 100},
		{"failed", workflow.ReusePrefix, wrote, wrote, `agent#2 (edited.js:2:100): it failed`, 0, 100, 200},
		{"after a failed one", workflow.ReusePrefix, wrote, strings.Replace(wrote, `await agent("Two => !die")`, "null", 1), `agent#2 (edited.js:2:112): its prompt or its options have changed`, 0, 100, 200},
		{"written", workflow.ReusePrefix, wrote, strings.Replace(wrote, "One", "Eins", 1), `agent#1 (edited.js:2:7): its prompt or its options have changed`, 1, 0, 300},
		{"commands", workflow.ReuseUnchanged, wrote, wrote, `shell#1 "a" (edited.js:2:32): it looks at what others do`, 1, 100, 100},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			old := begin(t, named("old", tc.old), 7)
			old.finish()
			p := resume(t, old, tc.mode, tc.body)
			plan, err := p.factory.Foresee("rnew", p.start, p.values)
			if err != nil {
				t.Fatal(err)
			}
			calls := old.prog.(script.Journal).Calls() //nolint:forcetypeassert // resume has asked
			saved, ahead := plan.Tokens(calls)
			if says := plan.Diverges(calls); says != tc.says || len(plan.Again(calls)) != tc.again || saved != tc.saved || ahead != tc.ahead {
				t.Errorf("says %q, writes %v again, saves %d, needs %d", says, plan.Again(calls), saved, ahead)
			}
		})
	}
}

func TestReuseOfAStoppedRun(t *testing.T) {
	t.Parallel()
	old := begin(t, named("old", chain), 1)
	old.until("Three")
	p := resume(t, old, workflow.ReusePrefix, chain)
	p.finish()
	if got := p.live(); !slices.Equal(got, []string{"agent#3", "agent#4"}) {
		t.Errorf("live %v", got)
	}
	if string(p.ended.Outputs["result"].JSON) != `["1","2","3","4"]` {
		t.Errorf("result %s", p.ended.Outputs["result"].JSON)
	}
	if _, err := script.Carry("some", nil); err == nil {
		t.Error("an unknown way to reuse is taken")
	}
}
