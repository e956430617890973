package vm

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLiteralDepth is how deep the meta literal may nest.
const maxLiteralDepth = 64

// reader reads the head of a script: comments, and one pure literal.
type reader struct {
	file string
	text string
	pos  int
}

// metaOf finds the export of meta at the start of the text. It returns the
// literal as JSON with its members in order, and where the word export is.
func metaOf(file, text string) (meta json.RawMessage, export int, err error) {
	r := &reader{file: file, text: text}
	if err := r.space(); err != nil {
		return nil, 0, err
	}
	export = r.pos
	for _, word := range []string{"export", "const", "meta"} {
		if !r.word(word) {
			return nil, 0, r.failAt(export, "the first statement must be: export const meta = {name, description}",
				"name and description say what the workflow is, before anything runs")
		}
		if err := r.space(); err != nil {
			return nil, 0, err
		}
	}
	if !r.take('=') {
		return nil, 0, r.fail("meta must be written as: export const meta = {…}", "types are not understood in a script")
	}
	if err := r.space(); err != nil {
		return nil, 0, err
	}
	if r.peek() != '{' {
		return nil, 0, r.fail("meta must be an object literal", "")
	}
	out, err := r.value(nil, 0)
	if err != nil {
		return nil, 0, err
	}
	return out, export, r.ended()
}

// ended refuses what makes the literal a part of a larger expression.
func (r *reader) ended() error {
	line := r.lineOf(r.pos)
	if err := r.space(); err != nil {
		return err
	}
	if r.pos >= len(r.text) || r.take(';') || r.lineOf(r.pos) > line && !strings.ContainsRune(".[(,?`+*/&|=<>", rune(r.peek())) {
		return nil
	}
	return r.fail("meta must be a pure literal and nothing else", "end it with a semicolon")
}

func (r *reader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

func (r *reader) take(c byte) bool {
	if r.peek() != c || r.pos >= len(r.text) {
		return false
	}
	r.pos++
	return true
}

func (r *reader) word(w string) bool {
	if !strings.HasPrefix(r.text[r.pos:], w) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(r.text[r.pos+len(w):])
	if r.pos+len(w) < len(r.text) && namePart(next) {
		return false
	}
	r.pos += len(w)
	return true
}

func nameStart(c rune) bool { return c == '$' || c == '_' || unicode.IsLetter(c) }

func namePart(c rune) bool { return nameStart(c) || unicode.IsDigit(c) }

// space skips blanks and comments.
func (r *reader) space() error {
	for r.pos < len(r.text) {
		c, n := utf8.DecodeRuneInString(r.text[r.pos:])
		rest := r.text[r.pos:]
		switch {
		case unicode.IsSpace(c) || c == '\u2028' || c == '\u2029' || c == '\ufeff':
			r.pos += n
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexAny(rest, "\n\r")
			if end < 0 {
				end = len(rest)
			}
			r.pos += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				return r.fail("the comment is not closed", "")
			}
			r.pos += end + 2
		default:
			return nil
		}
	}
	return nil
}

func (r *reader) value(dst []byte, depth int) ([]byte, error) {
	if depth > maxLiteralDepth {
		return nil, r.fail("meta is nested too deep", "")
	}
	switch c := r.peek(); {
	case c == '{':
		return r.object(dst, depth)
	case c == '[':
		return r.array(dst, depth)
	case c == '"' || c == '\'' || c == '`':
		s, err := r.str()
		if err != nil {
			return nil, err
		}
		return appendString(dst, s), nil
	case c == '-' || c >= '0' && c <= '9' || c == '.' && r.pos+1 < len(r.text) && r.text[r.pos+1] >= '0' && r.text[r.pos+1] <= '9':
		return r.number(dst)
	}
	for _, w := range []string{"true", "false", "null"} {
		if r.word(w) {
			return append(dst, w...), nil
		}
	}
	return nil, r.impure()
}

// impure words what is found where a literal must stand.
func (r *reader) impure() error {
	const hint = "meta is read without running the script: write plain values only"
	rest := r.text[r.pos:]
	c, _ := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "":
		return r.fail("the script ends inside meta", "")
	case strings.HasPrefix(rest, "..."):
		return r.fail("a spread is not allowed in meta", hint)
	case c == '(' || c == '!' || c == '+' || c == '~':
		return r.fail("an expression is not allowed in meta", hint)
	case c == '/':
		return r.fail("a regular expression is not allowed in meta", hint)
	case nameStart(c):
		return r.fail("meta uses "+r.name()+", which is not a literal", hint)
	}
	return r.fail("a literal value is expected", hint)
}

func (r *reader) name() string {
	start := r.pos
	for i, c := range r.text[start:] {
		if !namePart(c) {
			return r.text[start : start+i]
		}
	}
	return r.text[start:]
}

// follow sees to the comma or the end after an element.
func (r *reader) follow(end byte) (done bool, err error) {
	if err := r.space(); err != nil {
		return false, err
	}
	comma := r.take(',')
	if err := r.space(); err != nil {
		return false, err
	}
	switch {
	case r.take(end):
		return true, nil
	case comma:
		return false, nil
	case r.pos >= len(r.text):
		return false, r.fail("the script ends inside meta", "")
	case r.peek() == '(' || r.peek() == '.' || r.peek() == '+' || r.peek() == '`' || r.peek() == '?':
		return false, r.fail("an expression is not allowed in meta", "meta is read without running the script: write plain values only")
	}
	return false, r.fail(`"," or "`+string(end)+`" is expected`, "")
}

