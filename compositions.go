package tenon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/deliverable"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece/agent"
	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/runcontext/mount"
	"github.com/tenonrun/tenon/workflow"
)

// Alone is an agent, or a composition, that runs without a workflow around it.
type Alone struct {
	Agent, Composition string // one of them, perhaps with a version
	Prompt             string
	Access             workflow.Effect // "" may write
	Deliverable        string          // name of a specification; "" is none
	OnViolation        string          // correct, fail or continue; "" is as the specification says
	Overlays           []string
	Limits             *workflow.AgentLimits
	Inputs             json.RawMessage // an object; nil is none
	Manifest           string          // workspace manifest: it may stand for Agent, and for Deliverable
	Verify             bool            // with the configured checks, or those in their place
}

// aloneNode is the node that an agent without a workflow works in.
const aloneNode = "work"

// Alone makes the workflow of one node that an agent or a composition runs in. Run
// it with the inputs that come with it.
func (t *Tenon) Alone(s Alone) (*Workflow, map[string]json.RawMessage, error) {
	site, err := t.site(s.Manifest, s.Inputs)
	if err != nil {
		return nil, nil, err
	}
	if site != nil {
		site.complete(&s.Agent, s.Composition, &s.Deliverable)
		if _, _, err := t.environ(site.bound); err != nil {
			return nil, nil, fmt.Errorf("the workspace %s: %w", s.Manifest, err)
		}
	}
	kind, ref, err := t.alone(s)
	if err != nil {
		return nil, nil, err
	}
	params, err := s.params(kind, ref)
	if err != nil {
		return nil, nil, err
	}
	doc, err := json.Marshal(aloneDocument(strings.ReplaceAll(ref.Name(), "/", "-"), params, s.Verify))
	if err != nil {
		return nil, nil, fmt.Errorf("making a workflow of %s: %w", ref, err)
	}
	w, err := t.LoadDocument(string(kind)+" "+ref.String(), doc)
	if err != nil {
		return nil, nil, err
	}
	w.Name, w.site = ref.Name(), site
	prompt, err := json.Marshal(s.Prompt)
	return w, map[string]json.RawMessage{"prompt": prompt}, err
}

// alone refuses what leads nowhere, before there is a document that nobody wrote.
func (t *Tenon) alone(s Alone) (kind composition.Kind, ref composition.Ref, err error) {
	if (s.Agent == "") == (s.Composition == "") {
		return kind, ref, workflow.Errorf(workflow.CodeInvalidArguments, "name an agent or a composition")
	}
	kind = composition.KindAgent
	if s.Composition != "" {
		kind = composition.KindComposition
	}
	if ref, err = composition.ParseRef(kind, cmp.Or(s.Agent, s.Composition)); err != nil {
		return kind, ref, workflow.Errorf(workflow.CodeInvalidArguments, "%w", err)
	}
	if strings.TrimSpace(s.Prompt) == "" {
		return kind, ref, workflow.Errorf(workflow.CodeInvalidArguments, "the %s %s is given nothing to do", kind, ref).WithHint("write what it shall do as the prompt")
	}
	n := agent.Name{Agent: s.Agent, Composition: s.Composition}
	if s.Manifest != "" {
		_, err = t.known(n)
	} else {
		err = t.bound(n, s.Inputs)
	}
	if err != nil {
		return kind, ref, err
	}
	var spec json.RawMessage
	if s.Deliverable != "" {
		if spec, err = json.Marshal(s.Deliverable); err != nil {
			return kind, ref, err
		}
	}
	if spec == nil && len(s.Overlays) == 0 {
		return kind, ref, nil
	}
	return kind, ref, t.knowsContract(spec, s.Overlays)
}

// known resolves what a node names: as the lock has it, or else as it is, drafts
// too. The run itself is held to the lock.
func (t *Tenon) known(n agent.Name) (*composition.Resolution, error) {
	a, err := t.agents()
	if err != nil {
		return nil, err
	}
	kind, name := composition.KindAgent, n.Agent
	if n.Composition != "" {
		kind, name = composition.KindComposition, n.Composition
	}
	if a.lock != nil {
		if r, err := a.Resolve(kind, name, a.options(false)); err == nil {
			return r, nil
		}
	}
	return a.Resolve(kind, name, composition.Options{Draft: true})
}

