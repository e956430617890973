package draw

import (
	"fmt"
	"strconv"
	"strings"
)

// names gives every node of every body an identifier that any language takes.
type names map[string]string

func (n names) of(body, node string) string {
	key := body + "\x00" + node
	if id, ok := n[key]; ok {
		return id
	}
	id := "n" + strconv.Itoa(len(n)+1)
	n[key] = id
	return id
}

// Mermaid writes a graph as a Mermaid flowchart.
func Mermaid(g *Graph, o Overlay) string {
	w := &mermaid{painter: newPainter(g, o), ids: names{}}
	if g.Title != "" {
		w.line(0, "---\ntitle: %s\n---", strconv.Quote(angles.Replace(plain(g.Title))))
	}
	w.line(0, "flowchart TD")
	w.body(g.root(), 1)
	for i := range g.Bodies[min(1, len(g.Bodies)):] {
		b := &g.Bodies[i+1]
		if w.shared[b.Name] {
			w.subgraph(b, "component "+b.Name, 1)
		}
	}
	for _, class := range mermaidClasses {
		w.line(1, "classDef %s", class)
	}
	return w.out.String()
}

var mermaidClasses = []string{
	"ai fill:#fbf9ff,stroke:#7c3aed,color:#0f172a", "host fill:#f7fbff,stroke:#0284c7,color:#0f172a", "person fill:#fffbf2,stroke:#d97706,color:#0f172a",
	"flow fill:#f8fafc,stroke:#94a3b8,color:#0f172a", "group fill:#ffffff,stroke:#0d9488,color:#0f172a", "good fill:#f0fdf4,stroke:#15803d,color:#0f172a",
	"bad fill:#fef4f4,stroke:#b91c1c,color:#0f172a", "succeeded stroke-width:3px,stroke:#16a34a", "failed stroke-width:3px,stroke:#dc2626",
	"running stroke-width:4px,stroke:#2563eb", "waiting stroke-width:4px,stroke:#d97706", "idle opacity:0.5",
}

type mermaid struct {
	*painter
	ids names
	out strings.Builder
}

func (w *mermaid) line(indent int, format string, args ...any) {
	w.out.WriteString(strings.Repeat("  ", indent))
	fmt.Fprintf(&w.out, format, args...)
	w.out.WriteByte('\n')
}

func (w *mermaid) subgraph(b *Body, title string, indent int) {
	w.line(indent, "subgraph %s[\"%s\"]", w.ids.of(b.Name, "\x00"), mermaidText(title))
	w.body(b, indent+1)
	w.line(indent, "end")
}

func (w *mermaid) body(b *Body, indent int) {
	for i := range b.Nodes {
		n := &b.Nodes[i]
		w.line(indent, "%s%s:::%s", w.ids.of(b.Name, n.Name), w.shape(b, n), n.family())
		if class := w.class(b, n); class != "" {
			w.line(indent, "class %s %s", w.ids.of(b.Name, n.Name), class)
		}
	}
	if b.Entry != "" {
		start := w.ids.of(b.Name, "\x00start")
		w.line(indent, "%s((\" \")) --> %s", start, w.ids.of(b.Name, b.Entry))
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		w.edges(b, n, indent)
		for _, u := range n.Uses {
			body := w.graph.find(u.Body)
			if body == nil {
				continue
			}
			if !w.shared[u.Body] {
				title := n.title()
				if u.Branch != "" {
					title = u.Branch
				}
				w.subgraph(body, title, indent)
			}
			w.line(indent, "%s -.-> %s", w.ids.of(b.Name, n.Name), w.ids.of(body.Name, body.Entry))
		}
	}
}

func (w *mermaid) edges(b *Body, n *Node, indent int) {
	for _, e := range n.edges() {
		to := w.ids.of(b.Name, e.to)
		if e.to == "" {
			to += "(((\" \")))"
		}
		w.line(indent, "%s -->|\"%s\"| %s", w.ids.of(b.Name, n.Name), mermaidText(joined(e.outcomes)), to)
	}
}

// shape is the text of a node in the brackets of its kind.
func (w *mermaid) shape(b *Body, n *Node) string {
	words := mermaidText(n.title())
	if line := n.line(); line != "" && n.Kind != "end" {
		words += "<br/><small>" + mermaidText(line) + "</small>"
	}
	if note := w.note(b, n); note != "" {
		words += "<br/><small>" + mermaidText(note) + "</small>"
	}
	switch {
	case n.Kind == "end":
		return `(["` + words + `"])`
	case n.Kind == "condition":
		return `{{"` + words + `"}}`
	case len(n.Uses) > 0:
		return `[["` + words + `"]]`
	}
	return `("` + words + `")`
}

// angles replaces what a page might take for an element where nothing else can
// be escaped.
var angles = strings.NewReplacer("<", "‹", ">", "›")

var mermaidEscaper = strings.NewReplacer("&", "#amp;", "<", "#lt;", ">", "#gt;", `"`, "#quot;", "#", "#35;", "`", "#96;")

func mermaidText(s string) string { return mermaidEscaper.Replace(plain(s)) }
