package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// fold reads a run into memory without owning it.
func (e *Engine) fold(ctx context.Context, id workflow.RunID) (*history.State, error) {
	s := &history.State{ID: id, Values: history.NewLayered(blobs{e.cfg.Store})}
	err := e.read(ctx, s, 0)
	if err != nil {
		closeProgram(s)
	}
	return s, err
}

var errFarEnough = errors.New("far enough")

// read folds the history up to a seq (0 is all), from what is folded already or
// else from the newest snapshot.
func (e *Engine) read(ctx context.Context, s *history.State, upTo int64) error {
	if s.Program == nil {
		if err := e.restore(ctx, s, upTo); err != nil {
			return err
		}
	}
	err := errFarEnough
	if upTo == 0 || s.Seq < upTo {
		err = e.cfg.Store.Events(ctx, s.ID, s.Seq, func(ev workflow.Event) error {
			if err := s.Replay(ev, e.cfg.Programs); err != nil || ev.Seq != upTo {
				return err
			}
			return errFarEnough // what comes after it may be damaged
		})
	}
	if s.Program != nil && (err == nil || errors.Is(err, errFarEnough)) {
		if no := s.Decide(); no != nil {
			err = no
		}
	}
	switch {
	case err != nil && !errors.Is(err, errFarEnough):
		return fmt.Errorf("reading run %s: %w", s.ID, err)
	case s.Program == nil:
		return workflow.Errorf(workflow.CodeRunNotFound, "run %s is not in this project's store", s.ID).WithHint("list runs with: tenon ls")
	}
	return nil
}

// restore sets a state to the newest snapshot up to a seq, if there is one.
func (e *Engine) restore(ctx context.Context, s *history.State, upTo int64) error {
	snap, err := e.cfg.Store.Snapshot(ctx, s.ID, upTo)
	if err != nil {
		return fmt.Errorf("reading run %s: %w", s.ID, err)
	}
	if snap.Seq == 0 {
		return nil
	}
	if err := s.Restore(snap.State, snap.Seq, e.cfg.Programs); err != nil {
		e.cfg.Log.Warn("a snapshot does not fit; the history is read from its start", "run", s.ID, "err", err)
		*s = history.State{ID: s.ID, Values: s.Values}
	}
	return nil
}

// logged is what the history since the last snapshot takes at least, in bytes.
func (r *run) logged() int { return int(r.Seq-r.Snapped) * eventBytes }

// snapshot returns the state after the pending events when it is worth storing:
// the log since the last snapshot is long and at least twice its size. In the
// middle of a cycle, with wishes that are not carried out, there is none.
func (r *run) snapshot() (*store.Snapshot, error) {
	if r.Seq-r.Snapped < int64(r.e.cfg.Snapshot) || r.sink.Bytes < 2*r.snapSize {
		return nil, nil
	}
	if err := r.Decide(); err != nil || len(r.Wishes) > 0 {
		return nil, err
	}
	raw, err := r.Encode()
	if errors.Is(err, workflow.ErrNoSnapshot) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.snapSize = len(raw)
	if r.sink.Bytes < 2*len(raw) {
		return nil, nil
	}
	r.sink.Bytes, r.Snapped = 0, r.Seq
	return &store.Snapshot{Seq: r.Seq, State: raw}, nil
}

func (e *Engine) start(ctx context.Context, l Launch) (history.Result, error) {
	owner, err := e.cfg.Store.Own(ctx, l.ID)
	if err != nil {
		return history.Result{}, err
	}
	defer owner.Release()
	defer e.halting(ctx, l.ID)()
	r, err := e.first(owner, l)
	if err != nil {
		return history.Result{}, err
	}
	defer r.Program.Close()
	r.prepare(l.Document)
	r.dirty = true
	return r.loop(ctx)
}

// first is a new run with its first event.
func (e *Engine) first(owner store.Owner, l Launch) (*run, error) {
	r := e.newRun(l.ID, owner, l.By)
	r.create = &store.Create{}
	r.Values.Put(l.Document)
	for _, b := range l.Blobs {
		r.Values.Put(b)
	}
	started := l.Started
	err := r.record(ref{}, &started)
	if err != nil {
		closeProgram(&r.State)
	}
	return r, err
}

