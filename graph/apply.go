package graph

import (
	"fmt"
	"maps"

	"github.com/tenonrun/tenon/workflow"
)

// Apply folds one fact and queues what follows from it.
func (p *program) Apply(e workflow.Event) error {
	p.now = e.At
	var err error
	switch f := e.Payload.(type) {
	case *workflow.RunStarted:
		err = p.begin(e)
	case *workflow.Admitted:
		err = p.admitted(e, f)
	case *workflow.Settled:
		err = p.settled(e, f)
	case *workflow.Refused:
		err = p.onVisit(e, func(v *visit) { p.refuse(v, f.Code) })
	case *workflow.Retrying:
		err = p.onVisit(e, p.again)
	case *workflow.Lost:
		err = p.onVisit(e, func(v *visit) { p.lost(v, f) })
	case *workflow.Recovered:
		err = p.onVisit(e, func(v *visit) { p.recovered(v, f) })
	case *workflow.QuestionOpened:
		err = p.onVisit(e, p.asked)
	case *workflow.QuestionAnswered:
		err = p.onVisit(e, p.answered)
	case *workflow.ChildEnded:
		if f.Step != "" { // an agent started it, and goes on
			p.totals.Plus(f.Usage)
			break
		}
		err = p.onVisit(e, func(v *visit) { p.childEnded(v, f) })
	case *workflow.TimerStarted:
		err = p.onVisit(e, func(v *visit) { v.timer = f.Until })
	case *workflow.TimerFired:
		err = p.onVisit(e, p.timerFired)
	case *workflow.Forked:
		err = p.forked(f)
	default:
		p.control(f)
	}
	if err == nil {
		p.stalled()
	}
	return err
}

// control folds the facts about the run as a whole.
func (p *program) control(payload workflow.Payload) {
	switch f := payload.(type) {
	case *workflow.InvocationSettled:
		p.totals.Add(f.Usage)
	case *workflow.Signal:
		p.signals = append(p.signals, *f)
		p.deliver()
	case *workflow.LimitRaised:
		p.raised()
	case *workflow.Resumed:
		p.resumed()
	case *workflow.CancelRequested:
		p.cancel()
	case *workflow.Ended:
		p.ended = f.Status.Terminal()
	}
}

func (p *program) onVisit(e workflow.Event, do func(*visit)) error {
	v := p.visits[e.VisitID()]
	if v == nil {
		if p.cancelled {
			return nil // its end no longer matters
		}
		return &workflow.Divergence{Seq: e.Seq, Want: "a visit that is open", Got: fmt.Sprintf("%s of %s", e.Type(), e.ID)}
	}
	do(v)
	return nil
}

func (p *program) admitted(e workflow.Event, f *workflow.Admitted) error {
	v := p.visits[e.VisitID()]
	switch {
	case v == nil || v.state != stateWanted:
		return &workflow.Divergence{Seq: e.Seq, Want: "the admission of a wanted visit", Got: "admitted " + e.ID}
	case v.node.kind != f.Kind:
		return &workflow.Divergence{Seq: e.Seq, Want: v.node.kind + " at " + e.ID, Got: f.Kind}
	}
	p.set(v, stateRunning)
	if f.Effect == workflow.EffectWrite {
		p.verified = nil
	}
	if v.self {
		p.carryOut(v)
	}
	return nil
}

func (p *program) settled(e workflow.Event, f *workflow.Settled) error {
	v := p.visits[e.VisitID()]
	if v == nil {
		if p.cancelled {
			return nil
		}
		return &workflow.Divergence{Seq: e.Seq, Want: "the result of an open visit", Got: "settled " + e.ID}
	}
	p.drop(v)
	s, n := v.scope, v.node
	p.commit(s, v, e, f)
	if p.cancelled {
		p.cancelDone()
		return nil
	}
	if n.kind == workflow.KindEnd {
		p.endScope(s, endCompletion(f))
		return nil
	}
	target, ok := n.ends[f.Outcome]
	switch {
	case ok && target != nil:
		p.advance(s, *target)
	case ok:
		p.endScope(s, implicit(f))
	default:
		p.endScope(s, unrouted(f))
	}
	return nil
}

func endCompletion(f *workflow.Settled) workflow.Completion {
	if f.Completion != nil {
		return *f.Completion
	}
	return implicit(f)
}

