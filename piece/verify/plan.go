package verify

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/workflow"
)

// maxProposals bounds the commands that a model may add.
const maxProposals = 20

// plan is what a visit checks.
type plan struct {
	setup []check
	items []check
	full  bool // every repository has a command, or the definition waives it
}

// makePlan collects the checks of a visit. Errors tell what to change.
func makePlan(ctx context.Context, c piece.Context, f piece.Frame, p verifyParams) (plan, error) {
	out := plan{items: p.Checks, setup: wrap(p.Setup.commands)}
	switch {
	case p.Commands.configured:
		out.items = wrap(f.Checks)
	case len(p.Commands.commands) > 0:
		out.items = wrap(p.Commands.commands)
	}
	if p.AdditionalCommandsFrom != "" {
		more, err := proposals(ctx, c, p.AdditionalCommandsFrom)
		if err != nil {
			return out, err
		}
		out.items = append(out.items[:len(out.items):len(out.items)], uncovered(f, out.items, more)...)
	}
	if len(out.items) == 0 && !p.Unverified {
		if p.Commands.configured {
			return out, fmt.Errorf("no verification commands are configured; add verification.commands to .tenon/config.yaml, or name one with --verify")
		}
		return out, fmt.Errorf("the list of commands is empty; name at least one, or set unverified")
	}
	covered := map[string]bool{}
	for i, item := range out.items {
		id, err := item.repository(f)
		if err != nil {
			return out, fmt.Errorf("check %d: %w", i+1, err)
		}
		covered[id] = true
	}
	out.full = p.Unverified
	if !out.full {
		out.full = true
		for _, r := range f.Repositories {
			out.full = out.full && covered[r.ID]
		}
	}
	return out, nil
}

func wrap(commands []workflow.Check) []check {
	var items []check
	for _, c := range commands {
		items = append(items, check{Check: c})
	}
	return items
}

// uncovered returns the proposals for repositories that have no check yet.
func uncovered(f piece.Frame, own []check, proposed []workflow.Check) []check {
	covered := map[string]bool{}
	for _, item := range own {
		if id, err := item.repository(f); err == nil {
			covered[id] = true
		}
	}
	var more []check
	for _, c := range proposed {
		item := check{Check: c}
		if id, err := item.repository(f); err != nil || !covered[id] {
			more = append(more, item)
		}
	}
	return more
}

// repository returns the id of the repository that a check is about.
func (c check) repository(f piece.Frame) (string, error) {
	id := c.RepositoryID
	switch {
	case c.File != nil:
		id = c.File.RepositoryID
	case c.JSON != nil:
		id = c.JSON.RepositoryID
	case c.Clean != nil:
		id = c.Clean.RepositoryID
	}
	r, err := command.Repository(f.Repositories, id)
	return r.ID, err
}

// proposals reads the commands in the structured answer of another node. They
// come from a model: anything that has not the exact shape is refused.
func proposals(ctx context.Context, c piece.Context, node string) ([]workflow.Check, error) {
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
	var checks []workflow.Check
	for i, item := range items {
		var p struct {
			RepositoryID, Command, Cwd string
			Args                       []string
		}
		if err := strict(item, map[string]any{"repositoryId": &p.RepositoryID, "command": &p.Command, "args": &p.Args, "cwd": &p.Cwd}); err != nil {
			return nil, fmt.Errorf("command %d proposed by %s: %w", i+1, node, err)
		}
		if p.RepositoryID == "" || p.Command == "" {
			return nil, fmt.Errorf("command %d proposed by %s needs repositoryId and command", i+1, node)
		}
		checks = append(checks, workflow.Check{RepositoryID: p.RepositoryID, Command: p.Command, Args: p.Args, Cwd: p.Cwd})
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
