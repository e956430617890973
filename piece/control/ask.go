package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

// maxRounds bounds how often one visit asks again.
const maxRounds = 32

// askParams are the params of approval, question and gate.
type askParams struct {
	Text          string          `json:"text"`
	Reason        string          `json:"reason"`
	Schema        json.RawMessage `json:"schema"`
	Options       []string        `json:"options"`
	BindCandidate bool            `json:"bindCandidate"`
	Enabled       *bool           `json:"enabled"`
	Timeout       string          `json:"timeout"`
}

func (p askParams) prompt() string {
	if p.Text != "" {
		return p.Text
	}
	return p.Reason
}

// asking makes the piece of a kind that waits for a person.
func asking(kind, schemaName string) piece.Piece {
	return piece.Piece{
		Kind: kind, Schema: params.Schemas(schemas, schemaName),
		Describe: func(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
			return describeAsk(kind, raw, env)
		},
		Run: func(ctx context.Context, c piece.Context) (workflow.Settled, error) {
			return runAsk(ctx, c, kind)
		},
	}
}

func describeAsk(kind string, raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"next"}, Effect: workflow.EffectRead}
	if env.Level > 1 && kind != workflow.AskQuestion {
		traits.Outcomes = []string{"approved", "denied"}
	}
	p, err := params.Read[askParams](raw)
	if err != nil {
		return traits, unreadable(err)
	}
	if p.Timeout != "" {
		traits.Outcomes = append(traits.Outcomes, "expired")
	}
	problems := checkDuration("/timeout", p.Timeout)
	if len(p.Schema) > 0 {
		if _, err := schema.Compile(p.Schema); err != nil {
			problems = append(problems, invalid("/schema", "%v", err))
		}
	}
	if env.Level == 1 && kind != workflow.AskApproval && p.Enabled != nil {
		problem := invalid("/enabled", "enabled has no effect on a %s; only an approval can be switched off", kind)
		problem.Warning = true
		problems = append(problems, problem)
	}
	return traits, problems
}

