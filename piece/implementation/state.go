package implementation

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// shared names the private state that the steps of a body have in common.
const shared = "implementation"

// state is what the steps of one implementation know of the work. It is private:
// no variable, patch or template reaches it.
type state struct {
	Criteria   []criterion                 `json:"criteria,omitempty"` // fixed by the first plan
	Plan       *plan                       `json:"plan,omitempty"`
	Changes    int                         `json:"changes,omitempty"` // how often the work was changed
	Report     *developerReply             `json:"report,omitempty"`
	Outside    string                      `json:"outside,omitempty"`  // what the newest change wrote outside of its scope
	Proposed   []proposal                  `json:"proposed,omitempty"` // by developers, all turns
	Correction *correction                 `json:"correction,omitempty"`
	Origin     string                      `json:"origin,omitempty"` // what the newest correction was about
	Proof      *verification.Receipt       `json:"proof,omitempty"`  // newest valid receipt, without outputs
	Window     window                      `json:"window,omitzero"`
	Review     *review                     `json:"review,omitempty"`
	Approved   string                      `json:"approved,omitempty"` // digest of the bond that a person approved
	Sessions   map[string]workflow.Session `json:"sessions,omitempty"` // by role
	Archived   bool                        `json:"archived,omitempty"` // the artifacts were archived, which nothing takes back
}

// plan is what an architect decided.
type plan struct {
	architectReply
	Waived string `json:"waived,omitempty"` // who let a low confidence pass
}

// confidence is the confidence as an acceptance is bound to it.
func (p *plan) confidence() string {
	if p.Waived != "" {
		return p.Confidence + ", waived by " + p.Waived
	}
	return p.Confidence
}

func (p *plan) digest() (string, error) {
	d, err := canon.Digest(p)
	if err != nil {
		return "", fmt.Errorf("digesting the plan: %w", err)
	}
	return d, nil
}

// correction is what a fixer has to mend.
type correction struct {
	From string `json:"from"` // fromChecks or fromReview
	Text string `json:"text"`
}

// review is a review that stands until something it is about changes.
type review struct {
	Approved  bool          `json:"approved"`
	Score     float64       `json:"score"`
	Candidate string        `json:"candidate"`
	Artifacts string        `json:"artifacts,omitempty"`
	Plan      string        `json:"plan"`
	Checks    string        `json:"checks"`
	Given     []certificate `json:"given"`
}

// forget drops what was true of the work before it was changed.
func (s *state) forget() { s.Proof, s.Review, s.Approved = nil, nil, "" }

func readState(c piece.Context) (state, error) {
	var st state
	f := c.Frame()
	raw, err := c.Load(f.Context.Private)
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &st)
	}
	if err != nil {
		return st, fmt.Errorf("%s: reading the state of the implementation: %w", f.Node, err)
	}
	return st, nil
}

// fact is what a step found out.
type fact struct {
	wanted  string         // the phase that is needed now; "" none that could help
	why     string         // for people
	output  map[string]any // more of the output
	history string
	failure *workflow.Failure // with wanted ""
	// rejected says that the work itself was found wanting, with wanted "".
	rejected bool
	verified *workflow.Verified
	answers  []workflow.NamedAnswer
	warnings []string
}

// failed is a fact that ends the work.
func failed(code workflow.Code, format string, args ...any) fact {
	e := workflow.Errorf(code, format, args...)
	return fact{why: e.Msg, failure: &workflow.Failure{Code: code, Message: e.Msg}}
}

// settle makes the result of a visit.
func (s *step) settle(ft fact) workflow.Settled {
	out := workflow.Settled{
		Outcome: outcome(s.p.Phase, ft.wanted), History: result.Text(ft.history), Private: result.Value(s.st),
		Verified: ft.verified, Answers: ft.answers, Warnings: ft.warnings,
	}
	output := map[string]any{"phase": s.p.Phase, "change": s.in.change}
	if ft.wanted != "" {
		output["wanted"] = ft.wanted
	}
	if ft.why != "" {
		output["reason"] = result.Text(ft.why)
	}
	for name, v := range ft.output {
		output[name] = v
	}
	if out.Outcome == "failed" {
		out.Status = workflow.VisitFailed
		if ft.failure == nil {
			ft.failure = &workflow.Failure{Code: CodeFailed, Message: ft.why}
		}
		out.Error = &workflow.Failure{Code: ft.failure.Code, Message: s.f.Node + ": " + ft.failure.Message}
		if ft.rejected {
			output["verdict"] = "rejected"
		}
	}
	out.Output = result.Value(output)
	return out
}

// candidate hashes the work tree.
func (s *step) candidate(ctx context.Context) (string, error) {
	hasher, ok := s.c.(piece.Candidater)
	if !ok {
		return "", workflow.Errorf(workflow.CodeInternal, "%s binds what it decides to the work tree, but nothing here can hash it", s.f.Node)
	}
	hash, err := hasher.Candidate(ctx)
	if err != nil {
		return "", fmt.Errorf("hashing the work tree for %s: %w", s.f.Node, err)
	}
	return hash, nil
}

// change tells what the work tree holds of the change.
func (s *step) change(ctx context.Context) (Change, error) {
	if s.cfg.Archiver == nil {
		return Change{}, nil
	}
	ch, err := s.cfg.Archiver.Change(ctx, s.c, s.in.change)
	if err != nil {
		return ch, fmt.Errorf("%s: reading the artifacts of change %s: %w", s.f.Node, s.in.change, err)
	}
	return ch, nil
}
