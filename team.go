package tenon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/piece/agent"
	"github.com/tenonrun/tenon/workflow"
)

// member is an agent as a run is pinned to it, with those that it may start.
type member struct {
	Name        string                `json:"name"`
	Slug        string                `json:"slug"`
	Version     string                `json:"version"`
	Digest      workflow.Digest       `json:"digest"` // of its definition
	Description string                `json:"description,omitempty"`
	Prompt      string                `json:"prompt"`
	Model       string                `json:"model,omitempty"`
	Override    bool                  `json:"override,omitempty"` // the composition names the model
	Turns       int                   `json:"turns,omitempty"`
	Skill       string                `json:"skill,omitempty"`
	Skills      []pinnedSkill         `json:"skills,omitempty"`
	Selections  []json.RawMessage     `json:"selections,omitempty"`
	Rules       []permission.Rule     `json:"rules,omitempty"`     // with those of all above it
	Denied      []string              `json:"denied,omitempty"`    // tools that it has and may not use
	Sandboxed   bool                  `json:"sandboxed,omitempty"` // nobody is asked whether it may do more than its fence allows
	Limits      *workflow.AgentLimits `json:"limits,omitempty"`    // that begin here
	Children    []*member             `json:"children,omitempty"`
	// Of the root of a tree.
	Tree       workflow.Digest `json:"tree,omitempty"` // of the resolved composition
	Workspace  json.RawMessage `json:"workspace,omitempty"`
	Capability json.RawMessage `json:"capability,omitempty"`
}

type pinnedSkill struct {
	Slug        string `json:"slug"`
	Version     string `json:"version"`
	Digest      string `json:"digest"`
	Description string `json:"description,omitempty"`
}

// Keys of the team of a run: agent:NAME and composition:REF.
func teamKey(n agent.Name) string {
	if n.Composition != "" {
		return "composition:" + n.Composition
	}
	return "agent:" + n.Agent
}

