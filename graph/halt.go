package graph

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// maxDetour is how many visits the way of onExhausted may take.
const maxDetour = 10

// stalled takes the way of onExhausted when refusals are all that is left.
func (p *program) stalled() {
	if p.refused == 0 || p.cancelled {
		return
	}
	for _, v := range p.visits {
		if v.settling || v.state != stateRefused && v.fan == nil && p.leaf(v) {
			return // something may still move
		}
	}
	var ways []*scope
	for _, v := range p.sortedVisits() {
		if v.state != stateRefused || setAside(v) {
			continue
		}
		if s := handler(v.scope); s != nil && !slices.Contains(ways, s) {
			ways = append(ways, s)
		}
	}
	for _, s := range ways { // an outer one waits for those inside it
		if !slices.ContainsFunc(ways, func(inner *scope) bool { return inner != s && within(inner, s) }) {
			p.leave(s)
		}
	}
}

// leaf reports whether a visit is not only waiting for a body below it.
func (p *program) leaf(v *visit) bool {
	return !v.node.component || v.state != stateRunning
}

func handler(s *scope) *scope {
	for ; s != nil; s = s.parent {
		if s.body.onExhausted != "" && s.detour == 0 {
			return s
		}
	}
	return nil
}

func setAside(v *visit) bool {
	for s := v.scope; s != nil; s = s.parent {
		for _, a := range s.aside {
			if a == v || s != v.scope {
				return true
			}
		}
	}
	return false
}

// leave puts what a scope was doing aside and takes its last way. Below the
// root it is gone for good; at the root a raise brings it back.
func (p *program) leave(s *scope) {
	for _, v := range p.sortedVisits() {
		if !within(v.scope, s) {
			continue
		}
		if s.parent == nil {
			s.aside = append(s.aside, v)
			continue
		}
		p.drop(v)
		p.give(workflow.CancelVisit{Visit: v.id})
	}
	if s.parent != nil {
		for id, c := range p.scopes {
			if c != s && within(c, s) {
				delete(p.scopes, id)
			}
		}
	}
	s.detour = 1
	p.advance(s, s.body.onExhausted)
}

func within(s, top *scope) bool {
	for ; s != nil; s = s.parent {
		if s == top {
			return true
		}
	}
	return false
}

// raised wants again what a limit refused.
func (p *program) raised() {
	if !p.backOnTheWay() {
		p.scopes[""].raised = true // after the way of onExhausted, which is short
		return
	}
	for _, v := range p.sortedVisits() {
		if v.state == stateRefused {
			p.want(v)
		}
	}
}

// resumed wants again what failures in a row refused: their count begins anew.
func (p *program) resumed() {
	failFast := func(v *visit) bool { return v.state == stateRefused && v.refusal == workflow.CodeFailFast }
	all := p.sortedVisits()
	if !slices.ContainsFunc(all, failFast) || !p.backOnTheWay() {
		return
	}
	for _, v := range all {
		if failFast(v) {
			p.want(v)
		}
	}
}

// backOnTheWay leaves the root's way of onExhausted when that has ended; false
// tells that it has not.
func (p *program) backOnTheWay() bool {
	root := p.scopes[""]
	if root == nil || root.detour == 0 {
		return true
	}
	if !root.done {
		return false
	}
	root.detour, root.aside, root.done = 0, nil, false
	return true
}

// complete ends the run.
func (p *program) complete(s *scope, c workflow.Completion) {
	if s.detour > 0 {
		s.done = true
		if s.raised {
			s.raised = false
			p.raised()
			return
		}
	}
	e := workflow.Ended{Status: workflow.StatusFailed, Completion: &c, Outputs: maps.Clone(s.outputs), Failures: p.failures}
	switch {
	case s.detour > 0:
		e.Status = workflow.StatusExhausted
	case c.Status != "":
		e.Status = c.Status
	case c.OK && p.start.Options.Verified != nil && *p.start.Options.Verified && p.verified == nil && !c.Verified:
		e.Status = workflow.StatusUnproven
		c.OK = false
		c.Reasons = append(c.Reasons, string(workflow.CodeUnverified))
	case c.OK && len(p.unproven) > 0:
		e.Status = workflow.StatusUnproven
		c.OK = false
		for _, at := range slices.Sorted(maps.Keys(p.unproven)) {
			if code := string(p.unproven[at]); !slices.Contains(c.Reasons, code) {
				c.Reasons = append(c.Reasons, code)
			}
		}
	case c.OK:
		e.Status = workflow.StatusSucceeded
	}
	p.ended = e.Status.Terminal()
	p.give(workflow.Complete{Ended: e})
}

