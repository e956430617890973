package composition

import (
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/workflow"
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
	Gates ToolGates
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
		for _, class := range bounds.Classes() {
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
	for _, name := range bounds.BuiltinTools() {
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
		return r.Effect == permission.Deny && r.Whole && (same(r.Tool, tool) || bounds.Known(tool, families[permission.ToolKey(r.Tool)]))
	})
}

// Denies reports whether a tool is denied as a whole, by its name. What rules say
// about paths and commands is for a permission.Judge.
func (c *Composed) Denies(tool string) bool {
	if c.ruled(tool) {
		return true
	}
	if bounds.Known(tool, alwaysOpen) {
		return false
	}
	for class := range c.closed {
		if bounds.InClass(tool, class) {
			return true
		}
	}
	return slices.ContainsFunc(c.only, func(names []string) bool { return !listed(tool, names) })
}

func same(a, b string) bool { return permission.ToolKey(a) == permission.ToolKey(b) }

// listed reports whether a tool is in a list, where mcp__SERVER stands for all of
// its tools.
func listed(tool string, names []string) bool {
	return bounds.Known(tool, names) || slices.ContainsFunc(names, func(n string) bool {
		return strings.HasPrefix(n, "mcp__") && strings.HasPrefix(tool, n+"__")
	})
}

// Planes are those of the agent that is reached from the root by names, for
// Compose: the definition, the node and the capability of it and of all agents above
// it. What an agent is denied or asked about holds for all that it starts; the list
// of its tools is its own, so that one that only delegates can have others work. The
// root has no names.
func (r *Resolved) Planes(names ...string) ([]Plane, error) {
	n := r.Root
	var out []Plane
	for _, name := range names {
		for _, p := range n.Planes() {
			p.Only = nil
			out = append(out, p)
		}
		child, ok := n.Child(name)
		if !ok {
			return nil, workflow.Errorf(workflow.CodeNotFound, "%s has no agent called %s", n.Name(), name)
		}
		n = child
	}
	return append(out, n.Planes()...), nil
}

// Planes are the planes of one agent alone: its definition, its node, and the
// capability that holds for it.
func (n *ResolvedNode) Planes() []Plane {
	name, def := n.Name(), n.definition()
	planes := []Plane{
		plane("the definition of "+n.Agent.Ref().String(), def.Permissions),
		plane("the composition about "+name, n.Permissions),
		capabilityPlane("the capability of "+name, n.capability),
	}
	planes[0].Only = n.only()
	return planes
}

// only are the tools that the definition lists and those that the node adds; nil
// when the definition lists none.
func (n *ResolvedNode) only() []string {
	def := n.definition()
	if def.Tools == nil {
		return nil
	}
	names := []string{}
	for _, s := range append(slices.Clone(def.Tools), n.Tools...) {
		switch {
		case s.Name() != "":
			names = append(names, s.Name())
		case s.ProviderKind == bounds.Builtin:
			names = append(names, bounds.BuiltinTools()...)
		default:
			names = append(names, "mcp__"+s.ResourceID)
		}
	}
	if len(n.Children) > 0 {
		names = append(names, "task")
	}
	return names
}

// Selected are the tools beside the built-in ones that the agent has, sorted.
func (n *ResolvedNode) Selected() []bounds.Selection {
	var out []bounds.Selection
	for _, s := range append(slices.Clone(n.definition().Tools), n.Tools...) {
		if s.ProviderKind != bounds.Builtin && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b bounds.Selection) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func plane(name string, p Permissions) Plane {
	out := Plane{Name: name, Gates: p.Tools}
	for _, s := range p.Deny {
		out.rule(permission.Deny, s)
	}
	for _, s := range p.Ask {
		out.rule(permission.Ask, s)
	}
	return out
}

// rule adds a rule; the reader of the document has told what is wrong with it.
func (p *Plane) rule(effect permission.Effect, s string) {
	r, err := permission.ParseRule(effect, s, permission.Source{Name: p.Name, Owner: permission.Repository})
	if err == nil {
		p.Rules = append(p.Rules, r)
	}
}

func capabilityPlane(name string, c bounds.Capability) Plane {
	out := Plane{Name: name}
	for _, s := range c.Denies {
		switch {
		case bounds.IsClass(s):
			out.Gates.Deny = append(out.Gates.Deny, s)
		case !bounds.IsReference(s):
			out.rule(permission.Deny, s)
		}
	}
	return out
}
