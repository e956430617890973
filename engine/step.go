package engine

import (
	"context"
	"encoding/json"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// Step implements executor.Journal.
func (a *attempt) Step(ctx context.Context, s executor.Step) (json.RawMessage, error) {
	var memo, intent workflow.Value
	var settled bool
	err := a.peek(func(r *run) {
		memo, settled = r.Memory.Memos[a.cmd.Visit][s.Key]
		intent = r.Memory.Intents[a.cmd.Visit][s.Key]
	})
	if err != nil {
		return nil, err
	}
	if settled {
		return a.Load(memo)
	}
	left, err := a.Load(intent)
	if err != nil {
		return nil, err
	}
	e := a.r.e
	e.cfg.Probe("step")
	begun := e.cfg.Now()
	out, err := s.Do(ctx, left, func(what json.RawMessage) error {
		return a.record(&workflow.StepIntended{Key: s.Key, Tool: s.Tool, Intent: workflow.Inline(what)})
	})
	if err != nil {
		return nil, err
	}
	raw := e.cfg.Redact.RedactJSON(out.Memo)
	done := &workflow.StepSettled{
		Key: s.Key, Tool: s.Tool, About: e.cfg.Redact.Redact(out.About), Failed: out.Failed, Why: e.cfg.Redact.Redact(out.Why), Denied: out.Denied, Made: out.Made,
		Memo: workflow.Inline(raw), DurationMs: e.cfg.Now().Sub(begun).Milliseconds(),
	}
	if err := a.record(done); err != nil {
		return nil, err
	}
	return raw, nil
}

// Consult implements executor.Person.
func (a *attempt) Consult(ctx context.Context, q executor.Question) (workflow.Answer, error) {
	return a.Ask(ctx, piece.Ask{Key: q.Key, Kind: q.Kind, Text: q.Text, Options: q.Options, Schema: q.Schema})
}
