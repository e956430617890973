package command

import (
	"bytes"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workspace"
)

// Clean returns captured output as text: valid UTF-8, without secrets, and at
// most bound bytes, the middle left out. 0 is no bound.
func Clean(r *text.Redactor, raw []byte, bound int) string {
	s := r.Redact(text.Repair(string(raw)))
	if bound <= 0 || len(s) <= bound {
		return s
	}
	head := bound / 2
	return text.HeadBytes(s, head, "") + text.TailBytes(s, bound-head, "\n[...]\n")
}

// maxPartial is how much of a line that does not end is kept back.
const maxPartial = 8 << 10

// Lines returns an observer of output that gives emit whole lines without
// secrets. A last line without its end is not given.
func Lines(r *text.Redactor, emit func(line string)) func(workspace.Stream, []byte) {
	held := map[workspace.Stream][]byte{}
	return func(s workspace.Stream, chunk []byte) {
		all := append(held[s], chunk...) //nolint:gocritic // what is kept of it comes back into held below
		end := bytes.LastIndexByte(all, '\n') + 1
		if end == 0 && len(all) > maxPartial {
			end = len(all)
		}
		if end > 0 {
			emit(Clean(r, all[:end], maxPartial))
		}
		held[s] = append(held[s][:0], all[end:]...)
	}
}

// Ways in which a command ends without an exit code of its own.
const (
	EndTimeout = "timeout"
	EndIdle    = "idle"
	EndSignal  = "signal"
)

// Failure says in which of these ways a command ended, or "" when it ended by
// itself.
func Failure(e workspace.Exit) string {
	switch {
	case e.TimedOut:
		return EndTimeout
	case e.IdleOut:
		return EndIdle
	case e.Code == -1 || e.Signal != "":
		return EndSignal
	}
	return ""
}