// cancel stops everything; the run ends when nothing runs any more.
func (p *program) cancel() {
	p.cancelled = true
	if root := p.scopes[""]; root != nil {
		root.aside = nil
	}
	for _, v := range p.sortedVisits() {
		switch {
		case v.state == stateRunning && (!v.self || v.fan != nil || v.node.component):
			p.give(workflow.CancelVisit{Visit: v.id}) // what runs below needs its scope
			continue
		case v.node.kind == workflow.KindWorkflow && v.state == stateRunning:
			p.give(workflow.CancelChild{Visit: v.id})
			continue
		case v.node.kind == workflow.KindWait && v.state == stateWaiting:
			p.give(workflow.CancelTimer{Visit: v.id})
		default:
			p.give(workflow.CancelVisit{Visit: v.id})
		}
		p.drop(v)
	}
	p.cancelDone()
}

// leftOver drops a visit that a cancellation left to its attempt.
func (p *program) leftOver(v *visit) {
	p.drop(v)
	p.cancelDone()
}

func (p *program) cancelDone() {
	if p.ended {
		return
	}
	for _, v := range p.visits {
		if v.state == stateRunning && (!v.self || v.node.kind == workflow.KindWorkflow) {
			return
		}
	}
	p.ended = true
	for _, v := range p.sortedVisits() {
		p.drop(v)
	}
	maps.DeleteFunc(p.scopes, func(id string, _ *scope) bool { return id != "" })
	e := workflow.Ended{Status: workflow.StatusCancelled, Failures: p.failures}
	if root := p.scopes[""]; root != nil {
		e.Outputs = maps.Clone(root.outputs)
	}
	p.give(workflow.Complete{Ended: e})
}

// forked patches the state at the cut and asks again for what waits outside the
// run. Attempts that ran at the cut are lost by events of their own.
func (p *program) forked(f *workflow.Forked) error {
	s := p.scopes[strings.TrimPrefix(f.Patch.Scope, ".")]
	if s == nil {
		return workflow.Errorf(workflow.CodeForkNotFound, "scope %q is not open where the run is forked", f.Patch.Scope).
			WithHint("the root is \".\"; others are the visits above, such as the parts before the last / of visit ids")
	}
	maps.Copy(s.vars, f.Patch.Vars)
	maps.Copy(s.outputs, f.Patch.Outputs)
	for _, node := range slices.Sorted(maps.Keys(f.Patch.Answers)) {
		s.answers = append(s.answers, workflow.NamedAnswer{Node: node, Value: f.Patch.Answers[node]})
	}
	if len(f.Patch.Vars)+len(f.Patch.Outputs)+len(f.Patch.Answers) > 0 {
		p.verified = nil
	}
	for _, sc := range p.scopes {
		sc.sessions = nil
	}
	p.afresh()
	if f.Patch.Reopen != "" {
		p.reopen(f.Patch.Reopen)
	}
	return nil
}

// afresh repeats the wishes that the new run has to make in its own name.
func (p *program) afresh() {
	for _, v := range p.sortedVisits() {
		switch {
		case v.state == stateWanted:
			// A patch may have changed what its params are made of.
			if v.node.templated {
				p.prepare(v)
			}
			p.want(v)
		case v.state == stateRefused && !setAside(v):
			p.want(v) // what refused it was the other run's
		case v.state == stateWaiting && v.node.kind == workflow.KindWait:
			if v.timer != 0 {
				p.give(workflow.StartTimer{Visit: v.id, At: v.timer})
			}
		case v.state == stateWaiting:
			p.takeSlot(v)
			p.want(v)
		case v.state == stateRunning && v.node.kind == workflow.KindWorkflow:
			if err := p.child(v); err != nil {
				p.fail(v, workflow.Failure{Code: workflow.CodeOf(err), Message: err.Error()})
			}
		}
	}
}