// implicit is the completion of a body that ends on an edge to nothing.
func implicit(f *workflow.Settled) workflow.Completion {
	c := workflow.Completion{OK: (f.Status == "" || f.Status == workflow.VisitSucceeded) && !workflow.Unhappy(f.Outcome)}
	if !c.OK {
		c.Reasons = reasons(f)
	}
	if f.Error != nil && f.Error.Code == workflow.CodeToolDenied {
		c.Status = workflow.StatusDenied
	}
	return c
}

// unrouted is the completion of a body whose last result has no edge.
func unrouted(f *workflow.Settled) workflow.Completion {
	c := workflow.Completion{Reasons: reasons(f)}
	if f.Error != nil && (f.Error.Code == workflow.CodeApprovalDenied || f.Error.Code == workflow.CodeToolDenied) {
		c.Status = workflow.StatusDenied
	}
	return c
}

func reasons(f *workflow.Settled) []string {
	switch {
	case f.Error != nil:
		return []string{string(f.Error.Code)}
	case f.Completion != nil && len(f.Completion.Reasons) > 0:
		return f.Completion.Reasons
	case f.Outcome != "":
		return []string{f.Outcome}
	}
	return []string{workflow.VisitFailed}
}

// proves keeps which nodes last ended without what they were to deliver.
func (p *program) proves(s *scope, name string, f *workflow.Settled) {
	at := join(s.path, name)
	if f.Unproven == "" {
		delete(p.unproven, at)
		return
	}
	if p.unproven == nil {
		p.unproven = map[string]workflow.Code{}
	}
	p.unproven[at] = f.Unproven
}

// commit takes the result of a visit into its scope.
func (p *program) commit(s *scope, v *visit, e workflow.Event, f *workflow.Settled) {
	name := v.node.name
	maps.Copy(s.vars, f.Vars)
	if !f.Output.Absent() {
		s.outputs[name] = f.Output
		if v.node.kind != workflow.KindEnd {
			s.last = f.Output
		}
	}
	if e.Attempt > max(1, s.attempts[name]) {
		put(&s.attempts, name, e.Attempt)
	}
	put(&s.outcomes, name, f.Outcome)
	if f.Session != nil {
		put(&s.sessions, name, f.Session)
	}
	if !f.Private.Absent() {
		put(&s.private, v.node.private, f.Private)
	}
	if f.History != "" {
		p.remember(s, v, f.History)
	}
	for _, a := range f.Answers {
		a.Node = name
		s.answers = append(s.answers, a)
	}
	if v.fan != nil && v.node.kind == workflow.KindMap {
		put(&s.branches, name, v.fan.result(f.Output))
	}
	if f.Candidate != "" {
		p.candidate = f.Candidate
		if p.verified != nil && p.verified.Candidate != f.Candidate {
			p.verified = nil
		}
	}
	if f.Verified != nil {
		p.verified = f.Verified
	}
	p.proves(s, name, f)
	if f.Error != nil {
		p.failures = append(p.failures, *f.Error)
		if len(p.failures) > maxFailures {
			p.failures = p.failures[1:]
		}
	}
}

func put[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[k] = v
}

func (p *program) lost(v *visit, f *workflow.Lost) {
	switch {
	case p.cancelled:
		p.leftOver(v)
	case f.Uncertain:
		p.set(v, stateUnsure)
	case f.Code == workflow.CodeBudgetExhausted:
		p.refuse(v, f.Code)
	default:
		p.want(v)
	}
}

func (p *program) recovered(v *visit, f *workflow.Recovered) {
	if f.How == workflow.RecoverRerun {
		p.want(v)
		return
	}
	p.set(v, stateRunning) // its result follows
}

// again wants a visit whose attempt failed and is repeated.
func (p *program) again(v *visit) {
	if p.cancelled {
		p.leftOver(v)
		return
	}
	p.want(v)
}

func (p *program) asked(v *visit) {
	if p.cancelled {
		p.leftOver(v)
		return
	}
	p.set(v, stateWaiting)
	p.yieldSlot(v)
}

func (p *program) answered(v *visit) {
	if v.state != stateWaiting {
		return
	}
	p.takeSlot(v)
	p.want(v)
}
