package runcontext

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/internal/canon"
)

// contextValue is context.json: who the agent is and what is around it. It says
// nothing that is of one machine, run or attempt.
type contextValue struct {
	SchemaVersion int               `json:"schemaVersion"`
	Project       string            `json:"project,omitempty"`
	Workflow      *named            `json:"workflow,omitempty"`
	Job           *named            `json:"job,omitempty"`
	Agent         Agent             `json:"agent"`
	SubAgents     []string          `json:"subAgents,omitempty"`
	Model         json.RawMessage   `json:"model,omitempty"`
	Limits        json.RawMessage   `json:"limits,omitempty"`
	Skills        []contextSkill    `json:"skills,omitempty"`
	Tools         []string          `json:"tools"`
	SpecRef       *string           `json:"deliverableSpecRef"`
	TargetSlot    string            `json:"targetSlot,omitempty"`
	Overlays      []string          `json:"overlays"`
	Slots         map[Slot]Mode     `json:"slots"`
	Env           []string          `json:"env,omitempty"` // names only
	Inputs        json.RawMessage   `json:"inputs,omitempty"`
	Persist       []string          `json:"persist,omitempty"`
	Surface       *Surface          `json:"outputSurface,omitempty"`
	Manifest      *manifestIdentity `json:"manifest,omitempty"`
	Review        *review           `json:"review,omitempty"`
	Vars          json.RawMessage   `json:"vars,omitempty"`
}

type named struct {
	Key string `json:"key"`
}

type review struct {
	Feedback string `json:"priorReviewerFeedback"`
}

type contextSkill struct {
	Slug    string `json:"slug"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path"`
}

type manifestIdentity struct {
	Slug    string `json:"slug"`
	Version string `json:"version"`
}

func contextJSON(in Input) (json.RawMessage, error) {
	c := contextValue{
		SchemaVersion: 1, Project: in.Project, Workflow: key(in.Workflow), Job: key(in.Job), Agent: in.Agent, SubAgents: in.SubAgents,
		Model: in.Model, Limits: in.Limits, Tools: in.Tools, Overlays: tags(in.Overlays), Slots: in.Plan.slots(), Vars: in.Vars,
	}
	for _, s := range in.Skills {
		c.Skills = append(c.Skills, contextSkill{Slug: s.Slug, Version: s.Version, Path: SkillPath(s.Slug)})
	}
	if in.Contract != nil {
		c.SpecRef = &in.Contract.Ref
		c.TargetSlot = string(SlotDeliverables)
	}
	if w := in.Workspace; w != nil {
		c.Inputs, c.Persist, c.Surface = w.Inputs, w.Persist, w.Surface
		for _, v := range w.Env {
			c.Env = append(c.Env, v.Name)
		}
		if w.Slug != "" {
			c.Manifest = &manifestIdentity{Slug: w.Slug, Version: w.Version}
		}
	}
	if in.Feedback != "" {
		c.Review = &review{Feedback: in.Feedback}
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", ContextFile, err)
	}
	return canon.Canonical(raw)
}

func key(name string) *named {
	if name == "" {
		return nil
	}
	return &named{Key: name}
}

// slots are the slots of the plan and how they are mounted; read-write when any
// entry is.
func (p Plan) slots() map[Slot]Mode {
	out := map[Slot]Mode{}
	for _, e := range p.Entries {
		if out[e.Slot] != ReadWrite {
			out[e.Slot] = e.Mode
		}
	}
	return out
}
