package draw

import (
	"cmp"
	"slices"
)

// box is something that takes a place in a layer: a node, the end of a body, or
// a bend of a long edge.
type box struct {
	node   *Node  // nil for an end or a bend
	name   string // of the node; for a bend, of the node it leads to
	bend   bool
	w, h   float64
	x, y   float64 // middle of the top
	layer  int
	inside []*scene // bodies of a compound node
	branch []string // their names

	up, down []*link
}

// link is a piece of an edge between two layers. The head is at the lower box,
// or with back at the upper.
type link struct {
	upper, lower *box
	back         bool
	main         bool     // the way that is hoped for
	outcomes     []string // told where the edge begins; none for further pieces
	bad          bool
	x1, x2       float64 // where it leaves the upper and reaches the lower box
}

// chart is a body in layers.
type chart struct {
	layers [][]*box
	links  []*link
	loops  []*edge // from a node to itself
	byName map[string]*box
}

// arrange puts the nodes of a body into layers: each below all that lead to it,
// apart from edges that close a circle.
func arrange(b *Body, size func(*Node) *box) *chart {
	c := &chart{byName: map[string]*box{}}
	nodes := map[string]*Node{}
	for i := range b.Nodes {
		nodes[b.Nodes[i].Name] = &b.Nodes[i]
	}
	edges, order, back := walk(b, nodes)
	depth := layerOf(edges, order, back)
	for _, name := range order {
		bx := &box{name: name, w: 18, h: 18}
		if n := nodes[name]; n != nil {
			bx = size(n)
			bx.node, bx.name = n, name
		}
		bx.layer = depth[name]
		c.byName[name] = bx
		c.put(bx)
	}
	bends := map[bendKey]*box{}
	for _, e := range edges {
		if e.from == e.to {
			c.loops = append(c.loops, e)
			continue
		}
		c.connect(e, back[e], bends)
	}
	return c
}

func (c *chart) put(b *box) {
	for len(c.layers) <= b.layer {
		c.layers = append(c.layers, nil)
	}
	c.layers[b.layer] = append(c.layers[b.layer], b)
}

// walk visits depth first from the entry; it returns the edges, the names in
// the order of their visit, and the edges that lead back.
func walk(b *Body, nodes map[string]*Node) (edges []*edge, order []string, back map[*edge]bool) {
	back = map[*edge]bool{}
	state := map[string]int{} // 1 open, 2 done
	var visit func(name string)
	visit = func(name string) {
		state[name] = 1
		order = append(order, name)
		if n := nodes[name]; n != nil {
			for _, e := range n.edges() {
				if e.to != "" && nodes[e.to] == nil {
					continue // a target that does not exist
				}
				edges = append(edges, e)
				switch state[e.to] {
				case 0:
					visit(e.to)
				case 1:
					back[e] = true
				}
			}
		}
		state[name] = 2
	}
	starts := []string{b.Entry, b.Last}
	for _, n := range b.Nodes {
		starts = append(starts, n.Name)
	}
	for _, name := range starts {
		if nodes[name] != nil && state[name] == 0 {
			visit(name)
		}
	}
	return edges, order, back
}

