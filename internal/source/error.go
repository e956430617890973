package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Codes of the errors that Parse and Decode find.
const (
	CodeSyntax      = "syntax"        // not JSON or YAML
	CodeDuplicate   = "duplicate_key" // a key twice in one object
	CodeEncoding    = "encoding"      // invalid UTF-8, NUL, half of a surrogate pair
	CodeTooLarge    = "too_large"     // more bytes than allowed
	CodeTooDeep     = "too_deep"      // more nesting than allowed
	CodeNumber      = "number"        // a number with no plain JSON meaning
	CodeUnsupported = "unsupported"   // YAML that has no JSON meaning
	CodeType        = "type"          // Decode: a value of another type
)

// Error is one finding, and where. Packages that judge documents use it too, with
// their own codes.
type Error struct {
	File    string
	Line    int    // from 1; 0 when not known
	Column  int    // from 1, in characters
	Pointer string // JSON pointer of the value or key
	Code    string
	Message string
	Hint    string // what to do; may be empty
	Excerpt string // the line with a caret under the place, two lines; may be empty
}

// Error gives file:line:column: message (hint), in one line.
func (e Error) Error() string {
	var b strings.Builder
	b.WriteString(Position{e.File, e.Line, e.Column}.String())
	b.WriteString(": ")
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Detail is Error followed by the excerpt, for people.
func (e Error) Detail() string {
	if e.Excerpt == "" {
		return e.Error()
	}
	return e.Error() + "\n" + e.Excerpt
}

// Errors are all findings of one document, in order of place.
type Errors []Error

// Error gives one line for each finding.
func (es Errors) Error() string { return es.join(Error.Error) }

// Detail gives each finding with its excerpt.
func (es Errors) Detail() string { return es.join(Error.Detail) }

func (es Errors) join(render func(Error) string) string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = render(e)
	}
	return strings.Join(lines, "\n")
}

func (es Errors) sort() {
	slices.SortStableFunc(es, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// Position is a place in a file, lines and characters counted from 1.
type Position struct {
	File         string
	Line, Column int
}

// String gives file:line:column, without what is not known.
func (p Position) String() string {
	file := p.File
	if file == "" {
		file = "document"
	}
	if p.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
}
