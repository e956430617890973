package graph

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

// carryOut does the work of a control kind.
func (p *program) carryOut(v *visit) {
	if v.problem != nil {
		p.fail(v, *v.problem)
		return
	}
	err := p.byKind(v)
	if err != nil {
		p.fail(v, workflow.Failure{Code: workflow.CodeOf(err), Message: err.Error()})
	}
}

func (p *program) byKind(v *visit) error {
	if v.node.component {
		return p.component(v)
	}
	switch v.node.kind {
	case workflow.KindCondition:
		p.condition(v)
	case workflow.KindAssign:
		return p.assign(v)
	case workflow.KindEnd:
		return p.end(v)
	case workflow.KindJoin:
		return p.joined(v)
	case workflow.KindMap:
		return p.mapped(v)
	case workflow.KindParallel:
		return p.parallel(v)
	case workflow.KindWait:
		return p.wait(v)
	case workflow.KindWorkflow:
		return p.child(v)
	}
	return nil
}

func (p *program) condition(v *visit) {
	r := workflow.Settled{Outcome: "false"}
	val, err := v.node.expr.Eval(view{p, v.scope})
	switch {
	case err != nil:
		r.Completion = &workflow.Completion{Reasons: []string{"condition_error:" + v.path()}}
		r.Output = object("error", err.Error())
		r.Warnings = []string{"condition " + v.path() + ": " + err.Error() + "; taken as false"}
	case expr.Truth(val):
		r.Outcome = "true"
	}
	p.settle(v, r)
}

func (p *program) assign(v *visit) error {
	a, err := params[workflow.AssignParams](v)
	if err != nil {
		return err
	}
	vars := make(map[string]workflow.Value, len(a.Set)+len(a.Increment))
	for name, raw := range a.Set {
		vars[name] = workflow.Inline(raw)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Increment)) {
		delta := a.Increment[name]
		now, err := p.integer(v.scope, name)
		if err != nil {
			return err
		}
		sum := now + delta
		if sum > 1<<53-1 || sum < -(1<<53-1) {
			return workflow.Errorf(workflow.CodeInvalidAssignment, "incrementing %s by %d leaves the range of exact integers", name, delta)
		}
		raw, err := json.Marshal(sum)
		if err != nil {
			return err
		}
		vars[name] = workflow.Inline(raw)
	}
	all, err := p.embed(vars)
	if err != nil {
		return err
	}
	out, err := p.embed(map[string]workflow.Value{"vars": all})
	p.settle(v, workflow.Settled{Outcome: "next", Vars: vars, Output: out})
	return err
}

func (p *program) integer(s *scope, name string) (int64, error) {
	val, ok, err := view{p, s}.Lookup("$vars", []string{name})
	if err != nil {
		return 0, err
	}
	f, num := val.(float64)
	if !ok || !num || f != math.Trunc(f) || math.Abs(f) > 1<<53-1 {
		return 0, workflow.Errorf(workflow.CodeInvalidAssignment, "incrementing %s: it is not an integer", name).
			WithHint("set it with an assign node before")
	}
	return int64(f), nil
}

func (p *program) end(v *visit) error {
	e, err := params[workflow.EndParams](v)
	if err != nil {
		return err
	}
	c := &workflow.Completion{OK: e.Outcome == "success", Exit: e.Exit}
	if e.Reason != "" {
		c.Reasons = []string{e.Reason}
	}
	r := workflow.Settled{Completion: c}
	if e.BlockerFrom != "" {
		val, ok, err := view{p, v.scope}.Lookup("$outputs", []string{e.BlockerFrom, "blocker"})
		if err == nil && ok {
			if raw, err := json.Marshal(map[string]any{"blocker": val}); err == nil {
				r.Output = workflow.Inline(raw)
			}
		}
	}
	p.settle(v, r)
	return nil
}

func (p *program) wait(v *visit) error {
	w, err := params[workflow.WaitParams](v)
	if err != nil {
		return err
	}
	p.set(v, stateWaiting)
	switch {
	case w.For != "":
		err = p.timer(v, w.For)
	case w.Until != "":
		at, perr := time.Parse(time.RFC3339, w.Until)
		if perr != nil {
			return workflow.Errorf(workflow.CodeInvalidPieceParams, "wait until %q: %w", w.Until, perr)
		}
		p.give(workflow.StartTimer{Visit: v.id, At: workflow.TimeOf(at)})
	case w.Timeout != "":
		err = p.timer(v, w.Timeout)
	}
	if err != nil {
		return err
	}
	p.yieldSlot(v)
	if w.Signal != "" {
		p.deliver()
	}
	return nil
}

func (p *program) timer(v *visit, d string) error {
	wait, err := time.ParseDuration(d)
	if err != nil {
		return workflow.Errorf(workflow.CodeInvalidPieceParams, "wait for %q: %w", d, err)
	}
	p.give(workflow.StartTimer{Visit: v.id, At: p.now.Add(wait)})
	return nil
}

