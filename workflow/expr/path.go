package expr

import (
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

const maxName = 64 // bytes of a name

// ValidName tells whether a variable may have this name: ASCII letters, digits,
// "_" and "-", a letter first.
func ValidName(name string) bool {
	for i := range len(name) {
		if !segmentByte(name[i]) || i == 0 && !letter(name[i]) {
			return false
		}
	}
	return name != "" && len(name) <= maxName && !prototype(name)
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func segmentByte(c byte) bool {
	return letter(c) || c >= '0' && c <= '9' || c == '_' || c == '-'
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