// bound tries whether the workspace of a composition can be made from inputs, on
// this machine.
func (t *Tenon) bound(n agent.Name, inputs json.RawMessage) error {
	r, err := t.known(n)
	if err != nil || len(r.Composition.Workspace) == 0 {
		return err
	}
	block, err := workspaceOf(r)
	if err != nil {
		return err
	}
	w, err := block.Bind(inputs, "workflow")
	if err == nil {
		_, _, err = t.environ(w)
	}
	if err != nil {
		return fmt.Errorf("the workspace of %s: %w", n.Composition, err)
	}
	return nil
}

// params are those of the node.
func (s Alone) params(kind composition.Kind, ref composition.Ref) (map[string]any, error) {
	params := map[string]any{string(kind): ref.String(), "prompt": "{{inputs.prompt}}"}
	add := func(key string, there bool, value any) {
		if there {
			params[key] = value
		}
	}
	add("access", s.Access != "", s.Access)
	add("deliverable", s.Deliverable != "", s.Deliverable)
	add("onContractViolation", s.OnViolation != "", s.OnViolation)
	add("overlays", len(s.Overlays) > 0, s.Overlays)
	add("limits", s.Limits != nil, s.Limits)
	if len(s.Inputs) > 0 {
		given, err := verbatim(s.Inputs)
		if err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalidInputs, "reading the inputs: %w", err)
		}
		params["inputs"] = given
	}
	return params, nil
}

func aloneDocument(id string, params map[string]any, verify bool) map[string]any {
	type object = map[string]any
	after := "done"
	nodes := object{"done": object{"kind": "end", "params": object{"outcome": "success"}, "ends": object{}}}
	if verify {
		after = "verify"
		nodes["verify"] = object{"kind": "verify", "params": object{"commands": "configured"}, "ends": object{"pass": "done", "fail": "broken", "failed": "broken"}}
		nodes["broken"] = object{"kind": "end", "params": object{"outcome": "failure"}, "ends": object{}}
	}
	nodes[aloneNode] = object{"kind": agent.Kind, "params": params, "ends": object{"next": after, "unproven": after, "failed": nil}}
	return object{
		"schemaVersion": 2, "id": id, "delivery": object{"requiresVerified": verify}, "entry": aloneNode, "nodes": nodes,
		"inputs": object{"type": "object", "properties": object{"prompt": object{"type": "string"}}, "required": []string{"prompt"}},
	}
}

// verbatim makes a value that comes out of the filling in of tokens as it went in.
func verbatim(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return escaped(v), nil
}

func escaped(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "{{", "{{{{")
	case []any:
		for i := range v {
			v[i] = escaped(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = escaped(v[k])
		}
	}
	return v
}

// ContextRequest says whose context is rendered, and for what.
type ContextRequest struct {
	Agent, Composition string // one of them, perhaps with a version
	Deliverable        string // name of a specification; "" is none
	Overlays           []string
	Inputs             json.RawMessage // an object; nil is none
	Draft              bool            // drafts too
	Node               string          // of the workflow; "" is that of a run without one
	// Manifest names a workspace manifest; it stands for Agent, for Deliverable unless
	// there is one, and for the workspace of the composition.
	Manifest string
}

// Context is a run context that is rendered without a run.
type Context struct {
	runcontext.Rendered
	Warnings []string
}

// RenderContext renders the context that an agent would have. Nothing is kept,
// mounted or started.
func (t *Tenon) RenderContext(ctx context.Context, q ContextRequest) (Context, error) {
	site, err := t.site(q.Manifest, q.Inputs)
	if err != nil {
		return Context{}, err
	}
	if site != nil {
		site.complete(&q.Agent, q.Composition, &q.Deliverable)
	}
	n := agent.Name{Agent: q.Agent, Composition: q.Composition}
	s, err := t.begin(ctx, Request{dry: true, Draft: q.Draft, site: site}, n)
	if err != nil {
		return Context{}, err
	}
	o := agent.Order{Agent: agent.Agent{Def: teamKey(n)}, Overlays: q.Overlays, Inputs: q.Inputs}
	o.Frame.Repositories, o.Frame.Node = t.Project.Repositories(), cmp.Or(q.Node, aloneNode)
	if q.Deliverable != "" {
		if o.Deliverable, err = json.Marshal(q.Deliverable); err != nil {
			return Context{}, err
		}
	}
	sc, err := t.scene(s, o)
	if err != nil {
		return Context{}, err
	}
	plan, err := mount.Survey(ctx, sc.entries, mount.Limits{})
	if err != nil {
		return Context{}, err
	}
	if sc.workspace != nil {
		s.Warnings = append(s.Warnings, unmounted(sc.workspace)...)
	}
	r, err := t.render(sc, plan)
	return Context{Rendered: r, Warnings: s.Warnings}, err
}

