package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/script/vm"
	"github.com/tenonrun/tenon/workflow"
)

// Apply folds one fact and queues what follows from it. Code of a script that did
// not come back is not done again.
func (p *program) Apply(e workflow.Event) error {
	if f, ok := e.Payload.(*workflow.Ended); ok && p.due != nil && len(p.calls) == 0 && endless(f) {
		p.due, p.ended = nil, true
		p.give(workflow.Complete{Ended: *f})
	} else if !p.restarts(e.Payload) {
		if err := p.goOn(); err != nil {
			return err
		}
	}
	switch f := e.Payload.(type) {
	case *workflow.RunStarted:
		return p.begin(e)
	case *workflow.Admitted:
		return p.admitted(e, f)
	case *workflow.Settled:
		return p.settled(e, f)
	case *workflow.Refused:
		return p.onCall(e, func(k *call) { k.state, k.refusal = stateRefused, f.Code })
	case *workflow.Retrying:
		return p.onCall(e, p.again)
	case *workflow.Lost:
		return p.onCall(e, func(k *call) { p.lost(k, f) })
	case *workflow.Recovered:
		return p.onCall(e, func(k *call) { p.recovered(k, f) })
	case *workflow.QuestionOpened:
		return p.onCall(e, p.asked)
	case *workflow.QuestionAnswered:
		return p.onCall(e, p.answered)
	case *workflow.ChildEnded:
		if f.Step != "" { // an agent started it, and goes on
			p.spent += f.Usage.Input + f.Usage.Output
			return nil
		}
		return p.onCall(e, func(k *call) { p.childEnded(k, f) })
	case *workflow.Forked:
		return p.forked(f)
	case *workflow.InvocationSettled:
		n, _ := f.Usage.Tokens()
		p.spent += n
		if k := p.calls[e.VisitID()]; k != nil {
			p.records[k.record].Tokens += n
		}
	default:
		p.control(f)
	}
	return nil
}

// restarts folds the facts around code that a person stopped: that it was, that
// somebody goes on, and that the run is cancelled instead. It reports whether the
// code is not done because of them.
func (p *program) restarts(payload workflow.Payload) bool {
	if p.due == nil {
		return false
	}
	switch f := payload.(type) {
	case *workflow.Progress:
		if f.Kind == workflow.ProgressHalted {
			p.halted = halted
			return true
		}
	case *workflow.Resumed:
		if p.halted == halted {
			p.halted = resumed
			return true
		}
	case *workflow.CancelRequested:
		if p.halted != notHalted {
			p.due, p.halted = nil, notHalted
			return true
		}
	}
	return false
}

// endless reports whether code that did not come back ended a run.
func endless(f *workflow.Ended) bool {
	return f.Completion != nil && slices.Contains(f.Completion.Reasons, string(workflow.CodeScriptEndless))
}

// control folds the facts about the run as a whole.
func (p *program) control(payload workflow.Payload) {
	switch f := payload.(type) {
	case *workflow.LimitRaised:
		if f.Tokens > 0 {
			p.budget = f.Tokens
		}
		p.wantRefused(func(*call) bool { return true })
	case *workflow.Resumed:
		p.wantRefused(func(k *call) bool { return k.refusal == workflow.CodeFailFast })
	case *workflow.CancelRequested:
		p.cancel()
	case *workflow.Ended:
		p.ended = f.Status.Terminal()
	}
}

func (p *program) onCall(e workflow.Event, do func(*call)) error {
	k := p.calls[e.VisitID()]
	if k == nil {
		if p.ending != nil || p.ended {
			return nil // its end no longer matters
		}
		return p.divergence(e, string(e.Type()))
	}
	do(k)
	return nil
}

// divergence tells what the script waits for where the history has another call.
func (p *program) divergence(e workflow.Event, what string) error {
	var open []string
	for _, k := range p.sorted() {
		if len(open) == 3 {
			open = append(open, fmt.Sprintf("%d more", len(p.calls)-3))
			break
		}
		open = append(open, p.where(k))
	}
	want := "no call, for the script makes none"
	if len(open) > 0 {
		want = strings.Join(open, " or ")
	}
	return &workflow.Divergence{Seq: e.Seq, Want: want, Got: what + " of " + e.ID}
}

func (p *program) admitted(e workflow.Event, f *workflow.Admitted) error {
	k := p.calls[e.VisitID()]
	switch {
	case k == nil && (p.ending != nil || p.ended):
		return nil
	case k == nil || k.kind != f.Kind:
		return p.divergence(e, f.Kind)
	case k.state != stateWanted:
		return &workflow.Divergence{Seq: e.Seq, Want: p.where(k) + " as it is, " + k.state, Got: "its admission"}
	case !f.Self && f.Params != "" && f.Params != workflow.Digest(canon.Sum(k.params)):
		return &workflow.Divergence{Seq: e.Seq, Want: p.where(k) + " as the script makes it: " + short(string(k.params)), Got: "the same call with another prompt or other options"}
	}
	k.state = stateRunning
	if !k.self {
		return nil
	}
	if k.taken != nil {
		k.settling = true
		p.give(workflow.SettleVisit{Visit: k.id, Node: string(k.id), Number: k.at.Ordinal, Result: workflow.Settled{Outcome: outcomeReused, Output: k.taken.Output}})
		return nil
	}
	var c childParams
	if err := json.Unmarshal(k.params, &c); err != nil {
		return &workflow.Damage{Run: p.run, Seq: e.Seq, Err: err}
	}
	p.give(workflow.StartChild{Visit: k.id, Node: string(k.id), Ref: c.Name, Inputs: workflow.Inline(c.Inputs)})
	return nil
}

