package composition

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/composition/head"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/permission"
)

// Agent is the definition of an agent: the front matter of a Markdown file and its
// prompt.
type Agent struct {
	Slug        string `json:"slug"`
	Description string `json:"description,omitempty"`
	Extends     *Ref   `json:"extends,omitempty"`    // the agent whose definition this one goes on from
	PromptMode  string `json:"promptMode,omitempty"` // append (default), replace: what the prompt is to that of Extends
	Mode        string `json:"mode,omitempty"`       // primary, subagent, all; empty is all
	Model       *Model `json:"model,omitempty"`
	// Tools are those that the agent may use; nil is all there are. The floor tools
	// that are not among them are still there and denied.
	Tools       []bounds.Selection `json:"tools,omitzero"`
	Permissions Permissions        `json:"permissions,omitzero"`
	Skills      []Ref              `json:"skills,omitempty"`
	Skill       string             `json:"skill,omitempty"`  // the one that is launched when it starts
	Agents      []Node             `json:"agents,omitempty"` // that it may start
	Limits      *bounds.Limits     `json:"limits,omitempty"`
	Capability  *bounds.Capability `json:"capability,omitempty"`
	MaxTurns    int                `json:"maxTurns,omitempty"` // model calls; 0 is not said
	Prompt      string             `json:"prompt"`

	doc *source.Document
}

// Model names a model or a class of models. It is read from {modelId, providerSlug}
// or {modelClass}, or from a plain name.
type Model struct {
	Kind        string   `json:"kind"` // concrete, strategy
	ModelID     string   `json:"modelId,omitempty"`
	ModelClass  string   `json:"modelClass,omitempty"`
	Provider    string   `json:"providerSlug,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
}

// Name is the model as the model matrix takes it: CLASS, MODEL or PROVIDER/MODEL.
func (m *Model) Name() string {
	switch {
	case m == nil:
		return ""
	case m.ModelClass != "":
		return m.ModelClass
	case m.Provider != "":
		return m.Provider + "/" + m.ModelID
	}
	return m.ModelID
}

// UnmarshalJSON reads a model, or a plain name.
func (m *Model) UnmarshalJSON(raw []byte) error {
	*m = Model{}
	type plain Model
	var err error
	if strings.HasPrefix(string(raw), `"`) {
		err = json.Unmarshal(raw, &m.ModelID)
	} else {
		err = json.Unmarshal(raw, (*plain)(m))
	}
	if m.Kind == "" {
		m.Kind = "concrete"
		if m.ModelClass != "" {
			m.Kind = "strategy"
		}
	}
	return err
}

// check says what is wrong with a model, or "".
func (m *Model) check() string {
	switch {
	case m == nil:
	case m.ModelID != "" && m.ModelClass != "":
		return "it names a model and a class: write modelId or modelClass"
	case m.Kind == "strategy" && m.ModelClass == "":
		return "it names no class: write modelClass"
	case m.Kind == "concrete" && m.ModelID == "":
		return "it names no model: write modelId"
	}
	return ""
}

// front is the front matter of an agent.
type front struct {
	Name            string             `json:"name"`
	Description     string             `json:"description"`
	Extends         *Ref               `json:"extends"`
	PromptMode      string             `json:"promptMode"`
	Version         json.RawMessage    `json:"version"`
	Lifecycle       Lifecycle          `json:"lifecycle"`
	Model           *Model             `json:"model"`
	Temperature     *float64           `json:"temperature"`
	Mode            string             `json:"mode"`
	Tools           json.RawMessage    `json:"tools"`
	DisallowedTools json.RawMessage    `json:"disallowedTools"`
	Permission      json.RawMessage    `json:"permission"`
	Permissions     Permissions        `json:"permissions"`
	Skills          json.RawMessage    `json:"skills"`
	Skill           string             `json:"skill"`
	Agents          []Node             `json:"agents"`
	SubAgents       []Node             `json:"subAgents"`
	Limits          *bounds.Limits     `json:"limits"`
	Capability      *bounds.Capability `json:"capability"`
	MaxTurns        int                `json:"maxTurns"`
	Steps           int                `json:"steps"`
	PermissionMode  string             `json:"permissionMode"`
	Disable         bool               `json:"disable"`
}

