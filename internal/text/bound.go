package text

import (
	"strings"
	"unicode/utf8"
)

const replacement = "\ufffd"

// Repair returns s with every run of bytes that is not UTF-8 replaced by U+FFFD.
func Repair(s string) string {
	return strings.ToValidUTF8(s, replacement)
}

// Head returns the first characters of s, at most maxRunes code points. What was
// cut ends in marker, which counts; a marker that does not fit is left out.
func Head(s string, maxRunes int, marker string) string {
	if len(s) <= maxRunes || runesWithin(s, maxRunes) {
		return Repair(s)
	}
	keep, marker := room(maxRunes, utf8.RuneCountInString(marker), marker)
	return Repair(s[:offset(s, keep)]) + marker
}

// Tail returns the last characters of s, at most maxRunes code points. What was
// cut begins with marker, which counts; a marker that does not fit is left out.
func Tail(s string, maxRunes int, marker string) string {
	if len(s) <= maxRunes || runesWithin(s, maxRunes) {
		return Repair(s)
	}
	keep, marker := room(maxRunes, utf8.RuneCountInString(marker), marker)
	start := len(s)
	for ; keep > 0 && start > 0; keep-- {
		_, size := utf8.DecodeLastRuneInString(s[:start])
		start -= size
	}
	return marker + Repair(s[start:])
}

// HeadBytes is Head with the bound in bytes of the result.
func HeadBytes(s string, maxBytes int, marker string) string {
	if len(s) <= maxBytes {
		if s = Repair(s); len(s) <= maxBytes {
			return s
		}
	}
	keep, marker := room(maxBytes, len(marker), marker)
	end := min(len(s), keep+utf8.UTFMax)
	for back := 0; back < utf8.UTFMax && end > keep && end < len(s) && !utf8.RuneStart(s[end]); back++ {
		end--
	}
	s = Repair(s[:end])
	if len(s) > keep {
		for keep > 0 && !utf8.RuneStart(s[keep]) {
			keep--
		}
		s = s[:keep]
	}
	return s + marker
}

// TailBytes is Tail with the bound in bytes of the result.
func TailBytes(s string, maxBytes int, marker string) string {
	if len(s) <= maxBytes {
		if s = Repair(s); len(s) <= maxBytes {
			return s
		}
	}
	keep, marker := room(maxBytes, len(marker), marker)
	start := max(0, len(s)-keep)
	for skip := 1; skip < utf8.UTFMax && start < len(s) && !utf8.RuneStart(s[start]); skip++ {
		start++
	}
	s = Repair(s[start:])
	cut := max(0, len(s)-keep)
	for cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut++
	}
	return marker + s[cut:]
}

// room splits a bound between what is kept and the marker.
func room(bound, size int, marker string) (int, string) {
	if size > bound {
		return max(0, bound), ""
	}
	return bound - size, marker
}

// runesWithin tells whether s has at most n characters, reading no further than
// needed.
func runesWithin(s string, n int) bool {
	return offset(s, n) == len(s)
}

// offset is the byte offset after the first n characters of s.
func offset(s string, n int) int {
	for i := range s {
		if n <= 0 {
			return i
		}
		n--
	}
	return len(s)
}
