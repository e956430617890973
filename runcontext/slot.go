package runcontext

import (
	"encoding/json"
	"slices"
	"strings"
)

// Slot is a place of the workspace with a purpose of its own.
type Slot string

// The slots. SlotAgent (skills and instructions of the agent) is always there and
// cannot be declared by a manifest.
const (
	SlotInputs           Slot = "inputs"
	SlotUploads          Slot = "uploads"
	SlotReferences       Slot = "references"
	SlotRepos            Slot = "repos"
	SlotDeliverableSpecs Slot = "deliverable-specs"
	SlotDeliverables     Slot = "deliverables"
	SlotAgent            Slot = "agent"
)

// Mode says what tools may do to what is mounted.
type Mode string

// Modes.
const (
	ReadOnly  Mode = "read-only"
	ReadWrite Mode = "read-write"
)

// Names of the two rendered files at the root of the workspace.
const (
	AgentsFile  = "AGENTS.md"
	ContextFile = "context.json"
)

// declarable are the slots that a manifest may name, in the order in which they
// are shown.
var declarable = []Slot{SlotInputs, SlotUploads, SlotReferences, SlotRepos, SlotDeliverableSpecs, SlotDeliverables}

// Slots returns the slots that a manifest may declare.
func Slots() []Slot { return slices.Clone(declarable) }

// Dir is the directory of the slot, relative to the workspace.
func (s Slot) Dir() string {
	if s == SlotAgent {
		return ".agent"
	}
	return string(s)
}

// Writable reports whether the slot may be mounted read-write.
func (s Slot) Writable() bool { return s == SlotRepos || s == SlotDeliverables }

// Default is the mode of the slot when none is given.
func (s Slot) Default() Mode {
	if s.Writable() {
		return ReadWrite
	}
	return ReadOnly
}

func (s Slot) known() bool { return s == SlotAgent || slices.Contains(declarable, s) }

// SkillPath is where the file SKILL.md of a skill is found in the workspace.
func SkillPath(slug string) string { return SlotAgent.Dir() + "/skills/" + slug + "/SKILL.md" }

// SpecPath is where the contract of a deliverable is found in the workspace.
func SpecPath(slug string) string { return SlotDeliverableSpecs.Dir() + "/" + slug + ".json" }

// Mount is one slot that a bound manifest asks for.
type Mount struct {
	Slot             Slot     `json:"slot"`
	Mode             Mode     `json:"mode"`
	Work             []Work   `json:"work,omitempty"`             // of repos
	Spaces           []string `json:"spaces,omitempty"`           // of references: names of collections of knowledge
	ExternalProjects []string `json:"externalProjects,omitempty"` // of references: repositories
}

// Work is a repository that is worked on. Role is told to the agent, no more.
type Work struct {
	URL  string `json:"url"`
	Role string `json:"role,omitempty"` // primary or reference
}

// mountOptions is the object form of a mount in a manifest.
type mountOptions struct {
	Mode *Mode  `json:"mode"`
	Work []Work `json:"work"`
	KB   struct {
		Spaces list `json:"spaces"`
	} `json:"kb"`
	KBSpaces         list             `json:"kbSpaces"`
	ExternalProjects externalProjects `json:"externalProjects"`
}

// list is an array of strings, or one string.
type list []string

// UnmarshalJSON reads either form.
func (l *list) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), `"`) {
		*l = list{""}
		return json.Unmarshal(raw, &(*l)[0])
	}
	return json.Unmarshal(raw, (*[]string)(l))
}

// externalProjects is {repos: […]}, an array, or one string.
type externalProjects struct{ Repos list }

// UnmarshalJSON reads any form.
func (e *externalProjects) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), "{") {
		type plain externalProjects
		return json.Unmarshal(raw, (*plain)(e))
	}
	return json.Unmarshal(raw, &e.Repos)
}
