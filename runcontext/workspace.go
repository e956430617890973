package runcontext

import "encoding/json"

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
	Allow []string `json:"allow,omitempty"`
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