func runAsk(ctx context.Context, c piece.Context, kind string) (workflow.Settled, error) {
	f := c.Frame()
	p, err := params.Filled[askParams](f.Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	bound := ""
	if p.BindCandidate {
		if bound, err = candidate(ctx, c); err != nil {
			return workflow.Settled{}, err
		}
	}
	if p.Enabled != nil && !*p.Enabled && (kind == workflow.AskApproval || f.Level > 1) {
		return settleApproved(f, kind, workflow.Answer{Bound: bound}, map[string]any{"approved": true}), nil
	}
	answer, err := askUntilValid(ctx, c, kind, p, bound)
	if err != nil {
		return workflow.Settled{}, err
	}
	switch {
	case answer.Expired:
		return workflow.Settled{Outcome: "expired", Output: result.Value(map[string]any{"expired": true})}, nil
	case answer.Denied:
		return settleDenied(f, kind, answer), nil
	}
	response, err := response(c, kind, f, answer)
	if err != nil {
		return workflow.Settled{}, err
	}
	return settleApproved(f, kind, answer, response), nil
}

// askUntilValid asks in rounds until there is an answer that still holds.
func askUntilValid(ctx context.Context, c piece.Context, kind string, p askParams, bound string) (workflow.Answer, error) {
	ask := piece.Ask{Kind: kind, Text: p.prompt(), Schema: p.Schema, Options: p.Options, Bound: bound}
	if p.Timeout != "" {
		d, err := params.Duration(p.Timeout)
		if err != nil {
			return workflow.Answer{}, workflow.Errorf(workflow.CodeInvalidPieceParams, "reading timeout: %w", err)
		}
		ask.Timeout = workflow.Time(d.Microseconds())
	}
	for ask.Round = 1; ask.Round <= maxRounds; ask.Round++ {
		answer, err := c.Ask(ctx, ask)
		if err != nil {
			return workflow.Answer{}, err
		}
		if answer.Denied || answer.Expired {
			return answer, nil
		}
		again, err := doubt(c, kind, ask, answer)
		if again == "" || err != nil {
			return answer, err
		}
		ask.Text = again + "\n\n" + p.prompt()
	}
	return workflow.Answer{}, workflow.Errorf(workflow.CodeRecursionLimit,
		"%s was asked %d times without an answer that holds", c.Frame().Node, maxRounds)
}

// doubt says why an answer does not hold, or "" when it does.
func doubt(c piece.Context, kind string, ask piece.Ask, answer workflow.Answer) (string, error) {
	switch {
	case ask.Bound == answer.Bound:
	case answer.Bound == "":
		return "", workflow.Errorf(workflow.CodeInternal, "the answer of %s does not tell which files it is about", c.Frame().Node)
	default:
		return fmt.Sprintf("The files changed since this was asked (from %s to %s). Please look again.", answer.Bound, ask.Bound), nil
	}
	if kind != workflow.AskQuestion || len(ask.Schema) > 0 || len(ask.Options) > 0 {
		return "", nil
	}
	words, ok, err := answerText(c, answer)
	if err != nil || ok && strings.TrimSpace(words) != "" {
		return "", err
	}
	return "The last answer was not a text, or blank. Please answer in words.", nil
}

func candidate(ctx context.Context, c piece.Context) (string, error) {
	hasher, ok := c.(piece.Candidater)
	if !ok {
		return "", workflow.Errorf(workflow.CodeInternal, "%s binds its answer to the work tree, but nothing here can hash it", c.Frame().Node)
	}
	digest, err := hasher.Candidate(ctx)
	if err != nil {
		return "", fmt.Errorf("hashing the work tree for %s: %w", c.Frame().Node, err)
	}
	return digest, nil
}

// answerText returns an answer that is a JSON string.
func answerText(c piece.Context, answer workflow.Answer) (string, bool, error) {
	raw, err := c.Load(answer.Value)
	if err != nil {
		return "", false, fmt.Errorf("reading the answer of %s: %w", c.Frame().Node, err)
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil && bytes.HasPrefix(raw, []byte(`"`)), nil
}

// response is what the output says about an answer.
func response(c piece.Context, kind string, f piece.Frame, answer workflow.Answer) (any, error) {
	raw, err := c.Load(answer.Value)
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", c.Frame().Node, err)
	}
	switch {
	case kind != workflow.AskQuestion:
		approved := map[string]any{"approved": true}
		if f.Level > 1 && len(raw) > 0 && string(raw) != "true" && string(raw) != "null" {
			approved["value"] = raw
		}
		if f.Level > 1 && answer.Reason != "" {
			approved["reason"] = answer.Reason
		}
		return approved, nil
	case f.Level == 1 || f.Script: // scripts have read it so from the first
		return map[string]any{"answer": raw}, nil
	}
	return raw, nil
}

func settleApproved(f piece.Frame, kind string, answer workflow.Answer, response any) workflow.Settled {
	output := map[string]any{"response": response}
	if answer.Bound != "" {
		output["candidateHash"] = answer.Bound
	}
	s := workflow.Settled{Outcome: "next", Output: result.Value(output)}
	if f.Level > 1 && kind != workflow.AskQuestion {
		s.Outcome = "approved"
	}
	if !answer.Value.Absent() && (kind == workflow.AskQuestion || f.Level > 1) {
		s.Answers = []workflow.NamedAnswer{named(f, answer)}
	}
	return s
}

func settleDenied(f piece.Frame, kind string, answer workflow.Answer) workflow.Settled {
	refusal := map[string]any{"approved": false}
	if answer.Reason != "" {
		refusal["reason"] = answer.Reason
	}
	output := result.Value(map[string]any{"response": refusal})
	if f.Level > 1 && kind != workflow.AskQuestion {
		return workflow.Settled{Outcome: "denied", Output: output}
	}
	message := f.Node + " was denied"
	if answer.By != "" {
		message += " by " + answer.By
	}
	if answer.Reason != "" {
		message += ": " + answer.Reason
	}
	s := result.Failed("", workflow.CodeApprovalDenied, message)
	s.Output = output
	return s
}

func named(f piece.Frame, answer workflow.Answer) workflow.NamedAnswer {
	return workflow.NamedAnswer{Question: answer.Question, Node: f.Node, Value: answer.Value, By: answer.By, At: answer.At}
}
