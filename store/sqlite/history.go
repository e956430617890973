package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"slices"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// segment is the part of a history that stands under one run.
type segment struct {
	key  int64
	cut  int64     // events up to the cut stand under the parent
	base store.Sum // of the event at the cut
	upTo int64     // last seq of the segment that counts
}

// maxParents bounds a chain of forks.
const maxParents = 10_000

// segments returns the pieces of a run's history, oldest first. The first
// begins at seq 1.
func (s *Store) segments(ctx context.Context, run workflow.RunID) ([]segment, error) {
	var out []segment
	var seg segment
	var base []byte
	var parent sql.NullInt64
	err := s.row(ctx, "SELECT key, cut, base, parent FROM runs WHERE run = ?", string(run)).Scan(&seg.key, &seg.cut, &base, &parent)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, store.NoRun(run)
	}
	if err == nil {
		var e end
		e, err = s.lookup(ctx).end(seg.key)
		seg.upTo = max(seg.cut, e.last)
	}
	for ; err == nil; err = s.row(ctx, "SELECT key, cut, base, parent FROM runs WHERE key = ?", parent.Int64).Scan(&seg.key, &seg.cut, &base, &parent) {
		copy(seg.base[:], base)
		out = append(out, seg)
		seg.upTo = min(seg.upTo, seg.cut)
		if !parent.Valid {
			slices.Reverse(out)
			return out, nil
		}
		if len(out) > maxParents {
			return nil, &store.Damaged{Run: run, Seq: 1, Why: "the runs whose history it shares form a circle"}
		}
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &store.Damaged{Run: run, Seq: 1, Why: "the run whose history it shares is gone"}
	}
	if errors.Is(unread(err), errRow) {
		return nil, &store.Damaged{Run: run, Seq: 1, Why: "its row in the list of runs is damaged"}
	}
	return nil, s.fault("reading", err)
}

// Events yields the history of a run, verified.
func (s *Store) Events(ctx context.Context, run workflow.RunID, after int64, yield func(workflow.Event) error) error {
	segs, err := s.segments(ctx, run)
	if err != nil {
		return err
	}
	last := segs[len(segs)-1].upTo
	if after >= last {
		return ctx.Err()
	}
	chain := &store.Chain{Run: run, Seq: after, Sum: segs[0].base}
	if after > 0 {
		if chain.Sum, err = s.sumAt(ctx, run, segs, after); err != nil {
			return err
		}
	}
	for _, seg := range segs {
		if err := s.walk(ctx, chain, seg, yield); err != nil {
			return err
		}
	}
	return nil
}

// sumAt returns the sum of an event of the segments.
func (s *Store) sumAt(ctx context.Context, run workflow.RunID, segs []segment, seq int64) (store.Sum, error) {
	for _, seg := range segs {
		if seq > seg.upTo {
			continue
		}
		sum, ok, err := s.lookup(ctx).sum(seg.key, seq)
		if err == nil && !ok {
			err = &store.Damaged{Run: run, Seq: seq, LastGood: seq - 1, Why: "the event is missing"}
		}
		return sum, s.fault("reading", err)
	}
	return store.Sum{}, nil
}

// walk yields the rest of one segment.
func (s *Store) walk(ctx context.Context, chain *store.Chain, seg segment, yield func(workflow.Event) error) error {
	ask := s.lookup(ctx)
	for chain.Seq < seg.upTo {
		all, err := ask.entries(seg.key, chain.Seq+1)
		switch {
		case damaged(err):
			return chain.Damaged("the database page that holds it is damaged")
		case err != nil:
			return s.fault("reading", err)
		case len(all) == 0:
			return chain.Damaged("the event is missing")
		}
		if next := all[len(all)-1].Next(); len(all) < 4 && next <= seg.upTo {
			more, err := ask.apart(seg.key, next)
			if err != nil {
				return s.fault("reading", err)
			}
			all = append(all, more...)
		}
		for _, e := range all {
			if err := e.Events(chain, seg.upTo, yield); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// Snapshot returns the newest snapshot of the run or its parents. One that is
// damaged is passed over: the history stands for it.
func (s *Store) Snapshot(ctx context.Context, run workflow.RunID, upTo int64) (store.Snapshot, error) {
	segs, err := s.segments(ctx, run)
	if err != nil {
		return store.Snapshot{}, err
	}
	if upTo == 0 {
		upTo = segs[len(segs)-1].upTo
	}
	for _, seg := range slices.Backward(segs) {
		for seq := min(upTo, seg.upTo); seq > seg.cut; {
			var snap store.Snapshot
			var sum []byte
			err := s.row(ctx, "SELECT seq, sum, state FROM snapshots WHERE run = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
				seg.key, seq).Scan(&snap.Seq, &sum, &snap.State)
			if errors.Is(err, sql.ErrNoRows) {
				break
			}
			if err != nil && !damaged(err) {
				return store.Snapshot{}, s.fault("reading", err)
			}
			if have := sha256.Sum256(snap.State); err == nil && bytes.Equal(have[:], sum) {
				return snap, nil
			}
			s.log.Warn("passing over a damaged snapshot", "run", run, "seq", snap.Seq)
			if err != nil {
				break
			}
			seq = snap.Seq - 1
		}
	}
	return store.Snapshot{}, nil
}
