package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenonrun/tenon/script/vm"
	"github.com/tenonrun/tenon/workflow"
)

// ReasonDead is the reason of a run whose script returned although agents died.
const ReasonDead = "agents_dead"

// returned ends the run with the script's result. A run in which required agents
// died is not proven to have done what it was for.
func (p *program) returned(value json.RawMessage) {
	e := &workflow.Ended{Status: workflow.StatusSucceeded, Completion: &workflow.Completion{OK: true}}
	if value != nil {
		e.Outputs = map[string]workflow.Value{"result": workflow.Inline(value)}
	}
	if p.dead > 0 {
		e.Status = workflow.StatusUnproven
		e.Completion = &workflow.Completion{Reasons: []string{ReasonDead}}
		word := "agents"
		if p.dead == 1 {
			word = "agent"
		}
		p.warnings = append(p.warnings, fmt.Sprintf("the script returned although %d %s died; agents with the option optional do not count", p.dead, word))
	}
	p.end(e)
}

// threw ends the run with an error of the script.
func (p *program) threw(t *vm.Thrown) {
	code := workflow.Code(t.Code)
	if code == "" {
		code = workflow.CodeScriptFailed
	}
	p.fail(code, t.Error())
}

func codeOfEnd(err error) workflow.Code {
	var b *vm.Bound
	if errors.As(err, &b) {
		if b.Kind == vm.BoundMemory {
			return workflow.CodeScriptMemory
		}
		return workflow.CodeScriptEndless
	}
	return workflow.CodeScriptFailed
}

// fail ends the run without a result.
func (p *program) fail(code workflow.Code, message string) {
	p.failures = append(p.failures, workflow.Failure{Code: code, Message: message})
	p.end(&workflow.Ended{Status: workflow.StatusFailed, Completion: &workflow.Completion{Reasons: []string{string(code)}}})
}

// cancel stops everything.
func (p *program) cancel() {
	if p.ended {
		return
	}
	p.end(&workflow.Ended{Status: workflow.StatusCancelled})
}

// end stops what is open; the run ends when nothing runs any more.
func (p *program) end(e *workflow.Ended) {
	if p.ending != nil {
		return // the first end stands
	}
	p.ending = e
	for _, k := range p.sorted() {
		switch {
		case k.state == stateRunning && !k.self:
			p.give(workflow.CancelVisit{Visit: k.id})
			continue
		case k.state == stateRunning && k.kind == workflow.KindWorkflow && k.taken == nil && !k.settling:
			p.give(workflow.CancelChild{Visit: k.id})
			continue
		case k.state == stateRunning:
			continue // its result is on its way
		case k.state != "":
			p.give(workflow.CancelVisit{Visit: k.id})
		}
		delete(p.calls, k.id)
	}
	_ = p.Close() // it frees memory; nothing reaches the script any more
	p.rest()
}

// leftOver drops a call that an end left to its attempt.
func (p *program) leftOver(k *call) {
	delete(p.calls, k.id)
	p.rest()
}

// rest gives the end once nothing runs.
func (p *program) rest() {
	if p.ending == nil || p.ended || len(p.calls) > 0 {
		return
	}
	p.ended = true
	e := *p.ending
	e.Failures, e.Warnings = slices.Clone(p.failures[max(0, len(p.failures)-maxFailures):]), p.warnings
	p.give(workflow.Complete{Ended: e})
}

// Outputs implements workflow.Reporter.
func (p *program) Outputs() map[string]workflow.Value {
	if p.ending == nil {
		return nil
	}
	return maps.Clone(p.ending.Outputs)
}

// Failures implements workflow.Reporter.
func (p *program) Failures() []workflow.Failure { return slices.Clone(p.failures) }

// Waits implements workflow.Reporter: scripts wait for no time and no signal.
func (p *program) Waits() []workflow.Wait { return nil }
