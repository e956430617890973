// Command loop is the floor under every engine: a loop that commits one row of
// 300 bytes per step, with the driver and the settings of Tenon's store.
// BENCH_LOOP=begin wraps each row in Begin and Commit.
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/tenonrun/tenon/bench/contender"
)

const (
	rowBytes   = 300
	presizeWAL = 1050 * 4120 // as in Tenon's store
)

type loop struct {
	contender.Contender // what a loop cannot do
	db                  *sql.DB
	insert              *sql.Stmt
	begin               bool
	step                func()
}

func main() { contender.Main(open) }

func open(t contender.Task, step func()) (contender.Contender, error) {
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, err
	}
	file := filepath.Join(t.Dir, "loop.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(1000)&_pragma=cache_size(-16000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE rows (data BLOB NOT NULL)"); err != nil {
		return nil, err
	}
	if err := presize(file + "-wal"); err != nil {
		return nil, err
	}
	l := &loop{db: db, step: step, begin: os.Getenv("BENCH_LOOP") == "begin"}
	l.insert, err = db.Prepare("INSERT INTO rows (data) VALUES (?)")
	return l, err
}

// presize gives the write-ahead log its full size, as Tenon's store does.
func presize(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if n := presizeWAL - info.Size(); n > 0 {
		if _, err := f.WriteAt(make([]byte, n), info.Size()); err != nil {
			return err
		}
	}
	return errors.Join(f.Sync(), f.Close())
}

// Chain commits n rows.
func (l *loop) Chain(_ string, n, grow int) error {
	row := make([]byte, rowBytes+grow)
	for range n {
		l.step()
		var err error
		if l.begin {
			err = l.transaction(row)
		} else {
			_, err = l.insert.Exec(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) transaction(row []byte) error {
	tx, err := l.db.Begin()
	if err != nil {
		return err
	}
	if _, err := tx.Stmt(l.insert).Exec(row); err != nil {
		return fmt.Errorf("%w; %w", err, tx.Rollback())
	}
	return tx.Commit()
}

// Close closes the file.
func (l *loop) Close() error { return errors.Join(l.insert.Close(), l.db.Close()) }
