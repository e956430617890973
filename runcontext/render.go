package runcontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/workflow"
)

// Agent is the agent of a turn, as it was resolved.
type Agent struct {
	Slug    string `json:"slug"`
	Version string `json:"version"` // pinned, never "latest"
	Role    string `json:"role,omitempty"`
	Stage   string `json:"stage,omitempty"`
	Alias   string `json:"alias,omitempty"`
	Depth   int    `json:"depth,omitempty"` // 0 for the root of the tree
	Prompt  string `json:"-"`
}

// Skill is a pinned skill. Description is told in AGENTS.md.
type Skill struct {
	Slug        string `json:"slug"`
	Version     string `json:"version,omitempty"`
	SHA256      string `json:"sha256,omitempty"` // of its content
	Description string `json:"-"`
}

// Input is what a context is rendered from. JSON values count by meaning: spaces
// and the order of members do not.
type Input struct {
	Project  string // name, not a path
	Workflow string // name of the workflow; may be empty
	Job      string // path of the node in the workflow; may be empty

	Agent     Agent
	SubAgents []string        // names that the task tool takes
	Model     json.RawMessage // the decision, without its reasons
	Limits    json.RawMessage
	Rules     json.RawMessage // permissions of the agent, composed
	Skills    []Skill
	// Selections are the tool selections of the agent; their order does not count.
	Selections []json.RawMessage
	Tools      []string // names of the tools that the agent may be offered
	Denied     []string // names that are taken away again

	Contract  *Contract // nil: nothing has to be delivered
	Overlays  []Applied
	Plan      Plan
	Workspace *Workspace      // the bound manifest or block; may be nil
	Vars      json.RawMessage // further values for the agent; an object

	Instructions string // the repository's own AGENTS.md; may be empty
	Feedback     string // of a review or a failed validation; may be empty

	// Secrets are values that must not be rendered or mounted, and Private ones
	// (home, work tree, run id) that must not stand in context.json.
	Secrets, Private []string
}

// Rendered is a run context.
type Rendered struct {
	AgentsMD        string          `json:"agentsMd"`
	Context         json.RawMessage `json:"contextJson"` // canonical
	Plan            Plan            `json:"mountPlan"`
	Tools           []string        `json:"toolAllowlist"`   // sorted
	AppliedOverlays []string        `json:"appliedOverlays"` // tags, in their order
	// SnapshotHash identifies the definition of the agent: it stays when only what
	// is mounted changes. ContextHash identifies this very context.
	SnapshotHash string `json:"resolvedAgentSnapshotHash"` // sha256:…
	ContextHash  string `json:"renderedContextHash"`       // sha256:…
}

// ContextFileText is context.json as it is written: the canonical value, indented.
func (r Rendered) ContextFileText() []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, r.Context, "", "  "); err != nil {
		return r.Context
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// Render renders a context. It refuses a plan that NewPlan would refuse, values
// that are not JSON, two skills of one name, and whatever would show a secret.
func Render(in Input) (Rendered, error) {
	in, err := normal(in)
	if err != nil {
		return Rendered{}, err
	}
	r := Rendered{Plan: in.Plan, Tools: in.Tools, AppliedOverlays: tags(in.Overlays)}
	r.AgentsMD = agentsMD(in)
	if r.Context, err = contextJSON(in); err != nil {
		return Rendered{}, err
	}
	if err := discreet(in, r); err != nil {
		return Rendered{}, err
	}
	if r.SnapshotHash, err = snapshot(in).hash(); err != nil {
		return Rendered{}, err
	}
	r.ContextHash, err = ContextHash(r.AgentsMD, r.Context, r.Plan)
	return r, err
}

// normal puts what has no order in order and spells texts in one way.
func normal(in Input) (Input, error) {
	var err error
	if in.Plan, err = NewPlan(in.Plan.Entries); err != nil {
		return in, err
	}
	for _, text := range []*string{&in.Agent.Prompt, &in.Instructions, &in.Feedback} {
		*text = unixLines(*text)
	}
	in.Skills = slices.SortedFunc(slices.Values(in.Skills), func(a, b Skill) int { return strings.Compare(a.Slug, b.Slug) })
	for i, s := range in.Skills {
		if i > 0 && s.Slug == in.Skills[i-1].Slug {
			return in, workflow.Errorf(workflow.CodeInvalidWorkspace, "agent %s has skill %q twice", in.Agent.Slug, s.Slug).WithHint("keep one version of it")
		}
	}
	denied := in.Denied
	in.Tools = slices.DeleteFunc(sortedSet(in.Tools), func(name string) bool { return slices.Contains(denied, name) })
	in.SubAgents = sortedSet(in.SubAgents)
	for _, v := range []struct {
		what string
		raw  *json.RawMessage
	}{{"the model", &in.Model}, {"limits", &in.Limits}, {"rules", &in.Rules}, {"vars", &in.Vars}} {
		if *v.raw, err = canonical(v.what, *v.raw); err != nil {
			return in, err
		}
	}
	selections := make([]json.RawMessage, len(in.Selections))
	for i, raw := range in.Selections {
		if selections[i], err = canonical("a tool selection", raw); err != nil {
			return in, err
		}
	}
	slices.SortFunc(selections, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	in.Selections = slices.CompactFunc(selections, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
	return in, nil
}

func unixLines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func canonical(what string, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	out, err := canon.Canonical(raw)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", what, err)
	}
	return out, nil
}

// sortedSet returns the distinct values in order, never nil.
func sortedSet(in []string) []string {
	out := slices.Sorted(slices.Values(in))
	if out == nil {
		out = []string{}
	}
	return slices.Compact(out)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func tags(applied []Applied) []string {
	out := []string{}
	for _, a := range applied {
		if !slices.Contains(out, a.Tag) {
			out = append(out, a.Tag)
		}
	}
	return out
}

// discreet refuses a context that shows what it must not.
func discreet(in Input, r Rendered) error {
	for _, secret := range in.Secrets {
		var where string
		switch {
		case len(secret) < 4: // too short to tell from other text
			continue
		case strings.Contains(r.AgentsMD, secret):
			where = AgentsFile
		case holds(r.Context, secret):
			where = ContextFile
		default:
			where = mounted(in.Plan, secret)
		}
		if where != "" {
			return workflow.Errorf(workflow.CodeInvalidWorkspace, "the value of a credential would stand in %s", where).
				WithHint("credentials reach an agent through env of the workspace only; take the value out of the prompt, inputs or seed files")
		}
	}
	for _, p := range in.Private {
		if len(p) > 1 && holds(r.Context, p) {
			return workflow.Errorf(workflow.CodeInvalidWorkspace, "%s would hold %q, which is of this machine or run only", ContextFile, p).
				WithHint("name things in vars and inputs relative to the workspace")
		}
	}
	return nil
}

// holds reports whether JSON text holds s inside a string.
func holds(raw []byte, s string) bool {
	quoted, err := json.Marshal(s)
	if err != nil {
		return false
	}
	spelled, err := canon.Canonical(quoted)
	return err == nil && bytes.Contains(raw, spelled[1:len(spelled)-1])
}

func mounted(p Plan, secret string) string {
	for _, e := range p.Entries {
		if bytes.Contains(e.Content, []byte(secret)) {
			return e.Path
		}
	}
	return ""
}
