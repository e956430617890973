package permission

// trie holds patterns by their components. Walking a path costs by its depth and
// not by the number of patterns.
type trie struct {
	root node
}

type node struct {
	names map[string]*node
	globs []edge
	any   *node // one name
	deep  *node // the rest of the pattern behind "**"
	loop  bool  // the node is behind "**" and stays
	hits  []hit // patterns that end here
}

type edge struct {
	seg segment
	to  *node
}

// hit is one pattern of one row.
type hit struct {
	row     int
	variant int
}

func (t *trie) insert(segs []segment, h hit) {
	n := &t.root
	for i := range segs {
		n = n.child(&segs[i])
	}
	n.hits = append(n.hits, h)
}

func (n *node) child(s *segment) *node {
	switch s.kind {
	case literal:
		if n.names == nil {
			n.names = map[string]*node{}
		}
		if n.names[s.text] == nil {
			n.names[s.text] = &node{}
		}
		return n.names[s.text]
	case anyName:
		if n.any == nil {
			n.any = &node{}
		}
		return n.any
	case anyDeep:
		if n.deep == nil {
			n.deep = &node{loop: true}
		}
		return n.deep
	}
	for _, e := range n.globs {
		if e.seg.text == s.text {
			return e.to
		}
	}
	to := &node{}
	n.globs = append(n.globs, edge{seg: *s, to: to})
	return to
}

// find appends the patterns that reach a path, the shortest reach first; with
// first it stops at the first one.
func (t *trie) find(path []string, out []hit, first bool) []hit {
	var now, next [16]*node
	active := enter(now[:0], &t.root)
	spare := next[:0]
	for i := 0; ; i++ {
		for _, n := range active {
			out = append(out, n.hits...)
			if first && len(out) > 0 {
				return out[:1]
			}
		}
		if i == len(path) || len(active) == 0 {
			return out
		}
		name := path[i]
		reached := spare[:0]
		for _, n := range active {
			if n.loop {
				reached = enter(reached, n)
			}
			if to := n.names[name]; to != nil {
				reached = enter(reached, to)
			}
			if n.any != nil {
				reached = enter(reached, n.any)
			}
			for j := range n.globs {
				if n.globs[j].seg.match(name) {
					reached = enter(reached, n.globs[j].to)
				}
			}
		}
		active, spare = reached, active
	}
}

// enter adds a node and what is behind a "**" of no names.
func enter(set []*node, n *node) []*node {
	for _, m := range set {
		if m == n {
			return set
		}
	}
	set = append(set, n)
	if n.deep != nil {
		set = enter(set, n.deep)
	}
	return set
}
