package model

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/answer"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

type deciderParams struct {
	RoleID        string `json:"roleId"`
	Goal          string `json:"goal"`
	ContinueWhen  string `json:"continueWhen"`
	NoProgress    int    `json:"noProgress"`
	SchemaRetries *int   `json:"schemaRetries"`
	Engine        engine `json:"engine"`
	timers
}

// Verdicts of a decider.
const (
	verdictContinue = "continue"
	verdictStop     = "stop"
	verdictBlocked  = "blocked"
)

type decision struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
}

// count is what a decider keeps for its next visit: how often in a row it said
// continue over the same work tree.
type count struct {
	Candidate string `json:"candidate,omitempty"`
	Times     int    `json:"times"`
}

const decisionSchema = `{"type":"object","additionalProperties":false,"required":["verdict","reason"],"properties":{` +
	`"verdict":{"enum":["continue","stop","blocked"]},"reason":{"type":"string","minLength":1,"maxLength":4000}}}`

func describeDecider(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"continue", "stop", "failed"}, AI: true, Effect: workflow.EffectRead}
	p, err := params.Read[deciderParams](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	role, problems := findRole(p.RoleID, "/roleId", env)
	if len(problems) == 0 {
		var chosen choice
		chosen, problems = choose(p.Engine, role, "role "+p.RoleID, "/roleId", env)
		traits.Provider, traits.Model = chosen.Provider, chosen.Model
	}
	if role.Access != workflow.EffectRead {
		problems = append(problems, piece.Problem{
			Code: workflow.CodeInvalidRoleAccess, Pointer: "/roleId", Message: fmt.Sprintf("a decider only reads, and role %q may write", p.RoleID),
			Hint: "use a role with access: read",
		})
	}
	if p.ContinueWhen != "" {
		if _, err := expr.Parse(p.ContinueWhen, env.Level); err != nil {
			problems = append(problems, piece.Problem{Code: workflow.CodeInvalidExpression, Pointer: "/continueWhen", Message: err.Error()})
		}
	}
	return traits, problems
}

