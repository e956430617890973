package tenon

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/piece/agent"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/workflow"
)

// site is a workspace manifest in which an agent, or the root of a composition,
// works. What it says becomes the workspace of a composition.
type site struct {
	file     string
	manifest *runcontext.Manifest
	doc      json.RawMessage // with what it inherits
	bound    *runcontext.Workspace
}

// site reads a manifest and tries it with inputs; nil without a name.
func (t *Tenon) site(nameOrFile string, inputs json.RawMessage) (*site, error) {
	if nameOrFile == "" {
		return nil, nil
	}
	m, err := t.Manifest(nameOrFile)
	if err != nil {
		return nil, err
	}
	s := &site{file: nameOrFile, manifest: m}
	if s.doc, err = m.Document(); err != nil {
		return nil, err
	}
	if found := unselected(s.doc); len(found) > 0 {
		for i := range found {
			found[i].Pointer = "/spec" + found[i].Pointer
			found[i] = m.Locate(found[i])
		}
		return nil, &workflow.Error{Code: workflow.CodeInvalidWorkspace, Msg: found.Error(), Err: found}
	}
	s.bound, err = m.Bind(inputs, "workflow")
	return s, err
}

// complete fills in what the manifest says and nobody else did.
func (s *site) complete(name *string, composition string, deliverable *string) {
	if composition == "" {
		*name = cmp.Or(*name, s.bound.Agent.Slug)
	}
	*deliverable = cmp.Or(*deliverable, s.bound.Agent.SpecRef)
}

// resolve pins what a name stands for, in the site if there is one. What the site
// adds is taken from the lock where that has it.
func (s *site) resolve(a *Agents, n agent.Name, o composition.Options) (*composition.Resolution, error) {
	kind, name := composition.KindAgent, n.Agent
	if n.Composition != "" {
		kind, name = composition.KindComposition, n.Composition
	}
	r, err := a.Resolve(kind, name, o)
	if s == nil || err != nil {
		return r, err
	}
	it, err := s.item(r, n)
	if err != nil {
		return nil, err
	}
	o.Loose = true
	if r, err = composition.ResolveItem(a.Catalog, it, o); err != nil {
		return nil, s.placed(err)
	}
	r.Items = slices.DeleteFunc(r.Items, func(other *composition.Item) bool { return other == it }) // nobody wrote it
	return r, nil
}

// item is the composition that a manifest amounts to.
func (s *site) item(r *composition.Resolution, n agent.Name) (*composition.Item, error) {
	doc := map[string]any{}
	if n.Composition == "" {
		by := s.bound.Agent
		root := map[string]any{"agent": n.Agent}
		if by.DefaultModel != "" {
			root["modelOverride"] = by.DefaultModel
		}
		var children []map[string]any
		for _, c := range by.SubAgents {
			child := map[string]any{"agent": c.Slug}
			if c.Alias != "" {
				child["alias"] = c.Alias
			}
			if c.DefaultModel != "" {
				child["modelOverride"] = c.DefaultModel
			}
			children = append(children, child)
		}
		if children != nil {
			root["children"] = children
		}
		doc = map[string]any{"slug": s.manifest.Slug, "version": s.manifest.Version, "root": root}
	}
	for _, it := range r.Items {
		if n.Composition != "" && it.Kind == composition.KindComposition {
			if err := json.Unmarshal(it.Content, &doc); err != nil {
				return nil, fmt.Errorf("reading the composition %s: %w", n.Composition, err)
			}
		}
	}
	doc["workspace"] = s.doc
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	it := composition.ReadComposition(s.file, s.manifest.Slug, raw)
	it.Tier = composition.TierProject
	return &it, nil
}

// placed gives findings about the composition of a manifest their places in its
// file.
func (s *site) placed(err error) error {
	var found source.Errors
	if !errors.As(err, &found) {
		return err
	}
	out := slices.Clone(found)
	for i, e := range out {
		if e.File != s.file {
			continue
		}
		e.Line, e.Column, e.Excerpt = 0, 0, ""
		e.Pointer = strings.NewReplacer("/root/children/", "/spec/agent/subAgents/", "/root/modelOverride", "/spec/agent/defaultModel",
			"/root/agent", "/spec/agent/slug", "/workspace/spec", "/spec").Replace(e.Pointer)
		if strings.HasPrefix(e.Pointer, "/spec/agent/subAgents/") {
			e.Pointer = strings.Replace(e.Pointer, "/agent/slug", "/slug", 1)
		}
		out[i] = s.manifest.Locate(e)
	}
	return &workflow.Error{Code: workflow.CodeOf(err), Msg: s.file + " cannot be used:\n" + out.Error(), Err: out}
}

// compiled reads the workspace of a resolved composition: a manifest, or a block.
func compiled(workspace json.RawMessage) (*runcontext.Manifest, error) {
	if isDocument(workspace) {
		return runcontext.Compile("the manifest of the run", workspace, nil)
	}
	return runcontext.CompileBlock(workspace)
}

