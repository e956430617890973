package expr

import (
	"fmt"
	"regexp"
	"unicode/utf8"
)

// Bounds of patterns.
const (
	MaxPattern = 200 // characters
	MaxGroup   = 200
)

// Capture takes a part out of a text.
type Capture struct {
	pattern *regexp.Regexp
	group   int
}

// CompileCapture reads an RE2 pattern. group is the group whose text is taken, 0 for
// the whole match; nil means 1. The error is of type *Error.
func CompileCapture(pattern string, group *int) (*Capture, error) {
	re, err := compile(pattern)
	if err != nil {
		return nil, err
	}
	c := &Capture{pattern: re, group: 1}
	if group != nil {
		c.group = *group
	}
	if c.group < 0 || c.group > MaxGroup {
		return nil, &Error{Code: CodeExpression, Message: fmt.Sprintf("group %d is not between 0 and %d", c.group, MaxGroup)}
	}
	return c, nil
}

// Find returns what the first match in the first 32,000 characters of s captures.
// ok is false when nothing matches, or the pattern has no such group or did not
// need it: the variable then keeps its value.
func (c *Capture) Find(s string) (text string, ok bool) {
	s = first(s, matchChars)
	m := c.pattern.FindStringSubmatchIndex(s)
	if m == nil || 2*c.group+1 >= len(m) || m[2*c.group] < 0 {
		return "", false
	}
	return s[m[2*c.group]:m[2*c.group+1]], true
}

func compile(pattern string) (*regexp.Regexp, error) {
	if utf8.RuneCountInString(pattern) > MaxPattern {
		return nil, &Error{Code: CodeExpression, Message: fmt.Sprintf("the pattern has more than %d characters", MaxPattern)}
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, &Error{Code: CodeExpression, Message: err.Error(), Hint: "patterns are RE2: no look-around, no back-references"}
	}
	return re, nil
}
