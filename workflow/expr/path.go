package expr

import (
	"regexp"
	"slices"
	"strings"
)

// Path names a value: $root.segment.segment in an expression.
type Path struct {
	Root     string
	Segments []string
	Column   int // of the dollar sign, in characters from 1
}

// String gives the path as it is written in an expression.
func (p Path) String() string {
	return "$" + strings.Join(append([]string{p.Root}, p.Segments...), ".")
}

var roots = map[int][]string{
	Level1: {"outputs", "vars", "verified", "attempts", "item"},
	Level2: {"outputs", "vars", "verified", "attempts", "item", "inputs", "history", "answers", "usage", "candidate"},
}

// Roots lists the roots of paths at a level.
func Roots(level int) []string { return slices.Clone(roots[level]) }

// prototypes are the words that must never be names: they reach into objects of
// other implementations of the format.
func prototype(word string) bool {
	return word == "__proto__" || word == "prototype" || word == "constructor"
}

var namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// ValidName tells whether a variable may have this name.
func ValidName(name string) bool {
	return namePattern.MatchString(name) && !prototype(name)
}

func segmentByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// segments splits "a.b.0" and tells whether every part is a segment.
func segments(s string) ([]string, bool) {
	parts := strings.Split(s, ".")
	for _, part := range parts {
		if part == "" || prototype(part) {
			return nil, false
		}
		for i := range len(part) {
			if !segmentByte(part[i]) {
				return nil, false
			}
		}
	}
	return parts, true
}
