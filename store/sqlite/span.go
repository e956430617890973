package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite/entry"
)

// spanRows is how many rows a span has at most: so many must be passed to come
// from the last one to the end of a run.
const spanRows = 64

// lookup calls f for the rows of a query. It is conn.each inside of the writing
// transaction, and Store.lookup beside it.
type lookup func(text string, args []any, f func([]driver.Value) error) error

// lookup reads with the connections that read.
func (s *Store) lookup(ctx context.Context) lookup {
	return func(text string, args []any, f func([]driver.Value) error) (err error) {
		rows, err := s.query(ctx, text, args...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		names, err := rows.Columns()
		if err != nil {
			return err
		}
		to := make([]any, len(names))
		for rows.Next() {
			row := make([]driver.Value, len(names))
			for i := range row {
				to[i] = (*any)(&row[i])
			}
			if err := rows.Scan(to...); err != nil {
				return err
			}
			if err := f(row); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// look is a lookup that f may end with errStop.
func (ask lookup) look(text string, args []any, f func([]driver.Value) error) error {
	err := ask(text, args, f)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// one returns the only row of a query; nil when there is none.
func (ask lookup) one(text string, args ...any) (out []driver.Value, err error) {
	err = ask.look(text, args, func(row []driver.Value) error {
		out = row
		return errStop
	})
	return out, err
}

// readBytes is how much is read at once, about: no transaction stays open while
// it is used.
const readBytes = 256 << 10

// rowsFrom selects the rows of a run from an event on, and what stands behind.
const rowsFrom = `SELECT id, run, first, n, data FROM log
	WHERE id >= (SELECT id FROM spans WHERE run = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1)
	AND (run <> ?1 OR first + n > ?2) ORDER BY id LIMIT 64`

// entries returns the next entries of a run from an event on: at least one when
// it is there, and not more than stand together. What is damaged behind them is
// met by who asks for it.
func (ask lookup) entries(run, from int64) ([]entry.Row, error) {
	var out []entry.Row
	next, size := from, 0
	err := ask.look(rowsFrom, []any{run, from}, func(row []driver.Value) error {
		e := entry.Of(row)
		switch {
		case e.Run == run && e.First <= next && e.Next() > next:
		case e.Claims(run, next):
			return errRow
		default:
			return errStop
		}
		out, next = append(out, e), e.Next()
		if size += len(e.Data); size > readBytes {
			return errStop
		}
		return nil
	})
	if len(out) > 0 && damaged(err) {
		err = nil
	}
	return out, err
}

// firsts selects the first rows of the spans of a run from an event on.
const firsts = `SELECT l.id, l.run, l.first, l.n, l.data FROM spans s CROSS JOIN log l ON l.id = s.id
	WHERE s.run = ?1 AND s.first >= ?2 ORDER BY s.first LIMIT 128`

// apart returns the next entries of a run that takes turns with others: those
// that are the only ones of their spans, and one more. There may be none.
func (ask lookup) apart(run, next int64) ([]entry.Row, error) {
	var out []entry.Row
	size := 0
	err := ask.look(firsts, []any{run, next}, func(row []driver.Value) error {
		e := entry.Of(row)
		if size += len(e.Data); e.Run != run || e.First != next || e.N <= 0 || size > readBytes {
			return errStop
		}
		out, next = append(out, e), e.Next()
		return nil
	})
	if damaged(err) {
		err = nil // entries meets it
	}
	return out, err
}

// sum returns the sum of an event; false when it is not there or not readable.
func (ask lookup) sum(run, seq int64) (store.Sum, bool, error) {
	all, err := ask.entries(run, seq)
	if err != nil || len(all) == 0 {
		if damaged(err) {
			err = nil
		}
		return store.Sum{}, false, err
	}
	records, _ := all[0].Records() // the ones before a damage count
	if i := seq - all[0].First; i < int64(len(records)) {
		return records[i].Sum, true, nil
	}
	return store.Sum{}, false, nil
}

// end is where the entries of a run end.
type end struct {
	last int64 // seq; 0 when there are none
	id   int64 // of the last row
	rows int64 // of the last span
	lost bool  // the event last was written and cannot be found
}

// The rows of the last span of a run, and what stands behind.
const lastRows = `SELECT l.id, l.run, l.first, l.n, substr(l.data, 1, 20), s.first - 1 FROM spans s LEFT JOIN log l ON l.id >= s.id
	WHERE s.run = ?1 AND s.first = (SELECT max(first) FROM spans WHERE run = ?1) ORDER BY l.id LIMIT 64`

// end finds the last entry of a run.
func (ask lookup) end(run int64) (end, error) {
	var out end
	err := ask.look(lastRows, []any{run}, func(row []driver.Value) error {
		if out.rows == 0 {
			if err := scan(row[5:], &out.last); err != nil {
				return err
			}
		}
		e := entry.Of(row)
		switch {
		case e.Run == run && e.First == out.last+1 && e.N > 0:
			out = end{last: e.Next() - 1, id: e.ID, rows: out.rows + 1}
			return nil
		case out.rows == 0, e.Claims(run, out.last+1):
			return errRow
		}
		return errStop
	})
	if !damaged(err) {
		return out, err
	}
	if out.rows == 0 { // not even the first row of the span can be read
		row, err := ask.one("SELECT max(first) - 1 FROM spans WHERE run = ?", run)
		if err == nil {
			err = scan(row, &out.last)
		}
		if err != nil {
			return out, err
		}
	}
	out.last, out.lost = out.last+1, true
	return out, nil
}
