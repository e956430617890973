package routing

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// Explanation says how a decision came about, for a real or an imagined request.
type Explanation struct {
	Context  Context   `json:"context"`
	Decision *Decision `json:"decision"`          // nil when there is none
	Problem  string    `json:"problem,omitempty"` // why there is none
	// Matches are the rules that match, the winner of the matrix first. A name
	// may still stand above them: Decision says so.
	Matches []Match `json:"matches"`
	// NearMisses are rules that differ in one dimension only, the most specific
	// first, at most MaxNearMisses.
	NearMisses []NearMiss `json:"nearMisses"`
	MoreMisses int        `json:"moreMisses"` // near misses that are left out
}

// MaxNearMisses bounds the near misses of an Explanation.
const MaxNearMisses = 20

// Match is a rule that matches.
type Match struct {
	RuleID     string   `json:"ruleId"`
	Dimensions []string `json:"dimensions"`
	Priority   int      `json:"priority"`
	Target     string   `json:"target"` // name of the model or class
	// Lost says what the winner has more of: "dimensions", "priority", or "id"
	// (the smaller one); "" for the winner.
	Lost string `json:"lost,omitempty"`
}

// NearMiss is a rule that would match but for one dimension.
type NearMiss struct {
	RuleID    string   `json:"ruleId"`
	Matched   []string `json:"matched"`
	Dimension string   `json:"dimension"` // the one that differs
	Want      string   `json:"want"`
	Have      string   `json:"have"` // "" when the context says nothing
	Target    string   `json:"target"`
	// Alike tells that the two values look like one name written twice.
	Alike bool `json:"alike,omitempty"`
}

// Explain says how Decide decides. It looks at every rule.
func (m *Matrix) Explain(r Request) Explanation {
	e := Explanation{Context: r.Context, Matches: []Match{}, NearMisses: []NearMiss{}}
	if d, err := m.Decide(r); err != nil {
		e.Problem = err.Error()
	} else {
		e.Decision = &d
	}
	context := r.Context.pairs()
	matching := m.matching(context)
	for i, one := range matching {
		match := Match{RuleID: one.id, Dimensions: dimensions(one.pairs), Priority: one.priority, Target: one.choice.Name}
		if i > 0 {
			match.Lost = one.lost(matching[0])
		}
		e.Matches = append(e.Matches, match)
	}
	e.nearMisses(m.rules, context)
	return e
}

// lost says why a rule comes after another one.
func (r *rule) lost(winner *rule) string {
	switch {
	case len(r.pairs) != len(winner.pairs):
		return "dimensions"
	case r.priority != winner.priority:
		return "priority"
	}
	return "id"
}

func (e *Explanation) nearMisses(rules []rule, context []pair) {
	type miss struct {
		rule *rule
		at   pair
	}
	var found []miss
	for i := range rules {
		if n, at := rules[i].misses(context, 2); n == 1 {
			found = append(found, miss{&rules[i], at})
		}
	}
	slices.SortFunc(found, func(a, b miss) int { return a.rule.before(b.rule) })
	e.MoreMisses = max(0, len(found)-MaxNearMisses)
	for _, f := range found[:len(found)-e.MoreMisses] {
		have, _ := valueOf(context, f.at.dim)
		others := slices.DeleteFunc(dimensions(f.rule.pairs), func(dim string) bool { return dim == f.at.dim })
		e.NearMisses = append(e.NearMisses, NearMiss{
			RuleID: f.rule.id, Matched: others, Dimension: f.at.dim, Want: f.at.value, Have: have,
			Target: f.rule.choice.Name, Alike: have != "" && alike(have, f.at.value),
		})
	}
}

func alike(a, b string) bool {
	return cmp.Or(strings.EqualFold(a, b), text.Nearest(a, []string{b}) != "")
}