func (r *run) prepare(doc []byte) { r.hashes = mentionsCandidate(doc) && r.e.cfg.Candidate != nil }

func (e *Engine) drive(ctx context.Context, id workflow.RunID, by string) (history.Result, error) {
	for {
		res, again, err := e.driveOnce(ctx, id, by)
		if err != nil || !again {
			return res, err
		}
	}
}

// driveOnce owns the run until it rests. again is true when a message came
// between the last look into the inbox and the release.
func (e *Engine) driveOnce(ctx context.Context, id workflow.RunID, by string) (res history.Result, again bool, err error) {
	owner, err := e.cfg.Store.Own(ctx, id)
	if err != nil {
		return history.Result{}, false, err
	}
	defer owner.Release()
	defer e.halting(ctx, id)()
	r := e.newRun(id, owner, by)
	if s := e.take(id); s != nil {
		r.State, r.sink.Values = *s, s.Values
	}
	defer func() { closeProgram(&r.State) }()
	if err := e.read(ctx, &r.State, 0); err != nil {
		return history.Result{}, false, err
	}
	r.appended, r.sink.Bytes = r.Seq, r.logged()
	if end := r.Memory.Ended; end != nil && end.Status.Terminal() {
		res, err := r.report()
		return res, false, err
	}
	doc, err := r.Values.Load(r.Start.Workflow.Digest)
	if err != nil {
		return history.Result{}, false, fmt.Errorf("reading the workflow of run %s: %w", id, err)
	}
	r.prepare(doc)
	if err := r.takeOver(ctx); err != nil {
		return history.Result{}, false, err
	}
	res, err = r.loop(ctx)
	if err != nil || ctx.Err() != nil {
		return res, false, err
	}
	if err := owner.Release(); err != nil || res.Status.Terminal() {
		return res, false, err
	}
	left, err := e.cfg.Store.Inbox(ctx, id)
	return res, err == nil && res.Seen < len(left), err
}

// takeOver settles what the last owner left: its calls and attempts are lost.
func (r *run) takeOver(ctx context.Context) error {
	if err := r.record(ref{}, &workflow.Resumed{Process: r.e.cfg.Process, By: r.by, Binary: r.e.cfg.Binary}); err != nil {
		return err
	}
	r.dirty = true
	for _, c := range sortedCalls(r.Memory.Live) {
		about := ref{id: string(c.Visit), node: c.Node, number: c.Number, attempt: c.Attempt, invocation: c.Invocation}
		err := r.record(about, &workflow.InvocationSettled{
			Key: c.Key, Status: workflow.InvocationLost, Code: workflow.CodeOwnerLost,
			Message: "the process died while the call was on its way: its result and usage are unknown",
		})
		if err != nil {
			return err
		}
	}
	running := slices.DeleteFunc(r.Gate.InState(admission.Running), func(o admission.Open) bool { return o.Command.Self })
	if err := r.sweep(ctx, running); err != nil {
		return err
	}
	for _, o := range running {
		c := o.Command
		l := &workflow.Lost{Code: workflow.CodeOwnerLost, Message: "the process that ran it is gone"}
		if c.Effect == workflow.EffectWrite && c.Uncertain {
			l.Uncertain = true
			l.Message = "the process that ran it is gone; whether its write happened is not known"
		}
		if err := r.record(refOf(c, o.Attempt), l); err != nil {
			return err
		}
	}
	for v, c := range r.Memory.Children {
		r.kids[v] = &kid{run: c.Run, visit: v, ref: c.Ref, inputs: c.Inputs, budget: c.Budget, due: true}
	}
	return nil
}

// sweep ends what the dead owner's attempts left running.
func (r *run) sweep(ctx context.Context, running []admission.Open) error {
	if len(running) == 0 || r.e.cfg.Sweep == nil {
		return nil
	}
	var kinds []string
	for _, o := range running {
		kinds = append(kinds, o.Command.Kind)
	}
	if err := r.e.cfg.Sweep(ctx, r.ID, kinds); err != nil {
		return fmt.Errorf("ending what a dead process left of run %s: %w", r.ID, err)
	}
	return nil
}