// layerOf gives each name the length of the longest way to it.
func layerOf(edges []*edge, order []string, back map[*edge]bool) map[string]int {
	waits := map[string]int{}
	out := map[string][]string{}
	for _, e := range edges {
		if !back[e] && e.from != e.to {
			waits[e.to]++
			out[e.from] = append(out[e.from], e.to)
		}
	}
	depth := map[string]int{}
	var ready []string
	for _, name := range order {
		if waits[name] == 0 {
			ready = append(ready, name)
		}
	}
	for i := 0; i < len(ready); i++ {
		for _, to := range out[ready[i]] {
			depth[to] = max(depth[to], depth[ready[i]]+1)
			if waits[to]--; waits[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return depth
}

type bendKey struct {
	to    string
	back  bool
	layer int
}

// connect adds the pieces of an edge. Long edges to one node share their bends,
// so that they run together.
func (c *chart) connect(e *edge, back bool, bends map[bendKey]*box) {
	from, to := c.byName[e.from], c.byName[e.to]
	step := 1
	if back {
		step = -1
	}
	at, outcomes := from, e.outcomes
	if len(bends) > maxBends {
		c.link(at, to, back, outcomes, e.bad())
		return
	}
	for layer := from.layer + step; layer != to.layer; layer += step {
		key := bendKey{e.to, back, layer}
		b, shared := bends[key]
		if !shared {
			b = &box{name: e.to, bend: true, w: 6, layer: layer}
			bends[key] = b
			c.put(b)
		}
		c.link(at, b, back, outcomes, e.bad())
		at, outcomes = b, nil
	}
	c.link(at, to, back, outcomes, e.bad())
}

// link adds one piece, or joins it with the one that is there.
func (c *chart) link(from, to *box, back bool, outcomes []string, isBad bool) {
	upper, lower := from, to
	if back {
		upper, lower = to, from
	}
	for _, l := range upper.down {
		if l.lower == lower && l.back == back {
			l.outcomes = append(l.outcomes, outcomes...)
			l.bad = l.bad && isBad
			return
		}
	}
	l := &link{upper: upper, lower: lower, back: back, outcomes: outcomes, bad: isBad}
	c.links = append(c.links, l)
	upper.down, lower.up = append(upper.down, l), append(lower.up, l)
}

// Bounds of the care that is taken.
const (
	maxBoxes = 1500   // beyond, crossings are not counted
	maxBends = 20_000 // beyond, long edges run straight through
)

// untangle orders the boxes of each layer so that few links cross.
func (c *chart) untangle() {
	if c.boxes() > maxBoxes {
		for round := range 6 {
			for i := range c.layers {
				c.sortLayer(i, round%2 == 0)
			}
		}
		return
	}
	best, fewest := c.copyLayers(), c.crossings()
	for round := range 24 {
		if fewest == 0 {
			break
		}
		down := round%2 == 0
		for i := range c.layers {
			at := i
			if !down {
				at = len(c.layers) - 1 - i
			}
			c.sortLayer(at, down)
		}
		c.swapNeighbours()
		if n := c.crossings(); n < fewest {
			best, fewest = c.copyLayers(), n
		}
	}
	c.layers = best
}

func (c *chart) boxes() (n int) {
	for _, layer := range c.layers {
		n += len(layer)
	}
	return n
}

func (c *chart) copyLayers() [][]*box {
	out := make([][]*box, len(c.layers))
	for i, l := range c.layers {
		out[i] = slices.Clone(l)
	}
	return out
}

// sortLayer puts boxes where the middle of their neighbours is.
func (c *chart) sortLayer(at int, down bool) {
	beside := at - 1
	if !down {
		beside = at + 1
	}
	if beside < 0 || beside >= len(c.layers) {
		return
	}
	position := map[*box]int{}
	for i, b := range c.layers[beside] {
		position[b] = i
	}
	want := map[*box]float64{}
	for i, b := range c.layers[at] {
		sum, n := 0, 0
		links := b.up
		if !down {
			links = b.down
		}
		for _, l := range links {
			other := l.upper
			if !down {
				other = l.lower
			}
			sum, n = sum+position[other], n+1
		}
		want[b] = float64(i)
		if n > 0 {
			want[b] = float64(sum) / float64(n)
		}
	}
	slices.SortStableFunc(c.layers[at], func(a, b *box) int { return cmp.Compare(want[a], want[b]) })
}

// swapNeighbours swaps boxes side by side while that removes crossings.
func (c *chart) swapNeighbours() {
	for better := true; better; {
		better = false
		for at, layer := range c.layers {
			for i := 0; i+1 < len(layer); i++ {
				before := c.crossingsAt(at-1) + c.crossingsAt(at)
				layer[i], layer[i+1] = layer[i+1], layer[i]
				if c.crossingsAt(at-1)+c.crossingsAt(at) < before {
					better = true
					continue
				}
				layer[i], layer[i+1] = layer[i+1], layer[i]
			}
		}
	}
}

func (c *chart) crossings() int {
	n := 0
	for at := range c.layers {
		n += c.crossingsAt(at)
	}
	return n
}

// crossingsAt counts the crossings between a layer and the next.
func (c *chart) crossingsAt(at int) int {
	if at < 0 || at+1 >= len(c.layers) {
		return 0
	}
	position := map[*box]int{}
	for i, b := range c.layers[at+1] {
		position[b] = i
	}
	var lows [][]int
	for _, b := range c.layers[at] {
		var below []int
		for _, l := range b.down {
			below = append(below, position[l.lower])
		}
		lows = append(lows, below)
	}
	n := 0
	for i, left := range lows {
		for _, right := range lows[i+1:] {
			for _, a := range left {
				for _, b := range right {
					if a > b {
						n++
					}
				}
			}
		}
	}
	return n
}