func (p *program) timerFired(v *visit) {
	if v.state != stateWaiting || v.settling {
		return // a signal came first
	}
	w, err := params[workflow.WaitParams](v)
	if err != nil {
		p.fail(v, workflow.Failure{Code: workflow.CodeOf(err), Message: err.Error()})
		return
	}
	outcome := "next"
	if w.Signal != "" {
		outcome = "expired"
	}
	p.set(v, stateRunning)
	p.takeSlot(v)
	p.settle(v, workflow.Settled{Outcome: outcome})
}

// deliver gives kept signals to the waits that want them, oldest first.
func (p *program) deliver() {
	if len(p.signals) == 0 {
		return
	}
	for _, v := range p.sortedVisits() {
		if v.node.kind != workflow.KindWait || v.state != stateWaiting {
			continue
		}
		w, err := params[workflow.WaitParams](v)
		if err != nil || w.Signal == "" {
			continue
		}
		i := slices.IndexFunc(p.signals, func(s workflow.Signal) bool { return s.Name == w.Signal })
		if i < 0 {
			continue
		}
		sig := p.signals[i]
		p.signals = slices.Delete(p.signals, i, i+1)
		p.set(v, stateRunning)
		p.takeSlot(v)
		if w.Timeout != "" {
			p.give(workflow.CancelTimer{Visit: v.id})
		}
		out, err := p.embed(map[string]workflow.Value{"signal": workflow.Text(sig.Name), "value": sig.Value})
		if err != nil {
			p.fail(v, workflow.Failure{Code: workflow.CodeOf(err), Message: err.Error()})
			continue
		}
		p.settle(v, workflow.Settled{Outcome: "next", Output: out})
	}
}

func (p *program) child(v *visit) error {
	w, err := params[workflow.WorkflowParams](v)
	if err != nil {
		return err
	}
	inputs := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(w.Inputs)) {
		if inputs[name], err = p.argument(v.scope, w.Inputs[name]); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(inputs)
	if err != nil {
		return err
	}
	p.give(workflow.StartChild{Visit: v.id, Node: v.path(), Ref: w.Ref(), Inputs: workflow.Inline(raw)})
	return nil
}

// inputRoots are the parts of the state that an input can name.
var inputRoots = []string{"$vars", "$outputs", "$history", "$answers", "$candidate", "$verified", "$item", "$inputs", "$usage"}

// argument is a literal, or the value of a path such as "$vars.name".
func (p *program) argument(s *scope, raw json.RawMessage) (any, error) {
	var val any
	if err := json.Unmarshal(raw, &val); err != nil {
		return nil, err
	}
	text, ok := val.(string)
	if !ok || !strings.HasPrefix(text, "$") {
		return val, nil
	}
	root, rest, _ := strings.Cut(text, ".")
	var path []string
	if rest != "" {
		path = strings.Split(rest, ".")
	}
	if !slices.Contains(inputRoots, root) {
		return nil, workflow.Errorf(workflow.CodeInvalidInput, "%q is not a path of the state", text)
	}
	val, ok, err := view{p, s}.Lookup(root, path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, workflow.Errorf(workflow.CodeRunVarMissing, "%s has no value", text)
	}
	return val, nil
}

func (p *program) childEnded(v *visit, f *workflow.ChildEnded) {
	p.totals.Plus(f.Usage)
	if p.cancelled {
		p.leftOver(v)
		return
	}
	p.set(v, stateRunning)
	out, err := p.embed(map[string]workflow.Value{
		"run": workflow.Text(string(f.Run)), "status": workflow.Text(string(f.Status)), "outputs": f.Outputs,
	})
	if err != nil {
		p.fail(v, workflow.Failure{Code: workflow.CodeOf(err), Message: err.Error()})
		return
	}
	if f.Status == workflow.StatusSucceeded {
		p.settle(v, workflow.Settled{Outcome: "next", Output: out})
		return
	}
	why := strings.Join(f.Reasons, ", ")
	if why == "" {
		why = string(f.Status)
	}
	p.settle(v, workflow.Settled{
		Outcome: "failed", Status: workflow.VisitFailed, Output: out,
		Error: &workflow.Failure{Code: workflow.CodeChildFailed, Node: v.path(), Message: "child run " + string(f.Run) + " ended " + string(f.Status) + ": " + why},
	})
}

// object makes {key: text}.
func object(key, text string) workflow.Value {
	raw, err := json.Marshal(map[string]string{key: text})
	if err != nil {
		return workflow.Value{}
	}
	return workflow.Inline(raw)
}

// embed makes an object of values, loading those that are stored.
func (p *program) embed(members map[string]workflow.Value) (workflow.Value, error) {
	m := make(map[string]json.RawMessage, len(members))
	for _, k := range slices.Sorted(maps.Keys(members)) { // the first error is the same in every replay
		raw, err := members[k].Load(p.values)
		if err != nil {
			return workflow.Value{}, err
		}
		if raw != nil {
			m[k] = raw
		}
	}
	raw, err := json.Marshal(m)
	return workflow.Inline(raw), err
}
