package verify

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// maxSame is how often the same failures over the same files may come in a row.
const maxSame = 3

// settle makes the result of a visit out of its receipt.
func (v *visit) settle(seen found) (workflow.Settled, error) {
	r := seen.receipt
	output := v.output(seen)
	s := workflow.Settled{Outcome: "pass", Private: result.Value(same{}), History: result.Text(r.Summary())}
	if r.State == workflow.ReceiptValid {
		output["noProgressCount"] = 0
		if r.Certifies() {
			s.Verified = &workflow.Verified{Receipt: r.ID, Candidate: r.Candidate}
			output["verified"] = map[string]any{"receiptId": r.ID, "candidateHash": r.Candidate}
		}
		s.Output = result.Value(output)
		return s, nil
	}
	now, err := v.counted(r)
	if err != nil {
		return s, err
	}
	s.Private, output["noProgressCount"] = result.Value(now), now.Count
	s.Outcome, s.Error = v.outcome(seen, now)
	switch s.Outcome {
	case "failed":
		s.Status = workflow.VisitFailed
	case "blocked":
		s.Status = workflow.VisitBlocked
	}
	s.Output = result.Value(output)
	return s, nil
}

// outcome chooses the edge of an invalid receipt.
func (v *visit) outcome(seen found, now same) (string, *workflow.Failure) {
	r, bad := seen.receipt, seen.receipt.Bad()
	fail := func(code workflow.Code, format string, args ...any) *workflow.Failure {
		return &workflow.Failure{Code: code, Message: v.f.Node + ": " + fmt.Sprintf(format, args...)}
	}
	switch {
	case seen.blocker != nil && v.p.HostBlockers:
		b := seen.blocker
		return "blocked", fail(workflow.CodeHostPrecondition, "the checks need something this machine does not have (%s): %s; %s", b.Kind, b.Reason, b.RequiredAction)
	case r.SetupFailed():
		return "failed", fail(workflow.CodeVerifyFailed, "the setup command %q did not work: %s", bad.Check.Name(), bad.Reason)
	case bad != nil && (bad.State == verification.StateBroken || bad.State == verification.StateHung && v.f.Level == 1):
		return "failed", fail(workflow.CodeVerifyFailed, "the check %q could not be completed: %s", bad.Check.Name(), bad.Reason)
	case bad == nil && r.After == "":
		return "failed", fail(workflow.CodeVerifyFailed, "%s", r.Reason)
	case now.Count >= maxSame:
		return "failed", fail(workflow.CodeVerifyNoProgress,
			"the same checks failed %d times while the files did not change; look at the failures before repairing goes on", now.Count)
	}
	return "fail", nil
}

// output is what later nodes and people see of the receipt; the receipt itself
// stays in the history.
func (v *visit) output(seen found) map[string]any {
	r := seen.receipt
	all := r.Commands
	if r.SetupFailed() {
		all = r.Setup
	}
	commands, omitted := verification.Report(all)
	output := map[string]any{
		"receiptId": r.ID, "valid": r.State == workflow.ReceiptValid, "kind": r.Scope, "verified": nil, "commands": commands,
	}
	if omitted > 0 {
		output["omittedCommands"] = omitted
	}
	if r.Candidate != "" {
		output["candidateHash"] = r.Candidate
	}
	if r.Reason != "" {
		output["reason"] = text.Head(r.Reason, 2000, "…")
	}
	if bad := r.Bad(); bad != nil {
		output["failure"] = text.Head(bad.Check.Name()+": "+bad.Reason, 2000, "…")
	}
	if seen.repair != nil {
		output["repair"] = seen.repair
	}
	if seen.blocker != nil {
		output["blocker"] = seen.blocker
	}
	if len(r.Unverified) > 0 {
		output["unverifiedRepositories"] = r.Unverified
	}
	return output
}

// same is what a visit keeps for the next one.
type same struct {
	Fingerprint string `json:"fingerprint"`
	Count       int    `json:"count"`
}

// counted compares the failures with those of the last visit. Where the files
// are not known to be the same, it starts anew.
func (v *visit) counted(r verification.Receipt) (same, error) {
	type failure struct {
		Check workflow.Digest
		Code  int
	}
	var failures []failure
	for _, e := range append(r.Setup[:len(r.Setup):len(r.Setup)], r.Commands...) {
		if e.Failed() {
			id, err := e.Check.Identity()
			if err != nil {
				return same{}, fmt.Errorf("%s: naming a check: %w", v.f.Node, err)
			}
			failures = append(failures, failure{Check: id, Code: e.ExitCode})
		}
	}
	mark, err := canon.Digest(map[string]any{"candidate": r.Candidate, "failures": failures})
	if err != nil {
		return same{}, fmt.Errorf("%s: digesting the failures: %w", v.f.Node, err)
	}
	raw, err := v.c.Load(v.f.Context.Private)
	if err != nil {
		return same{}, fmt.Errorf("%s: reading what the last visit kept: %w", v.f.Node, err)
	}
	var last same
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &last); err != nil {
			return same{}, fmt.Errorf("%s: reading what the last visit kept: %w", v.f.Node, err)
		}
	}
	if r.Candidate == "" || last.Fingerprint != mark {
		last.Count = 0
	}
	return same{Fingerprint: mark, Count: last.Count + 1}, nil
}