// warned adds to a result what was told when its run began.
func (t *Tenon) warned(ctx context.Context, r history.Result, err error) (history.Result, error) {
	if err != nil {
		return r, err
	}
	if s, broken := t.session(ctx, r.Run); broken == nil && len(s.Warnings) > 0 {
		r.Warnings = slices.Concat(s.Warnings, r.Warnings)
	}
	return r, nil
}

// Overlays reads the overlays of the project's specifications.
func (t *Tenon) Overlays() ([]runcontext.Overlay, error) { return t.readOverlays() }

// knowsContract says what is wrong with a deliverable and with overlays, before
// there is a run.
func (t *Tenon) knowsContract(spec json.RawMessage, overlays []string) error {
	s := &session{Tags: t.Project.Config.Tags}
	var torn, bad error
	s.Overlays, torn = t.readOverlays()
	s.Specs, bad = t.readSpecs()
	_, err := s.promise(spec, overlays)
	switch {
	case err != nil && workflow.CodeOf(err) == workflow.CodeDeliverableUnknown && bad != nil:
		return bad // it may be one of those that cannot be read
	case len(overlays)+len(s.Tags) > 0 && torn != nil:
		return torn
	}
	return err
}

// promise is what has to be delivered, with its overlays; without a spec nothing.
type promise struct {
	spec     *deliverable.Spec
	contract runcontext.Contract
	overlays []runcontext.Applied
}

// promise finds a specification, by its name or as it is written, and applies the
// overlays of the project's tags and those that are asked for.
func (s *session) promise(written json.RawMessage, overlays []string) (promise, error) {
	chosen, err := runcontext.Select(s.Overlays, s.Tags, overlays)
	if err != nil || len(written) == 0 || string(written) == "null" {
		return promise{}, err
	}
	name := ""
	if json.Unmarshal(written, &name) == nil {
		if s.Specs[name] == "" {
			return promise{}, noSpec(name, slices.Sorted(maps.Keys(s.Specs)))
		}
		written = json.RawMessage(s.Specs[name])
	}
	spec, err := deliverable.Load(cmp.Or(name, "the deliverable"), written)
	if err != nil {
		return promise{}, err
	}
	base := runcontext.Contract{
		Ref: deliverable.Ref{Slug: spec.Slug, Version: spec.Version}.String(), Title: spec.Title,
		Sections: []runcontext.Section{{ID: "contract", Text: spec.Instructions()}},
	}
	var schemas []json.RawMessage
	for i := range chosen {
		if len(chosen[i].Schema) > 0 {
			schemas = append(schemas, chosen[i].Schema)
		}
	}
	p := promise{}
	if p.contract, p.overlays, err = runcontext.Apply(base, chosen); err == nil {
		p.spec, err = spec.Tighten(schemas, deliverable.Rules{})
	}
	return p, err
}

func noSpec(name string, names []string) error {
	e := workflow.Errorf(workflow.CodeDeliverableUnknown, "there is no specification %q", name)
	if len(names) == 0 {
		return e.WithHint("write one in .tenon/%s/%s.yaml", specsDir, deliverableSlug(name))
	}
	if near := text.Nearest(name, names); near != "" {
		return e.WithHint("did you mean %q?", near)
	}
	return e.WithHint("there are: %s", strings.Join(names, ", "))
}

func deliverableSlug(name string) string {
	slug, _, _ := strings.Cut(name, "@")
	return cmp.Or(slug, "NAME")
}
