package source

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonParser reads strict JSON. A syntax error ends it; duplicate keys do not.
type jsonParser struct {
	text   *text
	limits Limits
	pos    int
	path   []string // keys and indexes down to the current value
	errs   Errors
}

func parseJSON(t *text, limits Limits) (*node, Errors) {
	p := &jsonParser{text: t, limits: limits}
	p.space()
	root := p.value()
	if root != nil {
		p.space()
		if p.pos < len(t.data) {
			root = p.unexpected("after the end of the document")
		}
	}
	return root, p.errs
}

// fail records an error at an offset and returns nil, which ends the parse.
func (p *jsonParser) fail(offset int, code, message, hint string) *node {
	e := p.text.errorAt(p.text.position(offset), code, message, hint)
	e.Pointer = pointerTo(p.path)
	p.errs = append(p.errs, e)
	return nil
}

func (p *jsonParser) unexpected(where string) *node {
	if p.pos >= len(p.text.data) {
		return p.fail(p.pos, CodeSyntax, "the text ends "+where, "")
	}
	r, _ := utf8.DecodeRune(p.text.data[p.pos:])
	hint := ""
	switch {
	case r == '/' || r == '#':
		hint = "JSON has no comments"
	case r == '\'':
		hint = "use double quotes"
	case r == '}' || r == ']':
		hint = "is there a comma too many before it?"
	}
	return p.fail(p.pos, CodeSyntax, fmt.Sprintf("unexpected %q %s", r, where), hint)
}

func (p *jsonParser) peek() byte {
	if p.pos < len(p.text.data) {
		return p.text.data[p.pos]
	}
	return 0
}

