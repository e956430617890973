package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/deliverable"
	"github.com/tenonrun/tenon/deliverable/harvest"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

// visit is one visit of the piece.
type visit struct {
	cfg    Config
	c      piece.Context
	f      piece.Frame
	p      settings
	agent  Agent
	ws     Workspace
	reply  executor.Reply
	state  deliverable.State
	then   []string // what the agent was told after its answers
	judged deliverable.Verdict
}

func (cfg Config) run(ctx context.Context, c piece.Context) (workflow.Settled, error) {
	f := c.Frame()
	var p settings
	var err error
	if !f.Script {
		if p, err = params.Filled[settings](f.Params); err != nil {
			return workflow.Settled{}, err
		}
	}
	v := &visit{cfg: cfg, c: c, f: f, p: p}
	if f.Script {
		return v.answer(ctx)
	}
	if err := v.prepare(ctx); err != nil {
		return workflow.Settled{}, err
	}
	for {
		if err := v.turn(ctx); err != nil {
			return v.failed(err)
		}
		if v.ws.Spec == nil {
			return v.without()
		}
		step, err := v.verdict(ctx)
		if err != nil {
			return workflow.Settled{}, err
		}
		v.state = step.State
		switch {
		case step.Action == deliverable.Accept:
			return v.accepted(ctx)
		case v.reply.Drained:
			return workflow.Settled{}, v.exhausted(step)
		case step.Action == deliverable.Correct:
			v.then = append(v.then, step.Message)
		default:
			return v.unproven(ctx, step)
		}
	}
}

func (v *visit) prepare(ctx context.Context) error {
	var err error
	if v.agent, err = v.cfg.Find(ctx, v.f.Run, Name{v.p.Agent, v.p.Composition}); err != nil {
		return fmt.Errorf("%s: %w", v.f.Node, err)
	}
	dir, err := v.desk()
	if err != nil {
		return err
	}
	v.ws, err = v.cfg.Prepare(ctx, Order{
		Frame: v.f, Agent: v.agent, Deliverable: v.p.Deliverable, Overlays: v.p.Overlays, Inputs: v.p.Inputs, Dir: dir,
	})
	if err != nil {
		return fmt.Errorf("%s: preparing the workspace: %w", v.f.Node, err)
	}
	return nil
}

// desk is the directory of the visit.
func (v *visit) desk() (string, error) {
	desk, ok := v.c.(piece.Desk)
	if !ok {
		return "", workflow.Errorf(workflow.CodeInternal, "%s: the host gives no directory for a workspace", v.f.Node)
	}
	return desk.Dir()
}

// turn has the agent work, or work on after what it was told.
func (v *visit) turn(ctx context.Context) error {
	t := v.p.turn(v.f, v.agent, v.ws)
	t.Then = v.then
	for _, r := range v.f.Repositories {
		if path, err := filepath.Abs(r.Path); err == nil {
			t.Roots = append(t.Roots, path)
		}
	}
	if len(t.Roots) > 0 {
		t.Dir = t.Roots[0]
	}
	if v.ws.Dir != "" {
		t.Roots = append(t.Roots, v.ws.Dir)
	}
	if len(v.f.Steering) > 0 {
		t.Prompt += "\n\nAdvice from the operator of this run:\n- " + strings.Join(v.f.Steering, "\n- ")
	}
	var err error
	v.reply, err = v.c.Turn(ctx, t)
	return err
}

// ruling is a verdict as it is kept: the files may be others when the visit is
// run again.
type ruling struct {
	Step   deliverable.Step    `json:"step"`
	Judged deliverable.Verdict `json:"judged"`
}

// verdict judges what was delivered, once for each answer of the agent. One that
// came to an end at a limit is judged anew: a raise lets it go on.
func (v *visit) verdict(ctx context.Context) (deliverable.Step, error) {
	j, ok := v.c.(executor.Journal)
	if !ok || v.reply.Drained {
		return v.judge(ctx)
	}
	raw, err := j.Step(ctx, executor.Step{
		Key: fmt.Sprintf("agent/judged/%d", len(v.then)+1), Tool: "deliverable",
		Do: func(ctx context.Context, _ json.RawMessage, _ func(json.RawMessage) error) (executor.Outcome, error) {
			step, err := v.judge(ctx)
			if err != nil {
				return executor.Outcome{}, err
			}
			memo, err := json.Marshal(ruling{step, v.judged})
			return executor.Outcome{Memo: memo, About: "the deliverable is judged: " + string(step.Action), Failed: !v.judged.Accepted()}, err
		},
	})
	if err != nil {
		return deliverable.Step{}, err
	}
	var kept ruling
	if err := json.Unmarshal(raw, &kept); err != nil {
		return deliverable.Step{}, workflow.Errorf(workflow.CodeStoreDamaged, "%s: reading the verdict about a deliverable: %w", v.f.Node, err)
	}
	v.judged = kept.Judged
	return kept.Step, nil
}

