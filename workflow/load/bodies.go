package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// Bounds of nesting.
const (
	maxDepth      = 3       // components inside components
	maxComplexity = 100_000 // bodies that a definition stands for, references followed
	maxExhausted  = 10      // nodes behind onExhausted
)

// reserved are names that no node may have.
var reserved = []string{"START", "END", "__start__", "__end__", "next"}

// checkGraph checks how the nodes of a body hang together.
func (c *checker) checkGraph(b *body) {
	if b.entry != "" && b.nodes[b.entry] == nil {
		c.missingNode(b, b.pointer+"/entry", b.entry)
	}
	for _, name := range b.order {
		n := b.nodes[name]
		if slices.Contains(reserved, name) {
			c.failKey(workflow.CodeInvalidDefinition, n.pointer, fmt.Sprintf("%q is reserved: no node can be called so", name), "")
		}
		for _, outcome := range n.outcomes() {
			if to := n.ends[outcome]; to != nil && b.nodes[*to] == nil {
				c.missingNode(b, n.pointer+"/ends/"+escape(outcome), *to)
			}
		}
	}
	if b.nodes[b.entry] == nil {
		return
	}
	c.checkExhausted(b)
	c.checkEndings(b)
}

func (c *checker) missingNode(b *body, pointer, name string) {
	c.fail(workflow.CodeNodeNotFound, pointer, fmt.Sprintf("there is no node %q%s", name, b.where()), didYouMean(name, b.order))
}

// where names a body inside a sentence.
func (b *body) where() string {
	if b.name == "" {
		return ""
	}
	if b.component {
		return fmt.Sprintf(" in component %q", b.name)
	}
	return fmt.Sprintf(" in %s", b.name)
}

// checkEndings finds nodes that are never visited and paths that never end.
func (c *checker) checkEndings(b *body) {
	reached := b.reach(b.entry, b.exhausted)
	for _, name := range b.order {
		if !reached[name] && b.nodes[name].kind != "" {
			c.strict(workflow.CodeUnreachableNode, b.nodes[name].pointer, fmt.Sprintf("no path leads to node %q%s", name, b.where()),
				"wire an outcome to it, or remove it")
		}
	}
	finishing := b.finishing()
	if !finishing[b.entry] {
		c.fail(workflow.CodeNoTerminalPath, b.pointer+"/entry", fmt.Sprintf("no path from %q reaches an end node or a null%s", b.entry, b.where()),
			"add a node of kind end, or wire an outcome to null")
		return
	}
	stuck := map[string]bool{}
	for name := range b.nodes {
		if !finishing[name] {
			stuck[name] = true
		}
	}
	for _, set := range b.cycles(stuck) {
		c.strict(workflow.CodeDeadEndCycle, b.nodes[set[0]].pointer, fmt.Sprintf("no end can be reached from %s: the nodes only lead to each other%s", list(set, 6), b.where()),
			"give one of them an outcome that leads to an end node or to null")
	}
}

// checkExhausted checks the chain that a body takes when a limit stops it.
func (c *checker) checkExhausted(b *body) {
	if b.exhausted == "" {
		return
	}
	at := b.pointer + "/onExhausted"
	if b.nodes[b.exhausted] == nil {
		c.missingNode(b, at, b.exhausted)
		return
	}
	chain := b.reach(b.exhausted)
	names := slices.Sorted(maps.Keys(chain))
	if sets := b.cycles(chain); len(sets) > 0 {
		c.fail(workflow.CodeInvalidDefinition, at, fmt.Sprintf("what follows %q comes back to itself: %s", b.exhausted, list(sets[0], 6)), "lead it to an end node")
	} else if len(names) > maxExhausted {
		c.fail(workflow.CodeInvalidDefinition, at, fmt.Sprintf("%d nodes follow %q: at most %d may", len(names), b.exhausted, maxExhausted), "")
	}
	for _, name := range names {
		switch n := b.nodes[name]; {
		case !n.known:
		case len(n.refs) > 0 || n.kind == workflow.KindWorkflow || n.kind == workflow.KindJoin || n.kind == workflow.KindWait:
			c.fail(workflow.CodeInvalidDefinition, at, fmt.Sprintf("%q follows onExhausted and is of kind %s: only end nodes and nodes that read may", name, n.kind), "")
		case n.traits.Effect == workflow.EffectWrite:
			c.fail(workflow.CodeInvalidDefinition, at, fmt.Sprintf("%q follows onExhausted and writes: only end nodes and nodes that read may", name), "")
		case n.traits.AI:
			c.warn(workflow.CodeInvalidDefinition, at, fmt.Sprintf("%q follows onExhausted and calls a model: it is refused when the budget is what ran out", name), "")
		}
	}
}

