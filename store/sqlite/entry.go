package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

const (
	entryEvents = 512       // events of one row, at most
	entryBytes  = 256 << 10 // data of a row of more than one event, about
)

// entry is a row of the log: events of one run that were appended together.
type entry struct {
	id, run, first, n int64
	data              []byte
}

// next is the seq after the entry.
func (e entry) next() int64 { return e.first + e.n }

// fits returns how many of the records go into one row.
func fits(records []store.Record) int {
	const numbers = 80 // bytes of a record without its texts, at most
	size := 0
	for i := range records {
		r := &records[i]
		size += numbers + len(r.Type) + len(r.Event.ID) + len(r.Event.Node) + len(r.Data)
		if i == entryEvents || i > 0 && size > entryBytes {
			return i
		}
	}
	return len(records)
}

// pack appends to buf the data of an entry: the run and the first seq once more,
// so that a row with a damaged column is known, and then the records. Numbers
// are varints, texts follow their length, and each record ends with its sum.
func pack(buf []byte, run int64, records []store.Record) []byte {
	buf = binary.AppendVarint(buf, run)
	buf = binary.AppendVarint(buf, records[0].Event.Seq)
	for i := range records {
		r := &records[i]
		e := &r.Event
		for _, v := range [...]int64{int64(e.At), e.Epoch, int64(e.Visit), int64(e.Attempt), int64(e.Invocation)} {
			buf = binary.AppendVarint(buf, v)
		}
		for _, s := range [...]string{string(r.Type), e.ID, e.Node} {
			buf = append(binary.AppendVarint(buf, int64(len(s))), s...)
		}
		buf = append(binary.AppendVarint(buf, int64(len(r.Data))), r.Data...)
		buf = append(buf, r.Sum[:]...)
	}
	return buf
}

// records unpacks an entry. Beside an error it returns the records before it.
func (e entry) records() ([]store.Record, error) {
	u := unpacker{rest: e.data}
	run, first := u.number(), u.number()
	if u.short || run != e.run || first != e.first {
		return nil, fmt.Errorf("%w: it says that it is another", errRow)
	}
	out := make([]store.Record, 0, max(0, min(e.n, int64(len(e.data)/25)))) // no record is smaller
	for seq := e.first; seq < e.next(); seq++ {
		r := u.record(seq)
		if u.short {
			return out, fmt.Errorf("%w: event %d is cut", errRow, seq)
		}
		out = append(out, r)
	}
	if len(u.rest) > 0 {
		return out, fmt.Errorf("%w: it has more than %d events", errRow, e.n)
	}
	return out, nil
}

// claims reports whether the data of a row that seems to be another's says that
// it is the one of a run that begins with an event.
func claims(data []byte, run, first int64) bool {
	u := unpacker{rest: data}
	return u.number() == run && u.number() == first && !u.short
}

// unpacker takes values off the front of data; short says that they ended.
type unpacker struct {
	rest  []byte
	short bool
}

func (u *unpacker) record(seq int64) store.Record {
	var r store.Record
	e := &r.Event
	e.Seq, e.At, e.Epoch = seq, workflow.Time(u.number()), u.number()
	e.Visit, e.Attempt, e.Invocation = int(u.number()), int(u.number()), int(u.number())
	r.Type = workflow.EventType(u.take(u.number()))
	e.ID, e.Node = string(u.take(u.number())), string(u.take(u.number()))
	r.Data = u.take(u.number())
	copy(r.Sum[:], u.take(int64(len(r.Sum))))
	return r
}

func (u *unpacker) number() int64 {
	v, n := binary.Varint(u.rest)
	if n <= 0 {
		u.rest, u.short = nil, true
		return 0
	}
	u.rest = u.rest[n:]
	return v
}

func (u *unpacker) take(n int64) []byte {
	if n < 0 || n > int64(len(u.rest)) {
		u.rest, u.short = nil, true
		return nil
	}
	out := u.rest[:n:n]
	u.rest = u.rest[n:]
	return out
}

// entryOf reads the columns id, run, first, n and data. A damaged column leaves
// its field zero, which is never right.
func entryOf(row []driver.Value) entry {
	var e entry
	for i, to := range []*int64{&e.id, &e.run, &e.first, &e.n} {
		if v, ok := row[i].(int64); ok {
			*to = v
		}
	}
	e.data, _ = row[4].([]byte)
	return e
}
