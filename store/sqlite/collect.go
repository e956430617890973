package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// collection is one pass of Collect.
type collection struct {
	*Store
	ctx    context.Context
	conn   *conn // reads, beside the writer
	dry    bool
	before workflow.Time
	rep    store.Report
	gone   map[int64]bool // keys of the runs that go
	spare  map[workflow.Digest]*spare
}

// spare is a blob whose run is gone.
type spare struct {
	id, size int64
	used     bool // another run leads to it
}

// Collect removes runs that ended and are reached by nothing, with the blobs
// that only they used. Space inside the database is used again; lock files stay.
func (s *Store) Collect(ctx context.Context, before time.Time, dry bool) (rep store.Report, err error) {
	conn, err := dial(ctx, s.dsn("ro", ""))
	if err != nil {
		return rep, s.fault("reading", err)
	}
	defer func() { err = errors.Join(err, conn.close()) }()
	c := &collection{Store: s, ctx: ctx, conn: conn, dry: dry, before: workflow.TimeOf(before), gone: make(map[int64]bool), spare: make(map[workflow.Digest]*spare)}
	heads, err := s.Runs(ctx, store.Query{})
	if err != nil {
		return rep, err
	}
	groups, kept := store.Garbage(heads, c.before)
	c.rep.Kept = kept
	for _, group := range groups {
		if err := c.group(group); err != nil {
			return c.rep, s.fault("collecting", err)
		}
	}
	err = c.blobs()
	if err == nil && !dry {
		err = c.strays(before)
	}
	return c.rep, s.fault("collecting", err)
}

// group removes the runs of one group in one transaction, while it holds them.
func (c *collection) group(group []workflow.RunID) error {
	if c.dry {
		return c.count(group, c.conn)
	}
	for _, run := range group {
		o, err := c.Own(c.ctx, run)
		if errors.Is(err, &workflow.Error{Code: workflow.CodeRunHeld}) {
			c.rep.Kept = append(c.rep.Kept, string(run)+": it was taken in the meantime")
			return nil
		}
		if err != nil {
			return err
		}
		defer func() {
			if err := o.Release(); err != nil {
				c.log.Warn("releasing a collected run", "run", run, "err", err)
			}
		}()
	}
	// Under the transaction nothing can come to need the group any more.
	check := func(w *writer) error { return ungrown(w, group, c.before) }
	before := c.rep
	err := c.do(c.ctx, check, func(w *writer) error {
		c.rep = before
		if err := c.count(group, w.conn); err != nil {
			return err
		}
		for _, run := range group {
			if err := w.remove(run); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		c.rep = before
	}
	if errors.Is(err, errGrew) {
		c.rep.Kept = append(c.rep.Kept, string(group[0])+": it is used again")
		return nil
	}
	return err
}

var errGrew = errors.New("the group has grown")

// ungrown refuses to remove a group that a run outside it belongs to, or of
// which a run went on in the meantime.
func ungrown(w *writer, group []workflow.RunID, before workflow.Time) error {
	for _, run := range group {
		row, err := w.conn.row("SELECT status, updated FROM runs WHERE run = ?", string(run))
		if err != nil {
			return err
		}
		if row != nil {
			var status string
			var updated int64
			if err := scan(row, &status, &updated); err != nil {
				return err
			}
			if !workflow.Status(status).Terminal() || updated >= int64(before) {
				return errGrew
			}
		}
		for _, column := range []string{"child_of", "fork_of"} {
			err := w.conn.each("SELECT run FROM runs WHERE "+column+" = ? AND "+column+" <> ''", []any{string(run)}, func(row []driver.Value) error {
				var name string
				if err := scan(row, &name); err != nil || slices.Contains(group, workflow.RunID(name)) {
					return err
				}
				return errGrew
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// ownRows selects the rows of a run in the log.
const ownRows = "SELECT l.id FROM spans s CROSS JOIN log l ON l.id BETWEEN s.id AND s.id + 63 AND l.run = s.run WHERE s.run = ?1"

// remove removes a run. What can be read of it does not matter.
func (w *writer) remove(run workflow.RunID) error {
	row, err := w.conn.row("SELECT key FROM runs WHERE run = ?", string(run))
	if err != nil || row == nil {
		return err
	}
	var key int64
	if err := scan(row, &key); err != nil {
		return err
	}
	// The newest row stays, empty: an id that was given twice would hide a row
	// from who looks at what came since.
	if err := w.conn.exec("UPDATE log SET run = 0, n = 0, data = x'' WHERE run = ? AND id = (SELECT max(id) FROM log)", key); err != nil {
		return err
	}
	if err := w.conn.exec("DELETE FROM log WHERE id IN ("+ownRows+")", key); err != nil {
		return err
	}
	for _, table := range []string{"spans", "snapshots", "questions", "controls"} {
		if err := w.conn.exec("DELETE FROM "+table+" WHERE run = ?", key); err != nil {
			return err
		}
	}
	delete(w.tails, string(run))
	return w.conn.exec("DELETE FROM runs WHERE key = ?", key)
}

// count adds the runs of a group to the report.
func (c *collection) count(group []workflow.RunID, conn *conn) error {
	for _, run := range group {
		row, err := conn.row("SELECT key FROM runs WHERE run = ?", string(run))
		if err != nil {
			return err
		}
		if row == nil {
			continue // it went in the meantime
		}
		var key, events, size int64
		if err := scan(row, &key); err != nil {
			return err
		}
		if row, err = conn.row("SELECT sum(n), sum(length(data)) FROM log WHERE id IN ("+ownRows+")", key); err != nil {
			return err
		}
		if err := scan(row, &events, &size); err != nil {
			return err
		}
		c.gone[key] = true
		c.rep.Runs++
		c.rep.Events += events
		c.rep.Bytes += size
		c.rep.Removed = append(c.rep.Removed, string(run))
	}
	return nil
}

// blobs removes the blobs that only removed runs used.
func (c *collection) blobs() error {
	if err := c.spares(); err != nil || len(c.spare) == 0 {
		return err
	}
	seen, err := c.mark(c.conn, marks{})
	if err != nil {
		return err
	}
	finish := func() {
		for _, b := range c.spare {
			if !b.used {
				c.rep.Blobs++
				c.rep.Bytes += b.size
			}
		}
	}
	if c.dry {
		finish()
		return nil
	}
	// What came while this looked is looked at inside the transaction.
	check := func(w *writer) error {
		_, err := c.mark(w.conn, seen)
		return err
	}
	err = c.do(c.ctx, check, func(w *writer) error {
		for _, b := range c.spare {
			if b.used {
				continue
			}
			if err := w.conn.exec("DELETE FROM blobs WHERE id = ?", b.id); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		finish()
	}
	return err
}

// spares finds the blobs whose run is gone.
func (c *collection) spares() error {
	add := func(row []driver.Value) error {
		var digest []byte
		b := &spare{}
		err := scan(row, &b.id, &digest, &b.size)
		c.spare[workflow.Digest(hex.EncodeToString(digest))] = b
		return err
	}
	if err := c.conn.each("SELECT id, digest, size FROM blobs WHERE run NOT IN (SELECT key FROM runs)", nil, add); err != nil {
		return err
	}
	if !c.dry {
		return nil // the runs are gone already
	}
	for key := range c.gone {
		if err := c.conn.each("SELECT id, digest, size FROM blobs WHERE run = ?", []any{key}, add); err != nil {
			return err
		}
	}
	return nil
}
