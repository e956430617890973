package tenon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/piece/agent"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/routing"
	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/runcontext/mount"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// Check resolves an agent or a composition of a file with all that it refers to,
// without a lock, and tries its workspace and its models. Nil and no error is what
// it gives for anything else, and for what cannot be read.
func (a *Agents) Check(it *composition.Item, draft bool) (r *composition.Resolution, err error) {
	o := composition.Options{Draft: draft}
	switch {
	case it.Err != nil: // the item tells it
	case it.Kind == composition.KindComposition:
		if r, err = composition.ResolveItem(a.Catalog, it, o); err == nil {
			_, err = workspaceOf(r)
		}
	case it.Kind == composition.KindAgent:
		r, err = composition.ResolveAgent(a.Catalog, it.Ref(), o)
	}
	if r != nil && err == nil {
		err = unheld(r)
		r.Warnings = append(r.Warnings, a.Modelless(r)...)
	}
	return r, err
}

// workspaceOf compiles the workspace block of a composition; nil without one. Its
// findings have the places of the file.
func workspaceOf(r *composition.Resolution) (*runcontext.Manifest, error) {
	if len(r.Composition.Workspace) == 0 {
		return nil, nil
	}
	block, err := compiled(r.Composition.Workspace)
	var found source.Errors
	if err == nil {
		found = unselected(r.Composition.Workspace)
	}
	if len(found) == 0 && !errors.As(err, &found) {
		return block, err
	}
	at := slices.IndexFunc(r.Items, func(it *composition.Item) bool {
		return it.Kind == composition.KindComposition && it.Slug == r.Composition.Slug
	})
	placed := slices.Clone(found)
	for i, e := range placed {
		e.Message = "workspace" + e.Pointer + ": " + e.Message
		if at >= 0 {
			p := r.Items[at].Position("/workspace" + e.Pointer)
			e.File, e.Line, e.Column, e.Pointer, e.Excerpt = p.File, p.Line, p.Column, p.Pointer, p.Excerpt
		}
		placed[i] = e
	}
	slices.SortStableFunc(placed, func(a, b source.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return nil, &workflow.Error{Code: workflow.CodeInvalidWorkspace, Msg: placed.Error(), Err: placed}
}

// unheld refuses agents that are kept from the network, by reach or egress, and may
// still run commands: nothing here holds the network of those.
func unheld(r *composition.Resolution) error {
	var found source.Errors
	r.Composition.Root.Walk(func(path string, n *composition.ResolvedNode) {
		c := n.Capability()
		planes, err := r.Composition.Planes(strings.Split(path, "/")[1:]...)
		said := bounds.Compose(append(planes, narrowed(r.Composition.Workspace)...)...)
		if err != nil || c.Egress == nil && c.Reach != bounds.ReachSandbox || said.Denies(bashName) {
			return
		}
		what := "reach: sandbox"
		if c.Egress != nil {
			what = "egress"
		}
		e := source.Error{File: r.Composition.Slug}
		for _, it := range r.Items {
			if it.Composition != nil && it.Composition.Capability != nil || it.Agent != nil && it.Agent.Capability != nil && it.Digest == n.Agent.Digest {
				e = it.Position("/capability")
			}
		}
		e.Code, e.Message = composition.FindingValue, fmt.Sprintf("%s of the agent %s cannot be held: this version does not confine the network of commands", what, n.Name())
		e.Hint = "deny commands with capability: {denies: [exec]}, or leave it out"
		found = append(found, e)
	})
	if len(found) == 0 {
		return nil
	}
	return &workflow.Error{Code: workflow.CodeInvalidComposition, Msg: found.Error(), Err: found}
}

// Modelless warns of models of a resolved tree that are not there, as the model
// matrix of the project is now.
func (a *Agents) Modelless(r *composition.Resolution) source.Errors {
	m, err := a.t.Models()
	if err != nil {
		return nil //nolint:nilerr // whoever needs a model is told
	}
	var out source.Errors
	var walk func(n *composition.ResolvedNode)
	walk = func(n *composition.ResolvedNode) {
		if name, override := n.Model(); name != "" {
			if _, err := m.Resolve(name, ""); err != nil {
				e := source.Error{File: r.Composition.Slug, Pointer: "/model"}
				for _, it := range r.Items {
					if it.Kind == composition.KindAgent && it.Digest == n.Agent.Digest && !override {
						e = it.Position("/model")
					} else if override && it.Kind == composition.KindComposition {
						e = it.Position("/root")
					}
				}
				e.Code, e.Message = string(workflow.CodeOf(err)), fmt.Sprintf("the agent %s cannot run: %v", n.Name(), err)
				out = append(out, e)
			}
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	if r.Composition.Root != nil {
		walk(r.Composition.Root)
	}
	return out
}

// modelled refuses a workflow with an agent for which, or for one below it, there
// is no model, or none with a price where a limit of money holds.
func (t *Tenon) modelled(s *session, w *Workflow, money float64) error {
	if w == nil || w.Definition == nil {
		return nil
	}
	money = cmp.Or(money, w.Definition.Budget.MaxCostUSD)
	for _, n := range w.Nodes {
		var p struct {
			Agent, Composition, Model, Group string
			Limits                           *workflow.AgentLimits
		}
		if err := t.paid(s, w, n, money); err != nil {
			return err
		}
		if n.Kind != agent.Kind || json.Unmarshal(paramsOf(w.Definition, n), &p) != nil {
			continue
		}
		m := s.Team[teamKey(agent.Name{Agent: p.Agent, Composition: p.Composition})]
		if m == nil || strings.Contains(p.Model+p.Group, "{{") {
			continue
		}
		turn := executor.Turn{Model: p.Model, Route: m.route(p.Group)}
		turn.Route.Agent = m.Name // as the piece asks
		turn.Limits = costly(p.Limits, &workflow.AgentLimits{MaxCostUSD: positive(money)})
		if err := t.decidable(s, m, turn); err != nil {
			return fmt.Errorf("node %s of %s, %w", n.Node, w.Name, err)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(w.Children)) {
		if err := t.modelled(s, w.Children[ref], money); err != nil {
			return err
		}
	}
	return nil
}

// paid refuses a node without an agent whose model, as the matrix chooses it, has no
// price, where a limit of money holds.
func (t *Tenon) paid(s *session, w *Workflow, n load.NodeInfo, money float64) error {
	var p struct{ RoleID string }
	if money <= 0 || !slices.Contains([]string{"prompt", "role-turn", "decider"}, n.Kind) {
		return nil
	}
	if json.Unmarshal(paramsOf(w.Definition, n), &p) != nil || strings.Contains(n.Traits.Provider+n.Traits.Model+p.RoleID, "{{") {
		return nil //nolint:nilerr // what is not known yet is told by the turn
	}
	turn := executor.Turn{Role: p.RoleID, Model: n.Traits.Model}
	if n.Kind == "decider" {
		turn.Route.Purpose = n.Kind
	}
	d, err := s.matrix.Decide(t.request(s, n.Traits.Provider, turn))
	if err != nil || t.backends.priced(d.Models[0].Provider, d.Models[0].Model) {
		return nil //nolint:nilerr // the turn is told
	}
	return fmt.Errorf("node %s of %s: %w", n.Node, w.Name, unpriced(d.Models[0]))
}

// rehearse tries the workspaces of agents whose inputs are known, before there is a
// run.
func (t *Tenon) rehearse(ctx context.Context, s *session, w *Workflow) error {
	if w == nil || w.Definition == nil {
		return nil
	}
	for _, n := range w.Nodes {
		var p struct {
			Agent, Composition  string
			Deliverable, Inputs json.RawMessage
			Overlays            []string
		}
		if n.Kind != agent.Kind || json.Unmarshal(paramsOf(w.Definition, n), &p) != nil {
			continue
		}
		key := teamKey(agent.Name{Agent: p.Agent, Composition: p.Composition})
		if m := s.Team[key]; m == nil || len(m.Workspace) == 0 || strings.Contains(string(p.Inputs)+string(p.Deliverable)+strings.Join(p.Overlays, ""), "{{") {
			continue
		}
		o := agent.Order{Agent: agent.Agent{Def: key}, Deliverable: p.Deliverable, Overlays: p.Overlays, Inputs: p.Inputs}
		o.Frame.Repositories, o.Frame.Node = t.Project.Repositories(), n.Node
		sc, err := t.scene(s, o)
		if err == nil {
			_, err = mount.Survey(ctx, sc.entries, mount.Limits{})
		}
		if err != nil {
			return fmt.Errorf("node %s of %s: %w", n.Node, w.Name, err)
		}
	}
	return nil
}

func positive(n float64) *float64 {
	if n > 0 {
		return &n
	}
	return nil
}

// decidable tries the models of an agent and of all below it.
func (t *Tenon) decidable(s *session, m *member, turn executor.Turn) error {
	turn.Limits = costly(m.Limits, turn.Limits)
	d, err := s.matrix.Decide(t.request(s, "", turn))
	if err == nil && turn.Limits != nil && !t.backends.priced(d.Models[0].Provider, d.Models[0].Model) {
		err = unpriced(d.Models[0])
	}
	if err != nil {
		return fmt.Errorf("agent %s: %w", m.Name, err)
	}
	for _, c := range m.Children {
		below := executor.Turn{Route: c.route(turn.Route.Group), Limits: turn.Limits}
		below.Route.Parent = d.Models[0].String()
		if err := t.decidable(s, c, below); err != nil {
			return fmt.Errorf("agent %s: %w", m.Name, err)
		}
	}
	return nil
}

func unpriced(m routing.Model) error {
	return workflow.Errorf(workflow.CodeCostUnknown, "the price of model %s of provider %s is not known, so a limit of money cannot hold", cmp.Or(m.Model, "by default"), m.Provider).
		WithHint("give it a price in " + project.Folder + "/" + modelsFile + ", or limit tokens instead")
}

// route is what the choice of an agent's model depends on.
func (m *member) route(group string) executor.Route {
	w := executor.Route{Agent: m.Slug, Group: group, Skill: m.Skill}
	if m.Override {
		w.Composition = m.Model
	} else {
		w.Preferred = m.Model
	}
	return w
}
