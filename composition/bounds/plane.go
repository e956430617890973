package bounds

import (
	"slices"
	"strings"

	"github.com/tenonrun/tenon/permission"
)

// Plane is the word of one party about what an agent may do. It denies and asks;
// only the plane of a person or of the host also grants.
type Plane struct {
	Name   string // for people
	Grants bool
	Rules  []permission.Rule
	// Only are the names of the tools that may be used; nil is all. Gates close
	// classes of tools.
	Only  []string
	Gates Gates
}

// Gates open and close classes of tools. When Allow is there, a class that is not
// in it is closed.
type Gates struct {
	Allow []string `json:"allow,omitzero"`
	Deny  []string `json:"deny,omitempty"`
}

// And opens what both open, and closes what either closes.
func (g Gates) And(o Gates) Gates {
	out := Gates{Allow: g.Allow, Deny: slices.Concat(g.Deny, o.Deny)}
	switch {
	case g.Allow == nil:
		out.Allow = o.Allow
	case o.Allow != nil:
		out.Allow = slices.DeleteFunc(slices.Clone(g.Allow), func(class string) bool { return !slices.Contains(o.Allow, class) })
	}
	return out
}

// Composed is what all planes say together.
type Composed struct {
	// Rules are for one permission.Set: deny before ask before allow, the planes in
	// their order. Nothing in them allows more than the planes that grant.
	Rules []permission.Rule
	// Denied are the tools, of those that every agent has or may have, that are
	// denied as a whole. A floor tool among them is still there.
	Denied []string

	only   [][]string
	closed map[string]bool
}

// alwaysOpen are tools without which a turn cannot come to an end.
var alwaysOpen = []string{"ask", "submit"}

// Compose joins planes: what one denies is denied, what one asks about is asked
// about, and what is left is allowed by those that grant. More planes can only
// narrow; their order does not count but for explanations.
func Compose(planes ...Plane) Composed {
	c := Composed{closed: map[string]bool{}}
	for _, p := range planes {
		if p.Only != nil {
			c.only = append(c.only, p.Only)
		}
		for _, class := range Classes() {
			if slices.Contains(p.Gates.Deny, class) || p.Gates.Allow != nil && !slices.Contains(p.Gates.Allow, class) {
				c.closed[class] = true
			}
		}
	}
	for _, effect := range []permission.Effect{permission.Deny, permission.Ask, permission.Allow} {
		for _, p := range planes {
			for _, r := range p.Rules {
				if r.Effect == effect && (effect != permission.Allow || p.Grants) && !slices.Contains(c.Rules, r) {
					c.Rules = append(c.Rules, r)
				}
			}
		}
		if effect == permission.Deny {
			c.deny()
		}
	}
	return c
}

// deny finds the tools that are denied as a whole, and adds rules for those that no
// rule denies yet, where a rule does not reach further.
func (c *Composed) deny() {
	for _, name := range BuiltinTools() {
		if c.Denies(name) {
			c.Denied = append(c.Denied, name)
		}
	}
	var rules []permission.Rule
	for _, name := range c.Denied {
		if !c.ruled(name) && !slices.ContainsFunc(families[name], func(other string) bool { return !c.Denies(other) }) {
			rules = append(rules, permission.Rule{Effect: permission.Deny, Tool: name, Whole: true, Source: permission.Source{Name: "the tools of the agent", Owner: permission.Host}})
		}
	}
	c.Rules = append(c.Rules, rules...)
}

// families are the tools that a rule for one tool reaches too.
var families = map[string][]string{"read": {"grep", "glob", "ls"}, "edit": {"write"}}

// ruled reports whether a rule denies a tool as a whole.
func (c *Composed) ruled(tool string) bool {
	return slices.ContainsFunc(c.Rules, func(r permission.Rule) bool {
		return r.Effect == permission.Deny && r.Whole && (same(r.Tool, tool) || Known(tool, families[permission.ToolKey(r.Tool)]))
	})
}

// Denies reports whether a tool is denied as a whole, by its name. What rules say
// about paths and commands is for a permission.Judge.
func (c *Composed) Denies(tool string) bool {
	if c.ruled(tool) {
		return true
	}
	if Known(tool, alwaysOpen) {
		return false
	}
	for class := range c.closed {
		if InClass(tool, class) {
			return true
		}
	}
	return slices.ContainsFunc(c.only, func(names []string) bool { return !listed(tool, names) })
}

func same(a, b string) bool { return permission.ToolKey(a) == permission.ToolKey(b) }

// listed reports whether a tool is in a list, where mcp__SERVER stands for all of
// its tools.
func listed(tool string, names []string) bool {
	return Known(tool, names) || slices.ContainsFunc(names, func(n string) bool {
		return strings.HasPrefix(n, "mcp__") && strings.HasPrefix(tool, n+"__")
	})
}

// Add adds a rule; the reader of the document has told what is wrong with it.
func (p *Plane) Add(effect permission.Effect, s string) {
	r, err := permission.ParseRule(effect, s, permission.Source{Name: p.Name, Owner: permission.Repository})
	if err == nil {
		p.Rules = append(p.Rules, r)
	}
}

// Plane is what a capability says to Compose.
func (c Capability) Plane(name string) Plane {
	out := Plane{Name: name}
	for _, s := range c.Denies {
		switch {
		case IsClass(s):
			out.Gates.Deny = append(out.Gates.Deny, s)
		case !IsReference(s):
			out.Add(permission.Deny, s)
		}
	}
	return out
}
