package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/answer"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/scope"
)

type roleParams struct {
	RoleID                    string          `json:"roleId"`
	Prompt                    string          `json:"prompt"`
	StructuredOutput          json.RawMessage `json:"structuredOutput"`
	SchemaRetries             *int            `json:"schemaRetries"`
	SessionContinuity         string          `json:"sessionContinuity"`
	VerificationProposalsFrom string          `json:"verificationProposalsFrom"`
	AppendSteering            *bool           `json:"appendSteering"`
	Engine                    engine          `json:"engine"`
	timers
}

func describeRole(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"next", "failed"}, AI: true, Effect: workflow.EffectRead}
	p, err := params.Read[roleParams](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	role, problems := findRole(p.RoleID, "/roleId", env)
	if len(problems) == 0 {
		var chosen choice
		chosen, problems = choose(p.Engine, role, "role "+p.RoleID, "/roleId", env)
		traits.Provider, traits.Model = chosen.Provider, chosen.Model
		traits.Uncertain = role.Access == workflow.EffectWrite && chosen.caps.Uncertain
	}
	traits.Effect, traits.Steerable = role.Access, on(p.AppendSteering)
	if len(p.StructuredOutput) > 0 {
		traits.Outcomes = []string{"next", "invalid", "failed"}
		problems = append(problems, checkSchema("/structuredOutput", p.StructuredOutput)...)
	}
	return traits, problems
}

func checkSchema(pointer string, raw json.RawMessage) []piece.Problem {
	_, err := schema.Compile(raw)
	if err == nil {
		return nil
	}
	var found schema.Problems
	if !errors.As(err, &found) {
		found = schema.Problems{{Message: err.Error()}}
	}
	var problems []piece.Problem
	for _, p := range found {
		problems = append(problems, piece.Problem{Code: workflow.CodeInvalidPieceParams, Pointer: pointer + p.Pointer, Message: p.Message})
	}
	return problems
}

// retries is how often an answer that breaks its schema is asked for again.
func retries(level int, own *int) int {
	switch {
	case own != nil:
		return *own
	case level == 1:
		return 1
	}
	return 3
}

