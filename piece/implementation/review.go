package implementation

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// review lets a reviewer judge the work, and the host the review.
func (s *step) review(ctx context.Context) (fact, error) {
	now, ft, err := s.proven(ctx)
	if err != nil || ft != nil {
		return first(ft), err
	}
	ch, err := s.change(ctx)
	if err != nil {
		return fact{}, err
	}
	reply, err := s.judgement(ctx, ch)
	if err != nil {
		return fact{}, err
	}
	if after, err := s.candidate(ctx); err != nil || after != now {
		return fact{wanted: phaseVerify, why: "the files changed while they were reviewed"}, err
	}
	digest, err := s.st.Plan.digest()
	if err != nil {
		return fact{}, err
	}
	given, answers, err := s.exceptions(ctx, reply.Acceptance.Criteria, now)
	if err != nil {
		return fact{}, err
	}
	s.st.Approved = ""
	s.st.Review = &review{
		Score: reply.Score, Candidate: now, Artifacts: ch.Digest, Plan: digest, Checks: string(s.st.Proof.Plan), Given: given,
	}
	out := s.reviewed(reply, given)
	out.answers = answers
	return out, nil
}

// first is what has to come first, or nothing beside an error.
func first(ft *fact) fact {
	if ft == nil {
		return fact{}
	}
	return *ft
}

// proven returns the candidate, or what has to come first when no valid receipt
// is about it.
func (s *step) proven(ctx context.Context) (string, *fact, error) {
	switch {
	case s.st.Plan == nil:
		return "", &fact{wanted: phaseArchitect, why: "there is no plan yet"}, nil
	case s.st.Report == nil:
		return "", &fact{wanted: phaseDeveloper, why: "there is no work yet"}, nil
	case len(s.st.Report.Incomplete) > 0:
		return "", s.unfinished(*s.st.Report), nil
	case s.st.Proof == nil:
		return "", &fact{wanted: phaseVerify, why: "the work is not verified"}, nil
	}
	now, err := s.candidate(ctx)
	if err != nil {
		return "", nil, err
	}
	plan, err := verification.PlanDigest(s.checks())
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%s: digesting the plan: %w", s.f.Node, err)
	case s.st.Proof.Candidate != now:
		return "", &fact{wanted: phaseVerify, why: "the files changed since they were verified"}, nil
	case s.st.Proof.Plan != plan:
		return "", &fact{wanted: phaseVerify, why: "the checks changed since the work was verified"}, nil
	}
	return now, nil, nil
}

// judgement is the answer of the reviewer. One that does not certify every
// criterion once is asked for again, unless the answer was repaired already.
func (s *step) judgement(ctx context.Context, ch Change) (reviewReply, error) {
	w := wish{
		key: "review", kind: "initial", role: roleReviewer, text: roleReviewer, access: workflow.EffectRead,
		full:  []string{s.brief(), planBlock(s.st.Plan), artifactsBlock(ch, s.in.change, false)},
		fresh: []string{reportBlock(s.st.Report), receiptBlock(s.st.Proof), s.p.ReviewPolicy.block()},
		task:  instructions("reviewer-task"), own: true,
	}
	made, reply, err := ask[reviewReply](ctx, s, w)
	if err != nil {
		return made, err
	}
	problems := unfit(s.st.Criteria, made.Acceptance.Criteria)
	if len(problems) > 0 && reply.Rounds <= repairs {
		w.key, w.kind, w.own = w.key+"-repair", "repair", false
		w.fresh = append(w.fresh, block("Your last answer:", "your-answer", text.Head(reply.Text, maxSteering, "\n[…]")))
		w.task = "The answer does not certify the criteria:\n- " + strings.Join(problems, "\n- ") + "\nAnswer again, with the whole JSON object."
		if made, reply, err = ask[reviewReply](ctx, s, w); err != nil {
			return made, err
		}
		problems = unfit(s.st.Criteria, made.Acceptance.Criteria)
	}
	if len(problems) > 0 {
		return made, workflow.Errorf(workflow.CodeStructuredOutput, "%s: the review does not certify the criteria: %w", s.f.Node,
			&executor.Misfit{Text: reply.Text, Problems: problems})
	}
	return made, nil
}