// ReadAgent makes an item of the Markdown file called name. Fields of Claude Code
// and OpenCode are understood; those that nobody knows, or that have no effect here,
// are warnings. Slug is the name of an agent that says none.
func ReadAgent(name, slug string, data []byte) Item {
	it := Item{Kind: KindAgent, Slug: slug, Source: name, Content: unix(data)}
	doc, prompt, loose, err := head.Split(name, it.Content)
	if err != nil {
		return it.fail(err)
	}
	r := &agentReader{reader: reader{doc: doc, warned: loose}}
	r.shape(KindAgent)
	r.unknown(KindAgent)
	var f front
	if err := doc.Decode(&f); err != nil {
		if len(r.found) == 0 {
			return it.fail(err)
		}
		return it.fail(r.sorted())
	}
	if f.Name != "" {
		it.Slug = r.slug(f.Name)
	}
	if err := CheckSlug(KindAgent, it.Slug); err != nil {
		r.say("/name", FindingValue, "", "%v", err)
	}
	r.Agent = &Agent{
		Slug: it.Slug, Description: f.Description, Extends: f.Extends, PromptMode: f.PromptMode, Mode: f.Mode, Model: f.Model, Permissions: f.Permissions, Skill: f.Skill, Limits: f.Limits,
		Capability: f.Capability, MaxTurns: max(f.MaxTurns, f.Steps), Prompt: prompt, doc: doc,
	}
	r.fill(&f)
	it.Agent = r.Agent
	lifecycle := f.Lifecycle
	if f.Disable {
		lifecycle = Draft
	}
	it.Content = withoutLifecycle(it.Content)
	it.finish(r.version(f.Version), lifecycle, &r.reader)
	return it
}

var lifecycleLine = text.MustPattern(`(?m)^lifecycle:[^\n]*\n`)

// withoutLifecycle takes the lifecycle out of the head of a text: a draft that is
// published keeps its digest.
func withoutLifecycle(content []byte) []byte {
	at := lifecycleLine().FindIndex(content)
	if at == nil || bytes.Contains(content[4:at[0]+1], []byte("\n---\n")) {
		return content
	}
	return slices.Concat(content[:at[0]], content[at[1]:])
}

// agentReader reads what an agent may have in many spellings.
type agentReader struct {
	reader
	*Agent
}

// slug gives the name that an agent has here.
func (r *agentReader) slug(name string) string {
	if CheckSlug(KindAgent, name) == nil {
		return name
	}
	plain := strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
			return c
		case c >= 'A' && c <= 'Z':
			return c | 0x20
		}
		return '-'
	}, name), "-")
	if CheckSlug(KindAgent, plain) != nil {
		return name
	}
	r.warn("/name", "use lower-case letters, digits, - and _", "the agent %q is called %s here", name, plain)
	return plain
}

func (r *agentReader) fill(f *front) {
	if r.Model != nil && r.Model.ModelID == "inherit" {
		r.Model = nil
	}
	if m := r.Model.check(); m != "" {
		r.say("/model", FindingValue, "", "the model cannot be used: %s", m)
	}
	if f.Temperature != nil && r.Model != nil && r.Model.Temperature == nil {
		r.Model.Temperature = f.Temperature
	}
	if r.Extends != nil {
		r.ref("/extends", KindAgent, r.Extends)
	}
	r.tools(f.Tools)
	for _, name := range r.words(f.DisallowedTools) {
		r.deny("/disallowedTools", name)
	}
	r.skills(f.Skills)
	r.permission(f.Permission)
	r.mode(f.PermissionMode)
	r.delegates("agents", f.Agents)
	r.delegates("subAgents", f.SubAgents)
	r.limits("/limits", r.Limits)
	r.capability("/capability", r.Capability)
	r.permissions("/permissions", &r.Agent.Permissions, true)
	for _, key := range []string{"hooks", "mcpServers", "memory", "background", "isolation", "effort", "initialPrompt", "top_p"} {
		if _, ok := r.reader.doc.At(pointer(key)); ok {
			r.warn(pointer(key), "", "the field %q has no effect here", key)
		}
	}
}

// words reads a list, or a text with commas outside parentheses.
func (r *agentReader) words(raw json.RawMessage) []string {
	var list []string
	if raw == nil || json.Unmarshal(raw, &list) == nil {
		return list
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil // the schema has told it
	}
	return splitWords(s)
}

func splitWords(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == ',' && depth == 0 {
			if word := strings.TrimSpace(s[from:i]); word != "" {
				out = append(out, word)
			}
			from = i + 1
			continue
		}
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
	}
	return out
}

