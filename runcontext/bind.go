package runcontext

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/runcontext/token"
	"github.com/tenonrun/tenon/workflow"
)

// Bind gives the inputs their values (a JSON object; nil is an empty one), fills in
// defaults and replaces the tokens. surface is how it will be run: workflow or
// agent-session. The error is a *workflow.Error: CodeInvalidInputs, wrapping
// source.Errors with every finding, or CodeInvalidWorkspace.
func (m *Manifest) Bind(inputs json.RawMessage, surface string) (*Workspace, error) {
	if len(m.Surfaces) > 0 && !slices.Contains(m.Surfaces, surface) {
		return nil, workflow.Errorf(workflow.CodeInvalidWorkspace, "manifest %s@%s is not for %s: its surfaceCompat is %s", m.Slug, m.Version, surface, strings.Join(m.Surfaces, ", ")).
			WithHint("run it as %s, or add %s to metadata.surfaceCompat", m.Surfaces[0], surface)
	}
	b := binder{Manifest: m}
	if err := b.values(inputs); err != nil {
		return nil, err
	}
	w := &Workspace{
		Slug: m.Slug, Version: m.Version, Surfaces: m.Surfaces, Selections: compacted(m.spec.ToolSelection), Skills: m.spec.Skills,
		Surface: m.spec.OutputSurface,
		Credentials: slices.SortedFunc(slices.Values(m.spec.Credentials), func(a, b Credential) int {
			return strings.Compare(a.Name, b.Name)
		}),
	}
	if m.spec.Agent != nil {
		w.Agent = m.spec.Agent.AgentBlock
	}
	if m.spec.Permissions != nil {
		w.Permissions = *m.spec.Permissions
	}
	if m.spec.Persistence != nil {
		w.Persist = sortedSet(m.spec.Persistence.Paths)
	}
	b.env(w)
	b.seeds(w)
	if err := b.mountsOf(w); err != nil {
		return nil, err
	}
	if len(b.found) > 0 {
		return nil, &workflow.Error{Code: workflow.CodeInvalidInputs, Msg: b.found.Error(), Err: b.found}
	}
	var err error
	w.Inputs, err = canon.Canonical(marshalled(b.bound))
	return w, err
}

// binder binds one manifest.
type binder struct {
	*Manifest
	bound map[string]json.RawMessage // canonical
	found source.Errors
}