func (cfg Config) runRole(ctx context.Context, c piece.Context) (workflow.Settled, error) {
	f := c.Frame()
	p, err := params.Filled[roleParams](f.Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	role, ok := f.Roles[p.RoleID]
	if !ok {
		return workflow.Settled{}, workflow.Errorf(workflow.CodeRoleNotFound, "%s: role %q is not configured", f.Node, p.RoleID).
			WithHint("add it to roles of the configuration")
	}
	full, task, err := roleTurn(ctx, c, f, p, role)
	if err != nil {
		return workflow.Settled{}, err
	}
	can := cfg.sessions(f, full.Provider)
	identity, err := identityOf(f, map[string]any{
		"role": p.RoleID, "definition": role, "provider": full.Provider, "model": full.Model, "schema": p.StructuredOutput,
	})
	if err != nil {
		return workflow.Settled{}, err
	}
	memory := cfg.memory(c, full)
	full.Prompt = joined(full.Prompt, memory.prior(ctx))
	reply, outside, err := cfg.guarded(ctx, c, full.Key, full.Access, func(ctx context.Context) (executor.Reply, error) {
		return cfg.takeRole(ctx, c, p, full, resumable(f, p.SessionContinuity, can, identity), task)
	})
	s, output, over := overstepped(f, reply, outside, err)
	switch {
	case over:
	case err != nil:
		return roleFailure(ctx, f, p, outside, err)
	default:
		s = workflow.Settled{Outcome: "next", History: result.Text(reply.Text)}
		output = map[string]any{"text": result.Text(reply.Text)}
		tell(&s, f.Node, output, outside)
	}
	if reply.Structured != nil {
		output["structured"] = reply.Structured
	}
	s.Session = kept(reply, p.SessionContinuity, can, identity)
	if hash := roleCandidate(ctx, c, &s, output); !over {
		memory.record(ctx, hash, reply)
	}
	s.Output = result.Value(output)
	return s, nil
}

// roleCandidate adds the content of the work tree to the result of a role, and
// returns it; "" when it is not known.
func roleCandidate(ctx context.Context, c piece.Context, s *workflow.Settled, output map[string]any) string {
	hash, there, err := candidateOf(ctx, c)
	if err != nil {
		s.Warnings = append(s.Warnings, c.Frame().Node+": "+err.Error())
	} else if there {
		output["candidateHash"] = hash
	}
	return hash
}

// roleTurn returns the full turn of a role, and its text inside a session.
func roleTurn(ctx context.Context, c piece.Context, f piece.Frame, p roleParams, role workflow.Role) (executor.Turn, string, error) {
	if role.Access == workflow.EffectNone {
		role.Access = workflow.EffectRead
	}
	t := newTurn(f, "turn", p.Engine.fill(role), role.Access, p.timers)
	t.Role, t.Schema, t.Repairs = p.RoleID, p.StructuredOutput, retries(f.Level, p.SchemaRetries)
	launch, err := launchBlock(c, f)
	if err != nil {
		return t, "", err
	}
	item, err := itemBlock(c, f)
	if err != nil {
		return t, "", err
	}
	rules := "You may read the repositories. You must not change them."
	plan := ""
	if role.Access == workflow.EffectWrite {
		rules = "You may read and change the repositories, inside the task's scope only. What you change outside of it is put back."
		if plan, err = planBlock(ctx, c, f, p.VerificationProposalsFrom); err != nil {
			return t, "", err
		}
	}
	steering := ""
	if on(p.AppendSteering) {
		steering = steeringBlock(f)
	}
	t.Instructions = joined(fmt.Sprintf("You are the %s of this work.", p.RoleID), role.Prompt, rules, bindingBlock(f), plan)
	t.Prompt = joined(launch, item, "Your task now:\n"+p.Prompt, steering)
	return t, joined("Your task now:\n"+p.Prompt, steering), nil
}

// takeRole takes the turn. With a normaliser the answer is judged here, after it
// was mended; otherwise the executor judges it.
func (cfg Config) takeRole(ctx context.Context, c piece.Context, p roleParams, full executor.Turn, session, task string) (executor.Reply, error) {
	if cfg.Normalize == nil || len(p.StructuredOutput) == 0 {
		return continued(ctx, c, full, session, task)
	}
	shape, err := schema.Compile(p.StructuredOutput)
	if err != nil {
		return executor.Reply{}, workflow.Errorf(workflow.CodeInvalidPieceParams, "%s: the schema is not usable: %w", full.Node, err)
	}
	full.Prompt = joined(full.Prompt, jsonWish+"\n"+string(p.StructuredOutput))
	full.Schema = nil
	var structured json.RawMessage
	reply, err := insist(ctx, c, full, full.Repairs, func(text string) []string {
		value := json.RawMessage(nil)
		if found := answer.Values(text); len(found) > 0 {
			value = found[0]
		}
		structured = cfg.Normalize(p.RoleID, value, text)
		if structured == nil {
			return []string{"there is no JSON value in the answer"}
		}
		return messages(shape.Validate(structured))
	})
	reply.Structured = structured
	return reply, err
}

const jsonWish = "Answer with one JSON value that fits this JSON Schema, and with nothing else:"

func messages(found schema.Problems) []string {
	var out []string
	for _, p := range found[:min(len(found), 20)] {
		out = append(out, p.Pointer+": "+p.Message)
	}
	return out
}

// roleFailure settles what the definition can route, and passes on what the
// engine decides about.
func roleFailure(ctx context.Context, f piece.Frame, p roleParams, outside scope.Report, err error) (workflow.Settled, error) {
	output := map[string]any{"error": result.Text(err.Error())}
	if m, ok := misfit(err); ok {
		s := result.Failed("invalid", workflow.CodeInvalidRoleOutput, err.Error())
		output["text"] = result.Text(m.Text)
		tell(&s, f.Node, output, outside)
		s.Output = result.Value(output)
		return s, nil
	}
	var coded *workflow.Error
	if ctx.Err() != nil || errors.Is(err, piece.ErrPaused) || errors.As(err, &coded) {
		return workflow.Settled{}, err
	}
	s := result.Failed("failed", workflow.CodeRoleFailed, fmt.Sprintf("%s: role %s failed: %v", f.Node, p.RoleID, err))
	tell(&s, f.Node, output, outside)
	s.Output = result.Value(output)
	return s, nil
}

// candidateOf hashes the work tree, where that is possible.
func candidateOf(ctx context.Context, c piece.Context) (string, bool, error) {
	hasher, ok := c.(piece.Candidater)
	if !ok {
		return "", false, nil
	}
	hash, err := hasher.Candidate(ctx)
	if err != nil {
		return "", false, fmt.Errorf("hashing the work tree: %w", err)
	}
	return hash, true, nil
}
