package control

import (
	"context"
	"fmt"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

// runEnd carries out an end whose success must be verified: a receipt of this
// run must certify the files as they are now.
func runEnd(ctx context.Context, c piece.Context) (workflow.Settled, error) {
	p, err := params.Read[workflow.EndParams](c.Frame().Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	done := &workflow.Completion{Exit: p.Exit}
	if p.Reason != "" {
		done.Reasons = append(done.Reasons, p.Reason)
	}
	s := workflow.Settled{Completion: done}
	if p.Outcome == "success" {
		why, hash, err := unproven(ctx, c)
		if err != nil {
			return workflow.Settled{}, err
		}
		s.Candidate = hash
		if done.OK, done.Verified = why == "", why == ""; why != "" {
			done.Status = workflow.StatusUnproven
			done.Reasons = append(done.Reasons, string(workflow.CodeUnverified))
			s.Warnings = append(s.Warnings, c.Frame().Node+": "+why)
		}
	}
	if p.BlockerFrom != "" {
		blocker, ok, err := c.Lookup(ctx, "$outputs", p.BlockerFrom, "blocker")
		if err != nil {
			return workflow.Settled{}, fmt.Errorf("reading the blocker of %s: %w", p.BlockerFrom, err)
		}
		if ok {
			s.Output = result.Value(map[string]any{"blocker": blocker})
		}
	}
	return s, nil
}

// unproven says why the work is not verified, "" when it is, and the candidate as
// it is now.
func unproven(ctx context.Context, c piece.Context) (why, hash string, err error) {
	proven, _, err := c.Lookup(ctx, "$verified", "candidateHash")
	if err != nil {
		return "", "", fmt.Errorf("reading what is verified: %w", err)
	}
	if proven == nil {
		return neverProven(ctx, c)
	}
	if hash, err = candidate(ctx, c); err != nil {
		return "", "", err
	}
	if hash != proven {
		return fmt.Sprintf("the files changed after they were verified: %v was, %s is now", proven, hash), hash, nil
	}
	return "", hash, nil
}

// neverProven says why nothing stands verified.
func neverProven(ctx context.Context, c piece.Context) (why, hash string, err error) {
	prover, ok := c.(piece.Prover)
	if !ok {
		return "nothing was verified", "", nil
	}
	switch proof, err := prover.Proof(ctx); {
	case err != nil:
		return "", "", fmt.Errorf("looking for a receipt: %w", err)
	case proof == nil:
		return "no full verification has passed", "", nil
	default:
		if hash, err = candidate(ctx, c); err != nil {
			return "", "", err
		}
		return fmt.Sprintf("receipt %s verified %s; after it something was written or changed, and the files are %s now", proof.Receipt, proof.Candidate, hash), hash, nil
	}
}
