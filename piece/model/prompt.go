package model

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/scope"
)

// maxRounds bounds the questions of one visit.
const maxRounds = 32

type promptParams struct {
	Engine            engine           `json:"engine"`
	Text              string           `json:"text"`
	NativeCommand     *native          `json:"nativeCommand"`
	Access            workflow.Effect  `json:"access"`
	Sentinel          string           `json:"sentinel"`
	CaptureVars       []params.Capture `json:"captureVars"`
	SessionContinuity string           `json:"sessionContinuity"`
	AppendHistory     *bool            `json:"appendHistory"`
	AppendSteering    *bool            `json:"appendSteering"`
	timers
}

type native struct {
	ID   string `json:"id"`
	Args string `json:"args"`
}

func on(b *bool) bool { return b == nil || *b }

func describePrompt(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"next", "failed"}, AI: true, Effect: workflow.EffectRead}
	p, err := params.Read[promptParams](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	switch p.Sentinel {
	case sentinelVerification:
		traits.Outcomes = []string{"pass", "fail", "failed"}
	case sentinelBlocked:
		traits.Outcomes = []string{"next", "blocked", "failed"}
	}
	if p.Access == workflow.EffectWrite {
		traits.Effect = workflow.EffectWrite
	}
	chosen, problems := choose(p.Engine, workflow.Role{}, "the prompt", "/engine/provider", env)
	traits.Provider, traits.Model = chosen.Provider, chosen.Model
	traits.Uncertain = traits.Effect == workflow.EffectWrite && chosen.caps.Uncertain
	traits.Steerable = on(p.AppendSteering)
	for i, c := range p.CaptureVars {
		if err := c.Check(); err != nil {
			problems = append(problems, piece.Problem{
				Code: workflow.CodeInvalidExpression, Pointer: fmt.Sprintf("/captureVars/%d/pattern", i), Message: err.Error(),
			})
		}
	}
	return traits, problems
}

// dialog is a prompt's visit: answers of the model and of people in turn.
type dialog struct {
	cfg      Config
	c        piece.Context
	f        piece.Frame
	p        promptParams
	can      bool // sessions
	identity workflow.Digest
	session  string
	said     []string // rounds so far, as parts of the next prompt
	answers  []workflow.NamedAnswer
	outside  scope.Report // what the turns changed outside of the scope
}

