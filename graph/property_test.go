package graph_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/workflow"
)

// maker draws small definitions.
type maker struct {
	t          *rapid.T
	components map[string]string
	budget     int // nodes that may still be drawn
}

func (m *maker) pick(label string, n int) int { return rapid.IntRange(0, n-1).Draw(m.t, label) }

// body draws a chain of parts; a part may be several nodes.
func (m *maker) body(depth int) string {
	var nodes []string
	n := 1 + m.pick("length", 3)
	entry := ""
	for i := range n {
		at, to := fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", i+1)
		if i == n-1 {
			to = rapid.SampledFrom([]string{"", "good", "poor"}).Draw(m.t, "last")
		}
		if entry == "" {
			entry = at
		}
		nodes = append(nodes, m.part(at, to, depth)...)
	}
	nodes = append(nodes, node("good", "end", `{"outcome":"success"}`), node("poor", "end", `{"outcome":"failure","reason":"poor"}`))
	more := ""
	if m.pick("exhausted", 4) == 0 {
		more = `,"onExhausted":"rescue"`
		nodes = append(nodes, task("rescue", "poor"))
	}
	return fmt.Sprintf(`"entry":%q,"nodes":{%s}%s`, entry, strings.Join(nodes, ","), more)
}

func (m *maker) part(at, to string, depth int) []string {
	m.budget--
	kinds := 6
	if depth < 2 && m.budget > 0 {
		kinds = 10
	}
	switch m.pick("kind", kinds) {
	case 0, 1:
		return []string{node(at, "work", `{"effect":"write","uncertain":true}`, "next>"+to, "failed>"+to)}
	case 2:
		return []string{node(at, "work", `{"ai":true}`, "next>"+to)}
	case 3: // a loop with a counter
		return []string{
			node(at, "assign", `{"set":{"`+at+`":0}}`, "next>"+at+"w", "failed>poor"),
			node(at+"w", "work", `{"n":"{{vars.`+at+`}}"}`, "next>"+at+"i", "failed>"+at+"i"),
			node(at+"i", "assign", `{"increment":{"`+at+`":1}}`, "next>"+at+"c", "failed>poor"),
			node(at+"c", "condition", `{"expr":"$vars.`+at+` < 3"}`, "true>"+at+"w", "false>"+to),
		}
	case 4:
		params := rapid.SampledFrom([]string{`{"for":"1s"}`, `{"signal":"go"}`, `{"signal":"go","timeout":"1s"}`}).Draw(m.t, "wait")
		return []string{node(at, "wait", params, "next>"+to, "expired>"+to)}
	case 5:
		return []string{node(at, "workflow", `{"name":"kid"}`, "next>"+to, "failed>"+to)}
	case 6, 7:
		items := make([]int, m.pick("items", 5))
		return []string{
			node(at, "map", fmt.Sprintf(`{"over":{"items":%s},"body":{%s},"concurrency":%d}`, text(items), m.body(depth+1), 1+m.pick("concurrency", 3)), "next>"+at+"j"),
			node(at+"j", "join", `{"reduce":"`+rapid.SampledFrom([]string{"collect", "all-ok", "any-ok"}).Draw(m.t, "reduce")+`"}`, "next>"+to, "fail>poor"),
		}
	case 8:
		var branches []string
		for i := range 1 + m.pick("branches", 3) {
			branches = append(branches, fmt.Sprintf(`"b%d":{%s}`, i, m.body(depth+1)))
		}
		return []string{node(at, "parallel", `{"branches":{`+strings.Join(branches, ",")+`}}`, "next>"+to, "fail>"+to)}
	}
	name := fmt.Sprintf("c%d", len(m.components))
	m.components[name] = ""
	m.components[name] = "{" + m.body(depth+1) + "}"
	return []string{node(at, "component", `{"ref":"`+name+`","inputs":{"x":1}}`, "next>"+to, "failed>"+to)}
}

