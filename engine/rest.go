package engine

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tenonrun/tenon/workflow"
)

func mentionsCandidate(doc []byte) bool {
	return bytes.Contains(doc, []byte("$candidate")) || bytes.Contains(doc, []byte("{{candidate"))
}

// atRest reports whether nothing moves without a person, a raise, a provider or
// a new process.
func (r *run) atRest() bool {
	if len(r.live)+len(r.held)+r.activeKids() > 0 || r.dueKids() && !r.stopping {
		return false
	}
	if r.stopping || r.Memory.Ended != nil {
		return true
	}
	if paused, _ := r.Gate.Halted(); paused {
		return true
	}
	now := r.e.now()
	if _, ok := r.Gate.Wake(now); ok {
		return false
	}
	hold := workflow.Time(r.e.cfg.WaitFor.Hold.Microseconds())
	if at := r.firstTimer(); at != 0 && hold > 0 && at-now <= hold {
		return false
	}
	return r.quotaWait() == 0
}

// quotaWait is when a quota that is waited for is there again; 0 is never.
func (r *run) quotaWait() workflow.Time {
	if !r.e.cfg.WaitFor.Quota {
		return 0
	}
	at, _ := r.QuotaReset()
	return at
}

func (r *run) firstTimer() (at workflow.Time) {
	for v, t := range r.Memory.Timers {
		if t = r.clock.fires(string(v), t); at == 0 || t < at {
			at = t
		}
	}
	return at
}

// nextTime returns when something is due by itself.
func (r *run) nextTime() (at workflow.Time, ok bool) {
	earliest := func(t workflow.Time) {
		if t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	if t, ok := r.Gate.Wake(r.e.now()); ok {
		earliest(t)
	}
	earliest(r.firstTimer())
	for _, q := range r.Questions() {
		if q.Deadline != 0 {
			earliest(r.clock.fires(q.ID, q.Deadline))
		}
	}
	earliest(r.quotaWait())
	return at, at != 0
}

// fireTimers folds what is due.
func (r *run) fireTimers() error {
	now, _ := r.clock.see()
	for _, v := range sortedKeys(r.Memory.Timers) {
		if r.clock.fires(string(v), r.Memory.Timers[v]) > now {
			continue
		}
		if err := r.record(r.visitRef(v), &workflow.TimerFired{}); err != nil {
			return err
		}
	}
	for _, q := range r.Questions() {
		if q.Deadline == 0 || r.clock.fires(q.ID, q.Deadline) > now {
			continue
		}
		if err := r.answer(q, workflow.Answer{Expired: true, At: now}); err != nil {
			return err
		}
	}
	if at := r.quotaWait(); at != 0 && at <= now {
		return r.record(ref{}, &workflow.Resumed{Process: r.e.cfg.Process, By: "wait-quota", Binary: r.e.cfg.Binary})
	}
	return nil
}

// rawOf encodes v; what does not encode becomes null.
func rawOf(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

func sortedKeys[V any](m map[workflow.VisitID]V) []workflow.VisitID {
	keys := make([]workflow.VisitID, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// status of a driven run: like the state's, with the children and the signal
// that stopped the process.
func (r *run) statusNow() workflow.Status {
	if r.Memory.Ended != nil {
		return r.Memory.Ended.Status
	}
	var all []workflow.Status
	if r.stopping {
		all = append(all, workflow.StatusInterrupted)
	}
	own := r.Status()
	kids := false
	for _, k := range r.kids {
		if k.rest != nil {
			all = append(all, k.rest.Status)
			kids = true
		}
		if k.err != nil {
			all = append(all, workflow.StatusInterrupted) // a resume drives it again
			kids = true
		}
	}
	if !kids || own != workflow.StatusWaiting || len(r.Questions()) > 0 {
		all = append(all, own)
	}
	return workflow.Worst(all...)
}

// fillHead writes the index row as it is after the pending events.
func (r *run) fillHead() {
	h := &r.head
	s := &r.Start
	h.Run, h.Workflow, h.Digest, h.Kind = r.ID, s.Workflow.Name, s.Workflow.Digest, s.Kind
	h.Started, h.Updated, h.Root = r.Begun, r.Last, s.Root
	if h.Root == "" {
		h.Root = r.ID
	}
	if s.Parent != nil {
		h.ChildOf = s.Parent.Run
	}
	h.ForkOf, h.Cut = r.Memory.ForkOf, r.Memory.Cut
	if h.ForkOf != "" && s.Parent == nil {
		h.Root = r.ID
	}
	h.Questions = nil
	for _, q := range r.Asking() {
		h.Questions = append(h.Questions, q.ID)
	}
	h.Totals = r.Gate.Spent()
	h.Status, h.Until = workflow.StatusRunning, 0
	if len(r.starts) == 0 && r.atRest() {
		h.Status = r.statusNow()
		h.Until = r.until()
	}
	h.Node = r.Node()
}

// until is when it is worth going on.
func (r *run) until() workflow.Time {
	at := r.firstTimer()
	if t, ok := r.QuotaReset(); ok && at == 0 {
		at = t
	}
	for _, k := range r.kids {
		if k.rest != nil && at == 0 {
			at = k.rest.ResumeAfter
		}
	}
	return at
}
