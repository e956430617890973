package draw

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// SVG draws a graph, with the state of a run when there is an overlay.
func SVG(g *Graph, o Overlay) string {
	p := newPainter(g, o)
	c := &canvas{painter: p}
	type panel struct {
		s    *scene
		x, y float64
	}
	const margin = 28.0
	root := p.scene(g.root())
	head := margin + 8
	if g.Title != "" {
		head += 34
	}
	panels := []panel{{root, margin, head}}
	x, y := margin+root.w+56, head
	width, height := margin+root.w, head+root.h
	for i := range g.Bodies[min(1, len(g.Bodies)):] {
		b := &g.Bodies[i+1]
		if !p.shared[b.Name] {
			continue
		}
		s := p.scene(b)
		if y > head && y+s.h > height {
			x, y = width+40, head
		}
		panels = append(panels, panel{s, x + padding, y + branchCap + padding})
		width = max(width, x+s.w+2*padding)
		y += s.h + branchCap + 2*padding + 36
		height = max(height, y-36)
	}
	for i, at := range panels {
		c.depth = min(i, 1)
		if i > 0 {
			c.frame(at.x-padding, at.y-branchCap-padding, at.s.w+2*padding, at.s.h+branchCap+2*padding, "component "+at.s.body.Name)
		}
		c.scene(at.s, at.x, at.y)
	}
	width = max(width, margin+textWidth(plain(g.Title), 18)*bold, margin+c.legendWidth())
	c.legend(margin, height+30)
	return c.document(g, width+margin, height+52)
}

// canvas gathers the elements of a picture.
type canvas struct {
	*painter
	out      strings.Builder
	depth    int      // of frames around what is drawn
	families []string // that were used
}

func (c *canvas) add(format string, args ...any) {
	fmt.Fprintf(&c.out, format, args...)
	c.out.WriteByte('\n')
}

