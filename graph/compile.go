package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

// Config is what graphs are compiled with.
type Config struct {
	Pieces    *piece.Registry
	Backend   func(provider string) (executor.Capabilities, bool)
	Providers []string
}

// Factory makes Programs of definitions. It keeps compiled definitions, so that
// many runs of one document share them.
type Factory struct {
	cfg   Config
	plans sync.Map // workflow.Digest → *plan
}

// New returns a Factory.
func New(cfg Config) *Factory { return &Factory{cfg: cfg} }

type plan struct {
	level      int
	root       *body
	components map[string]*body
}

type body struct {
	name        string
	entry       string
	nodes       map[string]*node
	max         int
	onExhausted string
	inputs      []string
}

type node struct {
	name      string
	kind      string
	params    json.RawMessage
	templated bool
	open      json.RawMessage            // templated: the params that are interpolated
	frozen    map[string]json.RawMessage // templated: the others
	ends      map[string]*string
	retry     workflow.Retry
	label     string
	group     string
	traits    piece.Traits
	control   any // typed params of a control kind
	expr      *expr.Expr
	bodies    map[string]*body // parallel branches; "" is the body of a component or map
	component bool             // a component, or a kind that stands for a body
	private   string           // name of its private state in the scope
}

// standIn are the params of a kind that stands for a body: its variables.
type standIn map[string]json.RawMessage

// New returns the Program of a run of a graph.
func (f *Factory) New(run workflow.RunID, start workflow.RunStarted, values workflow.Values) (workflow.Program, error) {
	pl, err := f.plan(start, values)
	if err != nil {
		return nil, fmt.Errorf("compiling workflow %s: %w", start.Workflow.Name, err)
	}
	return newProgram(run, start, pl, values), nil
}

func (f *Factory) plan(start workflow.RunStarted, values workflow.Values) (*plan, error) {
	opts := start.Options
	pins, err := json.Marshal([]any{opts.Roles, opts.Backends, opts.Providers})
	if err != nil {
		return nil, err
	}
	key := string(start.Workflow.Digest) + string(pins)
	if pl, ok := f.plans.Load(key); ok {
		return pl.(*plan), nil
	}
	doc, err := values.Load(start.Workflow.Digest)
	if err != nil {
		return nil, err
	}
	var def workflow.Definition
	if err := json.Unmarshal(doc, &def); err != nil {
		return nil, err
	}
	c := compiler{cfg: f.cfg, def: &def, plan: &plan{level: def.SchemaVersion, components: map[string]*body{}}}
	c.env = piece.Env{
		Level: def.SchemaVersion, Roles: opts.Roles, Declared: def.Roles, Backend: f.cfg.Backend, Providers: f.cfg.Providers, Routed: opts.Routed,
		Pinned: true,
	}
	if len(opts.Backends) > 0 {
		c.env.Backend = func(name string) (executor.Capabilities, bool) { return opts.Backend(name, f.cfg.Backend) }
	}
	if len(opts.Providers) > 0 {
		c.env.Providers = opts.Providers
	}
	if c.plan.root, err = c.body("", &def.Body); err != nil {
		return nil, err
	}
	f.plans.Store(key, c.plan)
	return c.plan, nil
}

type compiler struct {
	cfg  Config
	def  *workflow.Definition
	env  piece.Env
	plan *plan
}

func (c *compiler) body(name string, b *workflow.Body) (*body, error) {
	out := &body{
		name: name, entry: b.Entry, max: b.MaxTransitions, onExhausted: b.OnExhausted, inputs: b.InputNames,
		nodes: make(map[string]*node, len(b.Nodes)),
	}
	if name == "" {
		out.max = 0 // the root's bound is the run's
	}
	for key, n := range b.Nodes {
		compiled, err := c.node(key, n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", strings.TrimPrefix(name+"/"+key, "/"), err)
		}
		out.nodes[key] = compiled
	}
	return out, nil
}

func (c *compiler) component(ref workflow.BodyRef) (*body, error) {
	if ref.Inline != nil {
		return c.body("inline", ref.Inline)
	}
	if b := c.plan.components[ref.Name]; b != nil {
		return b, nil
	}
	def, ok := c.def.Components[ref.Name]
	if !ok {
		return nil, workflow.Errorf(workflow.CodeComponentNotFound, "component %q is not defined", ref.Name)
	}
	b, err := c.body(ref.Name, &def)
	if err != nil {
		return nil, err
	}
	c.plan.components[ref.Name] = b
	return b, nil
}

func (c *compiler) node(name string, n workflow.Node) (*node, error) {
	out := &node{
		name: name, kind: n.Kind, params: n.Params, ends: n.Ends, retry: n.Retry, label: n.Label, group: n.Group,
		templated: bytes.Contains(n.Params, []byte("{{")),
	}
	p, ok := c.cfg.Pieces.Get(n.Kind)
	if !ok {
		return nil, workflow.Errorf(workflow.CodeUnknownPiece, "kind %q is not registered in this program", n.Kind)
	}
	var err error
	if out.traits, err = c.describe(p, out); err != nil {
		return nil, err
	}
	if out.private = name; out.traits.Shares != "" {
		out.private = "$" + out.traits.Shares // no node can have this name
	}
	if err := c.control(out); err != nil {
		return nil, err
	}
	if p.Body != nil {
		if err := c.standIn(p, out); err != nil {
			return nil, err
		}
	}
	return out, freeze(out)
}

