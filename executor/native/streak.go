package native

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/internal/canon"
)

// Bounds of calls that are the same, one after the other.
const (
	maxCircle = 3  // the model is told that it goes in a circle
	maxSame   = 10 // the turn ends
)

// streak counts calls that are the same as the one before.
type streak struct {
	call, result string
	same         int // the same result too
	failed       int
}

// add counts a call. It returns what the model is told beside the result, and an
// error when the turn cannot come to an end. A look at a command that still works is
// no circle: what it waits for may take long.
func (s *streak) add(u *use) (string, error) {
	call := u.part.Name + " " + digestOf(u.raw)
	if u.args.Digest == "" {
		call = u.part.Name + " " + canon.Sum(u.raw)
	}
	if call != s.call || waits(u.done.Data) {
		*s = streak{call: call}
	}
	if result := canon.Sum([]byte(u.done.Text)); result != s.result {
		s.result, s.same = result, 0
	}
	s.same++
	s.failed++
	if !u.done.Error {
		s.failed = 0
	}
	switch {
	case s.failed >= maxSame:
		return "", fmt.Errorf("the agent made the same call of %s %d times in a row, and it failed each time", u.brief, s.failed)
	case s.same >= maxSame:
		return "", fmt.Errorf("the agent made the same call of %s %d times in a row, with the same result", u.brief, s.same)
	case s.failed >= maxCircle:
		return fmt.Sprintf("\n[the same call has failed %d times in a row and will fail again: change its arguments, use another tool, or go on without it]", s.failed), nil
	case s.same >= maxCircle:
		return fmt.Sprintf("\n[the same call gave the same result %d times in a row: use what it told you, and go on]", s.same), nil
	}
	return "", nil
}

// waits reports whether what a result tells of is still at work.
func waits(data json.RawMessage) bool {
	var d struct {
		Running bool `json:"running"`
	}
	return json.Unmarshal(data, &d) == nil && d.Running
}
