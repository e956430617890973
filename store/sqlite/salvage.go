package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite/entry"
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

	events bool       // the old database has version 1
	lost   [][2]int64 // ids of the log that could not be read: first and last
	vague  bool       // more of them than were tried
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
	heads, _, err := v.heads(v.ctx, store.Query{})
	if err != nil {
		return err
	}
	lost := make(map[workflow.RunID]int64) // with the last good seq
	found := make(map[int64]int64)         // as checkLog wants it
	for _, h := range heads {
		err := v.verify(h.Head)
		found[h.key] = h.Last - h.Cut
		var d *store.Damaged
		switch {
		case errors.As(err, &d):
			v.rep.Problems = append(v.rep.Problems, d.Problem())
			lost[h.Run], found[h.key] = d.LastGood, -1
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
	if err := v.checkLog(v.ctx, v.rep, found, "they stay in "+v.from); err != nil {
		return err
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
	row, err := w.conn.row("SELECT key, cut FROM runs WHERE run = ?", string(run))
	if err != nil || row == nil {
		return err
	}
	t := &tail{last: good}
	if err := scan(row, &t.key, &t.cut); err != nil {
		return err
	}
	if good <= t.cut {
		return w.remove(run)
	}
	all, err := lookup(w.conn.each).entries(t.key, good)
	if err != nil || len(all) == 0 {
		return err
	}
	for _, table := range []string{"log", "spans"} {
		if err := w.conn.exec("DELETE FROM "+table+" WHERE run = ? AND first > ?", t.key, good); err != nil {
			return err
		}
	}
	e := all[0]
	if keep := good + 1 - e.First; keep < e.N {
		records, _ := e.Records() // it was read to good
		if err := w.conn.exec("UPDATE log SET n = ?, data = ? WHERE id = ?", keep, entry.Pack(nil, t.key, records[:keep]), e.ID); err != nil {
			return err
		}
	}
	delete(w.tails, string(run))
	return w.log.append(w.conn, t, []store.Record{{Event: workflow.Event{Seq: good + 1}, Type: "damaged"}})
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
