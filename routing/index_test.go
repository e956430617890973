package routing_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/routing"
)

type wireRule struct {
	ID       string           `json:"id"`
	Selector routing.Selector `json:"selector"`
	Target   string           `json:"target"`
	Priority int              `json:"priority"`
}

func matrixOf(t interface{ Fatal(...any) }, rules []wireRule) *routing.Matrix {
	data, err := json.Marshal(map[string]any{"rules": rules})
	if err != nil {
		t.Fatal(err)
	}
	m, err := routing.Load("models.json", data, providers)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// flat is a selector or context as one map.
func flat(s routing.Selector) map[string]string {
	out := map[string]string{"agent": s.Agent, "skill": s.Skill, "project": s.Project, "group": s.Group, "purpose": s.Purpose}
	for k, v := range s.Extra {
		out["extra."+k] = v
	}
	maps.DeleteFunc(out, func(_, v string) bool { return v == "" })
	return out
}

var anySelector = rapid.Custom(func(t *rapid.T) routing.Selector {
	value := rapid.SampledFrom([]string{"", "", "a", "b", "ab"})
	s := routing.Selector{
		Agent: value.Draw(t, "agent"), Skill: value.Draw(t, "skill"), Project: value.Draw(t, "project"), Group: value.Draw(t, "group"), Purpose: value.Draw(t, "purpose"),
	}
	for _, key := range []string{"x", "y", "agent"} {
		if v := value.Draw(t, key); v != "" {
			if s.Extra == nil {
				s.Extra = map[string]string{}
			}
			s.Extra[key] = v
		}
	}
	return s
})

// The index decides as a look at every rule does, in every order of the rules.
func TestIndexIsAScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var rules []wireRule
		seen := map[string]bool{}
		for i, s := range rapid.SliceOfN(anySelector, 0, 40).Draw(t, "selectors") {
			r := wireRule{ID: fmt.Sprint("r", i), Selector: s, Target: "local/m", Priority: rapid.IntRange(-1, 1).Draw(t, "priority")}
			key := fmt.Sprint(flat(s), r.Priority)
			if len(flat(s)) == 0 || seen[key] {
				continue
			}
			seen[key] = true
			rules = append(rules, r)
		}
		context := anySelector.Draw(t, "context")
		want := scan(rules, flat(context))
		for range 2 {
			d, err := matrixOf(t, rules).Decide(routing.Request{Context: routing.Context(context), Provider: "local"})
			got := ""
			if err == nil {
				got = *d.MatchedRuleID
			}
			if got != want {
				t.Fatalf("index says %q, scan %q", got, want)
			}
			slices.Reverse(rules)
		}
	})
}

// scan finds the winner as the words say it.
func scan(rules []wireRule, context map[string]string) string {
	var best *wireRule
	for i := range rules {
		r := &rules[i]
		matches := true
		for dim, v := range flat(r.Selector) {
			matches = matches && context[dim] == v
		}
		if !matches {
			continue
		}
		if best == nil {
			best = r
			continue
		}
		n, m := len(flat(r.Selector)), len(flat(best.Selector))
		if n > m || n == m && (r.Priority > best.Priority || r.Priority == best.Priority && strings.Compare(r.ID, best.ID) < 0) {
			best = r
		}
	}
	if best == nil {
		return ""
	}
	return best.ID
}

// large are 10,000 rules of different make.
func large(kind string) ([]wireRule, routing.Context) {
	const n = 10_000
	rules := []wireRule{}
	for i := range n {
		r := wireRule{ID: fmt.Sprintf("r%05d", i), Target: "local/m"}
		switch kind {
		case "pairs": // 100 agents in 100 projects
			r.Selector = routing.Selector{Agent: fmt.Sprint("a", i%100), Project: fmt.Sprint("p", i/100)}
		case "names": // each rule has a dimension of its own
			r.Selector = routing.Selector{Agent: "a7", Extra: map[string]string{fmt.Sprint("k", i): "v"}}
		case "mixed": // all sets of five dimensions and four others
			r.Selector = routing.Selector{Extra: map[string]string{"n": fmt.Sprint(i / 256)}}
			for bit, field := range []*string{&r.Selector.Agent, &r.Selector.Skill, &r.Selector.Project, &r.Selector.Group} {
				if i>>bit&1 == 1 {
					*field = "a7"
				}
			}
			for bit := range 4 {
				if i>>(bit+4)&1 == 1 {
					r.Selector.Extra[fmt.Sprint("k", bit)] = "v"
				}
			}
		}
		rules = append(rules, r)
	}
	return rules, routing.Context{
		Agent: "a7", Skill: "a7", Project: "p7", Group: "a7", Extra: map[string]string{"k1": "v", "k2": "v", "k9": "v", "n": "7"},
	}
}

func BenchmarkDecide(b *testing.B) {
	onLarge(b, func(m *routing.Matrix, r routing.Request) { _, _ = m.Decide(r) })
}

func BenchmarkExplain(b *testing.B) {
	onLarge(b, func(m *routing.Matrix, r routing.Request) { m.Explain(r) })
}

func onLarge(b *testing.B, what func(*routing.Matrix, routing.Request)) {
	for _, kind := range []string{"pairs", "names", "mixed"} {
		b.Run(kind, func(b *testing.B) {
			rules, context := large(kind)
			m := matrixOf(b, rules)
			if d, err := m.Decide(routing.Request{Context: context}); err != nil || d.MatchedRuleID == nil {
				b.Fatal(d, err)
			}
			b.ReportAllocs()
			for b.Loop() {
				what(m, routing.Request{Context: context})
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	rules, _ := large("pairs")
	data, err := json.Marshal(map[string]any{"rules": rules})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := routing.Load("models.json", data, providers); err != nil {
			b.Fatal(err)
		}
	}
}
