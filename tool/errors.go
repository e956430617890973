package tool

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// Verdict tells why a judge stopped a call, for the model and for people.
type Verdict struct {
	Tool      string `json:"tool"`
	Op        Op     `json:"op,omitempty"`
	Spelled   string `json:"path,omitempty"`      // as the call spelled it; empty for a call without a path
	Canonical string `json:"canonical,omitempty"` // where it leads; empty when that is not known
	View      string `json:"view,omitempty"`      // what the rule reached: lexical, canonical, hop
	Rule      string `json:"rule,omitempty"`      // as written, with its source; empty when a default decided
	Reason    string `json:"reason"`              // one clause
}

func (v Verdict) String() string {
	var b strings.Builder
	b.WriteString(v.Tool)
	if v.Op != OpNone && string(v.Op) != v.Tool {
		b.WriteString(" (" + string(v.Op) + ")")
	}
	if v.Spelled != "" {
		b.WriteString(" " + Quote(v.Spelled))
	}
	if v.Canonical != "" && v.Canonical != v.Spelled {
		b.WriteString(" -> " + Quote(v.Canonical))
	}
	b.WriteString(": " + v.Reason)
	if v.Rule != "" {
		fmt.Fprintf(&b, " (rule %s", v.Rule)
		if v.View != "" {
			b.WriteString(", " + v.View + " path")
		}
		b.WriteString(")")
	}
	return b.String()
}

// Denied says that a call must not be done.
type Denied struct{ Verdict }

func (e *Denied) Error() string {
	return "denied: " + e.Verdict.String() + "; do not try another way to the same place, go on without it or say what you need"
}

// Asked says that a person has to allow a call first.
type Asked struct{ Verdict }

func (e *Asked) Error() string {
	return "a person has to allow this: " + e.Verdict.String()
}

// BadArguments says that the arguments of a call are not those of the tool.
type BadArguments struct {
	Tool     string
	Problems []string // one clause each, with the place in the arguments
	Next     string   // what to send instead
}

func (e *BadArguments) Error() string {
	s := "the arguments of " + e.Tool + " are not usable: " + strings.Join(e.Problems, "; ")
	if e.Next != "" {
		s += "; " + e.Next
	}
	return s
}

// Code is CodeInvalidArguments.
func (e *BadArguments) Code() workflow.Code { return workflow.CodeInvalidArguments }

// Unknown says that no tool of a set has the name of a call.
type Unknown struct {
	Name     string
	Near     string   // the name that was likely meant; may be empty
	Known    []string // names of the set
	Withheld bool     // the tool exists and this agent does not have it
}

func (e *Unknown) Error() string {
	s := "there is no tool " + Quote(e.Name)
	if e.Withheld {
		s = "the tool " + e.Name + " is not given to this agent"
	}
	if e.Near != "" {
		return s + "; did you mean " + e.Near + "? The tools are: " + strings.Join(e.Known, ", ")
	}
	return s + "; the tools are: " + strings.Join(e.Known, ", ")
}

// Code is CodeNotFound.
func (e *Unknown) Code() workflow.Code { return workflow.CodeNotFound }

// Failed says that a tool could not do what it was asked, and what to do next.
type Failed struct {
	What string
	Next string // may be empty
	Err  error  // the cause; may be nil
}

func (e *Failed) Error() string {
	s := e.What
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Next != "" {
		s += "; " + e.Next
	}
	return s
}

// Unwrap returns the cause.
func (e *Failed) Unwrap() error { return e.Err }

// Changed says that a file is not what a write expected. Nothing was written.
type Changed struct {
	Path     string
	Expected string // digest, or NoFile
	Found    string
}

func (e *Changed) Error() string {
	return "the file " + Quote(e.Path) + " changed meanwhile; read it again"
}

// maxError is the size of an error told to a model, in bytes.
const maxError = 4000

// Explain gives the text of an error for the model: bounded and valid UTF-8.
func Explain(err error) string {
	return text.HeadBytes("error: "+text.Repair(err.Error()), maxError, " [cut]")
}

// ByModel reports whether an error is one that the model can act on: a wrong
// call, a denial, or work that a tool could not do. Others are of the host and
// end the turn.
func ByModel(err error) bool {
	var (
		denied  *Denied
		bad     *BadArguments
		unknown *Unknown
		failed  *Failed
		changed *Changed
	)
	return errors.As(err, &denied) || errors.As(err, &bad) || errors.As(err, &unknown) || errors.As(err, &failed) || errors.As(err, &changed)
}