// frozen are params that are never interpolated: they are code, or describe
// values. Bodies written in place have nodes and templates of their own.
var frozen = []string{"expr", "continueWhen", "captureVars", "schema", "structuredOutput", "branches"}

// freeze splits the params of a templated node into what is interpolated and
// what is not.
func freeze(n *node) error {
	if !n.templated {
		return nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(n.params, &m); err != nil {
		return err
	}
	for _, name := range frozen {
		if raw, ok := m[name]; ok {
			put(&n.frozen, name, raw)
			delete(m, name)
		}
	}
	if p, ok := n.control.(workflow.MapParams); ok && p.Over.Expr != "" {
		put(&n.frozen, "over", m["over"])
		delete(m, "over")
	}
	if raw := m["body"]; len(raw) > 0 && raw[0] == '{' {
		delete(m, "body") // compiled already
	}
	delete(n.frozen, "branches")
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	n.open, n.templated = raw, bytes.Contains(raw, []byte("{{"))
	return nil
}

// thaw joins interpolated params with the frozen ones.
func (n *node) thaw(open json.RawMessage) (json.RawMessage, error) {
	if len(n.frozen) == 0 {
		return open, nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(open, &m); err != nil {
		return nil, err
	}
	maps.Copy(m, n.frozen)
	return json.Marshal(m)
}

// describe derives the traits of a node. Params that are one token have their
// type only at run time: where they do not fit as text, they are left out.
func (c *compiler) describe(p piece.Piece, n *node) (piece.Traits, error) {
	traits, problems := p.Describe(n.params, c.env)
	if bad := firstError(problems); bad != nil && n.templated {
		if raw, err := withoutTokens(n.params); err == nil {
			if again, others := p.Describe(raw, c.env); firstError(others) == nil {
				return again, nil
			}
		}
	}
	if bad := firstError(problems); bad != nil {
		return traits, workflow.Errorf(bad.Code, "%s", bad.Message).WithHint("%s", bad.Hint)
	}
	return traits, nil
}

func firstError(problems []piece.Problem) *piece.Problem {
	for i := range problems {
		if !problems[i].Warning {
			return &problems[i]
		}
	}
	return nil
}

func withoutTokens(params json.RawMessage) (json.RawMessage, error) {
	var m map[string]any
	if err := json.Unmarshal(params, &m); err != nil {
		return nil, err
	}
	maps.DeleteFunc(m, func(_ string, v any) bool {
		s, ok := v.(string)
		return ok && strings.HasPrefix(s, "{{") && strings.HasSuffix(s, "}}")
	})
	return json.Marshal(m)
}

// control decodes the params of the kinds that the graph carries out itself.
func (c *compiler) control(n *node) error {
	var err error
	switch n.kind {
	case workflow.KindCondition:
		p := decode[workflow.ConditionParams](n, &err)
		if err == nil {
			n.expr, err = expr.Parse(p.Expr, c.plan.level)
		}
	case workflow.KindAssign:
		decode[workflow.AssignParams](n, &err)
	case workflow.KindEnd:
		decode[workflow.EndParams](n, &err)
	case workflow.KindJoin:
		decode[workflow.JoinParams](n, &err)
	case workflow.KindWait:
		decode[workflow.WaitParams](n, &err)
	case workflow.KindWorkflow:
		decode[workflow.WorkflowParams](n, &err)
	case workflow.KindComponent:
		p := decode[workflow.ComponentParams](n, &err)
		n.component = true
		err = c.single(n, workflow.BodyRef{Name: p.Ref}, err)
	case workflow.KindMap:
		p := decode[workflow.MapParams](n, &err)
		err = c.single(n, p.Body, err)
	case workflow.KindParallel:
		p := decode[workflow.ParallelParams](n, &err)
		n.bodies = make(map[string]*body, len(p.Branches))
		for name, ref := range p.Branches {
			if err == nil {
				n.bodies[name], err = c.component(ref)
			}
		}
	}
	return err
}

// standIn compiles the body that a kind stands for.
func (c *compiler) standIn(p piece.Piece, n *node) error {
	b, err := p.Body(n.params)
	if err == nil {
		decode[standIn](n, &err)
	}
	n.component = true
	return c.single(n, workflow.BodyRef{Inline: &b}, err)
}

func (c *compiler) single(n *node, ref workflow.BodyRef, err error) error {
	if err != nil {
		return err
	}
	b, err := c.component(ref)
	n.bodies = map[string]*body{"": b}
	return err
}

// decode reads typed params once; templated ones are read again per visit.
func decode[T any](n *node, err *error) T {
	var p T
	if *err == nil {
		if *err = json.Unmarshal(n.params, &p); *err == nil {
			n.control = p
		}
	}
	return p
}

// params returns the typed params of a visit.
func params[T any](v *visit) (T, error) {
	if !v.node.templated {
		if p, ok := v.node.control.(T); ok {
			return p, nil
		}
	}
	var p T
	if err := json.Unmarshal(v.params, &p); err != nil {
		return p, workflow.Errorf(workflow.CodeInvalidPieceParams, "params of %s after interpolation: %w", v.path(), err)
	}
	return p, nil
}
