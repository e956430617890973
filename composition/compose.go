package composition

import (
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/workflow"
)

// Planes are those of the agent that is reached from the root by names, for
// bounds.Compose: the definition, the node and the capability of it and of all agents above
// it. What an agent is denied or asked about holds for all that it starts; the list
// of its tools is its own, so that one that only delegates can have others work. The
// root has no names.
func (r *Resolved) Planes(names ...string) ([]bounds.Plane, error) {
	n := r.Root
	var out []bounds.Plane
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
func (n *ResolvedNode) Planes() []bounds.Plane {
	name, def := n.Name(), n.definition()
	planes := []bounds.Plane{
		plane("the definition of "+n.Agent.Ref().String(), def.Permissions),
		plane("the composition about "+name, n.Permissions),
		n.capability.Plane("the capability of " + name),
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

func plane(name string, p Permissions) bounds.Plane {
	out := bounds.Plane{Name: name, Gates: p.Tools}
	for _, s := range p.Deny {
		out.Add(permission.Deny, s)
	}
	for _, s := range p.Ask {
		out.Add(permission.Ask, s)
	}
	return out
}