func (m *maker) definition() string {
	graph := m.body(0)
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(m.components)) {
		pairs = append(pairs, name, m.components[name])
	}
	return doc2(graph, components(pairs...))
}

// chaos is a world that does anything that an engine allows.
type chaos struct {
	*play
	t        *rapid.T
	asking   []workflow.StartVisit
	unsure   []workflow.StartVisit
	refusing bool
	over     bool // the world is kind now
}

func (c *chaos) chance(label string, in int) bool {
	return rapid.IntRange(0, in-1).Draw(c.t, label) == 0
}

// step does one thing; false tells that there is nothing to do.
func (c *chaos) step() bool {
	var can []func()
	for _, v := range c.wanted {
		can = append(can, func() { c.attempt(v) })
	}
	for _, v := range slices.SortedFunc(maps.Values(c.running), func(a, b workflow.StartVisit) int { return strings.Compare(string(a.Visit), string(b.Visit)) }) {
		can = append(can, func() { c.end(v) })
	}
	for i := range c.asking {
		can = append(can, func() {
			v := c.asking[i]
			c.asking = slices.Delete(c.asking, i, i+1)
			c.record(c.of(v), &workflow.QuestionAnswered{Question: "q"})
		})
	}
	for i := range c.unsure {
		can = append(can, func() { c.recover(i) })
	}
	for _, v := range slices.Sorted(maps.Keys(c.timers)) {
		can = append(can, func() {
			delete(c.timers, v)
			c.record(about(v, "", 0, 1), &workflow.TimerFired{})
		})
	}
	for _, v := range slices.Sorted(maps.Keys(c.children)) {
		can = append(can, func() {
			delete(c.children, v)
			status := rapid.SampledFrom([]workflow.Status{workflow.StatusSucceeded, workflow.StatusFailed}).Draw(c.t, "child")
			if c.stopped {
				delete(c.seen, v) // it gets no result
			}
			c.record(about(v, "", 0, 1), &workflow.ChildEnded{Run: "rkid", Status: status})
		})
	}
	if len(can) == 0 {
		return false
	}
	can[rapid.IntRange(0, len(can)-1).Draw(c.t, "what")]()
	return true
}

func (c *chaos) attempt(v workflow.StartVisit) {
	if c.stopped {
		return
	}
	c.admit(v)
	c.work()
}

func (c *chaos) recover(i int) {
	v := c.unsure[i]
	c.unsure = slices.Delete(c.unsure, i, i+1)
	how := rapid.SampledFrom([]string{workflow.RecoverRerun, workflow.RecoverDone}).Draw(c.t, "how")
	c.record(c.of(v), &workflow.Recovered{How: how})
	if how == workflow.RecoverDone {
		c.settled(c.of(v), workflow.Settled{Outcome: "next", Output: value(v.Visit)})
		c.play.work()
	}
}

// end lets a running attempt come to an end of some kind.
func (c *chaos) end(v workflow.StartVisit) {
	kind := 0
	if !c.over {
		kind = rapid.IntRange(0, 9).Draw(c.t, "end")
	}
	node := string(v.Visit)
	switch kind {
	case 5:
		c.say(node, &workflow.Lost{Code: workflow.CodeOwnerLost})
	case 6:
		c.say(node, &workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: true})
		if !c.stopped {
			c.unsure = append(c.unsure, v)
		}
	case 7:
		c.say(node, &workflow.Retrying{Code: workflow.CodeTimeout})
	case 8:
		c.say(node, &workflow.QuestionOpened{Question: workflow.Question{ID: "q"}})
		if !c.stopped {
			c.asking = append(c.asking, v)
		}
	case 9:
		c.settle(node, workflow.Settled{Outcome: "failed", Status: workflow.VisitFailed, Error: &workflow.Failure{Code: workflow.CodeTimeout}, Output: value(v.Visit)})
	default:
		c.settle(node, workflow.Settled{Outcome: "next", Output: value(v.Visit), History: node})
	}
}

