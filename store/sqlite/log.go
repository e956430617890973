package sqlite

import (
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite/entry"
)

// logEnd is where the log ends: what appending to it must know.
type logEnd struct {
	next int64  // id of the next row; 0 when it is not known
	buf  []byte // for the data of a row
}

// append appends records to the log, and moves the tail of their run. A row that
// does not stand behind the last one of its run begins a span.
func (l *logEnd) append(c *conn, t *tail, records []store.Record) error {
	for len(records) > 0 {
		id, err := l.id(c)
		if err != nil {
			return err
		}
		n, first := entry.Fits(records), records[0].Event.Seq
		data := entry.Pack(l.buf[:0], t.key, records[:n])
		if cap(data) <= entry.MaxBytes {
			l.buf = data
		}
		if err := c.exec("INSERT INTO log (id, run, first, n, data) VALUES (?, ?, ?, ?, ?)", id, t.key, first, int64(n), data); err != nil {
			return err
		}
		if !t.reaches(id) {
			if err := c.exec("INSERT INTO spans (run, first, id) VALUES (?, ?, ?)", t.key, first, id); err != nil {
				return err
			}
			t.rows = 0
		}
		t.row, t.rows = id, t.rows+1
		l.next, records = id+1, records[n:]
	}
	return nil
}

// reaches reports whether the row of an id belongs to the last span.
func (t *tail) reaches(id int64) bool {
	return t.rows > 0 && t.rows < spanRows && t.row+1 == id
}

// id is the id of the next row.
func (l *logEnd) id(c *conn) (int64, error) {
	if l.next > 0 {
		return l.next, nil
	}
	row, err := c.row("SELECT ifnull(max(id), 0) + 1 FROM log")
	if err == nil {
		err = scan(row, &l.next)
	}
	return l.next, err
}
