package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"sync"

	"github.com/tenonrun/tenon/internal/lock"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// hold is a run owned by this process.
type hold struct {
	store *Store
	epoch int64
	once  sync.Once
	file  *lock.File
	err   error
}

// Epoch is the fencing number of the hold.
func (h *hold) Epoch() int64 { return h.epoch }

// Release gives the run back.
func (h *hold) Release() error {
	h.once.Do(func() {
		h.store.holds.Delete(h)
		h.err = h.file.Release()
	})
	return h.err
}

func (s *Store) lockPath(run workflow.RunID) string { return s.path("locks", string(run)) }

// Own takes the run for this process, or says who has it.
func (s *Store) Own(ctx context.Context, run workflow.RunID) (store.Owner, error) {
	if err := store.CheckRun(run); err != nil {
		return nil, err
	}
	f, err := lock.Take(ctx, s.lockPath(run), s.host)
	var taken *lock.Taken
	if errors.As(err, &taken) {
		err = &store.Held{Run: run, Holder: s.holder(taken.By)}
	}
	if err != nil {
		return nil, s.fault("locking", err)
	}
	h, err := s.sign(ctx, run, f)
	if err != nil {
		return nil, errors.Join(s.fault("locking", err), f.Release())
	}
	s.holds.Store(h, struct{}{})
	return h, nil
}

// sign gives the hold its epoch and writes the record into the lock file. The
// file remembers the epochs of holds that never appended.
func (s *Store) sign(ctx context.Context, run workflow.RunID, f *lock.File) (*hold, error) {
	var epoch int64
	err := s.row(ctx, "SELECT epoch FROM runs WHERE run = ?", string(run)).Scan(&epoch)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	h := &hold{store: s, epoch: max(epoch, f.Record().Epoch) + 1, file: f}
	return h, f.Sign(lock.Record{PID: os.Getpid(), Host: s.host, Epoch: h.epoch})
}

// owner looks who owns a run, without ever making an Own fail.
func (s *Store) owner(run workflow.RunID) (*store.Holder, error) {
	by, held, err := lock.Look(s.lockPath(run))
	if !held {
		return nil, err
	}
	h := s.holder(by)
	return &h, err
}

func (s *Store) holder(r lock.Record) store.Holder {
	return store.Holder{PID: r.PID, Host: r.Host, Here: r.PID == os.Getpid() && r.Host == s.host}
}
