package routing

import (
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// Sources of a decision, the first that says something wins.
const (
	FromSession     = "session"     // a change while the run goes on
	FromRun         = "run"         // --model NAME
	FromStep        = "step"        // the node of the definition, or a call of a script
	FromComposition = "composition" // the node of the composition
	FromAgent       = "agent"       // the agent's definition, or the role
	FromRule        = "rule"        // the matrix
	FromParent      = "parent"      // the agent that spawned this one, where models.yaml says inherit
	FromDefault     = "default"     // the rule with the empty selector
	FromProvider    = "provider"    // the model that the provider is configured with
)

// Request asks which model runs, at the start of an agent, at a spawn, or where a
// skill is launched; never in the middle of a turn.
type Request struct {
	Context Context
	// Provider is the one that the node or role names, "" for none. Only what the
	// user chooses for the session or the run leads to another one.
	Provider string
	// Names of models, as written; "" says nothing.
	Session, Step, Composition, Agent string
	// Parent is what the spawning agent runs on.
	Parent *Choice
}

// Decision says which model runs and why. It is what a history keeps.
type Decision struct {
	Choice
	// MatchedRuleID is nil unless a rule with a selector won.
	MatchedRuleID     *string  `json:"matchedRuleId"`
	MatchedDimensions []string `json:"matchedDimensions"` // agent, skill, project, group, purpose, extra.NAME
	Overridden        bool     `json:"overridden"`        // a name took the place of the matrix
	Source            string   `json:"source"`
	Reason            string   `json:"reason"` // one sentence for people
}

// String gives the line that tells people which model runs and why, such as
// "anthropic/ID <- review: rule r1 matches agent".
func (d Decision) String() string {
	var b strings.Builder
	if len(d.Models) > 0 {
		b.WriteString(d.Models[0].String())
	}
	if d.Name != "" && (len(d.Models) == 0 || d.Name != d.Models[0].String()) {
		b.WriteString(" <- " + d.Name)
	}
	return b.String() + ": " + d.Reason
}

// Decide says which model runs. The error is a *workflow.Error: a name leads
// nowhere, or nothing says a model.
func (m *Matrix) Decide(r Request) (Decision, error) {
	if d, ok, err := m.named(r); ok || err != nil {
		return d, err
	}
	context := r.Context.pairs()
	note := ""
	if w := m.winner(context); w != nil {
		if d, ok := m.byRule(w, r.Provider, ""); ok {
			return d, nil
		}
		note = fmt.Sprintf("; rule %s matches, but has no model of provider %s", w.id, r.Provider)
		for _, w := range m.matching(context)[1:] {
			if d, ok := m.byRule(w, r.Provider, note); ok {
				return d, nil
			}
		}
	}
	if m.inherit && r.Parent != nil {
		if c, ok := r.Parent.of(r.Provider); ok {
			return decision(c, FromParent, "the agent that spawned it runs on it"+note), nil
		}
	}
	if m.byDefault != nil {
		if c, ok := m.byDefault.of(r.Provider); ok {
			return decision(c, FromDefault, "the default rule"+m.boundBy(c)+note), nil
		}
		note += fmt.Sprintf("; the default rule has no model of provider %s", r.Provider)
	}
	return m.byProvider(r.Provider, note)
}

// named decides by the names that stand above the matrix.
func (m *Matrix) named(r Request) (Decision, bool, error) {
	for _, n := range [...]struct{ source, name, reason, provider string }{
		{FromSession, r.Session, "chosen for this session", ""},
		{FromRun, m.runFlag, "--model " + m.runFlag, ""},
		{FromStep, r.Step, "the node asks for it", r.Provider},
		{FromComposition, r.Composition, "the composition gives it", r.Provider},
		{FromAgent, r.Agent, "the agent asks for it", r.Provider},
	} {
		if n.name == "" {
			continue
		}
		if n.source == FromRun {
			d := decision(*m.forRun, FromRun, n.reason+m.boundBy(*m.forRun))
			d.Overridden = true
			return d, true, nil
		}
		c, err := m.Resolve(n.name, n.provider)
		if err != nil {
			return Decision{}, false, err
		}
		d := decision(c, n.source, n.reason+m.boundBy(c))
		d.Overridden = true
		return d, true, nil
	}
	return Decision{}, false, nil
}

func (m *Matrix) byRule(w *rule, provider, note string) (Decision, bool) {
	c, ok := w.choice.of(provider)
	if !ok {
		return Decision{}, false
	}
	dims := dimensions(w.pairs)
	d := decision(c, FromRule, "rule "+w.id+" matches "+strings.Join(dims, ", ")+m.boundBy(c)+note)
	id := w.id
	d.MatchedRuleID, d.MatchedDimensions = &id, dims
	return d, true
}

func (m *Matrix) byProvider(name, note string) (Decision, error) {
	p, ok := m.only()
	if name != "" {
		if p, ok = m.provider(name); !ok {
			return Decision{}, m.noProvider(name)
		}
	}
	switch {
	case !ok:
		return Decision{}, workflow.Errorf(workflow.CodeModelMissing, "nothing says which model runs%s", note).
			WithHint("name a model, or write a default rule into models.yaml: {id: default, selector: {}, target: NAME}")
	case p.Model == "":
		return Decision{}, workflow.Errorf(workflow.CodeModelMissing, "nothing says which model of provider %q runs%s", p.Name, note).
			WithHint("set providers.%s.model, or name a model", p.Name)
	}
	c := Choice{Kind: Concrete, Name: p.Name + "/" + p.Model, Models: []Model{m.At(p.Name, p.Model)}}
	return decision(c, FromProvider, "provider "+p.Name+" is configured with it"+note), nil
}

// boundBy tells of a class that holds something else in this run.
func (m *Matrix) boundBy(c Choice) string {
	if flag, ok := m.rebound[c.Name]; ok && c.Kind == Strategy {
		return ", by --model " + flag
	}
	return ""
}

func decision(c Choice, source, reason string) Decision {
	return Decision{Choice: c, MatchedDimensions: []string{}, Source: source, Reason: reason}
}
