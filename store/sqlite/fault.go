package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tenonrun/tenon/internal/lock"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

const codeError = sqlite3.SQLITE_ERROR

// primary returns the primary result code of the database; 0 for another error.
func primary(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

// damaged reports whether an error says that a page or a row cannot be read.
func damaged(err error) bool {
	p := primary(err)
	return p == sqlite3.SQLITE_CORRUPT || p == sqlite3.SQLITE_NOTADB || errors.Is(err, errRow)
}

// errRow is a row whose columns have lost their types.
var errRow = errors.New("a row of the database is damaged")

// unread marks the error of a Scan that met a column of another type.
func unread(err error) error {
	if err == nil || primary(err) != 0 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return fmt.Errorf("%w: %w", errRow, err)
}

// fault turns an error of the disk or the database into one of ours.
func (s *Store) fault(doing string, err error) error {
	if err == nil {
		return nil
	}
	return s.faulty(doing, err)
}

func (s *Store) faulty(doing string, err error) error {
	var ours *workflow.Error
	var stale *store.Stale
	var held *store.Held
	var bad *store.Damaged
	switch {
	case errors.As(err, &ours), errors.As(err, &stale), errors.As(err, &held), errors.As(err, &bad),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	place := s.path(databaseName)
	var pe *fs.PathError
	if errors.As(err, &pe) {
		place = pe.Path
	}
	make := func(code workflow.Code) *workflow.Error {
		return workflow.Errorf(code, "%s %s: %w", doing, place, err)
	}
	switch p := primary(err); {
	case p == sqlite3.SQLITE_IOERR && noRoom(s.dir), p == sqlite3.SQLITE_FULL, isAny(err, diskFull):
		return make(workflow.CodeStoreFull).WithHint("free some space on that disk and run `tenon resume`; nothing that was reported as done is lost")
	case damaged(err):
		return make(workflow.CodeStoreDamaged).WithHint("copy what can be read into a new store with `tenon doctor --salvage`")
	case p == sqlite3.SQLITE_BUSY, errors.Is(err, lock.ErrBusy):
		return make(workflow.CodeStoreUnavailable).WithHint("another process has been writing to it for a long time; stop that process, or try again")
	case p == sqlite3.SQLITE_READONLY, p == sqlite3.SQLITE_PERM, p == sqlite3.SQLITE_CANTOPEN,
		errors.Is(err, fs.ErrPermission), isAny(err, diskReadOnly):
		return make(workflow.CodeStoreUnavailable).WithHint("make the state directory readable and writable for this user, or choose another with --state DIR or TENON_STATE")
	}
	return make(workflow.CodeStoreUnavailable).WithHint("check the disk; `tenon doctor` checks the store")
}

func isAny(err error, targets []error) bool {
	return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
}

// hopeless reports whether an error would meet every other transaction too.
func hopeless(err error) bool {
	switch primary(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB:
		return true
	}
	return errors.Is(err, lock.ErrBusy) || errors.Is(err, fs.ErrPermission)
}

var errClosed = fmt.Errorf("using a store: %w", workflow.Errorf(workflow.CodeStoreUnavailable, "the store is closed"))
