package composition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition/bounds"
)

// node resolves a node and those below. From is the item that it is written in,
// nil for one that is asked for by name; path are the agents above.
func (r *resolver) node(from *Item, n *Node, path []string, above *bounds.Limits) *ResolvedNode {
	at := n.at + "/agent"
	if r.nodes++; r.nodes > r.options.MaxNodes {
		r.say(from, n.at, fault{code: FindingTooLarge, message: fmt.Sprintf("the tree has more than %d agents", r.options.MaxNodes),
			hint: "agents that many others start are counted each time: give fewer of them sub-agents"})
		return nil
	}
	name := n.Agent.Name()
	if i := slices.Index(path, name); i >= 0 {
		r.say(from, at, fault{code: FindingCycle, message: fmt.Sprintf("the agent %s would be below itself: %s", name, strings.Join(append(path[i:], name), " → ")),
			hint: "take it out of one of them"})
		return nil
	}
	it := r.use(from, at, KindAgent, n.Agent)
	if it == nil {
		r.children(from, n, nil, nil, append(path, name), above) // what is wrong below is told too
		return nil
	}
	chain := r.chain(it)
	if chain == nil {
		return nil
	}
	def := r.extended(chain)
	out := &ResolvedNode{
		Agent: pin(it), Alias: n.Alias, Tools: append([]bounds.Selection{}, n.Tools...), ModelOverride: n.ModelOverride, Instructions: n.Instructions,
		Permissions: n.Permissions, Limits: n.Limits.Within(def.Limits.Within(above)), Definition: def, Declared: n.Limits != nil || def.Limits != nil,
		Children: []*ResolvedNode{},
	}
	r.skills(from, n, chain, out)
	for i, it := range chain {
		r.tools(it, "/tools", it.Agent.Tools, true)
		if c := it.Agent.Capability; c != nil {
			r.requires(it, "/capability", c)
		}
		if i > 0 {
			out.Extends = append(out.Extends, pin(it))
		}
	}
	r.tools(from, n.at+"/tools", n.Tools, false)
	r.children(from, n, chain, out, append(path, name), out.Limits)
	return out
}

func pin(it *Item) Pinned {
	return Pinned{Org: it.Org, Slug: it.Slug, Version: it.Version, Tier: it.Tier, Digest: it.Digest}
}

// children resolves the children of a node, then those of the agent's definition,
// and of what it extends, that are not named before.
func (r *resolver) children(from *Item, n *Node, chain []*Item, out *ResolvedNode, path []string, above *bounds.Limits) {
	names, agents := map[string]bool{}, map[string]bool{}
	path = slices.Clip(path)
	add := func(from *Item, c *Node) {
		child := r.node(from, c, path, above)
		if names[c.Name()] {
			r.say(from, c.at, fault{code: FindingDuplicate, message: fmt.Sprintf("%s has two agents called %s", n.Name(), c.Name()), hint: "give one of them an alias"})
		}
		names[c.Name()] = true
		if child != nil && out != nil {
			out.Children = append(out.Children, child)
		}
	}
	for i := range n.Children {
		add(from, &n.Children[i])
		agents[n.Children[i].Agent.Name()] = true
	}
	for _, it := range chain {
		for i := range it.Agent.Agents {
			if c := &it.Agent.Agents[i]; !agents[c.Agent.Name()] {
				add(it, c)
			}
		}
		for i := range it.Agent.Agents {
			agents[it.Agent.Agents[i].Agent.Name()] = true
		}
	}
}

// skills pins the skills of the definition, of what it extends, and of the node; the
// reference that is nearer to the node takes the place of another one.
func (r *resolver) skills(from *Item, n *Node, chain []*Item, out *ResolvedNode) {
	bySlug := map[string]Pinned{}
	put := func(from *Item, at string, ref Ref) {
		if s := r.use(from, at, KindSkill, ref); s != nil {
			bySlug[s.Slug] = pin(s)
		}
	}
	own := map[string]bool{}
	for _, ref := range n.Skills {
		own[ref.Slug] = true
	}
	for _, it := range chain {
		for i, ref := range it.Agent.Skills {
			if !own[ref.Slug] {
				put(it, pointer("skills", i), ref)
			}
			own[ref.Slug] = true
		}
		if s := it.Agent.Skill; s != "" && !own[s] {
			put(it, "/skill", Ref{Slug: s})
			own[s] = true
		}
	}
	for i, ref := range n.Skills {
		put(from, n.at+pointer("skills", i), ref)
	}
	out.Skills = []Pinned{}
	for _, slug := range sortedKeys(bySlug) {
		out.Skills = append(out.Skills, bySlug[slug])
	}
}

