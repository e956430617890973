// Package diff tells how two resolved compositions differ.
//
// Holds: the changes between two trees of agents, agent by agent.
//
// Guarantees: pure; the same two give the same changes in the same order, and none
// when they have one digest.
//
// Does not: compare what definitions say, but for their digests.
package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/internal/canon"
)

// Change is one difference between two resolved compositions.
type Change struct {
	Path  string `json:"path"`  // names of the agents from the root; empty for the whole
	Field string `json:"field"` // agent, skills, tools, …; empty when the agent itself came or went
	Was   string `json:"was"`   // empty: it was not there
	Is    string `json:"is"`    // empty: it is gone
}

// String tells the change in one line.
func (c Change) String() string {
	at := strings.Trim(c.Path+" "+c.Field, " ")
	switch {
	case c.Was == "":
		return fmt.Sprintf("+ %s: %s", at, c.Is)
	case c.Is == "":
		return fmt.Sprintf("- %s: %s", at, c.Was)
	}
	return fmt.Sprintf("~ %s: %s → %s", at, c.Was, c.Is)
}

// Between tells how one resolved composition differs from another, from the root down.
// Agents are the same when they have the same names from the root.
func Between(was, is *composition.Resolved) []Change {
	var out []Change
	say := func(path, field, a, b string) {
		if a != b {
			out = append(out, Change{path, field, a, b})
		}
	}
	say("", "composition", (composition.Ref{Slug: was.Slug, Version: was.Version}).String(), (composition.Ref{Slug: is.Slug, Version: is.Version}).String())
	say("", "displayName", was.DisplayName, is.DisplayName)
	say("", "scope", string(was.Scope), string(is.Scope))
	say("", "capability", spelled(was.Capability), spelled(is.Capability))
	say("", "workspace", spelled(was.Workspace), spelled(is.Workspace))
	olds, nows := byPath(was.Root), byPath(is.Root)
	paths := slices.Sorted(maps.Keys(olds))
	for path := range nows {
		if olds[path] == nil {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		a, b := olds[path], nows[path]
		switch {
		case a == nil:
			say(path, "", "", b.Agent.Ref().String())
		case b == nil:
			say(path, "", a.Agent.Ref().String(), "")
		default:
			for i, f := range fields(a) {
				say(path, f[0], f[1], fields(b)[i][1])
			}
		}
	}
	return out
}

func byPath(root *composition.ResolvedNode) map[string]*composition.ResolvedNode {
	out := map[string]*composition.ResolvedNode{}
	if root != nil {
		root.Walk(func(path string, n *composition.ResolvedNode) { out[path] = n })
	}
	return out
}

// fields are what an agent of a tree is made of.
func fields(n *composition.ResolvedNode) [][2]string {
	var skills, tools, bases []string
	for _, b := range n.Extends {
		bases = append(bases, pinText(b))
	}
	for _, s := range n.Skills {
		skills = append(skills, pinText(s))
	}
	for _, t := range n.Tools {
		tools = append(tools, t.String())
	}
	slices.Sort(tools)
	return [][2]string{
		{"agent", pinText(n.Agent)}, {"extends", strings.Join(bases, ", ")}, {"skills", strings.Join(skills, ", ")}, {"tools", strings.Join(tools, ", ")},
		{"modelOverride", spelled(n.ModelOverride)}, {"instructions", n.Instructions}, {"permissions", spelled(n.Permissions)}, {"limits", spelled(n.Limits)},
	}
}

// pinText shows a version with the begin of its digest.
func pinText(p composition.Pinned) string {
	return fmt.Sprintf("%s (%s, %s)", p.Ref(), p.Tier, p.Digest[:min(12, len(p.Digest))])
}

// spelled gives a value in its canonical form; what says nothing is empty.
func spelled(v any) string {
	raw, err := json.Marshal(v)
	if err == nil {
		raw, err = canon.Canonical(raw)
	}
	if err != nil || string(raw) == "null" || string(raw) == "{}" {
		return ""
	}
	return string(raw)
}
