package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// pageSize is that of every database we make.
const pageSize = 4096

// Salvage copies what can be read of the store in the directory from into a new
// store in the directory to: every run whose whole history verifies, with its
// blobs, and of the others the part before the damage, which can be forked but
// not continued. The report counts the whole runs and names the others and how
// far each is good. The damaged store is not changed; no process may use it
// meanwhile.
func Salvage(ctx context.Context, from, to string) (rep store.Report, err error) {
	s, err := Open(ctx, Config{Dir: to})
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if there, err := s.Runs(ctx, store.Query{Limit: 1}); err != nil || len(there) > 0 {
		return rep, errors.Join(err, workflow.Errorf(workflow.CodeInvalidArguments, "salvaging into %s: there are runs already", to).WithHint("name an empty directory"))
	}
	work, err := os.MkdirTemp(to, "salvage-*")
	if err != nil {
		return rep, s.fault("salvaging", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	v := &salvage{Store: s, ctx: ctx, from: from, old: filepath.Join(work, databaseName), rep: &rep, last: make(map[workflow.RunID]int64)}
	err = v.run()
	if damaged(err) {
		return rep, workflow.Errorf(workflow.CodeStoreDamaged, "salvaging %s: %w", from, err).WithHint("too little of it can be read; restore it from a backup")
	}
	return rep, s.fault("salvaging", err)
}

// salvage is one pass of Salvage.
type salvage struct {
	*Store
	ctx  context.Context
	from string
	old  string // copy of the damaged database
	conn *conn  // on the new database, with the old one attached
	rep  *store.Report
	last map[workflow.RunID]int64 // last seq by the index of the old database; -1 when that cannot be read
}

func (v *salvage) run() error {
	for _, suffix := range []string{"", "-wal"} {
		err := copyFile(filepath.Join(v.from, databaseName+suffix), v.old+suffix)
		if err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	if err := errors.Join(v.stretch(), v.mend()); err != nil {
		return err
	}
	var err error
	if v.conn, err = v.connect(v.ctx); err != nil {
		return err
	}
	if err := v.conn.exec("ATTACH ? AS old", v.old); err != nil {
		return errors.Join(err, v.conn.close())
	}
	err = v.copyTables()
	if err = errors.Join(err, v.conn.close()); err != nil {
		return err
	}
	if err := v.copyFiles(); err != nil {
		return err
	}
	return v.judge()
}

// stretch gives a file that was cut its length back, as its header tells it: a
// page that is empty harms what is on it, one that is missing harms the whole.
func (v *salvage) stretch() error {
	f, err := os.OpenFile(v.old, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	header := make([]byte, 96)
	_, err = f.ReadAt(header, 0)
	info, statErr := f.Stat()
	size := int64(binary.BigEndian.Uint32(header[28:])) * pageSize
	if err == nil && statErr == nil && bytes.Equal(header[24:28], header[92:96]) && size > info.Size() && size/16 <= info.Size() {
		return errors.Join(f.Truncate(size), f.Close())
	}
	return errors.Join(statErr, f.Close()) // what has no header is mend's
}

// mend makes the copy one that can be opened. When its first page, which holds
// the schema, is not readable, it gets that of a new database: the same
// migrations put every table at the same place.
func (v *salvage) mend() error {
	c, err := dial(v.ctx, address(v.old, "mode=rw"))
	if err == nil {
		_, err = v.version(c, math.MaxInt64)
		err = errors.Join(err, c.close())
	}
	if err == nil {
		return nil
	}
	v.log.Warn("the first page of the database is damaged, using a new one", "err", err)
	page, err := v.firstPage()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(v.old, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		binary.BigEndian.PutUint32(page[28:], uint32(info.Size()/pageSize)) // pages
		clear(page[32:40])                                                  // no free pages
		copy(page[92:96], page[24:28])                                      // the number of pages is valid
		_, err = f.WriteAt(page, 0)
	}
	return errors.Join(err, f.Close())
}

// firstPage returns the first page of a new database.
func (v *salvage) firstPage() ([]byte, error) {
	dir := filepath.Join(filepath.Dir(v.old), "new")
	s, err := Open(v.ctx, Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	page := make([]byte, pageSize)
	f, err := os.Open(filepath.Join(dir, databaseName))
	if err != nil {
		return nil, err
	}
	_, err = io.ReadFull(f, page)
	return page, errors.Join(err, f.Close())
}

// copyTables copies every row that can be read, under its old key.
func (v *salvage) copyTables() error {
	for _, table := range []struct{ name, columns string }{
		{"runs", "key, run, parent, cut, base, epoch, status, started, updated, root, child_of, fork_of, head"},
		{"events", "run, seq, at, epoch, type, id, node, visit, attempt, invocation, data, sum"},
		{"blobs", "id, digest, size, run, data"},
		{"snapshots", "run, seq, sum, state"},
		{"controls", "id, run, control, kind, data, by, at, taken"},
	} {
		last := int64(0)
		row, err := v.conn.row("SELECT max(rowid) FROM old." + table.name)
		if err == nil {
			err = scan(row, &last)
		} else if info, err := os.Stat(v.old); err == nil {
			last = info.Size() / 32 // no row is smaller
		}
		if err != nil && !damaged(err) {
			return err
		}
		insert := fmt.Sprintf("INSERT OR IGNORE INTO main.%s (%s) SELECT %s FROM old.%s NOT INDEXED WHERE rowid BETWEEN ? AND ?",
			table.name, table.columns, table.columns, table.name)
		tries := 200_000
		err = v.copyRange(insert, 1, last, &tries)
		if damaged(err) {
			v.rep.Problems = append(v.rep.Problems, store.Problem{What: fmt.Sprintf("too much of the table %s is damaged: a part was not tried", table.name), Next: "compare with a backup"})
		} else if err != nil {
			return fmt.Errorf("table %s: %w", table.name, err)
		}
	}
	if err := v.lasts(); err != nil {
		return err
	}
	return v.conn.exec(`INSERT OR IGNORE INTO main.questions (question, run)
		SELECT q.value, r.key FROM main.runs r, json_each(r.head, '$.questions') q WHERE json_valid(r.head)`)
}

// lasts asks the index of the old database how far each run went: rows that
// could not be copied must not pass as never written.
func (v *salvage) lasts() error {
	return v.conn.each("SELECT key, run, cut FROM main.runs", nil, func(run []driver.Value) error {
		var key, cut, seq int64
		var name string
		if err := scan(run, &key, &name, &cut); err != nil {
			return err
		}
		row, err := v.conn.row("SELECT max(seq) FROM old.events INDEXED BY events_run_seq WHERE run = ?", key)
		if err == nil {
			err = scan(row, &seq)
		}
		if v.last[workflow.RunID(name)] = max(cut, seq); err != nil {
			v.last[workflow.RunID(name)] = -1
		}
		return nil
	})
}

// copyRange copies rows, and halves the range where one cannot be read.
func (v *salvage) copyRange(insert string, first, last int64, tries *int) error {
	if first > last {
		return nil
	}
	err := v.conn.exec(insert, first, last)
	if *tries--; !damaged(err) || *tries <= 0 {
		return err
	}
	if first == last {
		return nil
	}
	half := first + (last-first)/2
	if err := v.copyRange(insert, first, half, tries); err != nil {
		return err
	}
	return v.copyRange(insert, half+1, last, tries)
}

// copyFiles copies the files of big blobs.
func (v *salvage) copyFiles() error {
	names, err := filepath.Glob(filepath.Join(v.from, "blobs", "??", "*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		d := workflow.Digest(filepath.Base(name))
		if raw, err := hex.DecodeString(string(d)); err != nil || len(raw) != 32 {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil || store.DigestOf(data) != d {
			continue // judge misses it
		}
		if err := v.keepFile(store.Blob{Digest: d, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// judge cuts the runs that do not verify, and reports.
func (v *salvage) judge() error {
	if err := v.nameless(); err != nil {
		return err
	}
	heads, err := v.Runs(v.ctx, store.Query{})
	if err != nil {
		return err
	}
	lost := make(map[workflow.RunID]int64) // with the last good seq
	for _, h := range heads {
		err := v.verify(h)
		var d *store.Damaged
		switch {
		case errors.As(err, &d):
			v.rep.Problems = append(v.rep.Problems, d.Problem())
			lost[h.Run] = d.LastGood
			continue
		case err != nil:
			return err
		case v.last[h.Run] < 0:
			v.rep.Problems = append(v.rep.Problems, store.Problem{Run: h.Run, Seq: h.Last,
				What: "the index is damaged too: events after this one may be missing", Next: "look at it with `tenon show` before it is continued"})
		}
		v.rep.Runs++
		v.rep.Events += h.Last - h.Cut
	}
	err = v.do(v.ctx, func(*writer) error { return nil }, func(w *writer) error {
		for run, good := range lost {
			if err := w.cut(run, good); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.checkBlobs(v.ctx, v.rep)
}

// cut keeps the good part of a damaged run, for forks of it, and ends it with an
// event that nobody can read: a history that lost its end must not pass as whole.
func (w *writer) cut(run workflow.RunID, good int64) error {
	t, err := w.tail(run)
	if err != nil || t == nil {
		return err
	}
	if good <= t.cut {
		return w.remove(run)
	}
	if err := w.conn.exec("DELETE FROM events WHERE run = ? AND seq > ?", t.key, good); err != nil {
		return err
	}
	delete(w.tails, string(run))
	return w.event(t.key, store.Record{Event: workflow.Event{Seq: good + 1}, Type: "damaged", Data: []byte{}})
}

// verify checks the whole history of a run, and that it is whole.
func (v *salvage) verify(h store.Head) error {
	_, err := v.checkRun(v.ctx, h.Run)
	if err == nil {
		err = v.Events(v.ctx, h.Run, 0, func(workflow.Event) error { return nil })
	}
	if err == nil && h.Last < v.last[h.Run] {
		err = (&store.Chain{Run: h.Run, Seq: h.Last}).Damaged("the event is missing")
	}
	if workflow.CodeOf(err) == workflow.CodeStoreNewer {
		return nil // another tenon understands it
	}
	return err
}

// nameless reports events whose run is not there.
func (v *salvage) nameless() error {
	return v.eachRow(v.ctx, "SELECT run, count(*), max(seq) FROM events WHERE run NOT IN (SELECT key FROM runs) GROUP BY run", nil, func(scan func(...any) error) error {
		var key, n, last int64
		err := scan(&key, &n, &last)
		v.rep.Problems = append(v.rep.Problems, store.Problem{Seq: last,
			What: fmt.Sprintf("%d events belong to a run whose name cannot be read (number %d)", n, key), Next: "they stay in " + v.from})
		return err
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	return errors.Join(err, in.Close())
}
