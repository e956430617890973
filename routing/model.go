package routing

import (
	"maps"
	"slices"
)

// Model is one concrete model of one provider.
type Model struct {
	Key      string `json:"key,omitempty"` // its name in models.yaml; "" when it is not there
	Provider string `json:"provider"`      // as configured
	Model    string `json:"model"`         // as the provider names it
	// Price is nil when it is not known, which is not free.
	Price     *Price `json:"price,omitempty"`
	Context   int64  `json:"context,omitempty"`   // tokens of prompt and answer together; 0 is unknown
	MaxOutput int64  `json:"maxOutput,omitempty"` // tokens of one answer; 0 is unknown
}

// String gives PROVIDER/MODEL.
func (m Model) String() string { return m.Provider + "/" + m.Model }

// Provider is a provider that names may lead to.
type Provider struct {
	Name  string
	Model string // asked where nothing else says a model; "" for none
	// BuiltIn providers exist without configuration: as long as another one is
	// configured, a bare name does not go to them.
	BuiltIn bool
}

// Kinds of a Choice.
const (
	Concrete = "concrete" // one model
	Strategy = "strategy" // a class
)

// Choice is what a name stands for: one model, or a class of them.
type Choice struct {
	Kind string `json:"kind"` // Concrete or Strategy
	Name string `json:"name"` // as it was written
	// Models has at least one. The first is asked; each further one is the
	// fallback of the one before it.
	Models []Model `json:"models"`
}

// of returns the choice without the models of other providers; "" takes all.
func (c Choice) of(provider string) (Choice, bool) {
	if provider != "" {
		c.Models = slices.DeleteFunc(slices.Clone(c.Models), func(m Model) bool { return m.Provider != provider })
	}
	return c, len(c.Models) > 0
}

// Selector says for whom a rule is: every dimension that is set has to be the
// same in the Context.
type Selector struct {
	Agent   string            `json:"agent,omitempty"`
	Skill   string            `json:"skill,omitempty"`
	Project string            `json:"project,omitempty"`
	Group   string            `json:"group,omitempty"`
	Purpose string            `json:"purpose,omitempty"`
	Extra   map[string]string `json:"extra,omitempty"`
}

// Context is what is known where a model is needed. What is empty is not known.
type Context struct {
	Agent   string            `json:"agent"`             // slug of the agent, or id of the role
	Skill   string            `json:"skill,omitempty"`   // the skill that was launched
	Project string            `json:"project,omitempty"` // id of the project
	Group   string            `json:"group,omitempty"`   // group of the node, phase of a script
	Purpose string            `json:"purpose,omitempty"` // of calls that no agent makes, such as compaction
	Extra   map[string]string `json:"extra,omitempty"`
}

// pair is one dimension with its value.
type pair struct{ dim, value string }

// extraPrefix stands before the name of a further dimension.
const extraPrefix = "extra."

// pairs are the dimensions that are set, the five first, then the others by name.
func (s Selector) pairs() []pair {
	out := make([]pair, 0, 5+len(s.Extra))
	for _, p := range [...]pair{{"agent", s.Agent}, {"skill", s.Skill}, {"project", s.Project}, {"group", s.Group}, {"purpose", s.Purpose}} {
		if p.value != "" {
			out = append(out, p)
		}
	}
	if len(s.Extra) == 0 {
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(s.Extra)) {
		if value := s.Extra[key]; value != "" {
			out = append(out, pair{extraPrefix + key, value})
		}
	}
	return out
}

// pairs are those of the selector that says the same.
func (c Context) pairs() []pair { return Selector(c).pairs() }

// valueOf finds the value of a dimension.
func valueOf(pairs []pair, dim string) (string, bool) {
	for _, p := range pairs {
		if p.dim == dim {
			return p.value, true
		}
	}
	return "", false
}

func dimensions(pairs []pair) []string {
	out := make([]string, len(pairs))
	for i, p := range pairs {
		out[i] = p.dim
	}
	return out
}