// document wraps what was drawn.
func (c *canvas) document(g *Graph, width, height float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s">`+"\n",
		num(width), num(height), num(width), num(height), esc(g.Title))
	b.WriteString("<style>" + style + "</style>\n")
	fmt.Fprintf(&b, `<rect class="paper" width="%s" height="%s"/>`+"\n", num(width), num(height))
	if g.Title != "" {
		fmt.Fprintf(&b, `<text class="h" x="28" y="40">%s</text>`+"\n", esc(fit(g.Title, 18, max(300, width-56))))
		fmt.Fprintf(&b, `<text class="m" x="28" y="58">%s</text>`+"\n", esc(fit(g.Subtitle, detailSize, max(300, width-56))))
	}
	b.WriteString(c.out.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// scene draws a body with its upper left corner at x, y.
func (c *canvas) scene(s *scene, x, y float64) {
	y += s.top
	for _, l := range s.chart.links {
		c.link(s, l, x, y)
	}
	for _, layer := range s.chart.layers {
		for _, b := range layer {
			c.box(s, b, x, y)
		}
	}
	for _, e := range s.chart.loops {
		c.loop(s.chart.byName[e.from], e, x, y)
	}
	for _, l := range s.chart.links {
		c.label(l, x, y)
	}
	if b := s.chart.byName[s.body.Entry]; b != nil && b.layer == 0 {
		at := y + b.y
		c.add(`<circle class="dot" cx="%s" cy="%s" r="4"/><path class="e" d="M%s %sV%s"/>%s`, num(x+b.x), num(at-20), num(x+b.x), num(at-16), num(at-6), head(x+b.x, at, 1, "hd"))
	}
}

// link draws one piece of an edge.
func (c *canvas) link(s *scene, l *link, x, y float64) {
	from, to := l.upper.y+l.upper.h, l.lower.y
	if l.upper.bend {
		from = l.upper.y
	}
	a, b := s.bottoms[l.upper.layer]+6, s.tops[l.lower.layer]-8
	if !l.back && !l.upper.bend {
		a += stub - 6
	}
	if l.back && !l.lower.bend {
		b -= stub - 8
	}
	class, mark := "e", "hd"
	switch {
	case l.back:
		class, mark = "e back", "hb"
	case l.bad:
		class, mark = "e err", "he"
	}
	x1, x2 := x+l.x1, x+l.x2
	mid := (a + b) / 2
	path := fmt.Sprintf("M%s %sV%sC%s %s %s %s %s %sV%s", num(x1), num(y+from), num(y+a), num(x1), num(y+mid), num(x2), num(y+mid), num(x2), num(y+b), num(y+to))
	if math.Abs(x1-x2) < 0.5 {
		path = fmt.Sprintf("M%s %sV%s", num(x1), num(y+from), num(y+to))
	}
	heads := ""
	if !l.back && !l.lower.bend {
		heads = head(x2, y+to, 1, mark)
	}
	if l.back && !l.upper.bend {
		heads = head(x1, y+from, -1, mark)
	}
	c.add(`<path class="%s" d="%s"/>%s`, class, path, heads)
}

// head is the head of an arrow at a point, downwards or upwards.
func head(x, y, direction float64, class string) string {
	return fmt.Sprintf(`<path class="%s" d="M%s %sl-4 %sh8z"/>`, class, num(x), num(y), num(-7*direction))
}

// label tells the outcomes where an edge begins.
func (c *canvas) label(l *link, x, y float64) {
	text := l.label()
	if text == "" {
		return
	}
	at, middle := x+l.x1, y+l.upper.y+l.upper.h+13
	if l.back {
		at, middle = x+l.x2, y+l.lower.y-13
	}
	c.tag(at, middle, text, l.back, l.bad)
}

func (c *canvas) tag(at, middle float64, text string, back, isBad bool) {
	class := "l"
	switch {
	case back:
		class = "l lb"
	case isBad:
		class = "l le"
	}
	w, behind := textWidth(text, labelSize)+6, "paper"
	if c.depth > 0 {
		behind = "veil"
	}
	c.add(`<rect class="%s" x="%s" y="%s" width="%s" height="14" rx="3"/><text class="%s" x="%s" y="%s">%s</text>`,
		behind, num(at-w/2), num(middle-7), num(w), class, num(at), num(middle+3.5), esc(text))
}

// loop draws an edge from a node to itself.
func (c *canvas) loop(b *box, e *edge, x, y float64) {
	right, middle := x+b.x+b.w/2, y+b.y+b.h/2
	c.add(`<path class="e back" d="M%s %sc26 -4 26 18 0 14"/><path class="hb" d="M%s %sl7 -3v7z"/>`, num(right), num(middle-8), num(right), num(middle+6))
	text := joined(e.outcomes)
	c.add(`<text class="l lb start" x="%s" y="%s">%s</text>`, num(right+24), num(middle+3), esc(text))
}

// frame draws the border of a body that stands for itself.
func (c *canvas) frame(x, y, w, h float64, title string) {
	c.add(`<rect class="fr" x="%s" y="%s" width="%s" height="%s" rx="10"/><text class="m" x="%s" y="%s">%s</text>`,
		num(x), num(y), num(w), num(h), num(x+12), num(y+19), esc(fit(title, detailSize, w-20)))
}

// box draws a node, the end of a body, or nothing for a bend.
func (c *canvas) box(s *scene, b *box, x, y float64) {
	if b.bend {
		return
	}
	left, top := x+b.x-b.w/2, y+b.y
	if b.node == nil {
		c.add(`<circle class="ring" cx="%s" cy="%s" r="8"/><circle class="dot" cx="%s" cy="%s" r="4"/>`, num(x+b.x), num(top+9), num(x+b.x), num(top+9))
		return
	}
	n := b.node
	family := n.family()
	if !slices.Contains(c.families, family) {
		c.families = append(c.families, family)
	}
	c.add(`<g class="%s"><title>%s</title>`, strings.TrimSpace("n "+family+" "+c.statusClass(s.body, n)), esc(c.tooltip(s.body, n)))
	switch {
	case n.Kind == "end":
		c.pill(s, b, left, top)
	default:
		c.card(s, b, left, top)
	}
	if s.body.Last == n.Name {
		c.add(`<text class="x" x="%s" y="%s">when exhausted</text>`, num(left+10), num(top-4))
	}
	c.add(`</g>`)
	at := left + 12
	for i, inner := range b.inside {
		wide := inner.w + 2*padding
		if i == len(b.inside)-1 {
			wide = left + b.w - 12 - at
		}
		inTop := top + headTall + c.noteTall(s.body, n)
		name := b.branch[i]
		if name == "" {
			name = "each item"
			if n.Kind != "map" {
				name = inner.body.Name
			}
		}
		c.frame(at, inTop, wide, b.h-headTall-c.noteTall(s.body, n)-12, name)
		c.depth++
		c.scene(inner, at+(wide-inner.w)/2, inTop+branchCap)
		c.depth--
		at += wide + 12
	}
}

// statusClass names the state of a node for the style.
func (c *canvas) statusClass(b *Body, n *Node) string {
	class := c.class(b, n)
	if class == "" || class == "idle" {
		return class
	}
	return "s-" + class
}

func (c *canvas) tooltip(b *Body, n *Node) string {
	words := []string{n.Name, n.Kind}
	if n.Detail != "" {
		words = append(words, n.Detail)
	}
	if n.Write {
		words = append(words, "writes")
	}
	if note := c.note(b, n); note != "" {
		words = append(words, note)
	}
	return plain(strings.Join(words, " – "))
}

func (c *canvas) pill(s *scene, b *box, left, top float64) {
	c.add(`<rect class="card" x="%s" y="%s" width="%s" height="%s" rx="%s"/>`, num(left), num(top), num(b.w), num(b.h), num(pillTall/2))
	c.icon(b.node, left+12, top+7)
	c.add(`<text class="t" x="%s" y="%s">%s</text>`, num(left+34), num(top+19.5), esc(fit(b.node.title(), titleSize, b.w-46)))
	c.noteText(s, b, left+34, top+33)
}

func (c *canvas) card(s *scene, b *box, left, top float64) {
	n := b.node
	if n.Kind == "condition" && len(b.inside) == 0 {
		cut := min(14, b.h/3)
		c.add(`<path class="card" d="M%s %sh%sl%s %sl-%s %sh-%sl-%s -%sz"/>`, num(left+cut), num(top), num(b.w-2*cut), num(cut), num(b.h/2), num(cut), num(b.h/2), num(b.w-2*cut), num(cut), num(b.h/2))
	} else {
		c.add(`<rect class="card" x="%s" y="%s" width="%s" height="%s" rx="9"/>`, num(left), num(top), num(b.w), num(b.h))
		c.add(`<rect class="bar" x="%s" y="%s" width="4" height="%s" rx="2"/>`, num(left+4), num(top+8), num(min(b.h, headTall+2)-16))
	}
	c.icon(n, left+16, top+10)
	room := b.w - 54
	if n.Write {
		room -= 14
		c.add(`<path class="pen" d="M%s %sl2.2 -5.4l6 -6l3.2 3.2l-6 6z"/>`, num(left+b.w-21), num(top+21))
	}
	c.add(`<text class="t" x="%s" y="%s">%s</text>`, num(left+40), num(top+19), esc(fit(n.title(), titleSize, room/bold)))
	c.add(`<text class="m" x="%s" y="%s">%s</text>`, num(left+40), num(top+34), esc(fit(n.line(), detailSize, b.w-52)))
	c.noteText(s, b, left+40, top+50)
}

func (c *canvas) noteText(s *scene, b *box, x, y float64) {
	if note := c.note(s.body, b.node); note != "" {
		c.add(`<text class="o" x="%s" y="%s">%s</text>`, num(x), num(y), esc(fit(note, detailSize, (b.w-48)/bold)))
	}
}

// legendWords say what the colours mean.
var legendWords = []struct{ family, words string }{
	{"ai", "asks a model"}, {"host", "runs on the host"}, {"person", "asks a person"}, {"group", "runs a body"}, {"flow", "routes"},
}

func (c *canvas) legendWidth() float64 {
	w := 0.0
	for _, l := range legendWords {
		if slices.Contains(c.families, l.family) {
			w += textWidth(l.words, detailSize) + 34
		}
	}
	return w + 80
}

func (c *canvas) legend(x, y float64) {
	for _, l := range legendWords {
		if !slices.Contains(c.families, l.family) {
			continue
		}
		c.add(`<g class="%s"><rect class="bar" x="%s" y="%s" width="10" height="10" rx="3"/></g><text class="m" x="%s" y="%s">%s</text>`,
			l.family, num(x), num(y-9), num(x+16), num(y), l.words)
		x += textWidth(l.words, detailSize) + 34
	}
	c.add(`<path class="pen" d="M%s %sl2.2 -5.4l6 -6l3.2 3.2l-6 6z"/><text class="m" x="%s" y="%s">writes</text>`, num(x), num(y), num(x+16), num(y))
}

// icon draws the sign of a kind, 16 by 16.
func (c *canvas) icon(n *Node, x, y float64) {
	i, ok := icons[n.Kind]
	if !ok {
		i = icons[n.family()]
	}
	class := "i"
	if i.solid {
		class = "i solid"
	}
	c.add(`<path class="%s" transform="translate(%s %s)" d="%s"/>`, class, num(x), num(y), i.path)
}

func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// esc makes a text safe inside an element or an attribute.
func esc(s string) string { return escaper.Replace(plain(s)) }

func times(n int) string { return "×" + strconv.Itoa(n) }
