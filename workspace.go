package tenon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/shelf"
	"github.com/tenonrun/tenon/deliverable"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/piece/agent"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/runcontext/mount"
	"github.com/tenonrun/tenon/workflow"
)

// Names below the directory of a visit, and below the project's folder.
const (
	workspaceDir = "ws"
	overlaysDir  = "overlays"
)

// spaceEnv tells commands of an agent where its workspace is.
const spaceEnv = "TENON_WORKSPACE"

// scene is what the context of an agent is made from.
type scene struct {
	agent        *member
	frame        struct{ workflow, node string }
	repos        []workflow.RepositoryInfo
	spec         *deliverable.Spec
	contract     *runcontext.Contract
	overlays     []runcontext.Applied
	workspace    *runcontext.Workspace
	model        json.RawMessage
	instructions string // of the repository
	entries      []runcontext.Entry
}

// prepare makes the workspace of a visit of an agent.
func (t *Tenon) prepare(ctx context.Context, o agent.Order) (agent.Workspace, error) {
	s, err := t.session(ctx, o.Frame.Run)
	if err != nil {
		return agent.Workspace{}, err
	}
	sc, err := t.scene(s, o)
	if err != nil {
		return agent.Workspace{}, err
	}
	dir := filepath.Join(o.Dir, workspaceDir)
	staged, err := mount.Stage(ctx, dir, sc.entries, mount.Limits{})
	if err != nil {
		return agent.Workspace{}, err
	}
	rendered, err := t.render(sc, staged.Plan())
	if err != nil {
		return agent.Workspace{}, errors.Join(err, staged.Discard())
	}
	ws, err := staged.Commit(ctx, rendered)
	if err != nil {
		return agent.Workspace{}, err
	}
	out := agent.Workspace{
		Dir: ws.Dir, Spec: sc.spec, Digest: rendered.ContextHash, Closed: ws.ReadOnly, Repos: map[string]string{},
		Instructions: rendered.AgentsMD + "\nYour workspace is " + ws.Dir + "; tools take its paths in full, and commands find it in $" + spaceEnv + ". Everything starts in the repository.\n",
	}
	for _, r := range sc.repos {
		out.Repos[r.ID] = r.Path
	}
	if sc.workspace != nil {
		if out.Env, out.Warnings, err = t.environ(sc.workspace); err != nil {
			return out, err
		}
		out.Warnings = append(out.Warnings, unmounted(sc.workspace)...)
	}
	if out.Env == nil {
		out.Env = map[string]string{}
	}
	out.Env[spaceEnv] = ws.Dir
	return out, nil
}

