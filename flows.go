package tenon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/script"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/plan"
	"github.com/tenonrun/tenon/workflow"
)

// mayFlow reports whether the agent of a turn can start workflows. The agents of a
// script and of a run that another one started cannot, and none that is held to
// rules or limits of its own: the agents of a workflow are held to those of the
// project only.
func (b *bench) mayFlow() bool {
	if m := b.member(); b.turn.Depth > 0 || b.turn.Limits != nil || len(b.turn.Closed) > 0 || m != nil && (len(m.Rules) > 0 || len(m.Denied) > 0 || m.Limits != nil) {
		return false
	}
	return b.session.flows
}

// flow begins a workflow for the tool of that name.
func (b *bench) flow(ctx context.Context, c tool.Call, f plan.Flow) (plan.FlowDone, error) {
	if b.turn.Access != workflow.EffectWrite {
		return plan.FlowDone{}, &tool.Failed{What: "a workflow may change files, and you may only read", Next: "do the work yourself, or say that it needs a workflow"}
	}
	w, err := b.wanted(ctx, c, f)
	if err != nil {
		return notBegun(f, err)
	}
	t := b.gear.t
	q := Request{Workflow: w, From: f.From, Reuse: workflow.ReusePrefix, Models: b.session.Bind, Dimensions: b.session.Dimensions}
	if q.Args, q.Inputs, err = flowArgs(w, f.Args); err != nil {
		return notBegun(f, err)
	}
	var warning string
	var badly error
	run, err := t.engine.Hatch(ctx, engine.Nested{Run: c.Run, Visit: c.Visit, Step: c.Step, Ref: w.Name,
		Make: func(ctx context.Context, id workflow.RunID, budget workflow.Budget) (l engine.Launch, err error) {
			q.ID, q.Budget = id, budget
			l, warning, badly = b.hatch(ctx, q)
			return l, badly
		}})
	if err != nil && badly != nil && ctx.Err() == nil {
		return notBegun(f, badly)
	}
	return plan.FlowDone{FlowRun: plan.FlowRun{
		Status: plan.StatusLaunched, Workflow: w.Name, Run: run, ScriptPath: t.scripts.path(run), Warning: warning,
		Summary: fmt.Sprintf("run %s of %s has begun; you are told once when it is over", run, w.Name),
	}}, err
}

// hatch makes what the run of a workflow that an agent starts begins with.
func (b *bench) hatch(ctx context.Context, q Request) (l engine.Launch, warning string, err error) {
	t := b.gear.t
	inputs, err := json.Marshal(q.Inputs)
	if err != nil {
		return l, "", err
	}
	if l, err = t.launch(ctx, q, inputs); err != nil {
		return l, "", err
	}
	l.ID, l.Started.Options.ByAgent = q.ID, true
	if err := t.follow(ctx, q, &l); err != nil {
		return l, "", err
	}
	return l, t.keepScript(ctx, q.Workflow, &l), nil
}

// await drives a run that the tool has begun until it is over or rests, and gives
// what the agent is told.
func (b *bench) await(ctx context.Context, c tool.Call, begun string) (string, error) {
	t := b.gear.t
	res, err := t.engine.Nest(ctx, engine.Nested{Run: c.Run, Visit: c.Visit, Step: c.Step, Ref: begun})
	if err != nil {
		return "", err
	}
	d, err := t.flowDone(ctx, res)
	if err != nil {
		return "", err
	}
	r, err := d.Result()
	return r.Text, err
}

// notBegun is what the model is told of a workflow that cannot run as it is.
func notBegun(f plan.Flow, err error) (plan.FlowDone, error) {
	if tool.ByModel(err) {
		return plan.FlowDone{}, err
	}
	return plan.FlowDone{
		FlowRun: plan.FlowRun{Status: workflow.StatusInvalid, Workflow: cmp.Or(f.Name, f.Path, "script"), Summary: "the workflow did not begin"},
		Error:   err.Error(),
	}, nil
}

