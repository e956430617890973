package runcontext

import (
	"fmt"
	"strings"
)

// roles are the roles that a manifest may give, with what each is told first.
var roles = map[string]string{
	"unit-worker":               "You do one unit of work, wholly, and nothing beside it.",
	"coordinator":               "You divide the work, give it to your sub-agents, and answer for the whole.",
	"engineer":                  "You change code so that it does what was asked, and show by checks that it does.",
	"auditor":                   "You find out what is so. You change nothing that you audit.",
	"generic-agent":             "You do what the task says.",
	"gate-reviewer":             "You decide whether the work may pass. Judge what is there, not what was announced, and give reasons that can be acted on.",
	"clarification-coordinator": "You find what is unclear, ask as few questions as settle it, and write down the answers.",
	"scope-validator":           "You compare what was done with what was asked, and name what is missing and what is too much.",
	"agent-session":             "You work with a person, who reads along and may answer.",
	"brainstorming":             "You look for different ways, and say what speaks for and against each.",
}

// Roles returns the roles, in order.
func Roles() []string { return sortedKeys(roles) }

// slotTexts are told for each slot that is mounted.
var slotTexts = map[Slot]string{
	SlotInputs:           "what this task was given; inputs.json is always there",
	SlotUploads:          "files that a person gave",
	SlotReferences:       "knowledge and other projects to look things up in",
	SlotRepos:            "the work trees",
	SlotDeliverableSpecs: "what a deliverable has to be",
	SlotDeliverables:     "where what you deliver belongs",
	SlotAgent:            "your skills and instructions",
}

// agentsMD renders the instructions: role, completion, deliverable, then what the
// repository says. Its input is normal.
func agentsMD(in Input) string {
	d := &document{}
	d.role(in)
	d.workspace(in)
	d.completion(in)
	d.deliverable(in)
	if in.Feedback != "" {
		d.heading("Feedback on the last attempt")
		d.text(in.Feedback)
	}
	if in.Instructions != "" {
		d.heading("Instructions of the repository")
		d.text(in.Instructions)
	}
	return d.String()
}

// document gathers text with unix line ends and exactly one blank line between
// blocks.
type document struct{ strings.Builder }

func (d *document) heading(title string) { d.text("## " + title) }

func (d *document) text(s string) {
	s = strings.Trim(unixLines(s), "\n")
	if s == "" {
		return
	}
	if d.Len() > 0 {
		d.WriteByte('\n')
	}
	d.WriteString(s + "\n")
}

func (d *document) list(lines []string) {
	if len(lines) > 0 {
		d.text("- " + strings.Join(lines, "\n- "))
	}
}

func (d *document) role(in Input) {
	title := in.Agent.Role
	if title == "" {
		title = "generic-agent"
	}
	d.text("# Role: " + title)
	who := fmt.Sprintf("You are %s@%s", in.Agent.Slug, in.Agent.Version)
	if in.Agent.Alias != "" {
		who += ", called " + in.Agent.Alias
	}
	if in.Agent.Stage != "" {
		who += ", in stage " + in.Agent.Stage
	}
	if in.Project != "" {
		who += ", for project " + in.Project
	}
	d.text(who + ". " + roles[title])
	d.text(in.Agent.Prompt)
	if len(in.SubAgents) > 0 {
		d.heading("Sub-agents")
		d.text("The tool task starts them:")
		d.list(in.SubAgents)
	}
	if len(in.Skills) > 0 {
		d.heading("Skills")
		d.text("Read a skill before you do what it is about.")
		lines := make([]string, len(in.Skills))
		for i, s := range in.Skills {
			lines[i] = "`" + SkillPath(s.Slug) + "`"
			if s.Description != "" {
				lines[i] += ": " + strings.Join(strings.Fields(s.Description), " ")
			}
		}
		d.list(lines)
	}
}

func (d *document) workspace(in Input) {
	slots := in.Plan.slots()
	var lines []string
	for _, s := range append(Slots(), SlotAgent) {
		if mode, ok := slots[s]; ok {
			lines = append(lines, fmt.Sprintf("`%s/` (%s): %s", s.Dir(), mode, slotTexts[s]))
		}
	}
	if len(lines) == 0 {
		return
	}
	d.heading("Workspace")
	d.text("Paths here are relative to your workspace. What is read-only stays so for every tool.")
	d.list(lines)
	var repos []string
	for _, e := range in.Plan.Entries {
		if e.Slot == SlotRepos && e.Path != SlotRepos.Dir() {
			repos = append(repos, fmt.Sprintf("`%s` (%s)", e.Path, e.Mode))
		}
	}
	d.list(repos)
}

func (d *document) completion(in Input) {
	d.heading("Completion")
	lines := []string{"You are done when what was asked for is there, and not before. Then stop."}
	if in.Contract != nil {
		lines = append(lines, "What counts is what you deliver, as described below; it is checked when you stop.")
	}
	lines = append(lines, "If you cannot go on, say what is missing. Do not deliver something else in its place.")
	d.list(lines)
}

func (d *document) deliverable(in Input) {
	c := in.Contract
	if c == nil {
		return
	}
	d.heading("Deliverable")
	title := "`" + c.Ref + "`"
	if c.Title != "" {
		title = c.Title + " (" + title + ")"
	}
	d.text(title)
	if slug, _, _ := strings.Cut(c.Ref, "@"); slug != "" {
		if _, ok := in.Plan.Find(SpecPath(slug)); ok {
			d.text("Its contract is `" + SpecPath(slug) + "`.")
		}
	}
	for _, s := range c.Sections {
		if s.Title != "" {
			d.text("### " + s.Title)
		}
		d.text(s.Text)
	}
	var lines []string
	for _, name := range sortedKeys(c.Bounds) {
		lines = append(lines, name+": "+c.Bounds[name].String())
	}
	d.list(lines)
	if overlays := tags(in.Overlays); len(overlays) > 0 {
		d.text("Applied overlays: " + strings.Join(overlays, ", "))
	}
}

// String tells the range.
func (r Range) String() string {
	switch {
	case r.Min != nil && r.Max != nil:
		return fmt.Sprintf("at least %v, at most %v", *r.Min, *r.Max)
	case r.Min != nil:
		return fmt.Sprintf("at least %v", *r.Min)
	case r.Max != nil:
		return fmt.Sprintf("at most %v", *r.Max)
	}
	return "any"
}