// disturb does what comes from outside at any time.
func (c *chaos) disturb() {
	switch rapid.IntRange(0, 29).Draw(c.t, "disturb") {
	case 0, 1:
		c.record(workflow.Event{}, &workflow.Signal{Name: "go"})
	case 2:
		c.record(workflow.Event{}, &workflow.LimitRaised{Tokens: 1})
	case 3:
		c.record(workflow.Event{}, &workflow.Resumed{})
	case 4:
		c.record(workflow.Event{}, &workflow.Steered{Text: "faster"})
	case 5:
		c.forkAndResume()
	case 6:
		if c.chance("cancel", 3) {
			c.cancel()
			c.asking, c.unsure = nil, nil
			clear(c.timers)
		}
	}
}

// forkAndResume goes on with a run that shares this one's history.
func (c *chaos) forkAndResume() {
	if c.stopped || c.ended != nil {
		return
	}
	for _, v := range c.asking {
		c.phase[v.Visit] = resting
	}
	c.asking = nil
	c.fork(workflow.Patch{})
	c.record(workflow.Event{}, &workflow.Resumed{})
	for _, v := range slices.Sorted(maps.Keys(c.running)) {
		c.say(string(v), &workflow.Lost{Code: workflow.CodeOwnerLost})
	}
}

// checkFan looks at the result of a map: branches in the order of the items,
// each with an output of its own.
func (c *chaos) checkFan(e workflow.Event, res *workflow.Settled) {
	var out struct {
		Results []struct {
			Index  int
			Output json.RawMessage
		}
	}
	if res.Output.JSON == nil || json.Unmarshal(res.Output.JSON, &out) != nil {
		return
	}
	for i, r := range out.Results {
		if r.Index != i {
			c.t.Fatalf("result %d of %s has the index %d", i, e.ID, r.Index)
		}
		var visit string
		if json.Unmarshal(r.Output, &visit) == nil && visit != "" && !strings.Contains(e.Node, "j") && !strings.HasPrefix(visit, fmt.Sprintf("%s[%d]/", e.ID, i)) {
			c.t.Fatalf("result %d of %s is of %s", i, e.ID, visit)
		}
	}
}

// Whatever happens, in whatever order: every run comes to an end or rests for a
// reason, no visit is open twice, and however the history is folded, it leads
// to the same wishes.
func TestAnyRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &maker{t: t, components: map[string]string{}, budget: 10}
		c := &chaos{t: t, refusing: rapid.Bool().Draw(t, "refusing")}
		c.play = prepare(t, m.definition())
		c.points = 8
		c.refuse = func(v workflow.StartVisit) workflow.Code {
			if !c.over && c.refusing && c.chance("refuse", 8) {
				return rapid.SampledFrom([]workflow.Code{workflow.CodeBudgetExhausted, workflow.CodeFailFast, workflow.CodeRecursionLimit}).Draw(t, "code")
			}
			return ""
		}
		c.open()
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			if c.ended != nil && c.ended.Status.Terminal() || !c.step() {
				break
			}
			c.disturb()
		}
		c.finish()
		for _, e := range c.events {
			if res, ok := e.Payload.(*workflow.Settled); ok {
				c.checkFan(e, res)
			}
		}
		c.laws()
	})
}

// finish is kind to the run until it ends.
func (c *chaos) finish() {
	c.over = true
	for n := 0; c.ended == nil || !c.ended.Status.Terminal(); n++ {
		switch {
		case n > 3000:
			c.t.Fatalf("the run does not end")
		case c.step():
		case n%3 == 0:
			c.record(workflow.Event{}, &workflow.LimitRaised{Tokens: 1})
		default:
			c.record(workflow.Event{}, &workflow.Signal{Name: "go"})
		}
	}
	for v := range c.seen {
		c.t.Fatalf("the run ended %s and %s is open", c.ended.Status, v)
	}
}
