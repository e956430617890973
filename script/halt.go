package script

import (
	"time"

	"github.com/tenonrun/tenon/script/vm"
	"github.com/tenonrun/tenon/workflow"
)

// A drain that a person waits for to end is given patience, and looked at so often.
const (
	patience = 200 * time.Millisecond
	glance   = 10 * time.Millisecond
)

// Halt implements workflow.Halter. A script that is only about to reach its next
// call is let go on.
func (f *Factory) Halt(run workflow.RunID, until <-chan struct{}) {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	type drain struct {
		m *vm.Machine
		n int64
	}
	since := map[drain]time.Time{}
	for {
		for _, m := range f.machines(run) {
			d := drain{m, m.Work()}
			switch began, seen := since[d]; {
			case d.n == 0:
			case !seen:
				since[d] = time.Now()
			case time.Since(began) >= patience:
				m.Halt()
			}
		}
		select {
		case <-until:
			return
		case <-tick.C:
		}
	}
}

// machines are those of a run.
func (f *Factory) machines(run workflow.RunID) (all []*vm.Machine) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for m, of := range f.working {
		if of == run {
			all = append(all, m)
		}
	}
	return all
}

// works tells of a machine that computes for a run; "" that it does no longer.
func (f *Factory) works(m *vm.Machine, run workflow.RunID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if run == "" {
		delete(f.working, m)
		return
	}
	f.working[m] = run
}