// Outcomes that a script's calls may settle with beside those of pieces.
const (
	outcomeReused  = "reused"  // the result of an earlier run
	outcomeSkipped = "skipped" // by a person: the script sees null, and the agent is not dead
)

func (p *program) settled(e workflow.Event, f *workflow.Settled) error {
	k := p.calls[e.VisitID()]
	if k == nil {
		if p.ending != nil || p.ended {
			return nil
		}
		return p.divergence(e, "a result")
	}
	delete(p.calls, k.id)
	if p.ending != nil {
		p.rest()
		return nil
	}
	out, err := p.outcome(k, f)
	if err != nil {
		return &workflow.Damage{Run: p.run, Seq: e.Seq, Err: err}
	}
	if k.taken != nil {
		p.reuse.flying = false
	}
	p.due = func() error { return p.moved(p.machine.Settle(k.at.ID, out)) }
	return nil
}

// moved sees to what the script did since the last settlement. A script that was
// halted has done nothing: what led to it is not recorded, and leads to it again.
func (p *program) moved(err error) error {
	var b *vm.Bound
	if errors.As(err, &b) && b.Kind == vm.BoundHalt {
		return workflow.Errorf(workflow.CodeInterrupted, "%s: %w", p.script.File, err).
			WithHint("if the code does not come to an end, mend it; what agents of the run answered before is kept: resume it with --accept-changes, or start afresh if it had not begun")
	}
	if p.ending != nil || p.ended {
		return nil
	}
	switch d := p.machine.Done(); {
	case err != nil:
		p.fail(codeOfEnd(err), p.script.File+": "+err.Error())
	case d != nil && d.Err != nil:
		p.threw(d.Err)
	case d != nil:
		p.returned(d.Value)
	default:
		p.takeOver()
		if len(p.calls) == 0 {
			p.fail(workflow.CodeNoProgress, p.script.File+": the script waits for a promise that nothing will settle")
		}
	}
	return nil
}

// takeOver begins with the next result of an earlier run.
func (p *program) takeOver() {
	if p.reuse == nil {
		return
	}
	if k := p.reuse.next(); k != nil {
		p.want(k)
	}
}

func (p *program) lost(k *call, f *workflow.Lost) {
	switch {
	case p.ending != nil:
		p.leftOver(k)
	case f.Uncertain:
		k.state = stateUnsure
	case f.Code == workflow.CodeBudgetExhausted:
		k.state, k.refusal = stateRefused, f.Code
	default:
		p.want(k)
	}
}

func (p *program) recovered(k *call, f *workflow.Recovered) {
	if f.How == workflow.RecoverRerun {
		p.want(k)
		return
	}
	k.state = stateRunning // its result follows
}

// again wants a call whose attempt failed and is repeated.
func (p *program) again(k *call) {
	if p.ending != nil {
		p.leftOver(k)
		return
	}
	p.want(k)
}

func (p *program) asked(k *call) {
	if p.ending != nil {
		p.leftOver(k)
		return
	}
	k.state = stateWaiting
}

func (p *program) answered(k *call) {
	if k.state == stateWaiting && p.ending == nil {
		p.want(k)
	}
}

func (p *program) childEnded(k *call, f *workflow.ChildEnded) {
	n := f.Usage.Input + f.Usage.Output
	p.spent += n
	p.records[k.record].Tokens += n
	if p.ending != nil {
		p.leftOver(k)
		return
	}
	r := workflow.Settled{Outcome: "next", Output: f.Outputs}
	if f.Status != workflow.StatusSucceeded {
		why := strings.Join(f.Reasons, ", ")
		if why == "" {
			why = string(f.Status)
		}
		r = workflow.Settled{Outcome: "failed", Status: workflow.VisitFailed, Error: &workflow.Failure{
			Code: workflow.CodeChildFailed, Node: string(k.id), Message: fmt.Sprintf("workflow %s (run %s) ended %s: %s", k.label, f.Run, f.Status, why),
		}}
	}
	k.state, k.settling = stateRunning, true
	p.give(workflow.SettleVisit{Visit: k.id, Node: string(k.id), Number: k.at.Ordinal, Result: r})
}

// forked repeats the wishes that the new run has to make in its own name.
func (p *program) forked(f *workflow.Forked) error {
	if len(f.Patch.Vars)+len(f.Patch.Outputs)+len(f.Patch.Answers) > 0 || f.Patch.Reopen != "" {
		return workflow.Errorf(workflow.CodeForkNotFound, "a run of a script cannot be forked with changes").
			WithHint("edit the script and resume with --accept-changes")
	}
	for _, k := range p.sorted() {
		switch {
		case k.state == stateWanted, k.state == stateRefused, k.state == stateWaiting:
			p.want(k)
		case k.state == stateRunning && k.kind == workflow.KindWorkflow && k.taken == nil && !k.settling:
			var c childParams
			if err := json.Unmarshal(k.params, &c); err != nil {
				return err
			}
			p.give(workflow.StartChild{Visit: k.id, Node: string(k.id), Ref: c.Name, Inputs: workflow.Inline(c.Inputs)})
		}
	}
	return nil
}

func (p *program) wantRefused(which func(*call) bool) {
	if p.ending != nil {
		return
	}
	for _, k := range p.sorted() {
		if k.state == stateRefused && which(k) {
			p.want(k)
		}
	}
}

// sorted are the open calls in start order.
func (p *program) sorted() []*call {
	return slices.SortedFunc(maps.Values(p.calls), func(a, b *call) int { return a.record - b.record })
}
