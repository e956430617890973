package draw

import (
	"slices"
	"strings"
)

// Graph is a workflow to draw.
type Graph struct {
	Title    string
	Subtitle string // such as the id and digest; may be empty
	Bodies   []Body // the root first
}

// Body is a graph with one entry: the root, a component, or a body written
// inside a node.
type Body struct {
	Name  string // "" is the root
	Entry string
	Last  string // node that onExhausted leads to; may be empty
	Nodes []Node // in the order to draw them
}

// Node is a node of a body.
type Node struct {
	Name   string
	Kind   string
	Label  string // shown instead of the name when it is set
	Detail string // short text from its params; for an end, "success" or "failure" first
	Write  bool   // it may change files
	AI     bool
	Edges  []Edge // in the order of the outcomes
	Uses   []Use  // bodies that it runs
}

// Edge is a wired outcome.
type Edge struct {
	Outcome string
	To      string // "" ends the body
}

// Use is a body that a node runs.
type Use struct {
	Body   string
	Branch string // of a parallel
}

// State is what a run did at a node.
type State struct {
	Status string // succeeded, failed, running, waiting, …
	Visits int
	Note   string // such as the usage; may be empty
}

// Overlay is a run laid over a graph, by the paths of its nodes, such as "fix" or
// "work/fix".
type Overlay map[string]State

// find returns the body of a name.
func (g *Graph) find(name string) *Body {
	for i := range g.Bodies {
		if g.Bodies[i].Name == name {
			return &g.Bodies[i]
		}
	}
	return nil
}

// root returns the body to begin with.
func (g *Graph) root() *Body {
	if len(g.Bodies) == 0 {
		return &Body{}
	}
	return &g.Bodies[0]
}

// shared returns the bodies that are not drawn inside the node that runs them,
// because none or several do.
func (g *Graph) shared() map[string]bool {
	uses := map[string]int{}
	for _, b := range g.Bodies {
		for _, n := range b.Nodes {
			for _, u := range n.Uses {
				uses[u.Body]++
			}
		}
	}
	out := map[string]bool{}
	for _, b := range g.Bodies[min(1, len(g.Bodies)):] {
		if uses[b.Name] != 1 || g.inside(b.Name, b.Name, 0) {
			out[b.Name] = true
		}
	}
	return out
}

// inside reports whether the nodes of a body lead to running target.
func (g *Graph) inside(body, target string, depth int) bool {
	b := g.find(body)
	if b == nil || depth > len(g.Bodies) {
		return false
	}
	for _, n := range b.Nodes {
		for _, u := range n.Uses {
			if u.Body == target || g.inside(u.Body, target, depth+1) {
				return true
			}
		}
	}
	return false
}

// prefixes are the paths under which the nodes of each body run.
func (g *Graph) prefixes() map[string][]string {
	out := map[string][]string{g.root().Name: {""}}
	var walk func(b *Body, prefix string, depth int)
	walk = func(b *Body, prefix string, depth int) {
		if b == nil || depth > 8 {
			return
		}
		for _, n := range b.Nodes {
			for _, u := range n.Uses {
				below := prefix + n.Name + "/"
				if u.Branch != "" {
					below += u.Branch + "/"
				}
				if !slices.Contains(out[u.Body], below) {
					out[u.Body] = append(out[u.Body], below)
					walk(g.find(u.Body), below, depth+1)
				}
			}
		}
	}
	walk(g.root(), "", 0)
	return out
}

// order of what to show when a node ran in several places.
var urgency = []string{"running", "waiting", "failed", "denied", "exhausted", "unavailable", "interrupted", "unproven", "succeeded"}

// at returns what a run did at a node, in all the places where its body runs.
func (o Overlay) at(prefixes []string, node string) (State, bool) {
	var sum State
	seen := false
	for _, prefix := range prefixes {
		s, ok := o[prefix+node]
		if !ok {
			continue
		}
		if !seen || rank(s.Status) < rank(sum.Status) {
			sum.Status = s.Status
		}
		sum.Visits += s.Visits
		if s.Note != "" && sum.Note != "" {
			sum.Note += "; "
		}
		sum.Note += s.Note
		seen = true
	}
	return sum, seen
}

func rank(status string) int {
	if i := slices.Index(urgency, status); i >= 0 {
		return i
	}
	return len(urgency)
}

// title is what a node is called in a picture.
func (n *Node) title() string {
	if n.Label != "" {
		return n.Label
	}
	return n.Name
}

// fails reports whether n is an end that fails.
func (n *Node) fails() bool { return n.Kind == "end" && strings.HasPrefix(n.Detail, "failure") }

// bad are outcomes that nobody hopes for.
var bad = []string{"failed", "fail", "blocked", "denied", "expired", "rejected", "invalid", "unproven"}

// edge is the set of outcomes that lead from one node to another.
type edge struct {
	from, to string
	outcomes []string
}

// bad reports whether only unwanted outcomes take the edge.
func (e *edge) bad() bool {
	return !slices.ContainsFunc(e.outcomes, func(o string) bool { return !slices.Contains(bad, o) })
}

// edges joins the outcomes of a node that lead to one place.
func (n *Node) edges() []*edge {
	var out []*edge
	for _, e := range n.Edges {
		i := slices.IndexFunc(out, func(x *edge) bool { return x.to == e.To })
		if i < 0 {
			out = append(out, &edge{from: n.Name, to: e.To})
			i = len(out) - 1
		}
		out[i].outcomes = append(out[i].outcomes, e.Outcome)
	}
	return out
}
