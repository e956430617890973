package engine

import (
	"bytes"
	"slices"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/workflow"
)

func mentionsCandidate(doc []byte) bool {
	return bytes.Contains(doc, []byte("$candidate")) || bytes.Contains(doc, []byte("{{candidate"))
}

// atRest reports whether nothing moves without a person, a raise, a provider or
// a new process.
func (r *run) atRest() bool {
	if len(r.live)+len(r.held)+r.activeKids() > 0 {
		return false
	}
	if r.stopping || r.memory.Ended != nil {
		return true
	}
	if paused, _ := r.gate.Halted(); paused {
		return true
	}
	now := r.e.now()
	if _, ok := r.gate.Wake(now); ok {
		return false
	}
	hold := workflow.Time(r.e.cfg.WaitFor.Hold.Microseconds())
	if at := r.firstTimer(); at != 0 && hold > 0 && at-now <= hold {
		return false
	}
	if at, ok := r.quotaReset(); ok && r.e.cfg.WaitFor.Quota && at != 0 {
		return false
	}
	return true
}

func (r *run) firstTimer() (at workflow.Time) {
	for _, t := range r.memory.Timers {
		if at == 0 || t < at {
			at = t
		}
	}
	return at
}

// quotaReset returns when the last closed provider is said to be back; ok is
// false when no provider holds the run.
func (s *state) quotaReset() (at workflow.Time, ok bool) {
	for _, b := range s.gate.Breakers() {
		at, ok = max(at, b.Until), true
	}
	for _, o := range s.gate.InState(admission.Wanted) {
		if o.Parked {
			at, ok = max(at, o.Until), true
		}
	}
	return at, ok
}

// nextTime returns when something is due by itself.
func (r *run) nextTime() (at workflow.Time, ok bool) {
	earliest := func(t workflow.Time) {
		if t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	if t, ok := r.gate.Wake(r.e.now()); ok {
		earliest(t)
	}
	earliest(r.firstTimer())
	for _, q := range r.openQuestions() {
		earliest(q.Deadline)
	}
	if t, ok := r.quotaReset(); ok && r.e.cfg.WaitFor.Quota {
		earliest(t)
	}
	return at, at != 0
}

// fireTimers folds what is due.
func (r *run) fireTimers() error {
	now := r.e.now()
	for _, v := range sortedKeys(r.memory.Timers) {
		if r.memory.Timers[v] > now {
			continue
		}
		if err := r.record(r.visitRef(v), &workflow.TimerFired{}); err != nil {
			return err
		}
	}
	for _, q := range r.openQuestions() {
		if q.Deadline == 0 || q.Deadline > now {
			continue
		}
		if err := r.answer(q, workflow.Answer{Expired: true, At: now}); err != nil {
			return err
		}
	}
	if at, ok := r.quotaReset(); ok && r.e.cfg.WaitFor.Quota && at != 0 && at <= now {
		return r.record(ref{}, &workflow.Resumed{Process: r.e.cfg.Process, By: "wait-quota", Binary: r.e.cfg.Binary})
	}
	return nil
}

func sortedKeys[V any](m map[workflow.VisitID]V) []workflow.VisitID {
	keys := make([]workflow.VisitID, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// status is what the run is, in one word, while nobody drives it.
func (s *state) status() workflow.Status {
	if end := s.memory.Ended; end != nil {
		return end.Status
	}
	var all []workflow.Status
	if paused, _ := s.gate.Halted(); paused || len(s.openQuestions()) > 0 || len(s.memory.Timers) > 0 || len(s.gate.InState(admission.Lost)) > 0 {
		all = append(all, workflow.StatusWaiting)
	}
	if len(s.gate.InState(admission.Refused)) > 0 {
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
func (s *state) unavailable() bool {
	breakers := s.gate.Breakers()
	return slices.ContainsFunc(s.gate.InState(admission.Wanted), func(o admission.Open) bool {
		_, open := breakers[o.Command.Provider]
		return o.Parked || open && o.Command.AI
	})
}

// status of a driven run: like the state's, with the children and the signal
// that stopped the process.
func (r *run) statusNow() workflow.Status {
	if r.memory.Ended != nil {
		return r.memory.Ended.Status
	}
	var all []workflow.Status
	if r.stopping {
		all = append(all, workflow.StatusInterrupted)
	}
	own := r.status()
	kids := false
	for _, k := range r.kids {
		if k.rest != nil {
			all = append(all, k.rest.Status)
			kids = true
		}
	}
	if !kids || own != workflow.StatusWaiting || len(r.openQuestions()) > 0 {
		all = append(all, own)
	}
	return workflow.Worst(all...)
}

// fillHead writes the index row as it is after the pending events.
func (r *run) fillHead() {
	h := &r.head
	s := &r.state.start
	h.Run, h.Workflow, h.Digest, h.Kind = r.id, s.Workflow.Name, s.Workflow.Digest, s.Kind
	h.Started, h.Updated, h.Root = r.begun, r.last, s.Root
	if h.Root == "" {
		h.Root = r.id
	}
	if s.Parent != nil {
		h.ChildOf = s.Parent.Run
	}
	h.ForkOf, h.Cut = r.memory.ForkOf, r.memory.Cut
	if h.ForkOf != "" && s.Parent == nil {
		h.Root = r.id
	}
	h.Questions = nil
	for _, q := range r.asking() {
		h.Questions = append(h.Questions, q.ID)
	}
	h.Totals = r.gate.Spent()
	h.Status, h.Until = workflow.StatusRunning, 0
	if r.atRest() {
		h.Status = r.statusNow()
		h.Until = r.until()
	}
	h.Node = r.standing()
}

// until is when it is worth going on.
func (r *run) until() workflow.Time {
	at := r.firstTimer()
	if t, ok := r.quotaReset(); ok && at == 0 {
		at = t
	}
	for _, k := range r.kids {
		if k.rest != nil && at == 0 {
			at = k.rest.ResumeAfter
		}
	}
	return at
}

// standing names the node that is under way, for people.
func (s *state) standing() string {
	for _, st := range []admission.State{admission.Running, admission.Waiting, admission.Lost, admission.Refused, admission.Wanted} {
		for _, o := range s.gate.InState(st) {
			if !o.Command.Self {
				return o.Command.Node
			}
		}
	}
	return ""
}
