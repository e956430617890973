package implementation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
)

// The least that a review must give. A policy can only raise it.
const floorScore = 70

var floors = map[string]float64{
	"security": 75, "type_correctness": 60, "pattern_adherence": 60, "test_coverage": 60, "architectural_alignment": 60,
}

// aspectNames are the aspects of a review, sorted.
func aspectNames() []string { return slices.Sorted(maps.Keys(floors)) }

// policy is what a definition wants of a review.
type policy struct {
	MinScore float64            `json:"minScore,omitempty"`
	Aspects  map[string]float64 `json:"aspects,omitempty"`
}

// block tells a reviewer which floors are higher than its instructions say.
func (p *policy) block() string {
	if p == nil {
		return ""
	}
	var higher []string
	if p.MinScore > floorScore {
		higher = append(higher, fmt.Sprintf("overall %g", p.MinScore))
	}
	for _, name := range aspectNames() {
		if p.Aspects[name] > floors[name] {
			higher = append(higher, fmt.Sprintf("%s %g", name, p.Aspects[name]))
		}
	}
	if len(higher) == 0 {
		return ""
	}
	return "This work asks for more than the floors of your instructions: " + strings.Join(higher, ", ") + "."
}

// short says in what a review stays below the floors.
func (p *policy) short(r reviewReply) []string {
	if p == nil {
		p = &policy{}
	}
	var out []string
	if least := max(floorScore, p.MinScore); r.Score < least {
		out = append(out, fmt.Sprintf("the score is %g, and %g is the least", r.Score, least))
	}
	for _, name := range aspectNames() {
		if least := max(floors[name], p.Aspects[name]); r.Aspects[name] < least {
			out = append(out, fmt.Sprintf("%s is %g, and %g is the least", name, r.Aspects[name], least))
		}
	}
	return out
}

// States of a criterion.
const (
	statusMet       = "met"
	statusException = "exception" // not met as worded; a person decides
	statusBlocked   = "blocked"   // something outside of the work prevents it
	statusPending   = "pending"
)

// criterion is one thing that the work has to fulfil, fixed before it begins.
type criterion struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// maxEvidence bounds what is kept of the evidence for a criterion, in code points.
const maxEvidence = 1000

// certificate is the word of a reviewer about a criterion.
type certificate struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Evidence string `json:"evidence"`
	// Accepted is who accepted an exception.
	Accepted string `json:"accepted,omitempty"`
}

// unfit says what is wrong with the form of an acceptance: every criterion has
// to be there exactly once, and with evidence; no other.
func unfit(criteria []criterion, given []certificate) []string {
	var out []string
	seen := map[string]int{}
	for _, c := range given {
		seen[c.ID]++
		if c.Evidence == "" {
			out = append(out, fmt.Sprintf("acceptance.criteria: %q has no evidence", c.ID))
		}
	}
	for _, c := range criteria {
		switch seen[c.ID] {
		case 1:
		case 0:
			out = append(out, fmt.Sprintf("acceptance.criteria: criterion %q is missing", c.ID))
		default:
			out = append(out, fmt.Sprintf("acceptance.criteria: criterion %q is there %d times", c.ID, seen[c.ID]))
		}
		delete(seen, c.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, fmt.Sprintf("acceptance.criteria: there is no criterion %q", id))
	}
	return out
}

// withStatus returns the certificates of a status.
func withStatus(given []certificate, status string) []certificate {
	return slices.DeleteFunc(slices.Clone(given), func(c certificate) bool { return c.Status != status })
}

// lacking says why the certificates do not accept the work, exceptions that a
// person accepted aside.
func lacking(given []certificate) []string {
	var out []string
	for _, c := range given {
		if c.Status != statusMet && (c.Status != statusException || c.Accepted == "") {
			out = append(out, fmt.Sprintf("criterion %s is %s: %s", c.ID, c.Status, c.Evidence))
		}
	}
	return out
}

// bond is all that an acceptance is about.
type bond struct {
	Change     string        `json:"change"`
	Scope      string        `json:"scope"`
	Candidate  string        `json:"candidate"`
	Artifacts  string        `json:"artifacts"`
	Plan       string        `json:"plan"`       // of the work
	Checks     string        `json:"checks"`     // plan of the host
	Confidence string        `json:"confidence"` // of the architect, and who waived it
	Criteria   []criterion   `json:"criteria"`
	Given      []certificate `json:"given"`
}

// digest names what an approval is about.
func (b bond) digest() (string, error) {
	d, err := canon.Digest(b)
	if err != nil {
		return "", fmt.Errorf("digesting what is approved: %w", err)
	}
	return "acceptance:" + d, nil
}
