package lock

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// Record is what stands in a lock file: who holds it now, or held it last.
type Record struct {
	PID   int    `json:"pid"`
	Host  string `json:"host"`
	Epoch int64  `json:"epoch"` // number of the hold
}

const recordBytes = 256 // a record is padded to this length, so that one write replaces it

// File is a lock file that this process holds. Make it with Take.
type File struct{ file *os.File }

// Taken is the error of a Take that met an owner.
type Taken struct{ By Record }

// Error says that the lock is taken.
func (*Taken) Error() string { return errTaken.Error() }

// Take opens the lock file of a name, makes it when it is not there, and takes
// its lock. The host is the name of this machine in records. Errors: *Taken, that
// of ctx, and those of the file.
func Take(ctx context.Context, name, host string) (*File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := take(ctx, f, host)
	if held {
		err = &Taken{By: read(f)}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{file: f}, nil
}

// patience bounds how long Take waits for processes that only look, and for what
// a dead owner has not let go of yet.
const patience = time.Second

// take gets the exclusive lock. An owner has it exclusively, one who looks has
// it shared for an instant: so a refused lock means an owner only when a shared
// one is refused as well. The lock of an owner that is dead is about to be free:
// a command that it was starting holds a copy until it is a program of its own.
func take(ctx context.Context, f *os.File, host string) (held bool, err error) {
	for end := time.Now().Add(patience); ; {
		err := tryLock(f, exclusive)
		if !errors.Is(err, errTaken) {
			return false, err
		}
		err = tryLock(f, shared)
		late := time.Now().After(end)
		switch {
		case errors.Is(err, errTaken):
			if late || !read(f).dead(host) {
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
func (r Record) dead(host string) bool {
	return r.PID > 0 && r.Host == host && gone(r.PID)
}

// Record returns the record of the file; the zero one when there is none that
// can be read.
func (f *File) Record() Record { return read(f.file) }

// Sign replaces the record of the file.
func (f *File) Sign(r Record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	for len(raw) < recordBytes-1 {
		raw = append(raw, ' ')
	}
	_, err = f.file.WriteAt(append(raw, '\n'), 0)
	return err
}

// Release gives the lock back. The file stays, with its record.
func (f *File) Release() error { return letGo(f.file) }

// letGo unlocks a file and closes it. Closing alone is not enough: a command that
// is being started has a copy of the descriptor for a moment.
func letGo(f *os.File) error {
	return errors.Join(unlock(f), f.Close())
}

// Look tells who holds the lock file of a name, if somebody does, without ever
// making a Take fail.
func Look(name string) (by Record, held bool, err error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, err
	}
	err = tryLock(f, shared)
	if errors.Is(err, errTaken) {
		return read(f), true, f.Close() // there is no lock to let go of
	}
	return Record{}, false, errors.Join(err, letGo(f))
}

// read returns the record of a lock file.
func read(f *os.File) Record {
	var r Record
	raw := make([]byte, recordBytes)
	n, err := f.ReadAt(raw, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Record{}
	}
	if json.Unmarshal(raw[:n], &r) != nil {
		return Record{}
	}
	return r
}
