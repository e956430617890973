package shell

import (
	"context"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/verification/host"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// witness is a Runner that remembers the exit of its one command.
type witness struct {
	workspace.Runner
	exit *workspace.Exit // nil when nothing ran to its end
}

// Run runs the command.
func (w *witness) Run(ctx context.Context, c workspace.Command) (workspace.Exit, error) {
	exit, err := w.Runner.Run(ctx, c)
	if err == nil {
		w.exit = &exit
	}
	return exit, err
}

// prove runs the command as the one check of a scoped receipt.
func prove(ctx context.Context, c piece.Context, cfg Config, p shellParams) (workflow.Settled, error) {
	f := c.Frame()
	check := verification.Check{RepositoryID: p.RepositoryID, CommandLine: p.CommandLine, Cwd: p.Cwd, Env: p.Env, Stdin: p.Stdin,
		TimeoutMs: p.wish().Timeout.Milliseconds()}
	if len(p.Argv) > 0 {
		check.Command, check.Args = p.Argv[0], p.Argv[1:]
	}
	q := host.Request{
		ID:  verification.ReceiptID(string(f.Run), string(f.Visit), f.Attempt, 1),
		Run: string(f.Run), Visit: string(f.Visit), Node: f.Node, Attempt: f.Attempt, Repositories: f.Repositories,
		Checks: []verification.Check{check}, Scope: workflow.ReceiptScoped, Deadline: f.Deadline,
		Progress: func(line string) { c.Progress(executor.Progress{Kind: "tool", Text: line}) },
	}
	if prover, ok := c.(piece.Prover); ok {
		q.Keep = prover.Keep
	}
	if hasher, ok := c.(piece.Candidater); ok {
		q.Candidate = hasher.Candidate
	}
	seen := &witness{Runner: cfg.Runner}
	receipt, err := host.New(host.Config{Runner: seen, Redactor: cfg.Redactor, Now: cfg.Now, Idle: cfg.Idle}).Run(ctx, q)
	if err != nil {
		return workflow.Settled{}, err
	}
	evidence := map[string]any{"receiptId": receipt.ID, "valid": receipt.State == workflow.ReceiptValid}
	if receipt.Reason != "" {
		evidence["reason"] = receipt.Reason
	}
	if seen.exit == nil {
		s := result.Failed("failed", workflow.CodeShellFailed, f.Node+": "+receipt.Reason)
		s.Output = result.Value(map[string]any{"evidence": evidence})
		return s, nil
	}
	return settle(f, p, cfg.Redactor, *seen.exit, map[string]any{"evidence": evidence})
}