func (b *binder) say(pointer, hint, format string, args ...any) {
	b.found = append(b.found, source.Error{File: "inputs", Pointer: pointer, Code: FindingInput, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// values checks the inputs. What is found is in b.found.
func (b *binder) values(inputs json.RawMessage) error {
	b.bound = map[string]json.RawMessage{}
	if len(inputs) == 0 {
		inputs = json.RawMessage(`{}`)
	}
	plain, err := canon.Canonical(inputs)
	if err != nil {
		return &workflow.Error{Code: workflow.CodeInvalidInputs, Msg: "inputs: " + err.Error(), Err: err}
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(plain, &given); err != nil || given == nil {
		return workflow.Errorf(workflow.CodeInvalidInputs, "inputs are no JSON object").WithHint(`write them as {"name": value}`)
	}
	for _, name := range sortedKeys(given) {
		if _, ok := b.spec.Inputs[name]; !ok {
			b.say(pointer(name), "inputs: "+strings.Join(b.Inputs(), ", "), "there is no input %q%s", name, didYouMean(name, b.Inputs()))
		}
	}
	for _, name := range b.Inputs() {
		d := b.spec.Inputs[name]
		value, ok := given[name]
		switch {
		case ok:
			if why := d.problem(value); why != "" {
				b.say(pointer(name), "give a value of type "+d.Type, "input %q: %s", name, why)
				continue
			}
			b.bound[name] = value
		case d.Default != nil:
			if b.bound[name], err = canon.Canonical(d.Default); err != nil {
				return fmt.Errorf("default of input %s: %w", name, err)
			}
		case d.Required:
			b.say(pointer(name), fmt.Sprintf("give it a value of type %s", d.Type), "input %q is required", name)
		}
	}
	return nil
}

// value is what a token of an input stands for.
func (b *binder) value(t token.Token) json.RawMessage {
	if v, ok := b.bound[t.Input]; ok {
		return v
	}
	if t.Fallback != nil {
		return canonicalLiteral(t.Fallback)
	}
	missing := func(e source.Error) bool { return e.Pointer == pointer(t.Input) }
	if !slices.ContainsFunc(b.found, missing) {
		b.say(pointer(t.Input), "give it a value, or write ${input."+t.Input+" | default: …}", "input %q has no value, and the manifest uses it", t.Input)
	}
	return json.RawMessage(`""`)
}

func canonicalLiteral(raw json.RawMessage) json.RawMessage {
	if out, err := canon.Canonical(raw); err == nil {
		return out
	}
	return raw
}

// text replaces the tokens of a text without credentials.
func (b *binder) text(s string) string {
	var out strings.Builder
	tokens, _ := token.Lex(s) // judged by Compile
	for _, t := range tokens {
		out.WriteString(t.Text)
		if t.Input != "" {
			out.WriteString(token.String(b.value(t)))
		}
	}
	return out.String()
}

func (b *binder) env(w *Workspace) {
	for _, v := range b.spec.Env {
		tokens, _ := token.Lex(v.Value)
		var parts []Part
		for _, t := range tokens {
			p := Part{Text: t.Text, Credential: t.Credential}
			if t.Input != "" {
				p.Text = token.String(b.value(t))
			}
			if n := len(parts); n > 0 && p.Credential == "" && parts[n-1].Credential == "" {
				parts[n-1].Text += p.Text
				continue
			}
			parts = append(parts, p)
		}
		w.Env = append(w.Env, Variable{Name: v.Name, Parts: parts})
	}
	slices.SortFunc(w.Env, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
}

func (b *binder) seeds(w *Workspace) {
	for _, s := range b.spec.SeedFiles {
		if s.Content != nil {
			content := b.text(*s.Content)
			s.Content = &content
		}
		if s.Vars != nil {
			vars := make(map[string]string, len(s.Vars))
			for name, v := range s.Vars {
				vars[name] = b.text(v)
			}
			s.Vars = vars
		}
		w.Seeds = append(w.Seeds, s)
	}
	slices.SortFunc(w.Seeds, func(a, b Seed) int { return strings.Compare(a.key(), b.key()) })
}

// mountsOf binds the mounts. A token that is the whole of a text keeps its type.
func (b *binder) mountsOf(w *Workspace) error {
	for _, slot := range declarable {
		raw := b.spec.Mounts[slot]
		if len(raw) == 0 || string(raw) == "false" {
			continue
		}
		m := Mount{Slot: slot, Mode: slot.Default()}
		if string(raw) != "true" {
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				return fmt.Errorf("reading mount %s: %w", slot, err)
			}
			var o mountOptions
			if err := json.Unmarshal(marshalled(b.replace(v)), &o); err != nil && len(b.found) == 0 {
				e := b.Locate(source.Error{Pointer: pointer("spec", "mounts", string(slot)), Code: FindingToken, Message: fmt.Sprintf("mount %s takes strings and lists of strings: %v", slot, err), Hint: "let the input be of type string or string[]"})
				return invalid(source.Errors{e})
			}
			if o.Mode != nil {
				m.Mode = *o.Mode
			}
			m.Work, m.ExternalProjects = o.Work, sorted(o.ExternalProjects.Repos)
			m.Spaces = sorted(slices.Concat(o.KB.Spaces, o.KBSpaces))
		}
		w.Mounts = append(w.Mounts, m)
	}
	return nil
}

func sorted(in []string) []string {
	if len(in) == 0 {
		return nil
	}
	return sortedSet(in)
}

// replace replaces the tokens in the strings of a JSON value.
func (b *binder) replace(v any) any {
	switch v := v.(type) {
	case string:
		if tokens, _ := token.Lex(v); len(tokens) == 1 && tokens[0].Input != "" {
			return b.value(tokens[0])
		}
		return b.text(v)
	case []any:
		for i := range v {
			v[i] = b.replace(v[i])
		}
	case map[string]any:
		for _, name := range sortedKeys(v) {
			v[name] = b.replace(v[name])
		}
	}
	return v
}

// marshalled encodes what cannot fail: values that were decoded before.
func marshalled(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