// mounted pins the skills that a workspace gives to the agent at the root; they take
// the place of its own.
func (r *resolver) mounted(it *Item, workspace json.RawMessage, root *ResolvedNode) {
	var w struct {
		Skills []Ref
		Spec   struct{ Skills []Ref } // of a whole manifest
	}
	if json.Unmarshal(workspace, &w) != nil {
		return // whoever compiles it tells
	}
	at := "/workspace/skills"
	if w.Spec.Skills != nil {
		w.Skills, at = w.Spec.Skills, "/workspace/spec/skills"
	}
	for i, ref := range w.Skills {
		if err := ref.settle(KindSkill); err != nil {
			r.say(it, at+pointer(i), fault{code: FindingReference, message: err.Error()})
			continue
		}
		if s := r.use(it, at+pointer(i), KindSkill, ref); s != nil {
			root.Skills = append(slices.DeleteFunc(root.Skills, func(p Pinned) bool { return p.Slug == s.Slug }), pin(s))
		}
	}
	slices.SortFunc(root.Skills, func(a, b Pinned) int { return strings.Compare(a.Slug, b.Slug) })
}

// tools refuses selections that select nothing. A definition that was made for
// Claude Code may name tools of it.
func (r *resolver) tools(from *Item, at string, list []bounds.Selection, definition bool) {
	for i, s := range list {
		ok, name, names := r.options.Tools.Find(s)
		switch {
		case ok:
		case definition && s.Foreign():
			r.foreign(from, at+pointer(i), s)
		default:
			hint := meant(name, names)
			if hint == "" && s.ProviderKind != bounds.Builtin {
				hint = "there are no tools of servers in this version: take it out"
			}
			r.say(from, at+pointer(i), fault{code: FindingTool, message: fmt.Sprintf("the tool %s is not there", s), hint: hint})
		}
	}
}

func (r *resolver) foreign(from *Item, at string, s bounds.Selection) {
	e := from.Position(at)
	e.Code, e.Message = FindingField, fmt.Sprintf("the tool %s is one of Claude Code and not here", s)
	if s.ProviderKind != bounds.Builtin {
		written := "mcp__" + s.ResourceID // as Claude Code has it
		if s.ToolName != "" {
			written += "__" + s.ToolName
		}
		e.Message = fmt.Sprintf("the tool %s is left out: there are no tools of MCP servers in this version", written)
	}
	if key := e.Error(); !r.told[key] {
		r.told[key] = true
		r.warnings = append(r.warnings, e)
	}
}

// requires refuses what needs a tool that is not there. Capability references are
// carried only.
func (r *resolver) requires(from *Item, at string, c *bounds.Capability) {
	for i, name := range c.Requires {
		var ok bool
		switch {
		case bounds.IsReference(name):
			ok = true
		case name == "mcp" || bounds.IsClass(name):
			ok = r.options.Tools.Has(name)
		default:
			ok, _, _ = r.options.Tools.Find(bounds.ParseSelection(name))
		}
		if !ok {
			r.say(from, at+pointer("requires", i), fault{code: FindingTool, message: fmt.Sprintf("the required tool %s is not there", name),
				hint: "take it out"})
		}
	}
}

// Walk calls f for a node and all below it, the parent first, with the names above,
// joined by slashes.
func (n *ResolvedNode) Walk(f func(path string, n *ResolvedNode)) { n.walk("", f) }

func (n *ResolvedNode) walk(above string, f func(string, *ResolvedNode)) {
	path := strings.TrimPrefix(above+"/"+n.Name(), "/")
	f(path, n)
	for _, c := range n.Children {
		c.walk(path, f)
	}
}