func (p *jsonParser) space() {
	for p.pos < len(p.text.data) {
		switch p.text.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// take consumes c, which may have space before it.
func (p *jsonParser) take(c byte) bool {
	p.space()
	if p.peek() == c {
		p.pos++
		return true
	}
	return false
}

func (p *jsonParser) value() *node {
	start := place{offset: p.pos}
	switch c := p.peek(); {
	case c == '{' || c == '[':
		if len(p.path) >= p.limits.MaxDepth {
			return p.fail(p.pos, CodeTooDeep, fmt.Sprintf("more than %d nested objects and arrays", p.limits.MaxDepth), "")
		}
		p.pos++
		if c == '{' {
			return p.object(&node{kind: kindObject, at: start})
		}
		return p.array(&node{kind: kindArray, at: start})
	case c == '"':
		s, ok := p.str()
		if !ok {
			return nil
		}
		return &node{kind: kindString, value: s, at: start}
	case c == '-' || c >= '0' && c <= '9':
		return p.number(start)
	}
	for _, word := range literals {
		if end := p.pos + len(word.text); end <= len(p.text.data) && string(p.text.data[p.pos:end]) == word.text {
			p.pos = end
			return &node{kind: word.kind, value: word.text, at: start}
		}
	}
	return p.unexpected("where a value should be")
}

var literals = []struct {
	text string
	kind kind
}{{"true", kindBool}, {"false", kindBool}, {"null", kindNull}}

func (p *jsonParser) array(n *node) *node {
	if p.take(']') {
		return n
	}
	for {
		p.space()
		p.path = append(p.path, strconv.Itoa(len(n.items)))
		item := p.value()
		p.path = p.path[:len(p.path)-1]
		if item == nil {
			return nil
		}
		n.items = append(n.items, item)
		if p.take(']') {
			return n
		}
		if !p.take(',') {
			return p.unexpected("in an array, where ',' or ']' should be")
		}
	}
}

func (p *jsonParser) object(n *node) *node {
	if p.take('}') {
		return n
	}
	first := map[string]int{}
	for {
		m := p.member(first)
		if m.value == nil {
			return nil
		}
		n.members = append(n.members, m)
		if p.take('}') {
			return n
		}
		if !p.take(',') {
			return p.unexpected("in an object, where ',' or '}' should be")
		}
	}
}

// member reads one key and its value; first holds the offsets of the keys so far.
func (p *jsonParser) member(first map[string]int) member {
	p.space()
	m := member{at: place{offset: p.pos}}
	if p.peek() != '"' {
		p.unexpected("where a key in double quotes should be")
		return m
	}
	var ok bool
	if m.key, ok = p.str(); !ok {
		return m
	}
	p.path = append(p.path, m.key)
	defer func() { p.path = p.path[:len(p.path)-1] }()
	if before, twice := first[m.key]; twice {
		p.errs = append(p.errs, p.text.duplicate(m.key, p.text.position(m.at.offset), p.text.position(before).Line, p.path))
	} else {
		first[m.key] = m.at.offset
	}
	if !p.take(':') {
		p.unexpected("after a key, where ':' should be")
		return m
	}
	p.space()
	m.value = p.value()
	return m
}

// duplicate is the error for the second and each further occurrence of a key.
func (t *text) duplicate(key string, at Position, firstLine int, path []string) Error {
	e := t.errorAt(at, CodeDuplicate, fmt.Sprintf("duplicate key %q, first used in line %d", key, firstLine), "keep one of them")
	e.Pointer = pointerTo(path)
	return e
}

func (p *jsonParser) number(start place) *node {
	end := p.pos
	for end < len(p.text.data) && isNumberByte(p.text.data[end]) {
		end++
	}
	digits := string(p.text.data[p.pos:end])
	if !isNumber(digits) {
		return p.fail(p.pos, CodeSyntax, fmt.Sprintf("%.40s is not a JSON number", digits), "")
	}
	if _, err := strconv.ParseFloat(digits, 64); err != nil {
		return p.fail(p.pos, CodeNumber, fmt.Sprintf("the number %.40s is out of range", digits), "write it as a string")
	}
	p.pos = end
	return &node{kind: kindNumber, value: digits, at: start}
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c|0x20 == 'e'
}

// isNumber tells whether s is a number in JSON's grammar.
func isNumber(s string) bool {
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	skip := func(set string) bool {
		for i := range len(set) {
			if s != "" && s[0] == set[i] {
				s = s[1:]
				return true
			}
		}
		return false
	}
	skip("-")
	if !skip("0") && !digits() {
		return false
	}
	if skip(".") && !digits() {
		return false
	}
	if skip("eE") {
		skip("+-")
		if !digits() {
			return false
		}
	}
	return s == ""
}

// str reads a string; its characters have been checked to be UTF-8.
func (p *jsonParser) str() (string, bool) {
	open := p.pos
	p.pos++
	var chars []byte
	for p.pos < len(p.text.data) {
		switch c := p.text.data[p.pos]; {
		case c == '"':
			p.pos++
			return string(chars), true
		case c < 0x20:
			p.fail(p.pos, CodeSyntax, "a line end or control character in a string", "close the string, or write \\n")
			return "", false
		case c != '\\':
			chars = append(chars, c)
			p.pos++
		default:
			r, ok := p.escape()
			if !ok {
				return "", false
			}
			chars = utf8.AppendRune(chars, r)
		}
	}
	p.fail(open, CodeSyntax, "a string without its closing quote", "")
	return "", false
}

// escape reads one escape sequence of a string.
func (p *jsonParser) escape() (rune, bool) {
	start := p.pos
	if p.pos+1 < len(p.text.data) {
		if r, ok := simpleEscapes[p.text.data[p.pos+1]]; ok {
			p.pos += 2
			return r, true
		}
	}
	r, ok := p.unit()
	switch {
	case !ok:
		p.fail(start, CodeSyntax, "an unknown escape in a string", `write \\ for a backslash`)
		return 0, false
	case r == 0:
		p.fail(start, CodeEncoding, "a NUL character in a string", "remove it")
		return 0, false
	case !utf16.IsSurrogate(r):
		return r, true
	}
	low, ok := p.unit()
	if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
		return pair, true
	}
	p.fail(start, CodeEncoding, fmt.Sprintf(`half of a surrogate pair, \u%04x, in a string`, r), "write the character itself")
	return 0, false
}

var simpleEscapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unit reads a \uXXXX.
func (p *jsonParser) unit() (rune, bool) {
	if p.pos+6 > len(p.text.data) || p.text.data[p.pos] != '\\' || p.text.data[p.pos+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(p.text.data[p.pos+2:p.pos+6]), 16, 16)
	if err != nil {
		return 0, false
	}
	p.pos += 6
	return rune(v), true
}