// judge takes in what was delivered, again and again while the machine cannot
// read it, and says what follows.
func (v *visit) judge(ctx context.Context) (deliverable.Step, error) {
	for {
		h, err := harvest.Take(ctx, harvest.Workspace{Dir: v.ws.Dir, Repos: v.ws.Repos}, v.ws.Spec, v.cfg.Harvest)
		if err != nil {
			return deliverable.Step{}, err
		}
		h.Text = v.reply.Text
		v.judged = v.ws.Spec.Judge(h)
		step := v.ws.Spec.Next(v.state, v.p.OnContractViolation, v.judged)
		if step.Action != deliverable.RetryHarvest {
			return step, nil
		}
		v.state = step.State
		if err := wait(ctx, step.Wait); err != nil {
			return deliverable.Step{}, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failed settles a turn that gave no answer, where the agent itself is the reason.
func (v *visit) failed(err error) (workflow.Settled, error) {
	if workflow.CodeOf(err) != workflow.CodeCompositionBudget {
		return workflow.Settled{}, err
	}
	s := result.Failed("failed", workflow.CodeCompositionBudget, err.Error())
	s.Output = result.Value(v.output())
	return s, nil
}

// output is what every result has.
func (v *visit) output() map[string]any {
	out := map[string]any{"text": result.Text(v.reply.Text), "agent": v.agent.Name, "version": v.agent.Version}
	if v.ws.Digest != "" {
		out["context"] = v.ws.Digest
	}
	if len(v.reply.Files) > 0 {
		out["files"] = v.reply.Files
	}
	if v.reply.Agents > 0 {
		out["agents"] = v.reply.Agents
	}
	return out
}

// without settles a turn that has nothing to deliver.
func (v *visit) without() (workflow.Settled, error) {
	if v.reply.Drained {
		return workflow.Settled{}, v.exhausted(deliverable.Step{})
	}
	return workflow.Settled{Outcome: "next", Output: result.Value(v.output()), History: result.Text(v.reply.Text), Warnings: v.ws.Warnings}, nil
}

// accepted settles a deliverable that meets its contract.
func (v *visit) accepted(ctx context.Context) (workflow.Settled, error) {
	if err := v.keep(ctx); err != nil {
		return workflow.Settled{}, err
	}
	out := v.output()
	out["deliverable"] = v.delivered(true)
	s := workflow.Settled{
		Outcome: "next", Output: result.Value(out), History: result.Text(v.reply.Text), Warnings: slices.Concat(v.ws.Warnings, v.judged.Warnings),
	}
	if v.reply.Drained {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s: budget_drained: a limit ended the agent; what it delivered meets its contract", v.f.Node))
	}
	return s, nil
}

// unproven settles a deliverable that does not meet its contract. What is there of
// it stays in the result.
func (v *visit) unproven(ctx context.Context, step deliverable.Step) (workflow.Settled, error) {
	if err := v.keep(ctx); err != nil {
		return workflow.Settled{}, err
	}
	out := v.output()
	out["deliverable"], out["violation"] = v.delivered(false), result.Text(v.ws.Spec.Violation(v.state, v.judged))
	return workflow.Settled{
		Outcome: "unproven", Output: result.Value(out), Unproven: step.Code, History: result.Text(v.reply.Text),
		Warnings: []string{fmt.Sprintf("%s: %s", v.f.Node, step.Message)},
	}, nil
}

func (v *visit) keep(ctx context.Context) error {
	if v.cfg.Keep == nil {
		return nil
	}
	return v.cfg.Keep(ctx, v.f, v.judged)
}

// delivered describes the deliverable: files by digest, and JSON as a value.
func (v *visit) delivered(accepted bool) map[string]any {
	d := map[string]any{"accepted": accepted, "spec": v.ws.Spec.Slug, "kind": v.ws.Spec.Kind, "dir": v.ws.Dir}
	c := v.judged.Content
	if len(c.Files) > 0 {
		d["files"] = c.Files
	}
	if len(c.Value) > 0 {
		d["value"] = c.Value
	}
	if c.Text != "" {
		d["text"] = result.Text(c.Text)
	}
	if len(v.judged.Faults) > 0 {
		d["faults"] = v.judged.Faults
	}
	return d
}

// exhausted parks a visit that a limit ended before it had delivered: it goes on
// after a raise, and what it made so far stays where it is.
func (v *visit) exhausted(step deliverable.Step) error {
	missing := ""
	if step.Message != "" {
		missing = "; " + step.Message
	}
	err := workflow.Errorf(workflow.CodeBudgetExhausted, "%s: a limit ended the agent %s before it was done%s", v.f.Node, v.agent.Name, missing)
	if v.ws.Dir != "" {
		err = err.WithHint("what it made is in %s; raise the limit to let it go on", v.ws.Dir)
	}
	return err
}
