package canon

import (
	"bytes"
	"fmt"
	"slices"
)

// writer reads in once and appends its canonical form to out.
type writer struct {
	in, out []byte
	pos     int
	members []member // of all open objects, innermost last
	scratch []byte
}

// member is one written `"key":value` of an object.
type member struct {
	key        []byte // decoded
	at         int    // offset of the key in the input
	start, end int    // in out
}

func (w *writer) fail(format string, args ...any) error {
	return &Error{Offset: w.pos, Message: fmt.Sprintf(format, args...)}
}

// seen names the next byte for an error.
func (w *writer) seen() string {
	if w.pos >= len(w.in) {
		return "end of text"
	}
	if c := w.in[w.pos]; c >= 0x20 && c < 0x7f {
		return fmt.Sprintf("%q", rune(c))
	}
	return fmt.Sprintf("byte 0x%02x", w.in[w.pos])
}

func (w *writer) space() {
	for w.pos < len(w.in) {
		switch w.in[w.pos] {
		case ' ', '\n', '\t', '\r':
			w.pos++
		default:
			return
		}
	}
}

// take consumes c, which may have space before it.
func (w *writer) take(c byte) bool {
	w.space()
	if w.pos < len(w.in) && w.in[w.pos] == c {
		w.pos++
		return true
	}
	return false
}

// value reads one value; the caller has skipped the space before it.
func (w *writer) value(depth int) error {
	if w.pos >= len(w.in) {
		return w.fail("unexpected end of text")
	}
	switch c := w.in[w.pos]; {
	case c == '{' || c == '[':
		if depth >= MaxDepth {
			return w.fail("more than %d nested arrays and objects", MaxDepth)
		}
		w.pos++
		if c == '{' {
			return w.object(depth + 1)
		}
		return w.array(depth + 1)
	case c == '"':
		_, err := w.text()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return w.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(w.in[w.pos:], []byte(word)) {
			w.out = append(w.out, word...)
			w.pos += len(word)
			return nil
		}
	}
	return w.fail("unexpected %s where a value should be", w.seen())
}

func (w *writer) array(depth int) error {
	w.out = append(w.out, '[')
	if w.take(']') {
		w.out = append(w.out, ']')
		return nil
	}
	for {
		w.space()
		if err := w.value(depth); err != nil {
			return err
		}
		if w.take(']') {
			w.out = append(w.out, ']')
			return nil
		}
		if !w.take(',') {
			return w.fail("unexpected %s in an array, want ',' or ']'", w.seen())
		}
		w.out = append(w.out, ',')
	}
}

func (w *writer) object(depth int) error {
	first := len(w.members)
	w.out = append(w.out, '{')
	if w.take('}') {
		w.out = append(w.out, '}')
		return nil
	}
	for {
		if err := w.member(depth); err != nil {
			return err
		}
		if w.take('}') {
			break
		}
		if !w.take(',') {
			return w.fail("unexpected %s in an object, want ',' or '}'", w.seen())
		}
		w.out = append(w.out, ',')
	}
	if err := w.order(w.members[first:]); err != nil {
		return err
	}
	w.members = w.members[:first]
	w.out = append(w.out, '}')
	return nil
}

func (w *writer) member(depth int) error {
	w.space()
	m := member{start: len(w.out), at: w.pos}
	if w.pos >= len(w.in) || w.in[w.pos] != '"' {
		return w.fail("unexpected %s where a key should be", w.seen())
	}
	var err error
	if m.key, err = w.text(); err != nil {
		return err
	}
	if !w.take(':') {
		return w.fail("unexpected %s after a key, want ':'", w.seen())
	}
	w.out = append(w.out, ':')
	w.space()
	if err := w.value(depth); err != nil {
		return err
	}
	m.end = len(w.out)
	w.members = append(w.members, m)
	return nil
}

// order puts the members of the object just written into canonical order.
func (w *writer) order(ms []member) error {
	ordered := slices.IsSortedFunc(ms, compareMembers)
	start := ms[0].start
	if !ordered {
		slices.SortStableFunc(ms, compareMembers)
	}
	for i := 1; i < len(ms); i++ {
		if bytes.Equal(ms[i-1].key, ms[i].key) {
			return &Error{Offset: ms[i].at, Message: fmt.Sprintf("duplicate key %.80q", ms[i].key)}
		}
	}
	if ordered {
		return nil
	}
	w.scratch = w.scratch[:0]
	for i, m := range ms {
		if i > 0 {
			w.scratch = append(w.scratch, ',')
		}
		w.scratch = append(w.scratch, w.out[m.start:m.end]...)
	}
	w.out = append(w.out[:start], w.scratch...)
	return nil
}

func compareMembers(a, b member) int { return compareKeys(a.key, b.key) }

// compareKeys orders UTF-8 text by its UTF-16 code units. The two orders differ
// only where a character beyond U+FFFF (lead byte 0xF0 and up) meets one of
// U+E000 to U+FFFF (lead byte 0xEE or 0xEF).
func compareKeys(a, b []byte) int {
	n := min(len(a), len(b))
	for i := 0; i < n; i++ {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xF0 && (y == 0xEE || y == 0xEF) {
			return -1
		}
		if y >= 0xF0 && (x == 0xEE || x == 0xEF) {
			return 1
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}