// checkJoins checks that each map leads to a join of its own.
func (c *checker) checkJoins(b *body) {
	before := map[string][]string{}
	for _, name := range b.order {
		seen := map[string]bool{}
		for _, to := range b.nodes[name].ends {
			if to != nil && !seen[*to] {
				seen[*to] = true
				before[*to] = append(before[*to], name)
			}
		}
	}
	for _, name := range b.order {
		n := b.nodes[name]
		switch n.kind {
		case workflow.KindMap:
			to, wired := n.ends["next"]
			if !wired || to != nil && b.nodes[*to] == nil {
				continue // told already
			}
			if to == nil || b.nodes[*to].kind != workflow.KindJoin {
				c.fail(workflow.CodeInvalidMapJoin, n.pointer+"/ends/next", fmt.Sprintf("map %q must lead to a node of kind join", name), "")
			}
		case workflow.KindJoin:
			if p := before[name]; len(p) != 1 || b.nodes[p[0]].kind != workflow.KindMap {
				c.fail(workflow.CodeInvalidMapJoin, n.pointer, fmt.Sprintf("join %q must follow exactly one node, a map; it follows %s", name, list(p, 4)), "")
			}
		}
	}
}

// checkComponents checks how bodies contain each other: cycles, depth, size.
func (c *checker) checkComponents() {
	w := nesting{c: c, state: map[*body]int{}, depth: map[*body]int{}, size: map[*body]int{}}
	for _, b := range c.bodies {
		if b.parent == nil {
			w.walk(b, nil)
		}
	}
	if w.size[c.root] > maxComplexity {
		c.fail(workflow.CodeComplexity, "/components", fmt.Sprintf("with every reference followed, the definition stands for more than %d bodies", maxComplexity), "refer to components less often, or use a map")
	}
	if w.depth[c.root] > maxDepth && !w.cyclic {
		c.tooDeep(w.depth)
	}
	used := map[*body]bool{}
	for _, b := range c.bodies {
		for _, r := range b.references() {
			used[r.body] = true
		}
	}
	for _, b := range c.bodies {
		if b.component && !used[b] && c.level > 1 {
			c.warn(workflow.CodeUnreachableNode, b.pointer, fmt.Sprintf("component %q is never used", b.name), "")
		}
	}
}

// references are the uses of bodies by the nodes of b.
func (b *body) references() []*ref {
	var all []*ref
	for _, name := range b.order {
		for _, r := range b.nodes[name].refs {
			if r.body != nil {
				all = append(all, r)
			}
		}
	}
	return all
}

// tooDeep reports the uses that are one level too deep.
func (c *checker) tooDeep(depth map[*body]int) {
	at := c.root
	var path []string
	for named := 0; ; {
		var deepest *ref
		for _, r := range at.references() {
			if deepest == nil || depth[r.body]+levels(r) > depth[deepest.body]+levels(deepest) {
				deepest = r
			}
		}
		path = append(path, deepest.name)
		if named += levels(deepest); named > maxDepth {
			c.fail(workflow.CodeComponentDepth, deepest.pointer, fmt.Sprintf("components may be nested %d deep; this is the next: %s", maxDepth, strings.Join(path, " → ")), "")
			return
		}
		at = deepest.body
	}
}

// levels is what a use adds to the depth: a body written in place adds none.
func levels(r *ref) int {
	if r.inline {
		return 0
	}
	return 1
}

// nesting walks bodies depth first.
type nesting struct {
	c      *checker
	state  map[*body]int // 1 open, 2 done
	depth  map[*body]int // components below
	size   map[*body]int // bodies it stands for
	cyclic bool
}

func (w *nesting) walk(b *body, path []string) {
	w.state[b] = 1
	w.size[b] = 1
	for _, r := range b.references() {
		way := append(path, r.name) //nolint:gocritic // shared with the other uses: it is only read below this one
		if w.state[r.body] == 1 {
			w.cyclic = true
			w.c.fail(workflow.CodeComponentCycle, r.pointer, fmt.Sprintf("component %q contains itself: %s", r.name, strings.Join(way, " → ")), "")
			continue
		}
		if w.state[r.body] == 0 {
			w.walk(r.body, way)
		}
		w.depth[b] = max(w.depth[b], w.depth[r.body]+levels(r))
		w.size[b] = min(w.size[b]+w.size[r.body], maxComplexity+1)
	}
	w.state[b] = 2
}

// list writes names for people, at most so many.
func list(names []string, most int) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// maxNames bounds the search for the name that was meant.
const maxNames = 5000

// didYouMean is the hint for a name that is not there.
func didYouMean(name string, names []string) string {
	if len(names) > maxNames {
		return ""
	}
	if near := text.Nearest(name, names); near != "" && near != name {
		return fmt.Sprintf("did you mean %q?", near)
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) <= 12:
		return "known: " + strings.Join(names, ", ")
	}
	return ""
}
