package live

import (
	"encoding/json"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// plan answers the few questions that the tree has about a workflow.
type plan struct {
	def   *workflow.Definition
	nodes map[string]*workflow.Node // by path; nil where there is none
}

func newPlan(def *workflow.Definition) *plan {
	return &plan{def: def, nodes: map[string]*workflow.Node{}}
}

// node returns the node of a path such as "work/fix"; nil when the plan does
// not tell.
func (p *plan) node(path string) *workflow.Node {
	if p == nil {
		return nil
	}
	n, ok := p.nodes[path]
	if !ok {
		n = p.look(p.def.Body, strings.Split(path, "/"))
		p.nodes[path] = n
	}
	return n
}

func (p *plan) look(b workflow.Body, steps []string) *workflow.Node {
	n, ok := b.Nodes[steps[0]]
	switch {
	case !ok:
		return nil
	case len(steps) == 1:
		return &n
	}
	steps = steps[1:]
	switch n.Kind {
	case workflow.KindComponent:
		var c workflow.ComponentParams
		if json.Unmarshal(n.Params, &c) == nil {
			return p.look(p.def.Components[c.Ref], steps)
		}
	case workflow.KindMap:
		var m workflow.MapParams
		if json.Unmarshal(n.Params, &m) == nil {
			return p.look(p.body(m.Body), steps)
		}
	case workflow.KindParallel:
		var c workflow.ParallelParams
		if json.Unmarshal(n.Params, &c) == nil && len(steps) > 1 {
			return p.look(p.body(c.Branches[steps[0]]), steps[1:])
		}
	}
	return nil
}

func (p *plan) body(r workflow.BodyRef) workflow.Body {
	if r.Inline != nil {
		return *r.Inline
	}
	return p.def.Components[r.Name]
}

// leads reports whether an outcome leads to another node of the body; known is
// false when the plan does not tell.
func (p *plan) leads(path, outcome string) (leads, known bool) {
	n := p.node(path)
	if n == nil {
		return false, false
	}
	return n.Ends[outcome] != nil, true
}

// wired reports whether an outcome has an edge, which may lead to nothing.
func (p *plan) wired(path, outcome string) bool {
	n := p.node(path)
	if n == nil {
		return true
	}
	_, ok := n.Ends[outcome]
	return ok
}

// branches returns how many branches a map or parallel has; 0 is not known.
func (p *plan) branches(path string, s workflow.RunStarted) int {
	n := p.node(path)
	if n == nil {
		return 0
	}
	switch n.Kind {
	case workflow.KindParallel:
		var c workflow.ParallelParams
		if json.Unmarshal(n.Params, &c) == nil {
			return len(c.Branches)
		}
	case workflow.KindMap:
		var m workflow.MapParams
		if json.Unmarshal(n.Params, &m) == nil {
			return items(m.Over, s)
		}
	}
	return 0
}

// items counts what a map runs over, where the start of the run tells it.
func items(m workflow.MapSource, s workflow.RunStarted) int {
	raw := m.Items
	switch {
	case m.Name == "repositories":
		return len(s.Options.Repositories)
	case m.Name == "tickets":
		raw = s.Launch.Tickets.JSON
	case strings.HasPrefix(m.Expr, "$inputs."):
		var in map[string]json.RawMessage
		if json.Unmarshal(s.Inputs.JSON, &in) == nil {
			raw = in[strings.TrimPrefix(m.Expr, "$inputs.")]
		}
	}
	var list []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return 0
	}
	return len(list)
}