// environ fills in the variables of a workspace, credentials from the environment.
func (t *Tenon) environ(w *runcontext.Workspace) (map[string]string, []string, error) {
	have, keys := map[string]string{}, t.backends.keys()
	for _, c := range w.Credentials {
		if slices.Contains(keys, c.Name) {
			return nil, nil, workflow.Errorf(workflow.CodeInvalidWorkspace, "the credential %s is the key of a model provider, which no agent is given", c.Name).
				WithHint("take it out of the workspace; what an agent needs of its own has a variable of its own")
		}
		if value := t.cfg.Getenv(c.Name); value != "" {
			have[c.Name] = value
		}
	}
	list, missing, err := w.Environ(have)
	if err != nil {
		return nil, nil, err
	}
	env := map[string]string{}
	for _, v := range list {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	var warnings []string
	for _, m := range missing {
		warnings = append(warnings, "the credential "+m+" is not there; variables that need it are left out")
	}
	return env, warnings, nil
}

// scene gathers what the context of a visit is made from.
func (t *Tenon) scene(s *session, o agent.Order) (*scene, error) {
	m := s.member(o.Agent.Def)
	if m == nil {
		return nil, workflow.Errorf(workflow.CodeRoleNotFound, "the run knows no agent %s", o.Agent.Def)
	}
	sc := &scene{agent: m, repos: o.Frame.Repositories}
	sc.frame.node = o.Frame.Node
	if s.AgentsMD != nil {
		sc.instructions = *s.AgentsMD
	} else {
		var err error
		if sc.instructions, err = t.readAgentsMD(); err != nil {
			return nil, err
		}
	}
	if err := s.contract(sc, o); err != nil {
		return nil, err
	}
	switch {
	case len(m.Workspace) > 0 && string(m.Workspace) != "null":
		block, err := compiled(m.Workspace)
		if err == nil {
			sc.workspace, err = block.Bind(o.Inputs, "workflow")
		}
		if err != nil {
			return nil, err
		}
	}
	d, err := s.matrix.Decide(t.request(s, "", executor.Turn{Route: executor.Route{Agent: m.Slug, Preferred: m.Model}}))
	if err == nil { // what is wrong is told when the turn asks
		if sc.model, err = json.Marshal(d.Choice); err != nil {
			return nil, err
		}
	}
	return sc, t.mounts(sc, o.Inputs)
}

// contract finds the specification of a deliverable, with its overlays.
func (s *session) contract(sc *scene, o agent.Order) error {
	p, err := s.promise(o.Deliverable, o.Overlays)
	if err != nil || p.spec == nil {
		return err
	}
	sc.spec, sc.contract, sc.overlays = p.spec, &p.contract, p.overlays
	return nil
}

// mounts lists what stands in the workspace.
func (t *Tenon) mounts(sc *scene, inputs json.RawMessage) error {
	if sc.workspace != nil {
		if err := t.templates(sc); err != nil {
			return err
		}
		read, err := t.references(sc.workspace)
		if err != nil {
			return err
		}
		sc.entries = append(sc.workspace.Entries(), read...)
	} else {
		if len(inputs) == 0 {
			inputs = json.RawMessage("{}")
		}
		sc.entries = []runcontext.Entry{runcontext.Literal(runcontext.SlotInputs, "inputs.json", inputs)}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(sc.entries, func(e runcontext.Entry) bool { return e.Path == name })
	}
	if dir := runcontext.SlotDeliverables.Dir(); sc.spec != nil && !has(dir) {
		sc.entries = append(sc.entries, runcontext.Entry{Path: dir, Slot: runcontext.SlotDeliverables, Mode: runcontext.ReadWrite})
	}
	if sc.spec != nil {
		raw, err := json.MarshalIndent(sc.spec, "", "  ")
		if err != nil {
			return err
		}
		e := runcontext.Literal(runcontext.SlotDeliverableSpecs, sc.spec.Slug+".json", raw)
		e.Source = &runcontext.Source{Kind: "spec", Ref: sc.contract.Ref, Version: sc.spec.Version}
		sc.entries = append(sc.entries, e)
	}
	for _, r := range sc.repos {
		sc.entries = append(sc.entries, runcontext.Entry{
			Path: path.Join(runcontext.SlotRepos.Dir(), r.ID), Slot: runcontext.SlotRepos, Mode: runcontext.ReadWrite, Origin: r.Path,
			Source: &runcontext.Source{Kind: "work-tree", Ref: r.ID},
		})
	}
	return t.skills(sc)
}

// skills adds the files of the agent's skills, as they were published.
func (t *Tenon) skills(sc *scene) error {
	for _, s := range sc.agent.Skills {
		list, read, err := t.skill(s)
		if err != nil {
			return fmt.Errorf("the skill %s@%s: %w", s.Slug, s.Version, err)
		}
		dir := strings.TrimPrefix(path.Dir(runcontext.SkillPath(s.Slug)), runcontext.SlotAgent.Dir()+"/")
		for _, f := range list {
			content, err := read(f)
			if err != nil {
				return fmt.Errorf("the skill %s@%s: %s: %w", s.Slug, s.Version, f.Path, err)
			}
			e := runcontext.Literal(runcontext.SlotAgent, path.Join(dir, f.Path), content)
			e.Source = &runcontext.Source{Kind: "skill", Ref: s.Slug, Version: s.Version}
			sc.entries = append(sc.entries, e)
		}
	}
	return nil
}

// skill returns the files of a skill and how to read them: as it was published,
// or, where it never was, as it is in the project now.
func (t *Tenon) skill(s pinnedSkill) ([]composition.File, func(composition.File) ([]byte, error), error) {
	sh := shelf.New(filepath.Join(t.Project.Home, shelfDir))
	raw, err := sh.Fetch(s.Digest)
	if err == nil {
		var list struct{ Files []composition.File }
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, nil, workflow.Errorf(workflow.CodeStoreDamaged, "reading its files: %w", err)
		}
		return list.Files, func(f composition.File) ([]byte, error) { return sh.Fetch(f.SHA256) }, nil
	}
	a, aerr := t.agents()
	if aerr != nil {
		return nil, nil, errors.Join(err, aerr)
	}
	for _, it := range a.Items(composition.KindSkill) {
		if it.Digest == s.Digest && it.Skill != nil && !it.Stored {
			return it.Skill.Files, func(f composition.File) ([]byte, error) { return a.Files.ReadFile(it, f.Path) }, nil
		}
	}
	return nil, nil, err
}

