package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// Issue is one defect of a document.
type Issue struct {
	Code    workflow.Code `json:"code"`
	File    string        `json:"file,omitempty"`
	Line    int           `json:"line,omitempty"`   // from 1; 0 when the place is not known
	Column  int           `json:"column,omitempty"` // from 1, in characters
	Pointer string        `json:"path"`             // JSON pointer
	Message string        `json:"message"`
	Hint    string        `json:"hint,omitempty"` // what to do next
	Excerpt string        `json:"-"`              // the line and a caret below the place; of the first issues only
	key     bool          // the place is that of the key
}

// String returns "file:line:column: message (code) – hint".
func (i Issue) String() string {
	var b strings.Builder
	b.WriteString(i.File)
	if i.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", i.Line, i.Column)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(i.Message)
	if i.Code != "" {
		fmt.Fprintf(&b, " (%s)", i.Code)
	}
	if i.Hint != "" {
		b.WriteString(" – " + i.Hint)
	}
	return b.String()
}

// Issues are all errors of a document, in the order of the file.
type Issues []Issue

// Error returns one line for each issue.
func (is Issues) Error() string {
	lines := make([]string, len(is))
	for n, i := range is {
		lines[n] = i.String()
	}
	return strings.Join(lines, "\n")
}

// As gives the first issue as a *workflow.Error, so that its code is found.
func (is Issues) As(target any) bool {
	e, ok := target.(**workflow.Error)
	if !ok || len(is) == 0 {
		return false
	}
	*e = &workflow.Error{Code: is[0].Code, Msg: is.Error()}
	return true
}

// sorted puts issues in the order of the file and drops what is there twice.
func sorted(is []Issue) []Issue {
	slices.SortStableFunc(is, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(is, func(a, b Issue) bool {
		return a.Code == b.Code && a.Pointer == b.Pointer && a.Message == b.Message
	})
}
