package draw

import "slices"

// scene is a body with a place for everything in it.
type scene struct {
	body    *Body
	chart   *chart
	w, h    float64
	top     float64 // room above the first layer
	tops    []float64
	bottoms []float64
}

// Sizes of nodes in an SVG, in pixels.
const (
	minWidth  = 112.0
	maxWidth  = 250.0
	cardTall  = 44.0
	noteTall  = 16.0
	pillTall  = 30.0
	headTall  = 42.0 // head of a compound node
	branchCap = 20.0 // name of a branch
	entryTall = 26.0 // mark above the entry
)

// painter lays out the bodies of one graph.
type painter struct {
	graph    *Graph
	overlay  Overlay
	prefixes map[string][]string
	shared   map[string]bool
}

func newPainter(g *Graph, o Overlay) *painter {
	return &painter{graph: g, overlay: o, prefixes: g.prefixes(), shared: g.shared()}
}

// scene lays out a body, with the bodies inside its nodes.
func (p *painter) scene(b *Body) *scene {
	s := &scene{body: b, top: entryTall}
	s.chart = arrange(b, func(n *Node) *box { return p.size(b, n) })
	s.chart.widen()
	s.chart.untangle()
	s.w = s.chart.place()
	s.h, s.tops, s.bottoms = s.chart.drop()
	s.chart.ports()
	for _, e := range s.chart.loops {
		at := s.chart.byName[e.from]
		s.w = max(s.w, at.x+at.w/2+34+textWidth(joined(e.outcomes), labelSize))
	}
	s.h += s.top
	return s
}

// size measures a node.
func (p *painter) size(b *Body, n *Node) *box {
	if n.Kind == "end" {
		w := max(76, textWidth(fit(n.title(), titleSize, 160), titleSize)*bold+52, textWidth(p.note(b, n), detailSize)*bold+56)
		return &box{w: min(w, maxWidth), h: pillTall + p.noteTall(b, n)}
	}
	w := max(textWidth(n.title(), titleSize)*bold+76, textWidth(n.line(), detailSize)+52, textWidth(p.note(b, n), detailSize)*bold+60)
	bx := &box{w: min(max(w, minWidth), maxWidth), h: cardTall + p.noteTall(b, n)}
	inner, tall := 0.0, 0.0
	for _, u := range n.Uses {
		body := p.graph.find(u.Body)
		if body == nil || p.shared[u.Body] {
			continue
		}
		s := p.scene(body)
		bx.inside = append(bx.inside, s)
		bx.branch = append(bx.branch, u.Branch)
		inner += s.w + 2*padding + 12
		tall = max(tall, s.h)
	}
	if len(bx.inside) > 0 {
		bx.w = max(bx.w, inner+12)
		bx.h = headTall + p.noteTall(b, n) + branchCap + tall + padding + 16
	}
	return bx
}

// line is the second line of a node.
func (n *Node) line() string {
	var words []string
	if n.Kind != "" {
		words = append(words, n.Kind)
	}
	if n.Detail != "" {
		words = append(words, fit(n.Detail, detailSize, 190))
	}
	for _, u := range n.Uses {
		if u.Branch == "" && n.Detail == "" {
			words = append(words, u.Body)
		}
	}
	if len(words) > 1 {
		return words[0] + " · " + words[1]
	}
	return joined(words)
}

func (p *painter) state(b *Body, n *Node) (State, bool) {
	return p.overlay.at(p.prefixes[b.Name], n.Name)
}

// note is what a run says about a node.
func (p *painter) note(b *Body, n *Node) string {
	s, ok := p.state(b, n)
	if !ok {
		return ""
	}
	words := []string{s.Status}
	if s.Visits > 1 {
		words = append(words, times(s.Visits))
	}
	if s.Note != "" {
		words = append(words, s.Note)
	}
	return joined(words)
}

// class names the state of a node.
func (p *painter) class(b *Body, n *Node) string {
	if len(p.overlay) == 0 {
		return ""
	}
	s, ok := p.state(b, n)
	if !ok {
		return "idle"
	}
	switch s.Status {
	case "succeeded", "running", "waiting":
		return s.Status
	case "paused", "refused":
		return "waiting"
	}
	return "failed"
}

func (p *painter) noteTall(b *Body, n *Node) float64 {
	if p.note(b, n) == "" {
		return 0
	}
	return noteTall
}

// family groups the kinds that look alike.
func (n *Node) family() string {
	switch {
	case n.Kind == "end" && n.fails():
		return "bad"
	case n.Kind == "end":
		return "good"
	case n.AI:
		return "ai"
	case slices.Contains([]string{"approval", "question", "gate"}, n.Kind):
		return "person"
	case slices.Contains([]string{"condition", "assign", "join", "wait"}, n.Kind):
		return "flow"
	case len(n.Uses) > 0 || n.Kind == "workflow":
		return "group"
	}
	return "host"
}
