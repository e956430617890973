package verify

import (
	"context"
	"fmt"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/verification/host"
	"github.com/tenonrun/tenon/workflow"
)

// visit is one run of the piece.
type visit struct {
	c       piece.Context
	f       piece.Frame
	p       verifyParams
	runner  *host.Runner
	ordinal int // of the newest receipt
}

// found is what the receipts of a visit tell.
type found struct {
	receipt verification.Receipt
	blocker *verification.Blocker // what the machine lacks
	repair  map[string]any        // what was installed, for the output
}

func run(ctx context.Context, c piece.Context, runner *host.Runner) (workflow.Settled, error) {
	v := &visit{c: c, f: c.Frame(), runner: runner}
	var err error
	if v.p, err = params.Filled[verifyParams](v.f.Params); err != nil {
		return workflow.Settled{}, err
	}
	todo, err := makePlan(ctx, c, v.f, v.p)
	if err != nil {
		return result.Failed("failed", workflow.CodeVerifyFailed, v.f.Node+": "+err.Error()), nil //nolint:nilerr // the result tells
	}
	first, err := v.verify(ctx, todo)
	if err != nil {
		return workflow.Settled{}, err
	}
	seen, err := v.repaired(ctx, todo, first)
	if err != nil {
		return workflow.Settled{}, err
	}
	return v.settle(seen)
}

// verify runs a plan and keeps its receipt.
func (v *visit) verify(ctx context.Context, todo plan) (verification.Receipt, error) {
	v.ordinal++
	q := host.Request{
		ID:  verification.ReceiptID(string(v.f.Run), string(v.f.Visit), v.f.Attempt, v.ordinal),
		Run: string(v.f.Run), Visit: string(v.f.Visit), Node: v.f.Node, Attempt: v.f.Attempt,
		Repositories: v.f.Repositories, Checks: todo.checks, Setup: todo.setup, Unverified: v.p.Unverified,
		MaxConcurrency: v.p.MaxConcurrency, Deadline: v.f.Deadline,
		Progress: v.progress,
	}
	if prover, ok := v.c.(piece.Prover); ok {
		q.Keep = prover.Keep
	}
	if hasher, ok := v.c.(piece.Candidater); ok {
		q.Candidate = hasher.Candidate
	}
	return v.runner.Run(ctx, q)
}

func (v *visit) progress(line string) {
	v.c.Progress(executor.Progress{Kind: "tool", Text: line})
}

// repaired installs what the checks lack, where the repository says how, and runs
// the same plan once more.
func (v *visit) repaired(ctx context.Context, todo plan, first verification.Receipt) (found, error) {
	seen := found{receipt: first, blocker: blocker(first)}
	bad := first.Bad()
	if bad == nil || first.SetupFailed() {
		return seen, nil
	}
	place := v.placeOf(bad.Check)
	installs := verification.Installs(*bad, place.python(bad.Check.Env), place.has)
	if len(installs) == 0 {
		return seen, nil
	}
	for _, i := range installs {
		v.progress(fmt.Sprintf("%s lacks something; %s\n", bad.Check.Name(), i.Label))
	}
	again, err := v.verify(ctx, plan{setup: installs, checks: todo.checks})
	if err != nil {
		return seen, err
	}
	commands, _ := verification.Report(again.Setup)
	seen.repair = map[string]any{"receiptId": again.ID, "firstReceiptId": first.ID, "commands": commands}
	seen.blocker = blocker(again)
	if !again.SetupFailed() { // else the first receipt tells what failed, and the blocker what is in the way
		seen.receipt = again
	}
	return seen, nil
}

// blocker is what the machine lacks for a receipt to be valid. Dependencies that
// are still missing after an installation, or that nothing pins, are a fault of
// the files.
func blocker(r verification.Receipt) *verification.Blocker {
	bad := r.Bad()
	if bad == nil {
		return nil
	}
	b, ok := verification.BlockerOf(*bad)
	if ok = ok && b.Kind != verification.BlockEnvironment; !ok && r.SetupFailed() {
		b, ok = verification.SetupBlocker(*bad), true
	}
	if !ok {
		return nil
	}
	return &b
}
