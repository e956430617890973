package runcontext

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/internal/canon"
)

// digestPrefix names the algorithm of the two digests.
const digestPrefix = "sha256:"

// snapshotValue is the definition of an agent in a turn, as it is hashed. What is
// absent is left out, so that a new field does not change old digests.
type snapshotValue struct {
	Agent     snapshotAgent     `json:"agent"`
	Spec      *snapshotSpec     `json:"deliverableSpec,omitempty"`
	Model     json.RawMessage   `json:"model,omitempty"`
	Overlays  []string          `json:"overlays"`
	Contents  map[string]string `json:"overlayContents,omitempty"` // id → digest
	Skills    []Skill           `json:"skills"`
	Tools     []json.RawMessage `json:"tools"`
	Allowed   []string          `json:"toolAllowlist,omitempty"`
	SubAgents []string          `json:"subAgents,omitempty"`
	Limits    json.RawMessage   `json:"limits,omitempty"`
	Rules     json.RawMessage   `json:"rules,omitempty"`
	Workspace *Workspace        `json:"workspace,omitempty"`
}

type snapshotAgent struct {
	Agent
	Prompt string `json:"promptSha256,omitempty"`
}

type snapshotSpec struct {
	Ref    string `json:"ref"`
	SHA256 string `json:"sha256,omitempty"` // of the contract, overlays applied
}

func snapshot(in Input) snapshotValue {
	s := snapshotValue{
		Agent: snapshotAgent{Agent: in.Agent}, Model: in.Model, Overlays: tags(in.Overlays), Skills: in.Skills, Tools: in.Selections,
		Allowed: in.Tools, SubAgents: in.SubAgents, Limits: in.Limits, Rules: in.Rules, Workspace: in.Workspace,
	}
	if in.Agent.Prompt != "" {
		s.Agent.Prompt = canon.Sum([]byte(in.Agent.Prompt))
	}
	s.Contents = map[string]string{}
	for _, o := range in.Overlays {
		if o.SHA256 != "" {
			s.Contents[o.ID] = o.SHA256
		}
	}
	if in.Contract != nil {
		s.Spec = &snapshotSpec{Ref: in.Contract.Ref, SHA256: in.Contract.digest()}
	}
	return s
}

// digest is empty for a contract that is a name only.
func (c Contract) digest() string {
	if c.Title == "" && len(c.Sections)+len(c.Bounds)+len(c.Schema) == 0 {
		return ""
	}
	sum, err := canon.Digest(c)
	if err != nil {
		return "" // the schema is no JSON: whoever validates says so
	}
	return sum
}

func (s snapshotValue) hash() (string, error) {
	if s.Skills == nil {
		s.Skills = []Skill{}
	}
	if s.Tools == nil {
		s.Tools = []json.RawMessage{}
	}
	sum, err := canon.Digest(s)
	if err != nil {
		return "", fmt.Errorf("digest of agent %s: %w", s.Agent.Slug, err)
	}
	return digestPrefix + sum, nil
}

// ContextHash is the digest of a context: of the text of AGENTS.md, the value of
// context.json and the mount plan, entries by path.
func ContextHash(agentsMD string, context json.RawMessage, plan Plan) (string, error) {
	sum, err := canon.Digest(struct {
		AgentsMD string          `json:"agentsMdSha256"`
		Context  json.RawMessage `json:"contextJson"`
		Plan     Plan            `json:"mountPlan"`
	}{canon.Sum([]byte(agentsMD)), context, plan})
	if err != nil {
		return "", fmt.Errorf("digest of the context: %w", err)
	}
	return digestPrefix + sum, nil
}
