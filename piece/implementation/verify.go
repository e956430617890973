package implementation

import (
	"context"
	"fmt"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/verification/host"
	"github.com/tenonrun/tenon/workflow"
)

// checks are what the host checks: the configured checks, and those that roles
// proposed for repositories without any.
func (s *step) checks() []verification.Check {
	var proposed []proposal
	if s.st.Plan != nil {
		proposed = append(proposed, s.st.Plan.Verification...)
	}
	return append(verification.Commands(s.in.checks), additional(s.in.checks, s.in.repositories, append(proposed, s.st.Proposed...))...)
}

// verify runs the plan of the host over the work.
func (s *step) verify(ctx context.Context) (fact, error) {
	switch {
	case s.st.Plan == nil:
		return fact{wanted: phaseArchitect, why: "there is no plan yet"}, nil
	case s.st.Report == nil:
		return fact{wanted: phaseDeveloper, why: "there is no work yet"}, nil
	}
	checks := s.checks()
	if len(checks) == 0 {
		return failed(workflow.CodeVerifyFailed, "nothing checks the work: no verification commands are configured, and no role proposed any; add verification.commands to .tenon/config.yaml, or name one with --verify"), nil
	}
	s.st.Proof = nil
	digest, err := verification.PlanDigest(checks)
	if err != nil {
		return fact{}, fmt.Errorf("%s: digesting the plan: %w", s.f.Node, err)
	}
	now, err := s.candidate(ctx)
	if err != nil {
		return fact{}, err
	}
	if why := s.st.Window.same(mark(now, string(digest))); why != "" {
		return s.hopeless(workflow.CodeNoProgress, why), nil
	}
	receipt, err := s.check(ctx, checks)
	if err != nil {
		return fact{}, err
	}
	return s.checked(receipt), nil
}

// check runs the plan and keeps its receipt.
func (s *step) check(ctx context.Context, checks []verification.Check) (verification.Receipt, error) {
	keeper, ok := s.c.(piece.Prover)
	if !ok {
		return verification.Receipt{}, workflow.Errorf(workflow.CodeInternal, "%s verifies the work, but nothing here can keep a receipt", s.f.Node)
	}
	scope := ""
	if !s.in.root {
		scope = workflow.ReceiptScoped
	}
	return s.cfg.Verify(ctx, s.c, host.Request{
		ID: s.receiptID(), Run: string(s.f.Run), Visit: string(s.f.Visit), Node: s.f.Node, Attempt: s.f.Attempt,
		Repositories: s.in.repositories, Checks: checks, Setup: verification.Commands(s.in.setup), Scope: scope, Deadline: s.f.Deadline,
		Keep:     keeper.Keep,
		Progress: func(line string) { s.c.Progress(executor.Progress{Kind: "tool", Text: line}) },
	})
}

func (s *step) receiptID() string {
	return verification.ReceiptID(string(s.f.Run), string(s.f.Visit), s.f.Attempt, 1)
}

// checked says what a receipt means for the work.
func (s *step) checked(r verification.Receipt) fact {
	ft := fact{output: receiptOutput(r), history: r.Summary()}
	bad := r.Bad()
	if bad != nil {
		if lack, ok := verification.BlockerOf(*bad); ok {
			ft.output["blocker"] = lack
		}
	}
	switch {
	case r.State == workflow.ReceiptValid:
		s.st.Window.pass()
		s.st.Correction, s.st.Origin = nil, ""
		s.st.Proof = slim(r)
		ft.wanted = phaseReviewer
		if r.Certifies() && s.in.root {
			ft.verified = &workflow.Verified{Receipt: r.ID, Candidate: r.Candidate}
		}
		return ft
	case bad != nil && bad.State == verification.StateBroken:
		ft.why = fmt.Sprintf("the check %q could not be run: %s", bad.Check.Name(), bad.Reason)
		ft.failure = &workflow.Failure{Code: CodeBlocked, Message: ft.why}
		return ft
	}
	why, code := s.st.Window.fail(mark(r.Candidate, string(r.Plan)), failureOf(r), s.st.Origin), workflow.CodeNoProgress
	if why == "" && s.exhausted() {
		why, code = fmt.Sprintf("the work was changed %d times, which is the limit", s.st.Changes), CodeFailed
	}
	if why != "" {
		stop := s.hopeless(code, r.Reason+"; "+why)
		stop.output, stop.history = ft.output, ft.history
		return stop
	}
	s.st.Correction = &correction{From: fromChecks, Text: failureText(r)}
	ft.wanted, ft.why = phaseFixer, r.Reason
	return ft
}

// hopeless ends a work whose checks do not pass and will not.
func (s *step) hopeless(code workflow.Code, why string) fact {
	ft := failed(code, "the checks do not pass: %s", why)
	ft.rejected = true
	return ft
}

// receiptOutput is the part of the output that tells what the host saw.
func receiptOutput(r verification.Receipt) map[string]any {
	shown, omitted := verification.Report(append(append([]verification.Evidence(nil), r.Setup...), r.Commands...))
	out := map[string]any{
		"receiptId": r.ID, "valid": r.State == workflow.ReceiptValid, "scope": r.Kept().Scope, "candidateHash": r.Candidate, "commands": shown,
	}
	if omitted > 0 {
		out["omittedCommands"] = omitted
	}
	if len(r.Unverified) > 0 {
		out["unverified"] = r.Unverified
	}
	return out
}

// slim is a receipt without outputs: what later steps need of it.
func slim(r verification.Receipt) *verification.Receipt {
	for _, list := range []*[]verification.Evidence{&r.Setup, &r.Commands} {
		out := make([]verification.Evidence, 0, len(*list))
		for _, e := range *list {
			e.Output, e.Anchors, e.Truncated = "", "", e.Truncated || e.Output != ""
			out = append(out, e)
		}
		*list = out
	}
	return &r
}