// tools reads the tools that the agent may use: a list, a text with commas, or the
// switches {name: true}.
func (r *agentReader) tools(raw json.RawMessage) {
	var switches map[string]bool
	var list []json.RawMessage
	switch {
	case raw == nil || string(raw) == "null":
		return
	case json.Unmarshal(raw, &switches) == nil:
		for _, name := range sortedKeys(switches) {
			if !switches[name] {
				r.deny("/tools/"+name, name)
			}
		}
		return
	case json.Unmarshal(raw, &list) != nil:
		for _, word := range r.words(raw) {
			r.tool("/tools", mustJSON(word))
		}
	}
	for i, entry := range list {
		r.tool(pointer("tools", i), entry)
	}
	if r.Tools == nil {
		r.Tools = []bounds.Selection{}
	}
}

func (r *agentReader) tool(at string, raw json.RawMessage) {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if word == "*" {
			r.Tools = append(r.Tools, bounds.Selection{Kind: bounds.SelectProvider, ProviderKind: bounds.Builtin})
			return
		}
		if name, args, ok := strings.Cut(word, "("); ok {
			r.called(at, strings.TrimSpace(name), strings.TrimSuffix(args, ")"))
			return
		}
		if permission.ToolKey(word) == "agent" {
			word = "task"
		}
		raw = mustJSON(word)
	}
	var s bounds.Selection
	if err := json.Unmarshal(raw, &s); err != nil {
		return // the schema has told it
	}
	if m := s.Check(); m != "" {
		r.say(at, FindingTool, "", "the selection cannot be used: %s", m)
		return
	}
	r.Tools = append(r.Tools, s)
}

// called reads Agent(a, b), which names agents that may be started.
func (r *agentReader) called(at, name, args string) {
	key := permission.ToolKey(name)
	if key != "agent" && key != "task" {
		r.warn(at, "write "+name+", and deny what it must not do under permissions", "what stands in parentheses after %s has no effect", name)
		r.tool(at, mustJSON(name))
		return
	}
	r.tool(at, mustJSON("task"))
	for _, word := range splitWords(args) {
		r.delegate(at, word)
	}
}

// delegate adds an agent that may be started, once.
func (r *agentReader) delegate(at, slug string) {
	n := Node{Agent: Ref{Slug: slug}, at: at}
	r.ref(at, KindAgent, &n.Agent)
	if !slices.ContainsFunc(r.Agents, func(o Node) bool { return o.Agent == n.Agent && o.Alias == "" }) {
		r.Agents = append(r.Agents, n)
	}
}

func (r *agentReader) delegates(key string, nodes []Node) {
	for i := range nodes {
		nodes[i].read(&r.reader, pointer(key, i), nil)
	}
	r.Agents = append(r.Agents, nodes...)
}

func (r *agentReader) deny(at, name string) {
	if strings.HasPrefix(name, "mcp__") || bounds.Known(name, bounds.BuiltinTools()) || strings.Contains(name, "(") {
		r.Agent.Permissions.Deny = append(r.Agent.Permissions.Deny, name)
		return
	}
	if !bounds.ForeignTool(name) {
		r.warn(at, meant(name, bounds.BuiltinTools()), "the tool %q is not known", name)
	}
}

func (r *agentReader) skills(raw json.RawMessage) {
	if raw == nil {
		return
	}
	if json.Unmarshal(raw, &r.Skills) != nil {
		for _, word := range r.words(raw) {
			r.Skills = append(r.Skills, Ref{Slug: word})
		}
	}
	for i := range r.Skills {
		r.ref(pointer("skills", i), KindSkill, &r.Skills[i])
	}
}

// mode reads a mode of Claude Code; only what narrows has an effect.
func (r *agentReader) mode(name string) {
	switch name {
	case "", "default", "acceptEdits", "auto":
	case "plan":
		r.Agent.Permissions.Tools.Deny = append(r.Agent.Permissions.Tools.Deny, "write", "exec")
	case "dontAsk", "bypassPermissions":
		r.warn("/permissionMode", "a person allows things; an agent's file cannot", "permissionMode %s has no effect", name)
	default:
		r.warn("/permissionMode", meant(name, []string{"default", "acceptEdits", "plan"}), "permissionMode %q is not known", name)
	}
}
