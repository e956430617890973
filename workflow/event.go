package workflow

import (
	"fmt"
	"strconv"
	"time"
)

// Time is an instant in microseconds since the Unix epoch, UTC; 0 is absent.
type Time int64

// TimeOf returns t as a Time.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMicro())
}

// Std returns the instant; the zero time.Time when it is absent.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(t)).UTC()
}

// Add returns the instant d later.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Microseconds()) }

// MarshalJSON writes RFC 3339 with microseconds.
func (t Time) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	return []byte(`"` + t.Std().Format("2006-01-02T15:04:05.000000Z07:00") + `"`), nil
}

// UnmarshalJSON reads RFC 3339 or null.
func (t *Time) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*t = 0
		return nil
	}
	s, err := strconv.Unquote(string(raw))
	if err != nil {
		return fmt.Errorf("decoding time %s: %w", raw, err)
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return fmt.Errorf("decoding time: %w", err)
	}
	*t = TimeOf(at)
	return nil
}

// Event is one recorded fact of a run. Seq counts from 1 without gaps; a fork
// continues the numbers of its parent.
type Event struct {
	Seq        int64
	At         Time
	Epoch      int64 // ownership under which it was written
	ID         string
	Node       string // path of node names
	Visit      int    // visit number
	Attempt    int
	Invocation int
	Payload    Payload
}

// VisitID returns ID as the visit it is about.
func (e Event) VisitID() VisitID { return VisitID(e.ID) }

// Type returns the type of the payload.
func (e Event) Type() EventType {
	if e.Payload == nil {
		return ""
	}
	return e.Payload.EventType()
}

// EventType names a kind of fact. The list only grows.
type EventType string

// Payload is what an event says: a pointer to one of the types of facts.go.
type Payload interface{ EventType() EventType }
