package load

import "slices"

// reach returns the nodes that can be visited when a body starts at from.
func (b *body) reach(from ...string) map[string]bool {
	seen := map[string]bool{}
	for len(from) > 0 {
		name := from[len(from)-1]
		from = from[:len(from)-1]
		n := b.nodes[name]
		if n == nil || seen[name] {
			continue
		}
		seen[name] = true
		for _, to := range n.ends {
			if to != nil {
				from = append(from, *to)
			}
		}
	}
	return seen
}

// finishing returns the nodes from which the body can come to an end: an end
// node, a null, or a node that is not understood and gets the benefit of the
// doubt.
func (b *body) finishing() map[string]bool {
	before := map[string][]string{}
	var stack []string
	for name, n := range b.nodes {
		if n.terminal(b) {
			stack = append(stack, name)
		}
		for _, to := range n.ends {
			if to != nil {
				before[*to] = append(before[*to], name)
			}
		}
	}
	done := map[string]bool{}
	for len(stack) > 0 {
		name := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !done[name] {
			done[name] = true
			stack = append(stack, before[name]...)
		}
	}
	return done
}

// terminal reports whether the body may end at n itself.
func (n *node) terminal(b *body) bool {
	if n.broken || n.kind == "end" {
		return true
	}
	for _, to := range n.ends {
		if to == nil || b.nodes[*to] == nil {
			return true
		}
	}
	return len(n.ends) == 0
}

// cycles returns the strongly connected sets of more than one step among the
// given nodes, each in the order of order, sorted by their first node.
func (b *body) cycles(among map[string]bool) [][]string {
	t := tarjan{body: b, among: among, index: map[string]int{}, low: map[string]int{}, on: map[string]bool{}}
	for _, name := range b.order {
		if among[name] && t.index[name] == 0 {
			t.visit(name)
		}
	}
	place := map[string]int{}
	for i, name := range b.order {
		place[name] = i
	}
	byPlace := func(x, y string) int { return place[x] - place[y] }
	for _, set := range t.sets {
		slices.SortFunc(set, byPlace)
	}
	slices.SortFunc(t.sets, func(x, y []string) int { return byPlace(x[0], y[0]) })
	return t.sets
}

// tarjan finds strongly connected sets without recursion, for long chains.
type tarjan struct {
	body  *body
	among map[string]bool
	index map[string]int // from 1
	low   map[string]int
	on    map[string]bool
	stack []string
	sets  [][]string
}

type frame struct {
	name string
	next []string
}

func (t *tarjan) visit(root string) {
	calls := []*frame{t.enter(root)}
	for len(calls) > 0 {
		f := calls[len(calls)-1]
		if len(f.next) > 0 {
			to := f.next[0]
			f.next = f.next[1:]
			switch {
			case t.index[to] == 0:
				calls = append(calls, t.enter(to))
			case t.on[to]:
				t.low[f.name] = min(t.low[f.name], t.index[to])
			}
			continue
		}
		calls = calls[:len(calls)-1]
		if len(calls) > 0 {
			up := calls[len(calls)-1].name
			t.low[up] = min(t.low[up], t.low[f.name])
		}
		t.leave(f.name)
	}
}

func (t *tarjan) enter(name string) *frame {
	t.index[name] = len(t.index) + 1
	t.low[name] = t.index[name]
	t.stack = append(t.stack, name)
	t.on[name] = true
	return &frame{name: name, next: t.successors(name)}
}

func (t *tarjan) successors(name string) []string {
	var next []string
	for _, to := range t.body.nodes[name].ends {
		if to != nil && t.among[*to] && t.body.nodes[*to] != nil && !slices.Contains(next, *to) {
			next = append(next, *to)
		}
	}
	slices.Sort(next)
	return next
}

func (t *tarjan) leave(name string) {
	if t.low[name] != t.index[name] {
		return
	}
	at := len(t.stack) - 1
	for t.stack[at] != name {
		at--
	}
	set := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, n := range set {
		t.on[n] = false
	}
	if len(set) > 1 || slices.Contains(t.successors(name), name) {
		t.sets = append(t.sets, set)
	}
}
