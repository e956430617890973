package vm

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string or a template without parts.
func (r *reader) str() (string, error) {
	start := r.pos
	quote := r.text[r.pos]
	r.pos++
	var out []uint16
	for r.pos < len(r.text) {
		c, n := utf8.DecodeRuneInString(r.text[r.pos:])
		switch {
		case byte(c) == quote && n == 1:
			r.pos++
			return string(utf16.Decode(out)), nil
		case c == '\\':
			var err error
			if out, err = r.escape(out); err != nil {
				return "", err
			}
		case quote == '`' && strings.HasPrefix(r.text[r.pos:], "${"):
			return "", r.fail("a template with parts is not allowed in meta", "write a plain string")
		case quote != '`' && (c == '\n' || c == '\r'):
			return "", r.failAt(start, "the string is not closed on its line", "")
		case c == '\r':
			r.pos++
			if r.peek() != '\n' {
				out = append(out, '\n')
			}
		default:
			r.pos += n
			out = utf16.AppendRune(out, c)
		}
	}
	return "", r.failAt(start, "the string is not closed", "")
}

var escapes = map[byte]uint16{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', 'v': '\v', '0': 0}

func (r *reader) escape(out []uint16) ([]uint16, error) {
	start := r.pos
	r.pos++
	c, n := utf8.DecodeRuneInString(r.text[r.pos:])
	r.pos += n
	switch {
	case n == 0:
		return nil, r.failAt(start, "the string is not closed", "")
	case c == '\r' && r.peek() == '\n':
		r.pos++
		return out, nil
	case c == '\n' || c == '\r' || c == '\u2028' || c == '\u2029':
		return out, nil
	case c == 'x':
		return r.hex(out, start, 2)
	case c == 'u' && r.take('{'):
		end := strings.IndexByte(r.text[r.pos:], '}')
		if end < 1 || end > 6 {
			return nil, r.failAt(start, "the escape is not understood", "")
		}
		v, err := strconv.ParseUint(r.text[r.pos:r.pos+end], 16, 32)
		if err != nil || v > unicode.MaxRune {
			return nil, r.failAt(start, "the escape is not understood", "")
		}
		r.pos += end + 1
		return utf16.AppendRune(out, rune(v)), nil
	case c == 'u':
		return r.hex(out, start, 4)
	case c >= '1' && c <= '9' || c == '0' && r.peek() >= '0' && r.peek() <= '9':
		return nil, r.failAt(start, "octal escapes are not allowed", `use \x`)
	}
	if v, ok := escapes[byte(c)]; ok && n == 1 {
		return append(out, v), nil
	}
	return utf16.AppendRune(out, c), nil
}

func (r *reader) hex(out []uint16, start, digits int) ([]uint16, error) {
	if r.pos+digits > len(r.text) {
		return nil, r.failAt(start, "the escape is not understood", "")
	}
	v, err := strconv.ParseUint(r.text[r.pos:r.pos+digits], 16, 16)
	if err != nil {
		return nil, r.failAt(start, "the escape is not understood", "")
	}
	r.pos += digits
	return append(out, uint16(v)), nil
}

func appendString(dst []byte, s string) []byte {
	raw, err := json.Marshal(s)
	if err != nil { // a string always encodes
		return append(dst, `""`...)
	}
	return append(dst, raw...)
}
