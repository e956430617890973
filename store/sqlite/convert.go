package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Schema version 1 had a table with a row per event, and an index of them.

// convert moves the events of a table of version 1 into the log, run by run, and
// drops the table. An event that cannot be read leaves a gap, so that its run is
// damaged there, as it was.
func (s *Store) convert(c *conn, table string) error {
	m := &mover{conn: c}
	err := c.each("SELECT run, seq, at, epoch, type, id, node, visit, attempt, invocation, data, sum FROM "+table+" ORDER BY run, seq", nil, func(row []driver.Value) error {
		run, r, err := oldRecord(row)
		if err != nil {
			s.log.Warn("an event of version 1 cannot be read", "err", err)
			return nil
		}
		return m.add(run, r)
	})
	if err = errors.Join(err, m.flush()); err != nil {
		return err
	}
	return c.exec("DROP TABLE " + table)
}

// mover appends to the log of a database that nothing else writes.
type mover struct {
	conn    *conn
	log     logEnd
	tail    tail
	last    int64          // seq of the last event
	records []store.Record // that go into the next row
	size    int
}

func (m *mover) add(run int64, r store.Record) error {
	follows := run == m.tail.key && r.Event.Seq == m.last+1
	if !follows || m.size > pageSize {
		if err := m.flush(); err != nil {
			return err
		}
	}
	if !follows {
		m.tail = tail{key: run}
	}
	m.last = r.Event.Seq
	m.records, m.size = append(m.records, r), m.size+len(r.Data)
	return nil
}

func (m *mover) flush() error {
	err := m.log.append(m.conn, &m.tail, m.records)
	m.records, m.size = m.records[:0], 0
	return err
}

func oldRecord(row []driver.Value) (run int64, r store.Record, err error) {
	var at, visit, attempt, invocation int64
	var kind string
	e := &r.Event
	err = scan(row, &run, &e.Seq, &at, &e.Epoch, &kind, &e.ID, &e.Node, &visit, &attempt, &invocation, &r.Data, &r.Sum)
	if err != nil {
		return run, r, fmt.Errorf("event %v of run number %v: %w", row[1], row[0], err)
	}
	e.At, e.Visit, e.Attempt, e.Invocation = workflow.Time(at), int(visit), int(attempt), int(invocation)
	r.Type = workflow.EventType(kind)
	return run, r, nil
}
