package control

import (
	"context"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
)

// runEnd carries out an end whose success must be verified. There are no
// receipts to prove it with, so a success is unproven.
func runEnd(_ context.Context, c piece.Context) (workflow.Settled, error) {
	p, err := params.Read[workflow.EndParams](c.Frame().Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	done := &workflow.Completion{Exit: p.Exit}
	if p.Reason != "" {
		done.Reasons = append(done.Reasons, p.Reason)
	}
	if p.Outcome == "success" {
		done.Status = workflow.StatusUnproven
		done.Reasons = append(done.Reasons, string(workflow.CodeVerifyUnavailable))
	}
	return workflow.Settled{Completion: done}, nil
}