// render renders the context of a scene.
func (t *Tenon) render(sc *scene, plan runcontext.Plan) (runcontext.Rendered, error) {
	m := sc.agent
	in := runcontext.Input{
		Workflow: sc.frame.workflow, Job: sc.frame.node, // the name of a project is that of a folder: another checkout has another
		Agent: runcontext.Agent{Slug: m.Slug, Version: m.Version, Prompt: m.Prompt},
		Model: sc.model, Tools: toolNames(), Denied: m.Denied, Selections: m.Selections,
		Contract: sc.contract, Overlays: sc.overlays, Plan: plan, Workspace: sc.workspace,
		Private: []string{t.Project.State, t.Project.Root},
	}
	if w := sc.workspace; w != nil {
		in.Agent.Role, in.Agent.Stage = w.Agent.Role, w.Agent.Stage
	}
	if m.Name != m.Slug {
		in.Agent.Alias = m.Name
	}
	for _, c := range m.Children {
		in.SubAgents = append(in.SubAgents, c.Name)
	}
	for _, s := range m.Skills {
		in.Skills = append(in.Skills, runcontext.Skill{Slug: s.Slug, Version: s.Version, SHA256: s.Digest, Description: s.Description})
	}
	var err error
	if m.Limits != nil {
		if in.Limits, err = json.Marshal(m.Limits); err != nil {
			return runcontext.Rendered{}, err
		}
	}
	if len(m.Rules) > 0 {
		rules := make([]string, len(m.Rules))
		for i := range m.Rules {
			rules[i] = m.Rules[i].String()
		}
		if in.Rules, err = json.Marshal(rules); err != nil {
			return runcontext.Rendered{}, err
		}
	}
	in.Instructions = sc.instructions
	return runcontext.Render(in)
}

// readAgentsMD reads the instructions that the repository has for agents; there may
// be none.
func (t *Tenon) readAgentsMD() (string, error) {
	raw, err := os.ReadFile(filepath.Join(t.Project.Root, runcontext.AgentsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the instructions of the repository: %w", err)
	}
	return string(raw), nil
}

// readOverlays reads the overlays of the project's specifications.
func (t *Tenon) readOverlays() ([]runcontext.Overlay, error) {
	dir := filepath.Join(t.Project.Root, project.Folder, overlaysDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading overlays: %w", err)
	}
	var list []runcontext.Overlay
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".json", ".yaml", ".yml":
		default:
			continue
		}
		name := filepath.Join(project.Folder, overlaysDir, e.Name())
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading overlays: %w", err)
		}
		doc, err := source.Parse(name, data, source.Limits{})
		if err != nil {
			return nil, err
		}
		var o runcontext.Overlay
		if err := doc.Decode(&o); err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalidArguments, "reading overlay %s: %w", name, err)
		}
		if o.ID == "" {
			o.ID = strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		}
		list = append(list, o)
	}
	return list, nil
}