// wanted finds the workflow that a model wants.
func (b *bench) wanted(ctx context.Context, c tool.Call, f plan.Flow) (*Workflow, error) {
	t := b.gear.t
	switch {
	case f.Path != "":
		source, err := b.scriptAt(ctx, c, f.Path)
		if err != nil {
			return nil, err
		}
		return t.LoadDocument(f.Path, source)
	case f.Script != "":
		return t.LoadDocument("script.js", []byte(f.Script))
	case f.Name != "":
		if strings.ContainsAny(f.Name, `/\`) {
			return nil, workflow.Errorf(workflow.CodeWorkflowNotFound, "%q is no name of a workflow", f.Name).WithHint("send a file as scriptPath")
		}
		return t.Load(f.Name)
	}
	name, source, err := t.scripts.Pinned(ctx, f.From)
	if err != nil {
		return nil, err
	}
	return t.LoadDocument(name, source)
}

// scriptAt reads a script where a model may read: the copies of runs, and what the
// fence lets it see.
func (b *bench) scriptAt(ctx context.Context, c tool.Call, path string) ([]byte, error) {
	if store, err := b.gear.t.scripts.store(); store != nil && err == nil {
		if source, err := store.Load(ctx, path, scriptScope); err == nil {
			return []byte(source), nil
		}
	}
	place, err := c.Fence.Judge(ctx, tool.Request{
		Tool: "read", Effect: workflow.EffectRead, Target: tool.Target{Slot: "scriptPath", Base: tool.BaseCwd, Op: tool.OpRead}, Args: c.Args, Cwd: c.Cwd,
	})
	if err != nil {
		return nil, err
	}
	file, err := c.Fence.Open(ctx, place)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	return io.ReadAll(io.LimitReader(file, script.MaxSource+1))
}

// flowArgs are args of a script, or inputs of a definition.
func flowArgs(w *Workflow, raw json.RawMessage) (args json.RawMessage, inputs map[string]json.RawMessage, err error) {
	if w.Script != nil || raw == nil {
		return raw, nil, nil
	}
	if err := json.Unmarshal(raw, &inputs); err != nil {
		return nil, nil, workflow.Errorf(workflow.CodeInvalidInputs, "%s is a definition: its args must be an object of inputs", w.Name)
	}
	return nil, inputs, nil
}

// flowDone is what the model is told of a run.
func (t *Tenon) flowDone(ctx context.Context, res history.Result) (plan.FlowDone, error) {
	res, err := t.told(ctx, res, nil)
	if err != nil {
		return plan.FlowDone{}, err
	}
	d := plan.FlowDone{
		FlowRun: plan.FlowRun{
			Status: res.Status, Workflow: res.Workflow.Name, Run: res.Run, ScriptPath: res.ScriptPath, Warning: strings.Join(res.Warnings, "; "),
		},
		Agents: res.Visits, Dead: len(res.Dead), Tokens: res.Usage.Input + res.Usage.Output,
		DurationMs: res.Updated.Std().Sub(res.Started.Std()).Milliseconds(),
	}
	if d.Output = res.Outputs["result"]; res.Workflow.Kind != workflow.KindScript {
		if d.Output, err = json.Marshal(res.Outputs); err != nil {
			return d, err
		}
	}
	for _, f := range res.Failures {
		d.Failures = append(d.Failures, strings.TrimPrefix(f.Node+": "+f.Message, ": "))
	}
	d.Summary = fmt.Sprintf("run %s of %s is %s", res.Run, res.Workflow.Name, res.Status)
	switch {
	case len(res.Questions) > 0:
		q := res.Questions[0]
		d.Next = fmt.Sprintf("a person has to answer %q: tenon answer %s, then tenon resume %s", text.Head(q.Text, 300, "…"), q.ID, res.Run)
	case !res.Status.Terminal():
		d.Next = fmt.Sprintf("it goes on with: tenon resume %s", res.Run)
	case res.Exit != 0 && d.ScriptPath != "":
		d.Next = fmt.Sprintf("mend %s, and send it as scriptPath with resumeFromRunId %s", d.ScriptPath, res.Run)
	}
	return d, nil
}

// flows tells a model which workflows it can name.
func (t *Tenon) flows(ctx context.Context) string {
	const most = 40
	var b strings.Builder
	b.WriteString("Workflows:")
	list, _, err := t.scripts.List(ctx)
	if err != nil {
		return ""
	}
	n := 0
	for _, s := range list {
		if s.HiddenBy != "" {
			continue
		}
		if n++; n > most {
			b.WriteString("\n- and more, which tenon script ls lists")
			break
		}
		about := strings.Join(strings.Fields(cmp.Or(s.WhenToUse, s.Description)), " ")
		fmt.Fprintf(&b, "\n- %s (%s): %s", s.Name, s.Origin, text.Head(about, 300, "…"))
	}
	if n == 0 {
		return ""
	}
	return b.String()
}
