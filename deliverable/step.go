package deliverable

import (
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Action is what follows a verdict.
type Action string

// Actions.
const (
	Accept       Action = "accept"
	Correct      Action = "correct"       // one more turn in the same session, with the message
	RetryHarvest Action = "retry-harvest" // harvest again after the wait, without a turn
	Fail         Action = "fail"          // the work is unproven, and what depends on it does not start
	Continue     Action = "continue"      // the work is unproven, and goes on
)

// MaxHarvests is how often one turn is harvested before a fault of the harvest
// counts.
const MaxHarvests = 4

// State is what happened so far. The zero State is that of a first harvest. It may
// be kept in a history.
type State struct {
	Harvests  int  `json:"harvests,omitempty"`  // failed ones since the last turn
	Corrected bool `json:"corrected,omitempty"` // the one correction is spent
	// First are the faults of the verdict that led to the correction.
	First []Fault `json:"first,omitempty"`
}

// Step is what to do next.
type Step struct {
	Action  Action        `json:"action"`
	State   State         `json:"state"`
	Message string        `json:"message,omitempty"` // of Correct: for the model; of Fail and Continue: for people
	Wait    time.Duration `json:"wait,omitempty"`    // of RetryHarvest
	Code    workflow.Code `json:"code,omitempty"`    // of Fail and Continue
	// Proven reports that the contract is met. Only Accept has it.
	Proven bool `json:"proven"`
}

// Next says what follows a verdict. With the policy of a node, "" takes that of
// the spec.
func (s *Spec) Next(before State, policy string, v Verdict) Step {
	if policy == "" {
		policy = s.policy()
	}
	now := before
	switch {
	case v.Accepted():
		return Step{Action: Accept, State: now, Proven: true}
	case v.Mechanical():
		now.Harvests++
		if now.Harvests < MaxHarvests {
			return Step{Action: RetryHarvest, State: now, Wait: time.Second << (now.Harvests - 1)}
		}
	case policy == PolicyCorrect && !now.Corrected:
		return Step{Action: Correct, State: State{Corrected: true, First: v.Faults}, Message: s.Correction(v)}
	}
	step := Step{Action: Fail, State: now, Message: s.Violation(now, v), Code: workflow.CodeDeliverable}
	if v.Mechanical() {
		step.Code = workflow.CodeHarvest
	}
	if policy == PolicyContinue {
		step.Action = Continue
	}
	return step
}
