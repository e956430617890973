package implementation

import (
	"context"
	"fmt"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// maxRounds bounds how often one visit asks for the same approval.
const maxRounds = 32

// standing is an accepted work as it is now.
type standing struct {
	candidate string
	change    Change
	bond      string // digest of all that its acceptance is about
}

// accepted returns the work as it stands, or what has to come first when
// something that its review is about is not as it was.
func (s *step) accepted(ctx context.Context) (standing, *fact, error) {
	var out standing
	now, ft, err := s.proven(ctx)
	if err != nil || ft != nil {
		return out, ft, err
	}
	plan, err := s.st.Plan.digest()
	if err != nil {
		return out, nil, err
	}
	if out.change, err = s.change(ctx); err != nil {
		return out, nil, err
	}
	r := s.st.Review
	why := ""
	switch {
	case r == nil || !r.Approved || len(lacking(r.Given)) > 0 || len(unfit(s.st.Criteria, r.Given)) > 0:
		why = "no review approves the work"
	case r.Candidate != now:
		why = "the files changed since they were reviewed"
	case r.Plan != plan || r.Checks != string(s.st.Proof.Plan):
		why = "the plan changed since the work was reviewed"
	case r.Artifacts != out.change.Digest && !s.st.Archived && !out.change.Archived:
		why = "the artifacts of the change are not those that were reviewed"
	}
	if why != "" {
		return out, &fact{wanted: phaseReviewer, why: why}, nil
	}
	out.candidate = now
	out.bond, err = bond{
		Change: s.in.change, Scope: s.f.Scope, Candidate: now, Artifacts: r.Artifacts, Plan: plan, Checks: r.Checks,
		Confidence: s.st.Plan.confidence(), Criteria: s.st.Criteria, Given: r.Given,
	}.digest()
	return out, nil, err
}

// approve lets a person approve the work before it is archived.
func (s *step) approve(ctx context.Context) (fact, error) {
	work, ft, err := s.accepted(ctx)
	if err != nil || ft != nil {
		return first(ft), err
	}
	question := fmt.Sprintf("Archive the change %s? The review gave %g of 100; the plan had %s confidence; the files are %s.",
		s.in.change, s.st.Review.Score, s.st.Plan.confidence(), work.candidate)
	asked := piece.Ask{Kind: workflow.AskApproval, Text: question, Bound: work.bond}
	for asked.Round = 1; asked.Round <= maxRounds; asked.Round++ {
		answer, err := s.c.Ask(ctx, asked)
		switch {
		case err != nil:
			return fact{}, err
		case answer.Denied || answer.Expired:
			return failed(workflow.CodeApprovalDenied, "the approval before the archive was denied%s", reasonOf(answer)), nil
		case answer.Bound == work.bond:
			s.st.Approved = work.bond
			return fact{
				wanted: phaseArchive, history: "approved for the archive",
				output: map[string]any{"approved": true, "candidateHash": work.candidate, "bound": work.bond, "by": answer.By},
			}, nil
		}
		asked.Text = "The work changed since this was asked. Please look again.\n\n" + question
	}
	return failed(workflow.CodeRecursionLimit, "the approval was asked for %d times without an answer that holds", maxRounds), nil
}

// archive archives the change of an accepted work and says what it proves.
func (s *step) archive(ctx context.Context) (fact, error) {
	if err := s.resume(ctx); err != nil {
		return fact{}, err
	}
	work, ft, err := s.accepted(ctx)
	if err != nil || ft != nil {
		return first(ft), err
	}
	switch {
	case !s.p.ApprovalBeforeArchive || s.st.Approved == work.bond:
	case s.st.Approved == "":
		return failed(CodeFailed, "the work has to be approved before it is archived, and nobody was asked; put a step with phase approval before this one"), nil
	default:
		return fact{wanted: phaseReviewer, why: "what was approved is not what would be archived"}, nil
	}
	bound := work.change != Change{}
	if bound && !s.st.Archived {
		if err := s.publish(ctx, work.candidate); err != nil {
			return fact{}, err
		}
	}
	if now, err := s.candidate(ctx); err != nil || now != work.candidate {
		return fact{wanted: phaseVerify, why: "the files changed while the change was archived"}, err
	}
	out := fact{
		wanted: done, history: "archived " + s.in.change,
		output: map[string]any{
			"archived": bound, "candidateHash": work.candidate, "receiptId": s.st.Proof.ID, "score": s.st.Review.Score,
			"acceptance": s.st.Review.Given, "confidence": s.st.Plan.confidence(),
		},
	}
	if !bound {
		out.output["reason"] = "the work tree holds no artifacts of this change: there was nothing to archive"
		out.history = "completed " + s.in.change
	}
	err = s.certify(ctx, &out)
	return out, err
}

// resume finishes an archive that an attempt of this visit decided on and could
// not end.
func (s *step) resume(ctx context.Context) error {
	ch, err := s.change(ctx)
	if err != nil || !ch.Begun || s.st.Review == nil {
		return err
	}
	return s.publish(ctx, s.st.Review.Candidate)
}

func (s *step) publish(ctx context.Context, candidate string) error {
	if err := s.cfg.Archiver.Archive(ctx, s.c, s.in.change, candidate); err != nil {
		return fmt.Errorf("%s: archiving change %s: %w", s.f.Node, s.in.change, err)
	}
	s.st.Archived = true
	return nil
}

// certify says again what the receipt of the checks proves: the files are the
// same, and the admission of this write revoked it.
func (s *step) certify(ctx context.Context, ft *fact) error {
	keeper, ok := s.c.(piece.Prover)
	if !ok || !s.in.root || !s.st.Proof.Certifies() {
		return nil
	}
	proof, err := keeper.Proof(ctx)
	if err != nil || proof == nil || proof.Candidate != s.st.Proof.Candidate {
		return err
	}
	again := s.again(*s.st.Proof)
	if err := keeper.Keep(ctx, again.Kept()); err != nil {
		return fmt.Errorf("%s: keeping the receipt: %w", s.f.Node, err)
	}
	ft.verified = &workflow.Verified{Receipt: again.ID, Candidate: again.Candidate}
	ft.output["receiptId"] = again.ID
	return nil
}

// again is a receipt of this visit with the evidence of an earlier one over the
// same files. Its evidence keeps the ids of that receipt.
func (s *step) again(r verification.Receipt) verification.Receipt {
	r.ID, r.Visit, r.Node, r.Attempt = s.receiptID(), string(s.f.Visit), s.f.Node, s.f.Attempt
	commands := make([]verification.Evidence, 0, len(r.Commands))
	for _, e := range r.Commands {
		e.Reused = true
		commands = append(commands, e)
	}
	r.Commands = commands
	return r
}
