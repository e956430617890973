package wire

import "fmt"

// SendError says that no HTTP answer came.
type SendError struct{ Err error }

func (e *SendError) Error() string { return "sending the request: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// StatusError is an HTTP answer that is not a success.
type StatusError struct {
	Status int
	Body   []byte // at most 64 KiB
}

func (e *StatusError) Error() string { return fmt.Sprintf("http status %d", e.Status) }

// EventError is an error that the server told inside a successful answer.
type EventError struct{ Data []byte }

func (e *EventError) Error() string { return "the server reported an error in its answer" }

// BrokenError is an answer that cannot be read to its end.
type BrokenError struct {
	What string // what is wrong, with an excerpt where that helps
	Err  error  // cause, if there is one
}

func (e *BrokenError) Error() string {
	if e.Err != nil {
		return e.What + ": " + e.Err.Error()
	}
	return e.What
}

// Unwrap returns the cause.
func (e *BrokenError) Unwrap() error { return e.Err }