// exceptions lets a person decide about criteria that are met in another way
// than worded.
func (s *step) exceptions(ctx context.Context, given []certificate, now string) ([]certificate, []workflow.NamedAnswer, error) {
	for i := range given {
		given[i].Accepted = "" // a person's word, never the reviewer's
		given[i].Evidence = text.Head(given[i].Evidence, maxEvidence, "…")
	}
	open := withStatus(given, statusException)
	if len(open) == 0 || len(lacking(given)) > len(open) {
		return given, nil, nil // nothing to decide, or the work comes back anyway
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The review of %s found criteria that are met in another way than worded. Do you accept that?", s.in.change)
	for _, c := range open {
		fmt.Fprintf(&b, "\n- %s: %s", c.ID, c.Evidence)
	}
	answer, err := s.c.Ask(ctx, piece.Ask{Round: 1, Kind: workflow.AskApproval, Text: text.Head(b.String(), result.MaxQuestion, "…"), Bound: now})
	if err != nil || answer.Denied || answer.Expired || answer.Bound != now {
		return given, nil, err
	}
	by := answer.By
	if by == "" {
		by = "a person"
	}
	for i := range given {
		if given[i].Status == statusException {
			given[i].Accepted = by
		}
	}
	if answer.Value.Absent() {
		return given, nil, nil
	}
	return given, []workflow.NamedAnswer{{Question: answer.Question, Node: s.f.Node, Value: answer.Value, By: answer.By, At: answer.At}}, nil
}

// reviewed says what a review means for the work.
func (s *step) reviewed(r reviewReply, given []certificate) fact {
	ft := fact{
		history: fmt.Sprintf("review: score %g, approved %t\n%s", r.Score, r.Approved, r.Summary),
		output: map[string]any{
			"approved": false, "score": r.Score, "aspects": r.Aspects, "summary": r.Summary, "issues": r.Issues, "acceptance": given,
			"candidateHash": s.st.Review.Candidate,
		},
	}
	short := s.objections(r, given)
	if len(short) == 0 {
		s.st.Review.Approved = true
		ft.output["approved"] = true
		ft.wanted = phaseArchive
		return ft
	}
	ft.why = strings.Join(short, "; ")
	ft.output["objections"] = short
	if blocked := withStatus(given, statusBlocked); len(blocked) > 0 {
		ft.failure = &workflow.Failure{Code: CodeBlocked, Message: fmt.Sprintf("criterion %s is blocked: %s", blocked[0].ID, blocked[0].Evidence)}
		return ft
	}
	if s.exhausted() {
		ft.rejected = true
		ft.failure = &workflow.Failure{Code: CodeFailed, Message: fmt.Sprintf("the review did not approve the work after %d changes, which is the limit: %s", s.st.Changes, ft.why)}
		return ft
	}
	s.st.Correction = &correction{From: fromReview, Text: text.Head(strings.Join(append(short, r.Issues...), "\n"), 2*maxFailure, "\n[…]")}
	ft.wanted = phaseFixer
	return ft
}

// objections says why a review does not approve the work: its own word, the
// floors, the criteria, the checks, and the confidence of the plan.
func (s *step) objections(r reviewReply, given []certificate) []string {
	var out []string
	if !r.Approved {
		out = append(out, "the reviewer does not approve: "+r.Summary)
	}
	out = append(out, s.p.ReviewPolicy.short(r)...)
	out = append(out, lacking(given)...)
	for _, c := range r.Acceptance.Checks {
		if c.Status != verification.StatePassed {
			out = append(out, fmt.Sprintf("the reviewer calls check %s %s: %s", c.ID, c.Status, c.Evidence))
		}
	}
	if s.st.Plan.Confidence == confidenceLow && s.st.Plan.Waived == "" {
		out = append(out, "the plan has a low confidence that nobody waived")
	}
	return out
}
