package vm

import (
	"fmt"
	"strings"
)

// SyntaxError is a script that is refused before it runs.
type SyntaxError struct {
	File   string
	Line   int // from 1
	Column int // from 1, in characters
	Msg    string
	Hint   string // what to do; may be empty
}

// Error tells where and why.
func (e *SyntaxError) Error() string {
	msg := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
	if e.Hint != "" {
		msg += "; " + e.Hint
	}
	return msg
}

// Thrown is an error that left the script.
type Thrown struct {
	Name    string // such as "TypeError"; "" when it was no error object
	Message string
	Code    string  // of an error that a call gave; may be empty
	Frames  []Frame // in the script, innermost first
}

// Frame is a place in a script.
type Frame struct {
	Func string // "" when it has no name
	File string
	Line int // from 1; 0 is unknown
	Col  int // from 1
}

// String returns "file:line:column".
func (f Frame) String() string { return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Col) }

// Error tells what was thrown and where.
func (t *Thrown) Error() string {
	msg := t.Message
	if t.Name != "" && t.Name != "Error" {
		msg = t.Name + ": " + msg
	}
	if len(t.Frames) > 0 {
		msg += " (" + t.Frames[0].String() + ")"
	}
	if hint := hintFor(t.Message); hint != "" {
		msg += "; " + hint
	}
	return msg
}

// absent are names that scripts expect and that do not exist.
var absent = []struct{ name, hint string }{
	{"setTimeout", "there are no timers in a workflow script; agents wait by themselves"},
	{"setInterval", "there are no timers in a workflow script; agents wait by themselves"},
	{"fetch", "there is no network in a workflow script; let an agent fetch it"},
	{"process", "there is no process in a workflow script; pass values in args"},
	{"Buffer", "there is no Buffer in a workflow script; use strings and typed arrays"},
	{"fs", "there are no files in a workflow script; let an agent or shell() read them"},
	{"structuredClone", "use JSON.parse(JSON.stringify(value))"},
}

func hintFor(message string) string {
	for _, a := range absent {
		if strings.HasPrefix(message, "'"+a.name+"' is not defined") || strings.HasPrefix(message, a.name+" is not defined") {
			return a.hint
		}
	}
	return ""
}

// Bounds that a machine can reach.
const (
	BoundTime   = "time"
	BoundMemory = "memory"
	BoundJobs   = "jobs"
	BoundHalt   = "halt" // Halt ended it: no fault of the script
)

// Bound is the end of a script that used too much. The machine is dead.
type Bound struct {
	Kind string // one of the Bound constants
	Msg  string
}

// Error tells which bound was reached.
func (b *Bound) Error() string { return b.Msg }
