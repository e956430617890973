package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// cycle carries out all wishes, appends what happened, and starts what was
// admitted.
func (r *run) cycle(ctx context.Context) error {
	for {
		more, err := r.step()
		if err != nil {
			return errors.Join(err, r.keep(ctx, err))
		}
		switch {
		case !more && r.mayOwe():
			r.owing = true
			r.beginAll(ctx)
			return nil
		case !more, len(r.pending) >= maxBatch:
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
	}
}

// keep appends what has happened when a person stops the Program in the middle of
// what it makes of it.
func (r *run) keep(ctx context.Context, why error) error {
	if workflow.CodeOf(why) != workflow.CodeInterrupted || len(r.pending) == 0 || len(r.starts) > 0 {
		return nil
	}
	note := &workflow.Progress{Kind: workflow.ProgressHalted, Message: "stopped in the middle of the script's code, which runs again when the run goes on"}
	if err := r.record(ref{}, note); err != nil {
		return err
	}
	r.dirty, r.stopping = true, true // the head says interrupted
	return r.append(r.whole(ctx))
}

// step carries out the Program's wishes once; more tells whether anything moved.
func (r *run) step() (more bool, err error) {
	if err := r.Decide(); err != nil {
		return false, err
	}
	wishes := r.Wishes
	r.Wishes = nil
	for _, c := range wishes {
		more = true
		if err := r.grant(c); err != nil {
			return false, err
		}
	}
	if r.Wishes == nil {
		clear(wishes)
		r.Wishes = wishes[:0]
	}
	for len(r.pending) < maxBatch && !r.stopping {
		v, ok := r.Gate.Next(r.e.now())
		if !ok {
			break
		}
		more = true
		if err := r.verdict(v); err != nil {
			return false, err
		}
		if v.Command.Self { // it may settle and lead on at once
			break
		}
	}
	return more, nil
}

func (r *run) verdict(v admission.Verdict) error {
	about := refOf(v.Command, v.Attempt)
	if v.Refused != nil {
		r.dirty = true
		return r.record(about, v.Refused)
	}
	v.Admitted.Params = selfParams(v.Command)
	if !v.Command.Self {
		v.Admitted.Params = workflow.Digest(canon.Sum(v.Command.Params))
		r.starts = append(r.starts, v)
	}
	return r.record(about, v.Admitted)
}

// grant carries out a wish that is not a visit.
func (r *run) grant(c workflow.Command) error {
	switch c := c.(type) {
	case workflow.SettleVisit:
		res := c.Result
		return r.record(ref{id: string(c.Visit), node: c.Node, number: c.Number, attempt: 1}, &res)
	case workflow.StartTimer:
		if err := r.record(r.visitRef(c.Visit), &workflow.TimerStarted{Until: c.At}); err != nil {
			return err
		}
		r.clock.begin(string(c.Visit), r.Last)
	case workflow.CancelTimer:
		delete(r.Memory.Timers, c.Visit)
	case workflow.StartChild:
		return r.startChild(c)
	case workflow.CancelChild:
		return r.cancelChild(c.Visit)
	case workflow.CancelVisit:
		r.cancelVisit(c.Visit)
	case workflow.Log:
		return r.record(ref{id: c.ID}, &workflow.Progress{Kind: c.Kind, Message: c.Message})
	case workflow.Complete:
		ended := c.Ended
		r.dirty = true
		return r.record(ref{}, &ended)
	default:
		return workflow.Errorf(workflow.CodeInternal, "run %s: the workflow wishes for %T, which this driver cannot do", r.ID, c)
	}
	return nil
}

func (r *run) cancelVisit(v workflow.VisitID) {
	if a := r.live[v]; a != nil {
		a.cancel(workflow.Errorf(workflow.CodeAborted, "the visit is no longer wanted"))
		return
	}
	r.Gate.Drop(v)
}

// flush appends what is pending. After it, replies go out and attempts begin.
func (r *run) flush(ctx context.Context) error {
	if len(r.pending) > 0 || r.dirty || r.create != nil {
		if err := r.append(r.whole(ctx)); err != nil {
			return err
		}
	}
	after := r.after
	r.after = nil
	for _, reply := range after {
		reply()
	}
	r.beginAll(ctx)
	return r.startKids(ctx)
}

func (r *run) beginAll(ctx context.Context) {
	for _, v := range r.starts {
		r.begin(ctx, v)
	}
	clear(r.starts)
	r.starts = r.starts[:0]
}

func (r *run) append(ctx context.Context) error {
	a := store.Append{
		Run: r.ID, Epoch: r.owner.Epoch(), After: r.appended, Create: r.create,
		Events: r.pending, Blobs: r.Values.Take(), Taken: r.taken,
	}
	if r.dirty || r.Last >= r.told.Add(headAge) {
		r.dirty, r.told = false, r.Last
		r.fillHead()
		head := r.head
		a.Head = &head
	}
	snap, err := r.snapshot()
	if err != nil {
		return err
	}
	a.Snapshot = snap
	r.e.cfg.Probe("append")
	if err := r.e.cfg.Store.Append(ctx, a); err != nil {
		return fmt.Errorf("recording run %s: %w", r.ID, err)
	}
	r.e.cfg.Probe("appended")
	r.Values.Clear()
	r.create, r.taken, r.owing = nil, nil, false
	r.appended = r.Seq
	if r.e.cfg.Observe != nil {
		for _, e := range r.pending {
			r.e.cfg.Observe(Notice{Run: r.ID, Event: &e, Visit: e.VisitID(), Node: e.Node})
		}
	}
	clear(r.pending)
	r.pending = r.pending[:0]
	return nil
}
