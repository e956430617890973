package draw

import (
	"cmp"
	"math"
	"slices"
)

// Distances in a picture.
const (
	gapX    = 26.0 // between boxes of a layer
	gapY    = 58.0 // between layers
	stub    = 26.0 // straight beginning of an edge, where its outcome is told
	padding = 16.0 // around the content of a group
)

// place gives every box its x: as near to the boxes it is linked with as the
// order of its layer allows.
func (c *chart) place() (width float64) {
	for _, layer := range c.layers {
		at := 0.0
		for i, b := range layer {
			if i > 0 {
				at += apart(layer[i-1], b)
			}
			b.x = at
		}
		shift(layer, -at/2)
	}
	for round := range 30 {
		for i := range c.layers {
			at := i
			if round%2 == 1 {
				at = len(c.layers) - 1 - i
			}
			settle(c.layers[at], round%2 == 0, round >= 24)
		}
	}
	c.straighten()
	left, right := math.Inf(1), math.Inf(-1)
	for _, layer := range c.layers {
		for _, b := range layer {
			left, right = min(left, b.x-b.w/2), max(right, b.x+b.w/2)
		}
	}
	for _, layer := range c.layers {
		shift(layer, -left)
	}
	return right - left
}

func shift(layer []*box, by float64) {
	for _, b := range layer {
		b.x += by
	}
}

// apart is the least distance between the middles of neighbours.
func apart(a, b *box) float64 {
	gap := gapX
	if a.bend && b.bend {
		gap = 14
	}
	return a.w/2 + gap + b.w/2
}

// settle moves the boxes of a layer towards what they are linked with: above
// when down, below otherwise, or both sides at the end.
func settle(layer []*box, down, both bool) {
	want, weight := make([]float64, len(layer)), make([]float64, len(layer))
	for i, b := range layer {
		sum, total := 0.0, 0.0
		add := func(other *box, l *link) {
			w := 1.0
			switch {
			case b.bend && other.bend:
				w = 8 // long edges run straight
			case l.main:
				w = 5 // and so does the way that is hoped for
			case l.bad:
				w = 0.3
			case l.back:
				w = 0.5
			}
			sum, total = sum+w*other.x, total+w
		}
		if down || both {
			for _, l := range b.up {
				add(l.upper, l)
			}
		}
		if !down || both {
			for _, l := range b.down {
				add(l.lower, l)
			}
		}
		want[i], weight[i] = b.x, 0.1
		if total > 0 {
			want[i], weight[i] = sum/total, total
		}
	}
	spread(layer, want, weight)
}

// spread finds the places nearest to those wanted that keep order and
// distances: an isotonic regression by pooling.
func spread(layer []*box, want, weight []float64) {
	type pool struct {
		sum, weight float64
		count       int
	}
	offset := make([]float64, len(layer))
	var pools []pool
	for i := range layer {
		if i > 0 {
			offset[i] = offset[i-1] + apart(layer[i-1], layer[i])
		}
		next := pool{(want[i] - offset[i]) * weight[i], weight[i], 1}
		for len(pools) > 0 {
			last := pools[len(pools)-1]
			if last.sum/last.weight < next.sum/next.weight {
				break
			}
			next = pool{last.sum + next.sum, last.weight + next.weight, last.count + next.count}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, next)
	}
	i := 0
	for _, p := range pools {
		for range p.count {
			layer[i].x = p.sum/p.weight + offset[i]
			i++
		}
	}
}

// drop gives every box its y, and returns the height and the top and bottom of
// each layer.
func (c *chart) drop() (height float64, tops, bottoms []float64) {
	y := 0.0
	for i, layer := range c.layers {
		if i > 0 {
			y += gapY
		}
		tall := 0.0
		for _, b := range layer {
			tall = max(tall, b.h)
		}
		for _, b := range layer {
			b.y = y + (tall-b.h)/2
			if b.bend {
				b.y, b.h = y, tall
			}
		}
		tops, bottoms = append(tops, y), append(bottoms, y+tall)
		y += tall
	}
	return y, tops, bottoms
}

// ports decides where links touch their boxes: each outcome leaves from a place
// of its own, wide enough for its name; what arrives shares one.
func (c *chart) ports() {
	for _, layer := range c.layers {
		for _, b := range layer {
			b.portsBelow()
			b.portsAbove()
		}
	}
}