// member returns the agent of a definition's name: the key of its tree, and the
// names of the agents on the way down.
func (s *session) member(def string) *member {
	names := strings.Split(def, "/")
	m := s.Team[names[0]]
	for _, name := range names[1:] {
		if m == nil {
			return nil
		}
		i := slices.IndexFunc(m.Children, func(c *member) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		m = m.Children[i]
	}
	return m
}

// tree makes members of a resolved tree.
func tree(r *composition.Resolution) (*member, error) {
	described := map[string]string{}
	for _, it := range r.Items {
		described[string(it.Kind)+" "+it.Ref().String()] = it.Description()
	}
	if err := unheld(r); err != nil {
		return nil, err
	}
	m := grown(r.Composition.Root, narrowed(r.Composition.Workspace), described)
	d, err := r.Composition.Digest()
	if err != nil {
		return nil, fmt.Errorf("resolving %s: %w", r.Composition.Slug, err)
	}
	m.Tree, m.Workspace = workflow.Digest(d), r.Composition.Workspace
	m.Capability, err = json.Marshal(r.Composition.Capability)
	return m, err
}

func grown(n *composition.ResolvedNode, above []bounds.Plane, described map[string]string) *member {
	planes := append(slices.Clip(above), n.Planes()...)
	said := bounds.Compose(planes...)
	m := &member{
		Name: n.Name(), Slug: n.Agent.Slug, Version: n.Agent.Version, Digest: workflow.Digest(n.Agent.Digest), Prompt: n.Prompt(),
		Description: described[string(composition.KindAgent)+" "+n.Agent.Ref().String()], Rules: said.Rules, Denied: said.Denied,
	}
	m.Model, m.Override = n.Model()
	m.Sandboxed = n.Capability().Reach == bounds.ReachSandbox
	if n.Declared {
		m.Limits = n.Limits.Agent()
	}
	if def := n.Definition; def != nil {
		m.Turns, m.Skill, m.Description = def.MaxTurns, def.Skill, cmp.Or(m.Description, def.Description)
	}
	for _, s := range n.Skills {
		m.Skills = append(m.Skills, pinnedSkill{s.Slug, s.Version, s.Digest, described[string(composition.KindSkill)+" "+s.Ref().String()]})
	}
	for _, sel := range n.Selected() {
		if raw, err := json.Marshal(sel); err == nil { // plain data always encodes
			m.Selections = append(m.Selections, raw)
		}
	}
	for _, c := range n.Children {
		m.Children = append(m.Children, grown(c, planes, described))
	}
	return m
}

// writes reports whether an agent may write files.
func (m *member) writes() bool {
	return !slices.Contains(m.Denied, "write") || !slices.Contains(m.Denied, "edit")
}

// gather resolves the agents that a run may need: those that its workflows name,
// which must be there, and those of the project that a turn may start. What they
// stand for comes into pinned.
func (t *Tenon) gather(ctx context.Context, q Request, names []agent.Name, pinned *composition.Lock) (map[string]*member, []string, error) {
	a, err := t.Agents(ctx)
	if err != nil {
		return nil, nil, err
	}
	if a.torn != nil && !q.Draft {
		return nil, nil, a.torn
	}
	if err := a.update(q, names); err != nil {
		return nil, nil, err
	}
	team, warnings := map[string]*member{}, []string{}
	add := func(key string, r *composition.Resolution) error {
		m, err := tree(r)
		if err == nil && !q.dry {
			err = a.keep(r.Items)
		}
		if err == nil {
			team[key] = m
			*pinned = *pinned.Merge(r.Lock)
		}
		for _, d := range r.Drafts {
			warnings = append(warnings, d+" is a draft: the run is not reproducible")
		}
		return err
	}
	for _, n := range names {
		r, err := q.site.resolve(a, n, a.options(q.Draft))
		if err == nil {
			_, err = workspaceOf(r)
		}
		if err == nil {
			err = add(teamKey(n), r)
		}
		if err != nil {
			return nil, nil, err
		}
		for _, w := range r.Warnings {
			warnings = append(warnings, w.Error())
		}
		warnings = append(warnings, a.hiding(r.Items)...)
	}
	loose := a.options(q.Draft)
	loose.Loose = true
	for _, it := range a.Items(composition.KindAgent) {
		key := teamKey(agent.Name{Agent: it.Name()})
		if team[key] != nil || it.Stored {
			continue
		}
		r, err := composition.ResolveAgent(a.Catalog, composition.Ref{Org: it.Org, Slug: it.Slug}, loose)
		if err == nil {
			err = add(key, r)
		}
		if err != nil && it.Lifecycle != composition.Draft {
			warnings = append(warnings, fmt.Sprintf("the agent %s is left out: %v", it.Name(), err))
		}
	}
	return team, warnings, nil
}

// named are the agents and compositions that the nodes of a workflow and of its
// children name.
func named(w *Workflow) []agent.Name {
	if w == nil {
		return nil
	}
	var list []agent.Name
	for _, n := range w.Nodes {
		var p struct{ Agent, Composition string }
		if n.Kind == agent.Kind && json.Unmarshal(paramsOf(w.Definition, n), &p) == nil && !slices.Contains(list, agent.Name(p)) {
			list = append(list, agent.Name(p))
		}
	}
	for _, c := range w.Children {
		for _, n := range named(c) {
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	return list
}

// mentions reports whether a name stands anywhere in a workflow or its children.
func (w *Workflow) mentions(name string) bool {
	if bytes.Contains(w.Document, []byte(`"`+name+`"`)) {
		return true
	}
	for _, c := range w.Children {
		if c.mentions(name) {
			return true
		}
	}
	return false
}

// findAgent returns the agent that a node names, as the run is pinned to it.
func (t *Tenon) findAgent(ctx context.Context, run workflow.RunID, n agent.Name) (agent.Agent, error) {
	s, err := t.session(ctx, run)
	if err != nil {
		return agent.Agent{}, err
	}
	key := teamKey(n)
	m := s.Team[key]
	if m == nil {
		return agent.Agent{}, workflow.Errorf(workflow.CodeRoleNotFound, "run %s knows no %s", run, strings.Replace(key, ":", " ", 1)).
			WithHint("name it in the workflow without tokens, so that it is resolved when the run begins")
	}
	return agent.Agent{
		Def: key, Name: m.Name, Version: m.Version, Digest: m.Tree, Model: m.Model, Node: m.Override, Limits: m.Limits, Turns: m.Turns, Skill: m.Skill, Prompt: m.Prompt,
	}, nil
}

// knowsAgent says why a name leads nowhere, before there is a run.
func (t *Tenon) knowsAgent(n agent.Name) error {
	_, err := t.known(n)
	return err
}

// agentRoles adds the agents of the project to the roles: a role that is not
// configured names an agent. With a workflow, only those that it may name.
func (t *Tenon) agentRoles(roles map[string]workflow.Role, w *Workflow) map[string]workflow.Role {
	a, err := t.agents()
	if err != nil {
		return roles // it is told where a run needs it
	}
	loose := a.options(false)
	loose.Loose = true
	for _, it := range a.Items(composition.KindAgent) {
		if _, there := roles[it.Name()]; there || it.Lifecycle != composition.Published || it.Stored || w != nil && !w.mentions(it.Name()) {
			continue
		}
		r, err := composition.ResolveAgent(a.Catalog, composition.Ref{Org: it.Org, Slug: it.Slug}, loose)
		if err != nil {
			continue
		}
		m, err := tree(r)
		if err != nil {
			continue
		}
		role := workflow.Role{Access: workflow.EffectRead, Prompt: m.Prompt, Model: m.Model}
		if m.writes() {
			role.Access = workflow.EffectWrite
		}
		roles[it.Name()] = role
	}
	return roles
}
