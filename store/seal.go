package store

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/tenonrun/tenon/workflow"
)

// Sum chains an event to its predecessor: the first 16 bytes of SHA-256 over
// the predecessor's Sum and every field of the event.
type Sum [16]byte

// Origin is the Sum before the first event of a run that shares no history.
func Origin(run workflow.RunID) Sum {
	h := sha256.Sum256([]byte("tenon run " + run))
	return Sum(h[:16])
}

// Record is an event in its stored form: the payload as text, and the seal.
type Record struct {
	Event workflow.Event // without its Payload
	Type  workflow.EventType
	Data  []byte // JSON of the payload
	Sum   Sum
}

// Seal returns the Sum of a record that follows prev.
func Seal(prev Sum, r Record) Sum {
	e := r.Event
	buf := make([]byte, 0, 512)
	buf = append(buf, prev[:]...)
	for _, n := range [...]int64{e.Seq, int64(e.At), e.Epoch, int64(e.Visit), int64(e.Attempt), int64(e.Invocation)} {
		buf = binary.BigEndian.AppendUint64(buf, uint64(n))
	}
	for _, s := range [...]string{string(r.Type), e.ID, e.Node} {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(s)))
		buf = append(buf, s...)
	}
	buf = append(buf, r.Data...)
	h := sha256.Sum256(buf)
	return Sum(h[:16])
}

// Encode returns the events in their stored form, not yet sealed.
func Encode(events []workflow.Event) ([]Record, error) {
	out := make([]Record, len(events))
	buf := make([]byte, 0, 128*len(events)) // enough for what visits leave
	for i := range events {
		r := &out[i]
		r.Event, r.Type = events[i], events[i].Type()
		r.Event.Payload = nil
		end, err := workflow.AppendPayload(buf, events[i].Payload)
		if err != nil {
			return nil, err
		}
		r.Data, buf = end[len(buf):len(end):len(end)], end
	}
	return out, nil
}

// SealAll seals the records as followers of prev and returns the last Sum.
func SealAll(prev Sum, records []Record) Sum {
	for i := range records {
		records[i].Sum = Seal(prev, records[i])
		prev = records[i].Sum
	}
	return prev
}

// Chain reads records back in order and verifies that each follows the last.
type Chain struct {
	Run workflow.RunID
	Seq int64 // of the last good event
	Sum Sum   // of the last good event
}

// Next verifies the record that follows. A *Damaged says what is wrong with it.
func (c *Chain) Next(r Record) error {
	want := c.Seq + 1
	switch {
	case r.Event.Seq != want:
		return c.Damaged("the event is missing")
	case Seal(c.Sum, r) != r.Sum:
		return c.Damaged("its checksum does not match its content")
	}
	c.Seq, c.Sum = r.Event.Seq, r.Sum
	return nil
}

// Damaged says that the event after the last good one is not there or not good.
func (c *Chain) Damaged(why string) error {
	return &Damaged{Run: c.Run, Seq: c.Seq + 1, LastGood: c.Seq, Why: why}
}

// Decode returns the event of a verified record. A type that this binary does
// not know is CodeStoreNewer.
func (r Record) Decode(run workflow.RunID) (workflow.Event, error) {
	e := r.Event
	p, err := workflow.DecodePayload(r.Type, r.Data)
	if err != nil {
		return e, workflow.Errorf(workflow.CodeStoreNewer, "reading event %d of run %s: %w", e.Seq, run, err).
			WithHint("read this run with the tenon that wrote it, or a newer one")
	}
	e.Payload = p
	return e, nil
}
