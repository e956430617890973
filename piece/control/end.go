package control

import (
	"context"
	"fmt"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

// runEnd carries out an end whose success must be verified. There are no
// receipts to prove it with, so a success is unproven.
func runEnd(ctx context.Context, c piece.Context) (workflow.Settled, error) {
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
	s := workflow.Settled{Completion: done}
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