func isDocument(workspace json.RawMessage) bool {
	var m struct{ Kind string }
	return json.Unmarshal(workspace, &m) == nil && m.Kind == "WorkspaceManifest"
}

// takes is what a workspace takes from all who work in it.
type takes struct {
	Permissions   struct{ Tools bounds.Gates }
	ToolSelection []json.RawMessage
}

func takesOf(workspace json.RawMessage) takes {
	var w struct {
		takes
		Spec takes
	}
	if json.Unmarshal(workspace, &w) != nil {
		return takes{} // what is wrong with it is told where it is compiled
	}
	if isDocument(workspace) {
		return w.Spec
	}
	return w.takes
}

// narrowed are the classes of tools that a workspace closes, and the tools that its
// selection leaves.
func narrowed(workspace json.RawMessage) []bounds.Plane {
	w := takesOf(workspace)
	only, _ := bounds.Toolbox{}.Only(w.ToolSelection)
	p := bounds.Plane{Name: "the workspace", Gates: w.Permissions.Tools, Only: only}
	if p.Only == nil && p.Gates.Allow == nil && p.Gates.Deny == nil {
		return nil
	}
	return []bounds.Plane{p}
}

// unselected are the selections of tools that select nothing.
func unselected(workspace json.RawMessage) (found source.Errors) {
	_, wrong := bounds.Toolbox{}.Only(takesOf(workspace).ToolSelection)
	for _, p := range wrong {
		found = append(found, source.Error{
			Pointer: "/toolSelection/" + p.Field, Code: composition.FindingTool, Message: p.Message,
			Hint: "built-in tools can be selected, and no others in this version",
		})
	}
	return found
}

// spacesDir holds what agents can be given to read, a folder for each space.
const spacesDir = "references"

// references are the entries of the spaces that a workspace mounts.
func (t *Tenon) references(w *runcontext.Workspace) ([]runcontext.Entry, error) {
	var list []runcontext.Entry
	for _, m := range w.Mounts {
		for _, space := range m.Spaces {
			dir := filepath.Join(t.Project.Root, project.Folder, spacesDir, space)
			info, err := os.Stat(dir)
			if strings.ContainsAny(space, `/\`) || !filepath.IsLocal(space) || errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
				return nil, workflow.Errorf(workflow.CodeInvalidWorkspace, "the workspace reads the space %q, which is not there", space).
					WithHint("put what agents shall read into the folder %s/%s/%s", project.Folder, spacesDir, cmp.Or(filepath.Base(space), "NAME"))
			}
			if err != nil {
				return nil, fmt.Errorf("reading the space %s: %w", space, err)
			}
			list = append(list, runcontext.Entry{
				Path: runcontext.SlotReferences.Dir() + "/kb/" + space, Slot: runcontext.SlotReferences, Mode: runcontext.ReadOnly, Origin: dir,
				Source: &runcontext.Source{Kind: "space", Ref: space},
			})
		}
	}
	return list, nil
}

// templates fills the seed files that are made from files of the agent's skills.
func (t *Tenon) templates(sc *scene) error {
	w := *sc.workspace
	w.Seeds = slices.Clone(w.Seeds)
	for i, s := range w.Seeds {
		if s.Content != nil {
			continue
		}
		raw, err := t.resource(sc.agent.Skills, s.Template)
		if err != nil {
			return fmt.Errorf("the seed file %s/%s: %w", s.Slot, s.Path, err)
		}
		var tokens []string
		for name, value := range s.Vars {
			tokens = append(tokens, "{{"+name+"}}", value)
		}
		text := strings.NewReplacer(tokens...).Replace(string(raw))
		w.Seeds[i].Content = &text
	}
	sc.workspace = &w
	return nil
}

// resource reads SKILL/PATH.
func (t *Tenon) resource(skills []pinnedSkill, name string) ([]byte, error) {
	for _, s := range skills {
		path, ok := strings.CutPrefix(name, s.Slug+"/")
		if !ok {
			continue
		}
		list, read, err := t.skill(s)
		if err != nil {
			return nil, fmt.Errorf("the skill %s@%s: %w", s.Slug, s.Version, err)
		}
		if i := slices.IndexFunc(list, func(f composition.File) bool { return f.Path == path }); i >= 0 {
			return read(list[i])
		}
	}
	return nil, workflow.Errorf(workflow.CodeInvalidWorkspace, "there is no template %q", name).
		WithHint("write SKILL/PATH of a file of a skill that the agent or the workspace has")
}

// unmounted tells what a workspace asks for and does not get.
func unmounted(w *runcontext.Workspace) []string {
	var out []string
	for _, m := range w.Mounts {
		if len(m.ExternalProjects) > 0 {
			out = append(out, "the external projects of the workspace are not mounted by this version: "+strings.Join(m.ExternalProjects, ", "))
		}
		if len(m.Work) > 0 {
			out = append(out, "the work trees that the workspace names are not fetched: those of the configuration are there")
		}
	}
	return out
}
