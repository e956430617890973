package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// Candidate implements piece.Candidater.
func (a *attempt) Candidate(ctx context.Context) (string, error) {
	hash := a.r.e.cfg.Candidate
	if hash == nil {
		return "", workflow.Errorf(workflow.CodeInternal, "hashing the work tree: this engine has none")
	}
	return hash(ctx, a.frame)
}

// Keep implements piece.Prover.
func (a *attempt) Keep(_ context.Context, e workflow.EvidenceKept) error { return a.record(&e) }

// Proof implements piece.Prover.
func (a *attempt) Proof(context.Context) (proof *workflow.Verified, err error) {
	err = a.peek(func(r *run) { proof = r.Memory.Proof })
	return proof, err
}

// Dir implements piece.Desk.
func (a *attempt) Dir() (string, error) {
	if a.r.e.cfg.Desk == nil {
		return "", workflow.Errorf(workflow.CodeInternal, "a directory for visit %s: this engine has none", a.cmd.Visit)
	}
	return a.r.e.cfg.Desk(a.r.ID, a.cmd.Visit)
}

// isProven reports whether the candidate stands verified for a visit.
func (r *run) isProven(v workflow.VisitID) bool {
	reader, ok := r.Program.(workflow.Reader)
	if !ok || r.Memory.Proof == nil {
		return false
	}
	stands, _, err := reader.Lookup(v, "$verified", nil)
	return err == nil && stands != nil
}

// certify hashes the work tree after a piece, where its state matters to the
// run: after a write, while it stands verified, and when the piece proposes it
// as verified. A proposal counts only with a receipt that this visit kept, about
// the files as they are now.
func (a *attempt) certify(ctx context.Context, p piece.Piece, res *workflow.Settled) error {
	write := a.cmd.Effect == workflow.EffectWrite
	if res.Verified == nil && !a.proven && !(write && a.r.hashes) {
		return nil
	}
	hash, err := a.Candidate(ctx)
	if err != nil { // the work is done all the same
		why := fmt.Sprintf("hashing the work tree after %s: %v", a.cmd.Node, err)
		res.Warnings = append(res.Warnings, why)
		if res.Verified != nil {
			disprove(res, why)
		}
		return nil
	}
	res.Candidate = hash
	if res.Verified == nil {
		return nil
	}
	var kept workflow.EvidenceKept
	if err := a.peek(func(r *run) { kept = r.Memory.Kept[a.cmd.Visit] }); err != nil {
		return err
	}
	switch proposed := *res.Verified; {
	case !p.Certifies || !kept.Certifies() || kept.Receipt != proposed.Receipt || kept.Candidate != proposed.Candidate:
		why := fmt.Sprintf("%s: %s calls the work verified without a receipt of its own that proves it", a.cmd.Node, a.cmd.Kind)
		res.Warnings = append(res.Warnings, why)
		disprove(res, why)
	case proposed.Candidate != hash:
		return a.contradict(kept, res)
	}
	return nil
}

// changed is why a receipt is not valid any more when its visit settles.
const changed = "candidate changed before terminal commit"

// contradict turns a proof into a failure: the files changed between the receipt
// and the end of the visit.
func (a *attempt) contradict(kept workflow.EvidenceKept, res *workflow.Settled) error {
	kept.State, kept.Reason = workflow.ReceiptInvalid, changed
	if err := a.record(&kept); err != nil {
		return err
	}
	disprove(res, changed)
	res.Status = ""
	declared := a.r.e.outcomes(a.r.Start, a.cmd)
	for _, outcome := range []string{"fail", "reverify", "failed"} {
		if slices.Contains(declared, outcome) {
			res.Outcome = outcome
			break
		}
	}
	res.History += "\n" + changed
	return nil
}

// disprove takes a proposal back, also where the output speaks of it.
func disprove(res *workflow.Settled, why string) {
	res.Verified = nil
	var out map[string]json.RawMessage
	if bytes.HasPrefix(res.Output.JSON, []byte("{")) && json.Unmarshal(res.Output.JSON, &out) == nil {
		out["valid"], out["verified"], out["reason"] = json.RawMessage("false"), json.RawMessage("null"), rawOf(why)
		res.Output = workflow.Inline(rawOf(out))
	}
}
