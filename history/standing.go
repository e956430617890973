package history

import (
	"slices"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/workflow"
)

// QuotaReset returns when the last closed provider is said to be back; ok is
// false when no provider holds the run.
func (s *State) QuotaReset() (at workflow.Time, ok bool) {
	for _, b := range s.Gate.Breakers() {
		at, ok = max(at, b.Until), true
	}
	for _, o := range s.Gate.InState(admission.Wanted) {
		if o.Parked {
			at, ok = max(at, o.Until), true
		}
	}
	return at, ok
}

// Status is what the run is, in one word, while nobody drives it.
func (s *State) Status() workflow.Status {
	if end := s.Memory.Ended; end != nil {
		return end.Status
	}
	var all []workflow.Status
	if paused, _ := s.Gate.Halted(); paused || len(s.Questions()) > 0 || len(s.Memory.Timers) > 0 || len(s.Gate.InState(admission.Lost)) > 0 {
		all = append(all, workflow.StatusWaiting)
	}
	if len(s.Gate.InState(admission.Refused)) > 0 {
		all = append(all, workflow.StatusExhausted)
	}
	if s.unavailable() {
		all = append(all, workflow.StatusUnavailable)
	}
	if len(all) == 0 {
		return workflow.StatusWaiting // for a signal
	}
	return workflow.Worst(all...)
}

// unavailable reports whether a visit is held because its provider is.
func (s *State) unavailable() bool {
	breakers := s.Gate.Breakers()
	return slices.ContainsFunc(s.Gate.InState(admission.Wanted), func(o admission.Open) bool {
		_, open := breakers[o.Command.Provider]
		return o.Parked || open && o.Command.AI
	})
}

// Node names the node that is under way, for people.
func (s *State) Node() string {
	for _, st := range []admission.State{admission.Running, admission.Waiting, admission.Lost, admission.Refused, admission.Wanted} {
		for _, o := range s.Gate.InState(st) {
			if !o.Command.Self {
				return o.Command.Node
			}
		}
	}
	return ""
}

// Find returns a question of the run by id, open or answered.
func (s *State) Find(id string) (workflow.Question, bool) {
	for _, all := range s.Memory.Asked {
		for _, q := range all {
			if q.ID == id {
				return q, true
			}
		}
	}
	return workflow.Question{}, false
}
