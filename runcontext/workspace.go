package runcontext

import (
	"encoding/json"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// Workspace is what a turn has around it: a manifest with its inputs bound, or the
// workspace block of a composition. Its JSON form is hashed; the values of
// credentials are not in it.
type Workspace struct {
	Slug        string            `json:"slug,omitempty"` // of the manifest
	Version     string            `json:"version,omitempty"`
	Inputs      json.RawMessage   `json:"-"` // canonical object of all bound inputs; for inputs/inputs.json
	Mounts      []Mount           `json:"mounts,omitempty"`
	Agent       AgentBlock        `json:"-"`
	Seeds       []Seed            `json:"-"`
	Env         []Variable        `json:"env,omitempty"` // by name
	Skills      []SkillRef        `json:"-"`
	Selections  []json.RawMessage `json:"-"`
	Credentials []Credential      `json:"credentials,omitempty"` // by name
	Permissions Permissions       `json:"permissions,omitzero"`
	Persist     []string          `json:"persist,omitempty"` // sorted; empty keeps the conversation only
	Surface     *Surface          `json:"outputSurface,omitempty"`
	// Surfaces are the ways to run it (workflow, agent-session); empty is any.
	Surfaces []string `json:"-"`
}

// AgentBlock says who works in the workspace.
type AgentBlock struct {
	Slug         string     `json:"slug"`
	Stage        string     `json:"stage,omitempty"`
	Role         string     `json:"role,omitempty"`
	SpecRef      string     `json:"deliverableSpecRef,omitempty"`
	DefaultModel string     `json:"defaultModel,omitempty"`
	SubAgents    []SubAgent `json:"subAgents,omitempty"`
}

// SubAgent is an agent that the agent may start.
type SubAgent struct {
	Slug         string `json:"slug"`
	Alias        string `json:"alias,omitempty"`
	DefaultModel string `json:"defaultModel,omitempty"`
}

// Seed is a file that is there at the beginning. Exactly one of Template (a
// resource of a skill, for the caller to look up and to fill with Vars) and Content
// is given.
type Seed struct {
	Slot     Slot              `json:"slot"`
	Path     string            `json:"path"` // relative to the slot
	Template string            `json:"template,omitempty"`
	Content  *string           `json:"content,omitempty"`
	Vars     map[string]string `json:"vars,omitempty"`
}

// SkillRef is a skill that the manifest adds; Version may be a range.
type SkillRef struct {
	Slug    string `json:"slug"`
	Version string `json:"version,omitempty"`
}

// Credential is a secret that has to be found when a turn starts.
type Credential struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	SourceRef string `json:"sourceRef,omitempty"` // opaque; names where the secret is, never the secret
	Required  bool   `json:"required,omitempty"`
}

// Permissions narrow what the agent may do, by class of tools.
type Permissions struct {
	Tools ToolClasses `json:"tools,omitzero"`
}

// ToolClasses are classes of tools: read, write, exec, web, mcp, delegate. A nil
// Allow allows every class.
type ToolClasses struct {
	Allow []string `json:"allow,omitzero"`
	Deny  []string `json:"deny,omitempty"`
}

// Surface is what the workspace shows while it runs.
type Surface struct {
	Kind       string `json:"kind"` // none, web, static, app, tunnel
	Port       int    `json:"port,omitempty"`
	HealthPath string `json:"healthPath,omitempty"`
	AutoOpen   bool   `json:"autoOpen,omitempty"`
}

// Variable is a variable of the environment. Its value may hold credentials, which
// are filled in by Environ only.
type Variable struct {
	Name  string `json:"name"`
	Parts []Part `json:"value"`
}

// Part is literal text or the name of a credential.
type Part struct {
	Text       string `json:"text,omitempty"`
	Credential string `json:"credential,omitempty"`
}

// inputsFile is in slot inputs, always.
const inputsFile = "inputs.json"

// Entries returns the entries that the workspace itself gives: inputs.json, seed
// files with content, and the root of deliverables where it is mounted. Everything
// else (uploads, references, repositories, specs, skills) is the caller's to add.
func (w *Workspace) Entries() []Entry {
	inputs := w.Inputs
	if len(inputs) == 0 {
		inputs = json.RawMessage("{}")
	}
	entries := []Entry{Literal(SlotInputs, inputsFile, inputs)}
	modes := map[Slot]Mode{}
	for _, m := range w.Mounts {
		modes[m.Slot] = m.Mode
		if m.Slot == SlotDeliverables {
			entries = append(entries, Entry{Path: m.Slot.Dir(), Slot: m.Slot, Mode: m.Mode})
		}
	}
	for _, s := range w.Seeds {
		if s.Content == nil {
			continue
		}
		e := Literal(s.Slot, s.Path, []byte(*s.Content))
		if modes[s.Slot] == ReadWrite {
			e.Mode = ReadWrite
		}
		e.Source = &Source{Kind: "seed"}
		entries = append(entries, e)
	}
	return entries
}

// Environ returns the variables as NAME=value, with credentials filled in. A
// required credential that is not there is an error; one that is not required
// leaves out the variables that need it, and is told in missing.
func (w *Workspace) Environ(credentials map[string]string) (env, missing []string, err error) {
	for _, c := range w.Credentials {
		if _, ok := credentials[c.Name]; ok {
			continue
		}
		if c.Required {
			from := ""
			if c.SourceRef != "" {
				from = ", from " + c.SourceRef
			}
			return nil, nil, workflow.Errorf(workflow.CodeInvalidWorkspace, "credential %s (%s) is required and not there", c.Name, c.Kind).
				WithHint("set the environment variable %s%s", c.Name, from)
		}
		missing = append(missing, c.Name)
	}
	for _, v := range w.Env {
		value, ok := v.fill(credentials)
		if ok {
			env = append(env, v.Name+"="+value)
		}
	}
	return env, missing, nil
}

func (v Variable) fill(credentials map[string]string) (string, bool) {
	var b strings.Builder
	for _, p := range v.Parts {
		b.WriteString(p.Text)
		if p.Credential != "" {
			secret, ok := credentials[p.Credential]
			if !ok {
				return "", false
			}
			b.WriteString(secret)
		}
	}
	return b.String(), true
}
