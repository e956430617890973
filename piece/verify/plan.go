package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// maxProposals bounds the commands that a model may add.
const maxProposals = 20

// plan is what a visit checks.
type plan struct{ setup, checks []verification.Check }

// makePlan collects the checks of a visit. Errors tell what to change.
func makePlan(ctx context.Context, c piece.Context, f piece.Frame, p verifyParams) (plan, error) {
	out := plan{checks: p.Checks, setup: p.Setup.commands}
	if p.Setup.configured {
		out.setup = verification.Commands(f.Setup)
	}
	switch {
	case p.Commands.configured:
		out.checks = verification.Commands(f.Checks)
	case len(p.Commands.commands) > 0:
		out.checks = p.Commands.commands
	}
	if p.AdditionalCommandsFrom != "" {
		more, err := proposals(ctx, c, p.AdditionalCommandsFrom)
		if err != nil {
			return out, err
		}
		out.checks = append(out.checks[:len(out.checks):len(out.checks)], uncovered(f, out.checks, more)...)
	}
	if len(out.checks) == 0 && !p.Unverified {
		if p.Commands.configured {
			return out, fmt.Errorf("no verification commands are configured; add verification.commands to .tenon/config.yaml, or name one with --verify")
		}
		return out, fmt.Errorf("the list of commands is empty; name at least one, or set unverified")
	}
	for i, item := range out.checks {
		if _, err := command.Repository(f.Repositories, item.Repository()); err != nil {
			return out, fmt.Errorf("check %d: %w", i+1, err)
		}
	}
	return out, nil
}

// uncovered returns the proposals for repositories that have no check yet: what
// a model proposes never stands beside or in place of a check of the host.
func uncovered(f piece.Frame, own, proposed []verification.Check) []verification.Check {
	covered := map[string]bool{}
	for _, item := range own {
		if r, err := command.Repository(f.Repositories, item.Repository()); err == nil {
			covered[r.ID] = true
		}
	}
	var more []verification.Check
	for _, item := range proposed {
		if r, err := command.Repository(f.Repositories, item.RepositoryID); err != nil || !covered[r.ID] {
			more = append(more, item)
		}
	}
	return more
}

// proposals reads the commands in the structured answer of another node. They
// come from a model: anything that has not the exact shape is refused.
func proposals(ctx context.Context, c piece.Context, node string) ([]verification.Check, error) {
	value, ok, err := c.Lookup(ctx, "$outputs", node, "structured", "verification")
	if err != nil {
		return nil, fmt.Errorf("reading the commands proposed by %s: %w", node, err)
	}
	raw, err := json.Marshal(value)
	if !ok || err != nil {
		return nil, fmt.Errorf("node %s proposed no commands: its output has no structured.verification", node)
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil || len(items) > maxProposals {
		return nil, fmt.Errorf("node %s has to propose a list of at most %d commands under structured.verification", node, maxProposals)
	}
	var checks []verification.Check
	for i, item := range items {
		var p workflow.Check
		if err := strict(item, map[string]any{"repositoryId": &p.RepositoryID, "command": &p.Command, "args": &p.Args, "cwd": &p.Cwd}); err != nil {
			return nil, fmt.Errorf("command %d proposed by %s: %w", i+1, node, err)
		}
		if p.RepositoryID == "" || p.Command == "" {
			return nil, fmt.Errorf("command %d proposed by %s needs repositoryId and command", i+1, node)
		}
		if path.IsAbs(p.Command) {
			return nil, fmt.Errorf("command %d proposed by %s names the program %s by an absolute path; a proposal names it as PATH finds it, or relative to the repository", i+1, node, p.Command)
		}
		checks = append(checks, verification.Check{RepositoryID: p.RepositoryID, Command: p.Command, Args: p.Args, Cwd: p.Cwd, Proposed: true})
	}
	return checks, nil
}

// strict reads an object that has no other members than those of into.
func strict(item map[string]json.RawMessage, into map[string]any) error {
	for name, raw := range item {
		to, known := into[name]
		if !known {
			return fmt.Errorf("it holds %q, which is not allowed", name)
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
