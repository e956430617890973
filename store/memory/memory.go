// Package memory is a Store that lives and dies with its process.
//
// Holds: the runs, blobs and controls of one project in maps under one lock.
//
// Guarantees: the semantics of every Store, checksums included; it passes the
// suite of storetest.
//
// Does not: write to disk, or keep another process out.
package memory

import (
	"bytes"
	"context"
	"os"
	"slices"
	"sync"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Store is the store. Make it with New.
type Store struct {
	mu    sync.Mutex
	runs  map[workflow.RunID]*run
	holds map[workflow.RunID]*hold
	given map[workflow.RunID]int64 // highest epoch that Own gave
	blobs map[workflow.Digest][]byte
	inbox map[workflow.RunID][]message
}

type run struct {
	id        workflow.RunID
	parent    workflow.RunID
	cut       int64
	base      store.Sum // Sum of the event at the cut
	records   []store.Record
	epoch     int64
	head      store.Head
	snapshots []store.Snapshot
}

type message struct {
	store.Control
	taken int64 // seq of the batch that carries it; 0 while it waits
}

// New returns an empty store.
func New() *Store {
	return &Store{
		runs:  make(map[workflow.RunID]*run),
		holds: make(map[workflow.RunID]*hold),
		given: make(map[workflow.RunID]int64),
		blobs: make(map[workflow.Digest][]byte),
		inbox: make(map[workflow.RunID][]message),
	}
}

func (r *run) last() int64 { return r.cut + int64(len(r.records)) }

func (r *run) sum() store.Sum {
	if len(r.records) == 0 {
		return r.base
	}
	return r.records[len(r.records)-1].Sum
}

// Append writes one batch, or nothing.
func (s *Store) Append(ctx context.Context, a store.Append) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := a.Check(); err != nil {
		return err
	}
	records, err := store.Encode(a.Events)
	if err != nil {
		return err
	}
	if err := store.CheckSize(a.Run, records); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.target(a)
	if err != nil {
		return err
	}
	inbox, err := s.take(a, r.last()+int64(len(records)))
	if err != nil {
		return err
	}
	if inbox != nil {
		s.inbox[a.Run] = inbox
	}
	s.runs[a.Run] = r
	store.SealAll(r.sum(), records)
	r.records = append(r.records, records...)
	r.epoch = a.Epoch
	if a.Head != nil {
		r.head = a.Head.Complete(a.Run, r.parent, r.cut)
	}
	if a.Snapshot != nil {
		r.keep(*a.Snapshot)
	}
	for _, b := range a.Blobs {
		if _, ok := s.blobs[b.Digest]; !ok {
			s.blobs[b.Digest] = bytes.Clone(b.Data)
		}
	}
	return nil
}

// target returns the run that the batch is for, new or old.
func (s *Store) target(a store.Append) (*run, error) {
	r := s.runs[a.Run]
	switch {
	case a.Create != nil && r != nil:
		return nil, store.RunExists(a.Run)
	case a.Create != nil:
		return s.create(a)
	case r == nil:
		return nil, store.NoRun(a.Run)
	case a.Epoch < r.epoch:
		return nil, store.StaleEpoch(a.Run, a.Epoch, r.epoch)
	case a.After != r.last():
		return nil, store.StaleAfter(a.Run, a.After, r.last())
	}
	return r, nil
}

func (s *Store) create(a store.Append) (*run, error) {
	r := &run{id: a.Run, parent: a.Create.Parent, cut: a.Create.Cut, base: store.Origin(a.Run)}
	r.head = store.Head{}.Complete(a.Run, r.parent, r.cut)
	if r.parent == "" {
		return r, nil
	}
	p := s.runs[r.parent]
	if p == nil {
		return nil, store.NoRun(r.parent)
	}
	if r.cut > p.last() {
		return nil, store.NoCut(r.parent, r.cut, p.last())
	}
	for r.cut <= p.cut {
		p = s.runs[p.parent]
	}
	r.base = p.records[r.cut-p.cut-1].Sum
	return r, nil
}

func (r *run) keep(snap store.Snapshot) {
	snap.State = bytes.Clone(snap.State)
	i, found := slices.BinarySearchFunc(r.snapshots, snap.Seq, func(have store.Snapshot, seq int64) int { return int(have.Seq - seq) })
	if found {
		r.snapshots[i] = snap
		return
	}
	r.snapshots = slices.Insert(r.snapshots, i, snap)
}

// Events yields the history of a run, verified.
func (s *Store) Events(ctx context.Context, id workflow.RunID, after int64, yield func(workflow.Event) error) error {
	records, chain, err := s.history(id, after)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := chain.Next(rec); err != nil {
			return err
		}
		e, err := rec.Decode(id)
		if err != nil {
			return err
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// history returns the records after a seq, and the chain that they continue.
func (s *Store) history(id workflow.RunID, after int64) ([]store.Record, *store.Chain, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil {
		return nil, nil, store.NoRun(id)
	}
	var out []store.Record
	chain := &store.Chain{Run: id, Seq: after}
	for upTo := r.last(); ; r = s.runs[r.parent] {
		own := r.records[:max(upTo-r.cut, 0)]
		if after >= r.cut {
			own = own[min(after-r.cut, int64(len(own))):]
		}
		out = append(slices.Clone(own), out...)
		if after >= r.cut {
			chain.Sum = r.base
			if after > r.cut && after <= r.last() {
				chain.Sum = r.records[after-r.cut-1].Sum
			}
			return out, chain, nil
		}
		upTo = min(upTo, r.cut)
	}
}

// Snapshot returns the newest snapshot of the run or its parents.
func (s *Store) Snapshot(_ context.Context, id workflow.RunID, upTo int64) (store.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil {
		return store.Snapshot{}, store.NoRun(id)
	}
	if upTo == 0 {
		upTo = r.last()
	}
	for ; r != nil; r = s.runs[r.parent] {
		for _, snap := range slices.Backward(r.snapshots) {
			if snap.Seq <= upTo {
				snap.State = bytes.Clone(snap.State)
				return snap, nil
			}
		}
		upTo = min(upTo, r.cut)
	}
	return store.Snapshot{}, nil
}

// Blob returns a stored text.
func (s *Store) Blob(_ context.Context, d workflow.Digest) ([]byte, error) {
	s.mu.Lock()
	data, ok := s.blobs[d]
	s.mu.Unlock()
	switch {
	case !ok:
		return nil, store.NoBlob(d)
	case store.DigestOf(data) != d:
		return nil, store.BadBlob(d)
	}
	return bytes.Clone(data), nil
}

// Own takes the run for the caller.
func (s *Store) Own(_ context.Context, id workflow.RunID) (store.Owner, error) {
	if err := store.CheckRun(id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[id] != nil {
		return nil, &store.Held{Run: id, Holder: holder()}
	}
	epoch := s.given[id]
	if r := s.runs[id]; r != nil {
		epoch = max(epoch, r.epoch)
	}
	h := &hold{store: s, run: id, epoch: epoch + 1}
	s.holds[id], s.given[id] = h, h.epoch
	return h, nil
}

type hold struct {
	store *Store
	run   workflow.RunID
	epoch int64
}

// Epoch is the fencing number of the hold.
func (h *hold) Epoch() int64 { return h.epoch }

// Release gives the run back.
func (h *hold) Release() error {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	if h.store.holds[h.run] == h {
		delete(h.store.holds, h.run)
	}
	return nil
}

func holder() store.Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return store.Holder{PID: os.Getpid(), Host: host, Here: true}
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Keeper = (*Store)(nil)
)
