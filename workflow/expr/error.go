package expr

import (
	"fmt"
	"unicode/utf8"
)

// Codes of errors, the same words as elsewhere in the product.
const (
	CodeExpression    = "invalid_expression"
	CodeInterpolation = "invalid_interpolation"
	CodeMissing       = "run_var_missing"
)

// Error says what is wrong with an expression, template or pattern.
type Error struct {
	Code    string
	Message string
	Hint    string // what to do; may be empty
	Column  int    // in characters from 1; 0 when not known
	Pointer string // JSON pointer of the string, from Interpolate and Tokens
	Name    string // the token without a value, for CodeMissing
}

func (e *Error) Error() string {
	s := e.Message
	if e.Column > 0 {
		s = fmt.Sprintf("column %d: %s", e.Column, s)
	}
	if e.Pointer != "" {
		s = e.Pointer + ": " + s
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// column is the place of a byte offset, in characters from 1.
func column(src string, offset int) int {
	return utf8.RuneCountInString(src[:min(offset, len(src))]) + 1
}
