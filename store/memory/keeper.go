package memory

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Check verifies every chain and every blob.
func (s *Store) Check(ctx context.Context) (store.Report, error) {
	var rep store.Report
	all, err := s.Runs(ctx, store.Query{})
	if err != nil {
		return rep, err
	}
	for _, h := range all {
		rep.Runs++
		err := s.Events(ctx, h.Run, h.Cut, func(workflow.Event) error { rep.Events++; return nil })
		var d *store.Damaged
		switch {
		case errors.As(err, &d):
			rep.Problems = append(rep.Problems, d.Problem())
		case err != nil:
			return rep, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for d, data := range s.blobs {
		rep.Blobs++
		rep.Bytes += int64(len(data))
		if store.DigestOf(data) != d {
			rep.Problems = append(rep.Problems, store.Problem{What: store.BadBlob(d).Error(), Next: "restore it from a backup"})
		}
	}
	return rep, nil
}

// Collect removes runs that ended and are reached by nothing, with their blobs.
func (s *Store) Collect(_ context.Context, before time.Time, dry bool) (store.Report, error) {
	var rep store.Report
	s.mu.Lock()
	defer s.mu.Unlock()
	groups, kept := store.Garbage(s.list(store.Query{}), workflow.TimeOf(before))
	rep.Kept = kept
	gone := make(map[workflow.RunID]bool)
	for _, group := range groups {
		for _, run := range group {
			gone[run] = true
			rep.Runs++
			rep.Events += int64(len(s.runs[run].records))
			for _, r := range s.runs[run].records {
				rep.Bytes += int64(len(r.Data))
			}
			rep.Removed = append(rep.Removed, string(run))
		}
	}
	if rep.Runs == 0 {
		return rep, nil
	}
	reached, err := s.reached(gone)
	if err != nil {
		return rep, err
	}
	for d, data := range s.blobs {
		if !reached[d] {
			rep.Blobs++
			rep.Bytes += int64(len(data))
			if !dry {
				delete(s.blobs, d)
			}
		}
	}
	if !dry {
		for run := range gone {
			delete(s.runs, run)
			delete(s.inbox, run)
		}
	}
	return rep, nil
}

// reached returns the blobs that the runs that stay lead to.
func (s *Store) reached(gone map[workflow.RunID]bool) (map[workflow.Digest]bool, error) {
	reached := make(map[workflow.Digest]bool)
	var mark func([]byte)
	mark = func(text []byte) {
		store.Digests(text, func(d workflow.Digest) {
			if data, ok := s.blobs[d]; ok && !reached[d] {
				reached[d] = true
				mark(data)
			}
		})
	}
	for id, r := range s.runs {
		if gone[id] {
			continue
		}
		for _, rec := range r.records {
			mark(rec.Data)
		}
		for _, snap := range r.snapshots {
			mark(snap.State)
		}
		raw, err := json.Marshal(r.head)
		if err != nil {
			return nil, err
		}
		mark(raw)
	}
	return reached, nil
}
