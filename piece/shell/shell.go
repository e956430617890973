// Package shell holds the piece that runs a host command.
//
// Holds: the kind shell.
//
// Guarantees: the place of a command is checked before it is started; what goes
// into the state is bounded, valid UTF-8 and without known secrets; a write whose
// end is unknown is uncertain unless the definition calls it idempotent. With
// evidence, a scoped receipt is kept: it is valid when the command exited with 0
// and left the work tree as it was.
//
// Does not: certify anything, or fill text into a shell string.
package shell

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// DefaultTimeout bounds a command that names no timeout.
const DefaultTimeout = 10 * time.Minute

//go:embed schema/*.json
var schemas embed.FS

// Config sets up the piece.
type Config struct {
	// Runner runs the commands. It must be set before a node is run.
	Runner workspace.Runner
	// Redactor hides secrets in outputs; nil hides what looks like one.
	Redactor *text.Redactor
	// Now gives the times in receipts, by the clock that deadlines are set by;
	// nil means the clock of the machine.
	Now func() workflow.Time
	// Idle is how long a command with evidence may be silent; 0 means
	// host.DefaultIdle, less than 0 no limit.
	Idle time.Duration
}

// Pieces returns the kinds of this package.
func Pieces(c Config) []piece.Piece {
	return []piece.Piece{{
		Kind: "shell", Schema: params.Schemas(schemas, "shell"), Describe: describe, Processes: true,
		Run: func(ctx context.Context, pc piece.Context) (workflow.Settled, error) { return run(ctx, pc, c) },
	}}
}

type shellParams struct {
	Argv           []string          `json:"argv"`
	CommandLine    string            `json:"commandLine"`
	RepositoryID   string            `json:"repositoryId"`
	Cwd            string            `json:"cwd"`
	Env            map[string]string `json:"env"`
	Stdin          string            `json:"stdin"`
	Effect         workflow.Effect   `json:"effect"`
	Idempotent     bool              `json:"idempotent"`
	TimeoutMs      int64             `json:"timeoutMs"`
	CaptureVars    []params.Capture  `json:"captureVars"`
	Evidence       bool              `json:"evidence"`
	OutputCapBytes int               `json:"outputCapBytes"`
}

func describe(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"ok", "fail", "failed"}, Effect: workflow.EffectWrite, Uncertain: true}
	p, err := params.Read[shellParams](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	if p.Effect != workflow.EffectNone {
		traits.Effect = p.Effect
	}
	traits.Uncertain = traits.Effect == workflow.EffectWrite && !p.Idempotent
	var problems []piece.Problem
	if p.CommandLine != "" && !params.Open(p.CommandLine) { // the loader refuses tokens
		for _, d := range command.CheckLine(p.CommandLine) {
			problems = append(problems, piece.Problem{Code: d.Code, Pointer: "/commandLine", Message: d.Msg, Hint: d.Hint, Warning: env.Level == 1})
		}
	}
	for i, c := range p.CaptureVars {
		if err := c.Check(); err != nil {
			problems = append(problems, piece.Problem{
				Code: workflow.CodeInvalidExpression, Pointer: fmt.Sprintf("/captureVars/%d/pattern", i), Message: err.Error(),
			})
		}
	}
	return traits, problems
}

func run(ctx context.Context, c piece.Context, cfg Config) (workflow.Settled, error) {
	f := c.Frame()
	p, err := params.Filled[shellParams](f.Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	if p.Evidence {
		return prove(ctx, c, cfg, p)
	}
	cmd, err := command.Prepare(f.Repositories, p.wish())
	if err != nil {
		return result.Failed("failed", workflow.CodeShellFailed, f.Node+": "+err.Error()), nil //nolint:nilerr // the result tells
	}
	cmd.Marker = string(f.Run)
	cmd.OnOutput = command.Lines(cfg.Redactor, func(line string) { c.Progress(executor.Progress{Kind: "tool", Text: line}) })
	exit, err := cfg.Runner.Run(ctx, cmd)
	var spawn *workspace.SpawnError
	switch {
	case errors.As(err, &spawn):
		return result.Failed("failed", workflow.CodeShellFailed, f.Node+": "+err.Error()), nil
	case ctx.Err() != nil:
		return workflow.Settled{}, workflow.Errorf(workflow.CodeAborted, "%s: the command was stopped: %w", f.Node, err)
	case err != nil:
		return workflow.Settled{}, fmt.Errorf("running the command of %s: %w", f.Node, err)
	}
	return settle(f, p, cfg.Redactor, exit, nil)
}

func (p shellParams) wish() command.Wish {
	timeout := DefaultTimeout
	if p.TimeoutMs > 0 {
		timeout = time.Duration(p.TimeoutMs) * time.Millisecond
	}
	return command.Wish{
		RepositoryID: p.RepositoryID, Argv: p.Argv, Line: p.CommandLine, Cwd: p.Cwd, Env: p.Env, Stdin: p.Stdin,
		Timeout: timeout, OutputCap: p.OutputCapBytes,
	}
}

// settle makes the result of a command that has ended; more goes into its output.
func settle(f piece.Frame, p shellParams, r *text.Redactor, exit workspace.Exit, more map[string]any) (workflow.Settled, error) {
	bound := p.OutputCapBytes
	if bound == 0 {
		bound = workspace.DefaultOutputCap
	}
	stdout, stderr := command.Clean(r, exit.Stdout, bound), command.Clean(r, exit.Stderr, bound)
	vars, err := params.CaptureAll(p.CaptureVars, stdout+"\n"+stderr)
	if err != nil {
		return workflow.Settled{}, err
	}
	output := map[string]any{
		"exitCode": exit.Code, "stdout": stdout, "stderr": stderr, "vars": vars, "outputTruncated": exit.Truncated || len(exit.Stdout) > bound || len(exit.Stderr) > bound,
	}
	maps.Copy(output, more)
	if exit.Signal != "" {
		output["signal"] = exit.Signal
	}
	s := workflow.Settled{Outcome: "ok"}
	switch end := command.Failure(exit); {
	case end != "":
		s = result.Failed("failed", failureCode(end), failureMessage(f.Node, end, p, exit))
	case exit.Code != 0:
		s.Outcome = "fail"
	}
	s.Output, s.Vars, s.History = result.Value(output), result.Vars(vars), history(stdout, stderr)
	return s, nil
}

func failureCode(end string) workflow.Code {
	switch end {
	case command.EndTimeout:
		return workflow.CodeTimeout
	case command.EndIdle:
		return workflow.CodeIdleTimeout
	}
	return workflow.CodeShellFailed
}

func failureMessage(node, end string, p shellParams, exit workspace.Exit) string {
	switch end {
	case command.EndTimeout:
		return fmt.Sprintf("%s: the command ran longer than %s; raise timeoutMs or find out why it hangs", node, p.wish().Timeout)
	case command.EndIdle:
		return node + ": the command was silent for too long"
	}
	return fmt.Sprintf("%s: the command was ended by %s", node, exit.Signal)
}

// history is what later prompts see of the command.
func history(stdout, stderr string) string {
	if stderr != "" {
		stdout += "\n" + stderr
	}
	return result.Text(stdout)
}
