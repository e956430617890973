package vm

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value reads a pure literal and appends it as JSON.
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
	var key string
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