func (r *reader) array(dst []byte, depth int) ([]byte, error) {
	r.pos++
	dst = append(dst, '[')
	if err := r.space(); err != nil {
		return nil, err
	}
	if r.take(']') {
		return append(dst, ']'), nil
	}
	for first := true; ; first = false {
		if !first {
			dst = append(dst, ',')
		}
		if r.peek() == ',' {
			return nil, r.fail("a hole in a list is not allowed in meta", "write null")
		}
		var err error
		if dst, err = r.value(dst, depth+1); err != nil {
			return nil, err
		}
		done, err := r.follow(']')
		if err != nil {
			return nil, err
		}
		if done {
			return append(dst, ']'), nil
		}
	}
}

func (r *reader) object(dst []byte, depth int) ([]byte, error) {
	r.pos++
	dst = append(dst, '{')
	if err := r.space(); err != nil {
		return nil, err
	}
	if r.take('}') {
		return append(dst, '}'), nil
	}
	seen := map[string]bool{}
	for {
		if len(seen) > 0 {
			dst = append(dst, ',')
		}
		key, err := r.key(seen)
		if err != nil {
			return nil, err
		}
		dst = append(appendString(dst, key), ':')
		if dst, err = r.value(dst, depth+1); err != nil {
			return nil, err
		}
		done, err := r.follow('}')
		if err != nil {
			return nil, err
		}
		if done {
			return append(dst, '}'), nil
		}
	}
}

// key reads the name of a member and the colon.
func (r *reader) key(seen map[string]bool) (string, error) {
	const hint = "write it as name: value"
	start := r.pos
	key := ""
	c, _ := utf8.DecodeRuneInString(r.text[r.pos:])
	switch {
	case c == '"' || c == '\'':
		s, err := r.str()
		if err != nil {
			return "", err
		}
		key = s
	case c == '[':
		return "", r.fail("a computed name is not allowed in meta", hint)
	case strings.HasPrefix(r.text[r.pos:], "..."):
		return "", r.fail("a spread is not allowed in meta", hint)
	case nameStart(c):
		key = r.name()
		r.pos += len(key)
	case c >= '0' && c <= '9':
		raw, err := r.number(nil)
		if err != nil {
			return "", err
		}
		key = string(raw)
	default:
		return "", r.fail("the name of a member is expected", hint)
	}
	if err := r.space(); err != nil {
		return "", err
	}
	next, _ := utf8.DecodeRuneInString(r.text[r.pos:])
	switch {
	case r.take(':'):
	case (key == "get" || key == "set" || key == "async") && (nameStart(next) || next == '[' || next == '"' || next == '\''):
		return "", r.failAt(start, "a getter, setter or method is not allowed in meta", hint)
	case next == '(':
		return "", r.failAt(start, "a method is not allowed in meta", hint)
	default:
		return "", r.failAt(start, "meta uses the variable "+key, hint)
	}
	switch {
	case key == "__proto__":
		return "", r.failAt(start, "__proto__ is not allowed in meta", "")
	case seen[key]:
		return "", r.failAt(start, "meta has "+key+" twice", "")
	}
	seen[key] = true
	return key, r.space()
}

func (r *reader) number(dst []byte) ([]byte, error) {
	start := r.pos
	for r.pos < len(r.text) && (namePart(rune(r.text[r.pos])) || r.text[r.pos] == '.' ||
		(r.text[r.pos] == '-' || r.text[r.pos] == '+') && (r.pos == start || strings.ContainsRune("eE", rune(r.text[r.pos-1])) && !strings.HasPrefix(strings.ToLower(r.text[start:]), "0x"))) {
		r.pos++
	}
	word := r.text[start:r.pos]
	body, sign := word, 1.0
	if strings.HasPrefix(body, "-") {
		body, sign = body[1:], -1
	}
	var f float64
	var err error
	if len(body) > 1 && body[0] == '0' && strings.ContainsAny(body[1:2], "xXoObB") {
		var n uint64
		n, err = strconv.ParseUint(body, 0, 64)
		f = float64(n)
	} else {
		f, err = strconv.ParseFloat(strings.ReplaceAll(body, "_", ""), 64)
	}
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || len(body) > 1 && body[0] == '0' && body[1] >= '0' && body[1] <= '9' {
		return nil, r.failAt(start, strconv.Quote(word)+" is not a number", "")
	}
	raw, err := json.Marshal(f * sign)
	if err != nil {
		return nil, r.failAt(start, err.Error(), "")
	}
	return append(dst, raw...), nil
}

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

func (r *reader) lineOf(pos int) int { line, _ := position(r.text, pos); return line }

func (r *reader) fail(msg, hint string) error { return r.failAt(r.pos, msg, hint) }

func (r *reader) failAt(pos int, msg, hint string) error {
	line, col := position(r.text, pos)
	return &SyntaxError{File: r.file, Line: line, Column: col, Msg: msg, Hint: hint}
}

// position returns line and column of an offset, from 1; columns count
// characters. A line ends with LF, CR, or both.
func position(text string, pos int) (line, col int) {
	line, start := 1, 0
	for i := 0; i < pos && i < len(text); i++ {
		switch {
		case text[i] == '\n', text[i] == '\r' && (i+1 >= len(text) || text[i+1] != '\n'):
			line++
			start = i + 1
		}
	}
	return line, utf8.RuneCountInString(text[start:min(pos, len(text))]) + 1
}