// portsBelow puts the main link in the middle and the others to its sides, in
// the order of where they lead.
func (b *box) portsBelow() {
	links := slices.Clone(b.down)
	slices.SortStableFunc(links, func(x, y *link) int { return cmp.Compare(x.lower.x, y.lower.x) })
	if b.bend {
		for _, l := range links {
			l.x1 = b.x
		}
		return
	}
	main := slices.IndexFunc(links, func(l *link) bool { return l.main })
	at := b.x
	if main < 0 {
		for _, l := range links {
			at -= l.room(!l.back) / 2
		}
		main = 0
	} else {
		at -= links[main].room(true) / 2
	}
	right := at
	for _, l := range links[main:] {
		l.x1 = right + l.room(!l.back)/2
		right += l.room(!l.back)
	}
	for _, l := range slices.Backward(links[:main]) {
		at -= l.room(!l.back)
		l.x1 = at + l.room(!l.back)/2
	}
}

func (b *box) portsAbove() {
	var leaving []*link
	for _, l := range b.up {
		l.x2 = b.x
		if l.back && !b.bend {
			leaving = append(leaving, l)
		}
	}
	slices.SortStableFunc(leaving, func(x, y *link) int { return cmp.Compare(x.upper.x, y.upper.x) })
	left, right := b.x, b.x
	for _, l := range leaving {
		half := l.room(true)/2 + 4
		if l.upper.x < b.x {
			left -= half
			l.x2 = left
			left -= half
			continue
		}
		right += half
		l.x2 = right
		right += half
	}
}

// room is the width that a link needs at a box, where it begins or arrives.
func (l *link) room(begins bool) float64 {
	if !begins {
		return 22
	}
	return max(22, textWidth(l.label(), labelSize)+14)
}

// label is what is told where an edge begins.
func (l *link) label() string { return joined(l.outcomes) }

// widen chooses the main link of each box and makes boxes as wide as what leaves
// them needs.
func (c *chart) widen() {
	for _, layer := range c.layers {
		for _, b := range layer {
			if b.node == nil {
				continue
			}
			if i := slices.IndexFunc(b.down, func(l *link) bool { return !l.back && !l.bad }); i >= 0 {
				b.down[i].main = true
			}
			below, above := 0.0, 0.0
			for _, l := range b.down {
				below += l.room(!l.back)
				if !l.main && len(b.down) > 1 {
					below += l.room(!l.back) // the main link stays in the middle
				}
			}
			for _, l := range b.up {
				if l.back {
					above += 2*l.room(true) + 16
				}
			}
			b.w = max(b.w, below, above)
		}
	}
}

// straighten makes the main way, and then the bends of each long edge, stand in
// one line, as far as the boxes beside them allow.
func (c *chart) straighten() {
	var ways, bends [][]*box
	seen := map[*box]bool{}
	run := map[bendKey]int{}
	for _, layer := range c.layers {
		for _, b := range layer {
			if b.bend {
				key := bendKey{to: b.name, back: b.up[0].back}
				at, ok := run[key]
				if !ok {
					at = len(bends)
					run[key] = at
					bends = append(bends, nil)
				}
				bends[at] = append(bends[at], b)
			}
			var way []*box
			for at := b; at != nil && !seen[at]; at = at.mainBelow() {
				seen[at] = true
				way = append(way, at)
			}
			ways = append(ways, way)
		}
	}
	for _, line := range append(ways, bends...) {
		for len(line) > 1 {
			line = line[c.align(line):]
		}
	}
}

// mainBelow is the box that the main link leads to.
func (b *box) mainBelow() *box {
	for _, l := range b.down {
		if l.main {
			return l.lower
		}
	}
	return nil
}

// align puts as many of the first boxes as can be above each other, and returns
// how many they are.
func (c *chart) align(line []*box) int {
	low, high := math.Inf(-1), math.Inf(1)
	n, sum := 0, 0.0
	for _, b := range line {
		l, h := c.room(b)
		if max(low, l) > min(high, h) {
			break
		}
		low, high = max(low, l), min(high, h)
		sum += b.x
		n++
	}
	if n == 0 {
		return 1
	}
	x := min(max(sum/float64(n), low), high)
	for _, b := range line[:n] {
		b.x = x
	}
	return n
}

// room is where a box may stand between its neighbours.
func (c *chart) room(b *box) (low, high float64) {
	layer := c.layers[b.layer]
	i := slices.Index(layer, b)
	low, high = math.Inf(-1), math.Inf(1)
	if i > 0 {
		low = layer[i-1].x + apart(layer[i-1], b)
	}
	if i+1 < len(layer) {
		high = layer[i+1].x - apart(b, layer[i+1])
	}
	return low, high
}
