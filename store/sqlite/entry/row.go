package entry

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Bounds of a row.
const (
	MaxEvents = 512       // events, at most
	MaxBytes  = 256 << 10 // data of a row of more than one event, about
)

// Row is a row of the log: events of one run that were appended together. Its
// fields are the columns as they were read, right or damaged.
type Row struct {
	ID    int64 // place in the log
	Run   int64 // number of the run
	First int64 // seq of the first event
	N     int64 // events
	Data  []byte
}

// Of reads the columns id, run, first, n and data. A damaged column leaves its
// field zero, which is never right.
func Of(columns []driver.Value) Row {
	var r Row
	for i, to := range []*int64{&r.ID, &r.Run, &r.First, &r.N} {
		if v, ok := columns[i].(int64); ok {
			*to = v
		}
	}
	r.Data, _ = columns[4].([]byte)
	return r
}

// Next is the seq after the row.
func (r Row) Next() int64 { return r.First + r.N }

// Fits returns how many of the records go into one row.
func Fits(records []store.Record) int {
	const numbers = 80 // bytes of a record without its texts, at most
	size := 0
	for i := range records {
		r := &records[i]
		size += numbers + len(r.Type) + len(r.Event.ID) + len(r.Event.Node) + len(r.Data)
		if i == MaxEvents || i > 0 && size > MaxBytes {
			return i
		}
	}
	return len(records)
}

// Pack appends to buf the data of a row: the run and the first seq once more,
// so that a row with a damaged column is known, and then the records. Numbers
// are varints, texts follow their length, and each record ends with its sum.
func Pack(buf []byte, run int64, records []store.Record) []byte {
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

// Records unpacks the row. Beside an error, which says what is damaged, it
// returns the records before it.
func (r Row) Records() ([]store.Record, error) {
	u := unpacker{rest: r.Data}
	run, first := u.number(), u.number()
	if u.short || run != r.Run || first != r.First {
		return nil, errors.New("a row of the log is damaged: it says that it is another")
	}
	out := make([]store.Record, 0, max(0, min(r.N, int64(len(r.Data)/25)))) // no record is smaller
	for seq := r.First; seq < r.Next(); seq++ {
		rec := u.record(seq)
		if u.short {
			return out, fmt.Errorf("a row of the log is damaged: event %d is cut", seq)
		}
		out = append(out, rec)
	}
	if len(u.rest) > 0 {
		return out, fmt.Errorf("a row of the log is damaged: it has more than %d events", r.N)
	}
	return out, nil
}

// Claims reports whether the data of a row whose columns seem to be another's
// says that it is the one of a run that begins with an event.
func (r Row) Claims(run, first int64) bool {
	u := unpacker{rest: r.Data}
	ofRun, from := u.number(), u.number()
	return ofRun == run && from == first && !u.short
}

// Events yields the events of the row that follow the chain, verified, up to one
// that is the last to count.
func (r Row) Events(chain *store.Chain, upTo int64, yield func(workflow.Event) error) error {
	records, damage := r.Records()
	for _, rec := range records {
		if rec.Event.Seq > upTo {
			return nil
		}
		if rec.Event.Seq <= chain.Seq {
			continue
		}
		if err := chain.Next(rec); err != nil {
			return err
		}
		out, err := rec.Decode(chain.Run)
		if err != nil {
			return err
		}
		if err := yield(out); err != nil {
			return err
		}
	}
	if damage != nil && chain.Seq < upTo {
		return chain.Damaged("its row in the log is damaged")
	}
	return nil
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
