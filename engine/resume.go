package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// image is a stored snapshot of a state.
type image struct {
	Start   workflow.RunStarted `json:"start"`
	Begun   workflow.Time       `json:"begun"`
	Last    workflow.Time       `json:"last"`
	Program json.RawMessage     `json:"program"`
	Gate    json.RawMessage     `json:"gate"`
	Memory  memory              `json:"memory"`
}

// fold reads a run into memory without owning it.
func (e *Engine) fold(ctx context.Context, id workflow.RunID) (*state, error) {
	s := &state{id: id, values: newLayered(e.cfg.Store)}
	return s, e.read(ctx, s, 0)
}

// read folds the history up to a seq (0 is all), from the newest snapshot.
func (e *Engine) read(ctx context.Context, s *state, upTo int64) error {
	snap, err := e.cfg.Store.Snapshot(ctx, s.id, upTo)
	if err != nil {
		return fmt.Errorf("reading run %s: %w", s.id, err)
	}
	if snap.Seq > 0 {
		if err := e.restore(s, snap); err != nil {
			e.cfg.Log.Warn("a snapshot does not fit; the history is read from its start", "run", s.id, "err", err)
			*s = state{id: s.id, values: s.values}
		}
	}
	stop := errors.New("far enough")
	err = stop
	if upTo == 0 || s.seq < upTo {
		err = e.cfg.Store.Events(ctx, s.id, s.seq, func(ev workflow.Event) error {
			if err := s.replay(ev, e.cfg.Programs); err != nil || ev.Seq != upTo {
				return err
			}
			return stop // what comes after it may be damaged
		})
	}
	switch {
	case err != nil && !errors.Is(err, stop):
		return fmt.Errorf("reading run %s: %w", s.id, err)
	case s.prog == nil:
		return workflow.Errorf(workflow.CodeRunNotFound, "run %s is not in this project's store", s.id).WithHint("list runs with: tenon ls")
	}
	return nil
}

func (e *Engine) restore(s *state, snap store.Snapshot) error {
	var im image
	if err := json.Unmarshal(snap.State, &im); err != nil {
		return err
	}
	first := workflow.Event{Seq: 1, At: im.Begun, Payload: &im.Start}
	if err := s.begin(first, e.cfg.Programs); err != nil {
		return err
	}
	if err := s.prog.Restore(im.Program); err != nil {
		return err
	}
	gate, err := admission.Restore(im.Gate)
	if err != nil {
		return err
	}
	s.gate, s.last, s.seq = gate, im.Last, snap.Seq
	full := newMemory()
	raw, err := json.Marshal(im.Memory)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &full); err != nil { // keeps the maps that are empty
		return err
	}
	s.memory = full
	return nil
}

// snapshot returns the state after the pending events when it is worth storing:
// the log since the last snapshot is long and at least twice its size. In the
// middle of a cycle, with wishes that are not carried out, there is none.
func (r *run) snapshot() (*store.Snapshot, error) {
	if r.seq-r.snapped < int64(r.e.cfg.Snapshot) || r.sink.bytes < 2*r.snapSize {
		return nil, nil
	}
	if err := r.decide(); err != nil || len(r.wishes) > 0 {
		return nil, err
	}
	prog, err := r.prog.Snapshot()
	if errors.Is(err, workflow.ErrNoSnapshot) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("taking a snapshot of run %s: %w", r.id, err)
	}
	gate, err := r.gate.Snapshot()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(image{Start: r.start, Begun: r.begun, Last: r.last, Program: prog, Gate: gate, Memory: r.memory})
	if err != nil {
		return nil, fmt.Errorf("encoding a snapshot of run %s: %w", r.id, err)
	}
	r.snapSize = len(raw)
	if r.sink.bytes < 2*len(raw) {
		return nil, nil
	}
	r.sink.bytes, r.snapped = 0, r.seq
	return &store.Snapshot{Seq: r.seq, State: raw}, nil
}

func (e *Engine) start(ctx context.Context, l Launch) (Result, error) {
	owner, err := e.cfg.Store.Own(ctx, l.ID)
	if err != nil {
		return Result{}, err
	}
	defer owner.Release()
	r := e.newRun(l.ID, owner, l.By)
	r.create = &store.Create{}
	r.values.put(l.Document)
	for _, b := range l.Blobs {
		r.values.put(b)
	}
	started := l.Started
	if err := r.record(ref{}, &started); err != nil {
		return Result{}, err
	}
	defer r.prog.Close()
	r.prepare(l.Document)
	r.dirty = true
	return r.loop(ctx)
}

func (r *run) prepare(doc []byte) { r.hashes = mentionsCandidate(doc) && r.e.cfg.Candidate != nil }

func (e *Engine) drive(ctx context.Context, id workflow.RunID, by string) (Result, error) {
	for {
		res, again, err := e.driveOnce(ctx, id, by)
		if err != nil || !again {
			return res, err
		}
	}
}

// driveOnce owns the run until it rests. again is true when a message came
// between the last look into the inbox and the release.
func (e *Engine) driveOnce(ctx context.Context, id workflow.RunID, by string) (res Result, again bool, err error) {
	owner, err := e.cfg.Store.Own(ctx, id)
	if err != nil {
		return Result{}, false, err
	}
	defer owner.Release()
	r := e.newRun(id, owner, by)
	if err := e.read(ctx, &r.state, 0); err != nil {
		return Result{}, false, err
	}
	defer r.prog.Close()
	r.appended, r.snapped = r.seq, r.seq
	if end := r.memory.Ended; end != nil && end.Status.Terminal() {
		res, err := r.result()
		return res, false, err
	}
	doc, err := r.values.Load(r.start.Workflow.Digest)
	if err != nil {
		return Result{}, false, fmt.Errorf("reading the workflow of run %s: %w", id, err)
	}
	r.prepare(doc)
	if err := r.takeOver(); err != nil {
		return Result{}, false, err
	}
	res, err = r.loop(ctx)
	if err != nil || ctx.Err() != nil {
		return res, false, err
	}
	if err := owner.Release(); err != nil {
		return res, false, err
	}
	left, err := e.cfg.Store.Inbox(ctx, id)
	return res, err == nil && len(left) > 0 && !res.Status.Terminal() && res.seen < len(left), err
}

// takeOver settles what the last owner left: its calls and attempts are lost.
func (r *run) takeOver() error {
	if err := r.record(ref{}, &workflow.Resumed{Process: r.e.cfg.Process, By: r.by, Binary: r.e.cfg.Binary}); err != nil {
		return err
	}
	r.dirty = true
	for _, c := range sortedCalls(r.memory.Live) {
		about := ref{id: string(c.Visit), node: c.Node, number: c.Number, attempt: c.Attempt, invocation: c.Invocation}
		err := r.record(about, &workflow.InvocationSettled{
			Key: c.Key, Status: workflow.InvocationLost, Code: workflow.CodeOwnerLost,
			Message: "the process died while the call was on its way: its result and usage are unknown",
		})
		if err != nil {
			return err
		}
	}
	for _, o := range r.gate.InState(admission.Running) {
		if o.Command.Self {
			continue
		}
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
	for v, c := range r.memory.Children {
		r.kids[v] = &kid{run: c.Run, visit: v, ref: c.Ref, inputs: c.Inputs, due: true}
	}
	return nil
}
