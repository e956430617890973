package draw

import (
	"fmt"
	"strings"
)

// DOT writes a graph for Graphviz.
func DOT(g *Graph, o Overlay) string {
	w := &dot{painter: newPainter(g, o), ids: names{}}
	w.line(0, "digraph workflow {")
	w.line(1, "rankdir=TB; compound=true; labelloc=t; fontname=\"sans-serif\"; label=%s;", quoted(g.Title))
	w.line(1, `node [fontname="sans-serif", fontsize=11, shape=box, style="rounded,filled", fillcolor=white, color="#94a3b8"];`)
	w.line(1, `edge [fontname="sans-serif", fontsize=9, color="#94a3b8", fontcolor="#475569"];`)
	w.body(g.root(), 1)
	for i := range g.Bodies[min(1, len(g.Bodies)):] {
		b := &g.Bodies[i+1]
		if w.shared[b.Name] {
			w.cluster(b, "component "+b.Name, 1)
		}
	}
	for _, line := range w.links {
		w.line(1, "%s", line)
	}
	w.line(0, "}")
	return w.out.String()
}

type dot struct {
	*painter
	ids   names
	links []string // between clusters, told last
	out   strings.Builder
}

func (w *dot) line(indent int, format string, args ...any) {
	w.out.WriteString(strings.Repeat("  ", indent))
	fmt.Fprintf(&w.out, format, args...)
	w.out.WriteByte('\n')
}

func (w *dot) cluster(b *Body, title string, indent int) {
	w.line(indent, "subgraph cluster_%s {", w.ids.of(b.Name, "\x00"))
	w.line(indent+1, `label=%s; style="rounded,dashed"; color="#94a3b8";`, quoted(title))
	w.body(b, indent+1)
	w.line(indent, "}")
}

var dotColors = map[string]string{
	"ai": "#7c3aed", "host": "#0284c7", "person": "#d97706", "flow": "#94a3b8", "group": "#0d9488", "good": "#15803d", "bad": "#b91c1c",
	"succeeded": "#16a34a", "failed": "#dc2626", "running": "#2563eb", "waiting": "#d97706", "idle": "#cbd5e1",
}

func (w *dot) body(b *Body, indent int) {
	for i := range b.Nodes {
		w.node(b, &b.Nodes[i], indent)
	}
	if b.Entry != "" {
		start := w.ids.of(b.Name, "\x00start")
		w.line(indent, `%s [shape=point, width=0.1]; %s -> %s;`, start, start, w.ids.of(b.Name, b.Entry))
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		for _, e := range n.edges() {
			style := ""
			if e.bad() {
				style = `, color="#e0a3b0", fontcolor="#b4637a"`
			}
			to := w.ids.of(b.Name, e.to)
			if e.to == "" {
				w.line(indent, `%s [shape=doublecircle, label="", width=0.12];`, to)
			}
			w.line(indent, "%s -> %s [label=%s%s];", w.ids.of(b.Name, n.Name), to, quoted(joined(e.outcomes)), style)
		}
		for _, u := range n.Uses {
			body := w.graph.find(u.Body)
			if body == nil {
				continue
			}
			if !w.shared[u.Body] {
				title := u.Branch
				if title == "" {
					title = n.title()
				}
				w.cluster(body, title, indent)
			}
			w.links = append(w.links, fmt.Sprintf("%s -> %s [style=dotted];", w.ids.of(b.Name, n.Name), w.ids.of(body.Name, body.Entry)))
		}
	}
}

func (w *dot) node(b *Body, n *Node, indent int) {
	label := plain(n.title())
	if line := n.line(); line != "" && n.Kind != "end" {
		label += "\n" + plain(line)
	}
	if note := w.note(b, n); note != "" {
		label += "\n" + plain(note)
	}
	color, width := dotColors[n.family()], "1"
	if class := w.class(b, n); class != "" {
		color, width = dotColors[class], "2"
	}
	shape := ""
	switch n.Kind {
	case "condition":
		shape = ", shape=hexagon, style=filled"
	case "end":
		shape = ", shape=oval, style=filled"
	}
	w.line(indent, "%s [label=%s, color=%q, penwidth=%s%s];", w.ids.of(b.Name, n.Name), quoted(label), color, width, shape)
}

var dotEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// quoted writes a text as a DOT string.
func quoted(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = plain(line)
	}
	return `"` + dotEscaper.Replace(strings.Join(lines, "\n")) + `"`
}
