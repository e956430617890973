package implementation

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed contract/*.json
var contracts embed.FS

//go:embed prompts/*.md
var prompts embed.FS

// contract is the closed schema of a role's answer.
func contract(role string) json.RawMessage { return mustRead(contracts, "contract/"+role+".json") }

// instructions are the texts of the roles: what a role is and must answer, and
// under NAME-task the wording of its task.
func instructions(name string) string {
	return strings.TrimSpace(string(mustRead(prompts, "prompts/"+name+".md")))
}

func mustRead(files embed.FS, name string) []byte {
	raw, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("implementation: %v", err)) //nolint:forbidigo // an embedded file that the build has left out
	}
	return raw
}

// Confidence of an architect.
const (
	confidenceHigh   = "high"
	confidenceMedium = "medium"
	confidenceLow    = "low"
)

// proposal is a check that a role wants in addition.
type proposal struct {
	RepositoryID string   `json:"repositoryId"`
	Command      string   `json:"command"`
	Args         []string `json:"args,omitempty"`
	Cwd          string   `json:"cwd,omitempty"`
}

func (p proposal) check() verification.Check {
	return verification.Check{RepositoryID: p.RepositoryID, Command: p.Command, Args: p.Args, Cwd: p.Cwd, Proposed: true}
}

// architectReply is the answer of an architect.
type architectReply struct {
	Confidence        string     `json:"confidence"`
	Plan              string     `json:"plan,omitempty"`
	PlanningDepth     string     `json:"planningDepth,omitempty"`
	PlanningReason    string     `json:"planningReason,omitempty"`
	ReferencePatterns []string   `json:"referencePatterns,omitempty"`
	RiskFlags         []string   `json:"riskFlags,omitempty"`
	Question          string     `json:"question,omitempty"`
	Verification      []proposal `json:"verification,omitempty"`
}

// developerReply is the answer of a developer, also of one who corrects.
type developerReply struct {
	Summary            string       `json:"summary"`
	Files              []string     `json:"files"`
	Tests              []string     `json:"tests"`
	Verification       []string     `json:"verification"`
	Incomplete         []unfinished `json:"incomplete"`
	VerificationChecks []proposal   `json:"verificationChecks,omitempty"`
}

// unfinished is a task that a developer left open.
type unfinished struct {
	Task   string `json:"task"`
	Reason string `json:"reason"`
}

// reviewReply is the answer of a reviewer.
type reviewReply struct {
	Approved   bool               `json:"approved"`
	Summary    string             `json:"summary"`
	Issues     []string           `json:"issues"`
	Score      float64            `json:"score"`
	Aspects    map[string]float64 `json:"aspects"`
	Acceptance acceptance         `json:"acceptance"`
}

type acceptance struct {
	Criteria []certificate `json:"criteria"`
	Checks   []checked     `json:"checks"`
	Findings []string      `json:"findings"`
}

// checked is what a reviewer read in the receipt of the host.
type checked struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Evidence string `json:"evidence,omitempty"`
}

// additional are the proposed checks for repositories that have none of the
// host's own: whatever a role says, it cannot replace one of those.
func additional(own []workflow.Check, repositories []workflow.RepositoryInfo, proposed []proposal) []verification.Check {
	covered := func(id string) bool {
		return slices.ContainsFunc(own, func(c workflow.Check) bool {
			return c.RepositoryID == id || c.RepositoryID == "" && len(repositories) == 1
		})
	}
	var out []verification.Check
	for _, p := range proposed {
		known := slices.ContainsFunc(repositories, func(r workflow.RepositoryInfo) bool { return r.ID == p.RepositoryID })
		twice := slices.ContainsFunc(out, func(c verification.Check) bool {
			return c.RepositoryID == p.RepositoryID && c.Command == p.Command && path.Clean(c.Cwd) == path.Clean(p.Cwd) && slices.Equal(c.Args, p.Args)
		})
		if known && !twice && !covered(p.RepositoryID) && len(out) < maxProposals {
			out = append(out, p.check())
		}
	}
	return out
}

// maxProposals bounds the checks that roles add.
const maxProposals = 20
