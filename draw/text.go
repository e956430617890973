package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text draws a graph with box characters, one line a node and one for the way
// to the next.
//
// The line at the left is the way that is hoped for, downwards. Other outcomes
// stand at the right with where they lead: → forward, ↺ back to a node above.
func Text(g *Graph, o Overlay) string {
	w := &writer{painter: newPainter(g, o)}
	if g.Title != "" {
		w.out.WriteString(plain(g.Title) + "\n")
		if g.Subtitle != "" {
			w.out.WriteString(plain(g.Subtitle) + "\n")
		}
		w.out.WriteString("\n")
	}
	w.body(g.root(), "")
	for i := range g.Bodies[min(1, len(g.Bodies)):] {
		b := &g.Bodies[i+1]
		if w.shared[b.Name] {
			fmt.Fprintf(&w.out, "\ncomponent %s\n", plain(b.Name))
			w.body(b, "")
		}
	}
	return w.out.String()
}

type writer struct {
	*painter
	out strings.Builder
}

// body writes the nodes of a body, each line after a margin.
func (w *writer) body(b *Body, margin string) {
	order := w.textOrder(b)
	place := map[string]int{}
	wide := 0
	for i, n := range order {
		place[n.Name] = i
		wide = max(wide, utf8.RuneCountInString(w.head(b, n)))
	}
	wide = min(wide, 56)
	for i, n := range order {
		var next *edge
		var rest []*edge
		for _, e := range n.edges() {
			if next == nil && i+1 < len(order) && e.to == order[i+1].Name {
				next = e
				continue
			}
			rest = append(rest, e)
		}
		sign := "├─"
		switch {
		case n.Name == b.Entry:
			sign = "▶─"
		case n.Kind == "end", next == nil && len(rest) == 0:
			sign = "■─"
		}
		line := margin + sign + " " + pad(w.head(b, n), wide)
		for _, e := range rest {
			line += "  " + w.way(e, place, i)
		}
		w.out.WriteString(strings.TrimRight(line, " ") + "\n")
		w.inside(n, margin+bar(next != nil))
		if i+1 == len(order) {
			continue
		}
		if next == nil {
			w.out.WriteString(strings.TrimRight(margin, " ") + "\n")
			continue
		}
		w.out.WriteString(margin + "│  " + plain(joined(next.outcomes)) + "\n")
	}
}

func bar(on bool) string {
	if on {
		return "│  "
	}
	return "   "
}

// inside writes the bodies that a node holds.
func (w *writer) inside(n *Node, margin string) {
	for _, u := range n.Uses {
		body := w.graph.find(u.Body)
		if body == nil || w.shared[u.Body] {
			continue
		}
		title := cmp.Or(u.Branch, u.Body)
		if n.Kind == "map" {
			title = "each item"
		}
		w.out.WriteString(margin + "╭─ " + plain(title) + "\n")
		w.body(body, margin+"│ ")
		w.out.WriteString(margin + "╰─\n")
	}
}

// head is what is told about a node itself.
func (w *writer) head(b *Body, n *Node) string {
	words := plain(n.title()) + "  " + plain(n.Kind)
	if n.Kind == "end" {
		words = plain(n.title()) + "  " + plain(n.Detail)
	}
	if n.Write {
		words += " ✎"
	}
	if n.AI {
		words += " ✦"
	}
	if n.Name == b.Last {
		words += " (when exhausted)"
	}
	for _, u := range n.Uses {
		if w.shared[u.Body] {
			words += " ▸ " + plain(u.Body)
		}
	}
	if note := w.note(b, n); note != "" {
		words += "  [" + plain(note) + "]"
	}
	return words
}

// way tells an outcome that does not lead to the next line.
func (w *writer) way(e *edge, place map[string]int, at int) string {
	outcomes := plain(strings.Join(e.outcomes, ", "))
	to, ok := place[e.to]
	switch {
	case e.to == "":
		return outcomes + " → ■"
	case ok && to <= at:
		return outcomes + " ↺ " + plain(e.to)
	}
	return outcomes + " → " + plain(e.to)
}

// textOrder lists the nodes so that the way that is hoped for runs straight
// down, and what ends a body comes last.
func (w *writer) textOrder(b *Body) []*Node {
	nodes := map[string]*Node{}
	for i := range b.Nodes {
		nodes[b.Nodes[i].Name] = &b.Nodes[i]
	}
	seen := map[string]bool{}
	var order, ends []*Node
	var queue []string
	follow := func(name string) {
		for n := nodes[name]; n != nil && !seen[n.Name]; {
			seen[n.Name] = true
			if n.Kind == "end" {
				ends = append(ends, n)
				return
			}
			order = append(order, n)
			edges := n.edges()
			slices.SortStableFunc(edges, func(x, y *edge) int { return cmp.Compare(rough(x, nodes), rough(y, nodes)) })
			for _, e := range edges {
				queue = append(queue, e.to)
			}
			n = nil
			if len(edges) > 0 {
				n = nodes[edges[0].to]
			}
		}
	}
	follow(b.Entry)
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		follow(next)
	}
	follow(b.Last)
	for i := range b.Nodes {
		follow(b.Nodes[i].Name)
	}
	return lastEnds(order, ends)
}

// rough orders edges: the hoped for before the others, those that go on before
// those that end.
func rough(e *edge, nodes map[string]*Node) int {
	score := 0
	if e.bad() {
		score += 2
	}
	if n := nodes[e.to]; n == nil || n.Kind == "end" {
		score++
	}
	return score
}

// lastEnds puts the ends after the other nodes, first the one that the last of
// them hopes for.
func lastEnds(order, ends []*Node) []*Node {
	if len(order) == 0 {
		return ends
	}
	hoped := ""
	for _, e := range order[len(order)-1].edges() {
		if !e.bad() {
			hoped = e.to
			break
		}
	}
	slices.SortStableFunc(ends, func(x, y *Node) int {
		return cmp.Compare(btoi(x.Name != hoped), btoi(y.Name != hoped))
	})
	return append(order, ends...)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pad fills a text with blanks to a width in characters.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}
