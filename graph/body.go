package graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tenonrun/tenon/workflow"
)

func (p *program) component(v *visit) error {
	s := newScope(string(v.id), v.path(), v.node.bodies[""], v.scope, v)
	for _, name := range s.body.inputs {
		if val, ok := v.scope.vars[name]; ok {
			s.vars[name] = val
		}
	}
	if err := p.inputs(v, s); err != nil {
		return err
	}
	p.scopes[s.id] = s
	p.advance(s, s.body.entry)
	return nil
}

// inputs gives a body its variables.
func (p *program) inputs(v *visit, s *scope) error {
	if v.node.kind != workflow.KindComponent {
		s.item = v.scope.item // the node itself works on it
		own, err := params[standIn](v)
		for name, raw := range own {
			s.vars[name] = workflow.Inline(raw)
		}
		return err
	}
	c, err := params[workflow.ComponentParams](v)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Inputs)) {
		val, err := p.argument(v.scope, c.Inputs[name])
		if err != nil {
			return fmt.Errorf("input %s: %w", name, err)
		}
		text, err := json.Marshal(val)
		if err != nil {
			return err
		}
		s.vars[name] = workflow.Inline(text)
	}
	return nil
}

// endScope ends a body.
func (p *program) endScope(s *scope, c workflow.Completion) {
	if s.parent == nil {
		p.complete(s, c)
		return
	}
	delete(p.scopes, s.id)
	if s.origin.fan != nil {
		p.branchEnded(s, c)
		return
	}
	p.bodyEnded(s, c)
}

// bodyEnded settles the component that a body belongs to.
func (p *program) bodyEnded(s *scope, c workflow.Completion) {
	v := s.origin
	r := workflow.Settled{Outcome: c.Exit, Completion: &c}
	if r.Outcome == "" {
		r.Outcome = "failed"
		if c.OK {
			r.Outcome = "next"
		}
	}
	if !c.OK {
		r.Status = workflow.VisitFailed
	}
	if _, ok := v.node.ends[r.Outcome]; !ok {
		p.fail(v, workflow.Failure{Code: workflow.CodeExitMissing, Message: fmt.Sprintf("component %s ended with %q, which the node does not wire", v.node.name, r.Outcome)})
		return
	}
	outputs, err := p.embed(s.outputs)
	if err == nil {
		var completion []byte
		if completion, err = json.Marshal(c); err == nil {
			r.Output, err = p.embed(map[string]workflow.Value{"outputs": outputs, "completion": workflow.Inline(completion)})
		}
	}
	if err != nil {
		p.fail(v, workflow.Failure{Code: workflow.CodeOf(err), Message: err.Error()})
		return
	}
	p.settle(v, r)
}
