package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// record is what stands in a lock file: who holds the run now, or held it last.
type record struct {
	PID   int    `json:"pid"`
	Host  string `json:"host"`
	Epoch int64  `json:"epoch"`
}

const recordBytes = 256 // a record is padded to this length, so that one write replaces it

// hold is a run owned by this process.
type hold struct {
	store *Store
	epoch int64
	once  sync.Once
	file  *os.File
	err   error
}

// Epoch is the fencing number of the hold.
func (h *hold) Epoch() int64 { return h.epoch }

// Release gives the run back.
func (h *hold) Release() error {
	h.once.Do(func() {
		h.store.holds.Delete(h)
		h.err = letGo(h.file)
	})
	return h.err
}

// letGo unlocks a file and closes it. Closing alone is not enough: a command that
// is being started has a copy of the descriptor for a moment.
func letGo(f *os.File) error {
	return errors.Join(unlock(f), f.Close())
}

func (s *Store) lockPath(run workflow.RunID) string { return s.path("locks", string(run)) }

// Own takes the run for this process, or says who has it.
func (s *Store) Own(ctx context.Context, run workflow.RunID) (store.Owner, error) {
	if err := store.CheckRun(run); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(s.lockPath(run), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, s.fault("locking", err)
	}
	held, err := s.take(ctx, f)
	if held {
		err = &store.Held{Run: run, Holder: s.holder(readRecord(f))}
	}
	if err != nil {
		return nil, errors.Join(s.fault("locking", err), f.Close())
	}
	h, err := s.sign(ctx, run, f)
	if err != nil {
		return nil, errors.Join(s.fault("locking", err), letGo(f))
	}
	s.holds.Store(h, struct{}{})
	return h, nil
}

// sign gives the hold its epoch and writes the record into the lock file. The
// file remembers the epochs of holds that never appended.
func (s *Store) sign(ctx context.Context, run workflow.RunID, f *os.File) (*hold, error) {
	var epoch int64
	err := s.row(ctx, "SELECT epoch FROM runs WHERE run = ?", string(run)).Scan(&epoch)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	h := &hold{store: s, epoch: max(epoch, readRecord(f).Epoch) + 1, file: f}
	raw, err := json.Marshal(record{PID: os.Getpid(), Host: s.host, Epoch: h.epoch})
	if err != nil {
		return nil, err
	}
	for len(raw) < recordBytes-1 {
		raw = append(raw, ' ')
	}
	_, err = f.WriteAt(append(raw, '\n'), 0)
	return h, err
}

// patience bounds how long Own waits for processes that only look, and for what
// a dead owner has not let go of yet.
const patience = time.Second

// take gets the exclusive lock. An owner has it exclusively, one who looks has
// it shared for an instant: so a refused lock means an owner only when a shared
// one is refused as well. The lock of an owner that is dead is about to be free:
// a command that it was starting holds a copy until it is a program of its own.
func (s *Store) take(ctx context.Context, f *os.File) (held bool, err error) {
	for end := time.Now().Add(patience); ; {
		err := tryLock(f, exclusive)
		if !errors.Is(err, errTaken) {
			return false, err
		}
		err = tryLock(f, shared)
		late := time.Now().After(end)
		switch {
		case errors.Is(err, errTaken):
			if late || !s.dead(readRecord(f)) {
				return true, nil
			}
			err = nil
		case err == nil && late:
			return true, nil
		case err == nil:
			err = unlock(f)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return false, err
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// dead reports whether the process of a record is known to be gone.
func (s *Store) dead(r record) bool {
	return r.PID > 0 && r.Host == s.host && gone(r.PID)
}

// owner looks who owns a run, without ever making an Own fail.
func (s *Store) owner(run workflow.RunID) (*store.Holder, error) {
	f, err := os.Open(s.lockPath(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = tryLock(f, shared)
	var h *store.Holder
	if errors.Is(err, errTaken) {
		holder := s.holder(readRecord(f))
		h, err = &holder, nil
	}
	return h, errors.Join(err, letGo(f))
}

func (s *Store) holder(r record) store.Holder {
	return store.Holder{PID: r.PID, Host: r.Host, Here: r.PID == os.Getpid() && r.Host == s.host}
}

// readRecord returns the record of a lock file; the zero one when there is none
// that can be read.
func readRecord(f *os.File) record {
	var r record
	raw := make([]byte, recordBytes)
	n, err := f.ReadAt(raw, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return record{}
	}
	if json.Unmarshal(raw[:n], &r) != nil {
		return record{}
	}
	return r
}
