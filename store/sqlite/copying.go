package sqlite

import (
	"database/sql/driver"
	"fmt"
	"os"
	"slices"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// tables are what is copied. The spans are made anew.
var tables = []struct{ name, columns string }{
	{"runs", "key, run, parent, cut, base, epoch, status, started, updated, root, child_of, fork_of, head"},
	{"log", "id, run, first, n, data"},
	{"events", "run, seq, at, epoch, type, id, node, visit, attempt, invocation, data, sum"}, // of version 1
	{"blobs", "id, digest, size, run, data"},
	{"snapshots", "run, seq, sum, state"},
	{"controls", "id, run, control, kind, data, by, at, taken"},
}

// copyTables copies every row that can be read, under its old key.
func (v *salvage) copyTables() error {
	for _, table := range tables {
		row, err := v.conn.row("SELECT 1 FROM old.sqlite_schema WHERE type = 'table' AND name = ?", table.name)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		if table.name == "events" {
			v.events = true
			if err := v.conn.script("CREATE TEMP TABLE events (run INTEGER NOT NULL, seq INTEGER NOT NULL, at, epoch, type, id, node, visit, attempt, invocation, data, sum, UNIQUE (run, seq))"); err != nil {
				return err
			}
		}
		if err := v.copyTable(table.name, table.columns); err != nil {
			return err
		}
	}
	if v.events {
		if err := v.convert(v.conn, "temp.events"); err != nil {
			return err
		}
	}
	if err := v.conn.exec("INSERT OR IGNORE INTO main.spans (run, first, id) SELECT run, first, id FROM main.log WHERE run <> 0"); err != nil {
		return err
	}
	if err := v.lasts(); err != nil {
		return err
	}
	return v.conn.exec(`INSERT OR IGNORE INTO main.questions (question, run)
		SELECT q.value, r.key FROM main.runs r, json_each(r.head, '$.questions') q WHERE json_valid(r.head)`)
}

func (v *salvage) copyTable(name, columns string) error {
	last := int64(0)
	row, err := v.conn.row("SELECT max(rowid) FROM old." + name)
	if err == nil {
		err = scan(row, &last)
	} else if info, err := os.Stat(v.old); err == nil {
		last = info.Size() / 32 // no row is smaller
	}
	if err != nil && !damaged(err) {
		return err
	}
	insert := fmt.Sprintf("INSERT OR IGNORE INTO %s (%s) SELECT %s FROM old.%s NOT INDEXED WHERE rowid BETWEEN ? AND ?", name, columns, columns, name)
	c := &copying{conn: v.conn, insert: insert, tries: 200_000}
	if err := c.rows(1, last); err != nil {
		return fmt.Errorf("table %s: %w", name, err)
	}
	if c.tries < 0 {
		v.rep.Problems = append(v.rep.Problems, store.Problem{What: fmt.Sprintf("too much of the table %s is damaged: a part was not tried", name), Next: "compare with a backup"})
	}
	if name == "log" {
		v.lost, v.vague = c.lost, c.tries < 0
	}
	return nil
}

// copying copies the rows of one table.
type copying struct {
	conn   *conn
	insert string
	tries  int        // that are left
	lost   [][2]int64 // first and last rowid of what could not be read
}

// rows copies a range, and halves it where one row cannot be read.
func (c *copying) rows(first, last int64) error {
	if first > last {
		return nil
	}
	if c.tries--; c.tries >= 0 {
		if err := c.conn.exec(c.insert, first, last); !damaged(err) {
			return err
		}
	}
	if first == last || c.tries < 0 {
		c.lost = append(c.lost, [2]int64{first, last})
		return nil
	}
	half := first + (last-first)/2
	if err := c.rows(first, half); err != nil {
		return err
	}
	return c.rows(half+1, last)
}

// lasts finds how far each run went: rows that could not be copied must not pass
// as never written. The old index tells which there were.
func (v *salvage) lasts() error {
	newest := "SELECT max(first) FROM old.spans WHERE run = ?"
	if v.events {
		newest = "SELECT max(seq) FROM old.events INDEXED BY events_run_seq WHERE run = ?"
	}
	begins, err := v.begins()
	if err != nil {
		return err
	}
	return v.conn.each("SELECT key, run, cut FROM main.runs", nil, func(run []driver.Value) error {
		var key, cut, seq int64
		var name string
		if err := scan(run, &key, &name, &cut); err != nil {
			return err
		}
		tail, err := lookup(v.conn.each).end(key)
		if err != nil {
			return err
		}
		row, err := v.conn.row(newest, key)
		if err == nil {
			err = scan(row, &seq)
		}
		switch {
		case damaged(err), begins == nil:
			v.last[workflow.RunID(name)] = -1
			return nil
		case v.misses(tail.id+1) && !begins[tail.id+1]:
			seq = max(seq, tail.last+1)
		}
		v.last[workflow.RunID(name)] = max(cut, seq)
		return err
	})
}

// begins returns the lost rows that begin a span: a lost row that does not
// belongs to the run of the row before it. It is nil when that is not known.
func (v *salvage) begins() (map[int64]bool, error) {
	out := make(map[int64]bool)
	if v.events {
		return out, nil
	}
	err := v.conn.each("SELECT id FROM old.spans", nil, func(row []driver.Value) error {
		var id int64
		err := scan(row, &id)
		if v.misses(id) {
			out[id] = true
		}
		return err
	})
	if damaged(err) || v.vague {
		return nil, nil
	}
	return out, err
}

// misses reports whether a row of the log could not be read.
func (v *salvage) misses(id int64) bool {
	return slices.ContainsFunc(v.lost, func(r [2]int64) bool { return r[0] <= id && id <= r[1] })
}