func (cfg Config) runDecider(ctx context.Context, c piece.Context) (workflow.Settled, error) {
	f := c.Frame()
	p, err := params.Filled[deciderParams](f.Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	role, ok := f.Roles[p.RoleID]
	if !ok {
		return workflow.Settled{}, workflow.Errorf(workflow.CodeRoleNotFound, "%s: role %q is not configured", f.Node, p.RoleID)
	}
	if role.Access == workflow.EffectWrite {
		return workflow.Settled{}, workflow.Errorf(workflow.CodeInvalidRoleAccess, "%s: a decider only reads, and role %q may write", f.Node, p.RoleID)
	}
	d, err := decide(ctx, c, f, p, role)
	if m, bad := misfit(err); bad {
		s := result.Failed("failed", workflow.CodeInvalidRoleOutput, err.Error())
		s.Output = result.Value(map[string]any{"error": result.Text(err.Error()), "text": result.Text(m.Text)})
		return s, nil
	}
	if err != nil {
		return workflow.Settled{}, err
	}
	if d.Verdict == verdictBlocked {
		return askPerson(ctx, c, f, d)
	}
	return conclude(ctx, c, f, p, d)
}

// decide asks the model for its decision.
func decide(ctx context.Context, c piece.Context, f piece.Frame, p deciderParams, role workflow.Role) (decision, error) {
	shape, err := schema.Compile([]byte(decisionSchema))
	if err != nil {
		return decision{}, fmt.Errorf("compiling the schema of a decision: %w", err)
	}
	launch, err := launchBlock(c, f)
	if err != nil {
		return decision{}, err
	}
	t := newTurn(f, "decide", p.Engine.fill(role), workflow.EffectRead, p.timers)
	t.Role, t.Route.Purpose = p.RoleID, "decider"
	t.Instructions = joined(deciderRules, role.Prompt)
	history := historyBlock(f)
	if history == "" {
		history = "There is no output of earlier steps yet."
	}
	t.Prompt = joined("The goal of the loop:\n"+p.Goal, launch, history, deciderForm)
	var d decision
	_, err = insist(ctx, c, t, deciderRetries(p.SchemaRetries), func(text string) []string {
		if question := blocked(text); question != "" {
			d = decision{Verdict: verdictBlocked, Reason: question}
			return nil
		}
		var problems []string
		d, problems = readDecision(shape, text)
		return problems
	})
	return d, err
}

func deciderRetries(own *int) int {
	if own != nil {
		return *own
	}
	return 3
}

const deciderRules = `You decide whether a loop of work goes on. You change nothing.
Judge by evidence: results of checks, and what the files show. That a step claims success proves nothing.
Say stop only when the whole goal and every obligation is met. Say continue while required work is left.
Say blocked only when a person has to decide something before work can go on; the reason is then the question to that person.`

const deciderForm = `Answer with one JSON object and nothing else: {"verdict": "continue" | "stop" | "blocked", "reason": "one or two sentences"}`

func readDecision(shape *schema.Schema, text string) (decision, []string) {
	values := answer.Values(text)
	if len(values) == 0 {
		return decision{}, []string{"there is no JSON object in the answer"}
	}
	var problems []string
	for i, v := range values {
		found := shape.Validate(v)
		if len(found) > 0 {
			if i == 0 {
				problems = messages(found)
			}
			continue
		}
		var d decision
		if err := json.Unmarshal(v, &d); err == nil {
			return d, nil
		}
	}
	return decision{}, problems
}

// askPerson turns a blocked decision into a question; its answer lets the loop
// go on. The count of the node is left as it is.
func askPerson(ctx context.Context, c piece.Context, f piece.Frame, d decision) (workflow.Settled, error) {
	question := text.Head(d.Reason, result.MaxQuestion, "…")
	a, err := c.Ask(ctx, piece.Ask{Round: 1, Kind: workflow.AskQuestion, Text: question})
	if err != nil {
		return workflow.Settled{}, err
	}
	output := map[string]any{"verdict": verdictBlocked, "reason": question}
	if a.Denied {
		s := result.Failed("failed", workflow.CodeApprovalDenied, denial(f.Node, a))
		s.Output = result.Value(output)
		return s, nil
	}
	words, err := answerWords(c, a)
	if err != nil {
		return workflow.Settled{}, err
	}
	output["answer"] = result.Text(words)
	return workflow.Settled{
		Outcome: verdictContinue, Output: result.Value(output),
		History: result.Text("blocked: " + question + "\nanswered: " + words),
		Private: f.Context.Private, Answers: []workflow.NamedAnswer{named(f, a)},
	}, nil
}

// conclude settles a decision that needs nobody.
func conclude(ctx context.Context, c piece.Context, f piece.Frame, p deciderParams, d decision) (workflow.Settled, error) {
	output := map[string]any{}
	if d.Verdict == verdictStop && p.ContinueWhen != "" {
		required, err := holds(ctx, c, p.ContinueWhen, f.Level)
		if err != nil {
			return workflow.Settled{}, err
		}
		if required {
			d.Verdict = verdictContinue
			output["proposedVerdict"], output["requiredContinue"] = verdictStop, true
		}
	}
	limit, now := stallLimit(f, p), count{}
	if d.Verdict == verdictContinue {
		var err error
		if now, err = counted(ctx, c, f, limit > 0); err != nil {
			return workflow.Settled{}, err
		}
		output["candidateHash"], output["continueCount"] = now.Candidate, now.Times
	}
	output["verdict"], output["reason"] = d.Verdict, d.Reason
	s := workflow.Settled{Outcome: d.Verdict, Private: result.Value(now), History: result.Text(d.Verdict + ": " + d.Reason)}
	if limit > 0 && now.Times >= limit {
		output["stalled"] = true
		s.Outcome, s.Status, s.History = "failed", workflow.VisitFailed, s.History+" (no progress)"
		s.Error = &workflow.Failure{Code: workflow.CodeNoProgress, Message: fmt.Sprintf(
			"%s said continue %d times while the files did not change; change the goal, the prompt or the model, or raise noProgress", f.Node, now.Times)}
		s.Completion = &workflow.Completion{Reasons: []string{string(workflow.CodeNoProgress)}}
	}
	s.Output = result.Value(output)
	return s, nil
}

func stallLimit(f piece.Frame, p deciderParams) int {
	switch {
	case p.NoProgress > 0:
		return p.NoProgress
	case f.Policies.NoProgress > 0:
		return f.Policies.NoProgress
	case f.Level > 1:
		return 2
	}
	return 0
}

// counted adds one more continue over the work tree as it is. A tree that cannot
// be hashed is an error only when the count is needed.
func counted(ctx context.Context, c piece.Context, f piece.Frame, needed bool) (count, error) {
	hash, there, err := candidateOf(ctx, c)
	switch {
	case !needed && (err != nil || !there):
		return count{}, nil //nolint:nilerr // the count is not needed
	case err != nil:
		return count{}, fmt.Errorf("%s: %w", f.Node, err)
	case !there:
		return count{}, workflow.Errorf(workflow.CodeInternal, "%s watches for progress, but nothing here can hash the work tree", f.Node)
	}
	raw, err := c.Load(f.Context.Private)
	if err != nil {
		return count{}, fmt.Errorf("%s: reading what the last visit kept: %w", f.Node, err)
	}
	var last count
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &last); err != nil {
			return count{}, fmt.Errorf("%s: reading what the last visit kept: %w", f.Node, err)
		}
	}
	if last.Candidate != hash {
		last.Times = 0
	}
	return count{Candidate: hash, Times: last.Times + 1}, nil
}

// holds evaluates continueWhen over the state of the scope.
func holds(ctx context.Context, c piece.Context, source string, level int) (bool, error) {
	e, err := expr.Parse(source, level)
	if err == nil {
		var value any
		if value, err = e.Eval(state{ctx, c}); err == nil {
			return expr.Truth(value), nil
		}
	}
	return false, workflow.Errorf(workflow.CodeInvalidExpression, "%s: evaluating continueWhen: %w", strings.TrimSpace(c.Frame().Node), err)
}

// state lets an expression read the state.
type state struct {
	ctx context.Context
	c   piece.Context
}

// Lookup reads "$root" and the path below it.
func (s state) Lookup(root string, path []string) (any, bool, error) {
	return s.c.Lookup(s.ctx, "$"+root, path...)
}