func (cfg Config) runPrompt(ctx context.Context, c piece.Context) (workflow.Settled, error) {
	f := c.Frame()
	p, err := params.Filled[promptParams](f.Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	d := &dialog{cfg: cfg, c: c, f: f, p: p}
	d.can = cfg.sessions(f, newTurn(f, "", p.Engine, p.Access, p.timers).Provider)
	if d.identity, err = identityOf(f, map[string]any{
		"engine": p.Engine, "text": p.Text, "native": p.NativeCommand, "access": p.Access, "provider": f.Traits.Provider,
	}); err != nil {
		return workflow.Settled{}, err
	}
	d.session = resumable(f, p.SessionContinuity, d.can, d.identity)
	for round := 1; ; round++ {
		reply, err := d.turn(ctx, round)
		if s, output, over := overstepped(f, reply, d.outside, err); over {
			s.Output, s.Answers = result.Value(output), d.answers
			return s, nil
		}
		if err != nil {
			return workflow.Settled{}, err
		}
		question := d.question(reply)
		if question == "" {
			return d.settle(reply)
		}
		if round == maxRounds {
			return d.stuck(reply, question, workflow.CodeRecursionLimit,
				fmt.Sprintf("%s asked %d times and is still blocked", f.Node, maxRounds)), nil
		}
		answer, err := c.Ask(ctx, piece.Ask{Round: round, Kind: workflow.AskQuestion, Text: question})
		if err != nil {
			return workflow.Settled{}, err
		}
		if answer.Denied {
			return d.stuck(reply, question, workflow.CodeApprovalDenied, denial(f.Node, answer)), nil
		}
		if err := d.hear(reply, answer); err != nil {
			return workflow.Settled{}, err
		}
	}
}

func denial(node string, answer workflow.Answer) string {
	message := "the question of " + node + " was denied an answer"
	if answer.Reason != "" {
		message += ": " + answer.Reason
	}
	return message
}

// turn asks the model, in the session of the visit when there is one.
func (d *dialog) turn(ctx context.Context, round int) (executor.Reply, error) {
	launch, err := launchBlock(d.c, d.f)
	if err != nil {
		return executor.Reply{}, err
	}
	history, steering := "", ""
	if on(d.p.AppendHistory) {
		history = historyBlock(d.f)
	}
	if on(d.p.AppendSteering) {
		steering = steeringBlock(d.f)
	}
	t := newTurn(d.f, fmt.Sprintf("round-%d", round), d.p.Engine, d.p.Access, d.p.timers)
	if round > 1 {
		t.Kind = "correction"
	}
	rest := joined(append([]string{launch, history, steering}, d.said...)...)
	if n := d.p.NativeCommand; n != nil {
		t.Native = &executor.Native{ID: n.ID, Args: joined(n.Args, rest)}
	} else {
		t.Prompt = joined(d.p.Text, protocol(d.p), rest)
	}
	reply, report, err := d.cfg.guarded(ctx, d.c, t.Key, t.Access, func(ctx context.Context) (executor.Reply, error) {
		return continued(ctx, d.c, t, d.session, t.Prompt)
	})
	d.outside.Changes = append(d.outside.Changes, report.Changes...)
	if err == nil {
		d.session = ""
		if s := kept(reply, d.p.SessionContinuity, d.can, d.identity); s != nil {
			d.session = s.ID
		}
	}
	return reply, err
}

func (d *dialog) question(reply executor.Reply) string {
	if d.p.Sentinel != sentinelBlocked && d.p.Sentinel != sentinelVerification {
		return ""
	}
	return blocked(reply.Text)
}

// hear takes a person's answer into the next prompt.
func (d *dialog) hear(reply executor.Reply, answer workflow.Answer) error {
	words, err := answerWords(d.c, answer)
	if err != nil {
		return err
	}
	d.said = append(d.said,
		block("Your last answer, which could not go on:", "your-answer", text.Head(reply.Text, maxRound, "\n[…]")),
		block("What a person answered to your question:", "human-answer", text.Head(words, maxRound, "\n[…]")))
	d.answers = append(d.answers, named(d.f, answer))
	return nil
}

func answerWords(c piece.Context, answer workflow.Answer) (string, error) {
	raw, err := c.Load(answer.Value)
	if err != nil {
		return "", fmt.Errorf("reading an answer: %w", err)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	return s, nil
}

func named(f piece.Frame, a workflow.Answer) workflow.NamedAnswer {
	return workflow.NamedAnswer{Question: a.Question, Node: f.Node, Value: a.Value, By: a.By, At: a.At}
}

// settle reads outcome and variables from the whole answer.
func (d *dialog) settle(reply executor.Reply) (workflow.Settled, error) {
	vars, err := params.CaptureAll(d.p.CaptureVars, reply.Text)
	if err != nil {
		return workflow.Settled{}, err
	}
	output := d.output(reply)
	output["vars"] = vars
	s := workflow.Settled{
		Outcome: "next", Vars: result.Vars(vars), History: result.Text(reply.Text), Answers: d.answers,
		Session: kept(reply, d.p.SessionContinuity, d.can, d.identity),
	}
	if d.p.Sentinel == sentinelVerification {
		verdict := verification(reply.Text)
		s.Outcome, output["sentinel"] = verdict, verdict
		if verdict == "" {
			s.Outcome, output["sentinel"], output["reasons"] = "fail", nil, []string{"missing_sentinel"}
		}
	}
	tell(&s, d.f.Node, output, d.outside)
	s.Output = result.Value(output)
	return s, nil
}

func (d *dialog) output(reply executor.Reply) map[string]any {
	output := map[string]any{"text": result.Text(reply.Text)}
	if reply.Session != "" {
		output["sessionId"] = reply.Session
	}
	return output
}

// stuck settles a visit whose question gets no answer.
func (d *dialog) stuck(reply executor.Reply, question string, code workflow.Code, message string) workflow.Settled {
	s := result.Failed("failed", code, message)
	if d.p.Sentinel == sentinelBlocked {
		s.Outcome, s.Status = "blocked", workflow.VisitBlocked
	}
	output := d.output(reply)
	output["question"], output["reasons"] = question, []string{string(code)}
	s.History, s.Answers = result.Text(reply.Text), d.answers
	tell(&s, d.f.Node, output, d.outside)
	s.Output = result.Value(output)
	return s
}
