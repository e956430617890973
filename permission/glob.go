package permission

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// segment is one component of a pattern.
type segment struct {
	kind segmentKind
	text string  // of a literal, unescaped; otherwise as written, for keys
	glob []token // of a glob
}

type segmentKind uint8

const (
	literal segmentKind = iota
	anyName             // "*"
	anyDeep             // "**": any number of names
	glob
)

// token is a part of a glob: text, "?", "*" or a class.
type token struct {
	kind   tokenKind
	text   string
	ranges []span
	not    bool
}

type tokenKind uint8

const (
	text tokenKind = iota
	one
	many
	class
)

type span struct{ lo, hi rune }

// parseSegment reads one component; why tells what makes it unusable.
func parseSegment(s string) (seg segment, why string) {
	switch s {
	case "*":
		return segment{kind: anyName, text: s}, ""
	case "**":
		return segment{kind: anyDeep, text: s}, ""
	}
	var tokens []token
	var run strings.Builder
	flush := func() {
		if run.Len() > 0 {
			tokens = append(tokens, token{kind: text, text: run.String()})
			run.Reset()
		}
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i == len(s) {
				return segment{}, `it ends with a single backslash`
			}
			run.WriteByte(s[i])
		case '?':
			flush()
			tokens = append(tokens, token{kind: one})
		case '*':
			flush()
			if n := len(tokens); n == 0 || tokens[n-1].kind != many {
				tokens = append(tokens, token{kind: many})
			}
		case '[':
			flush()
			t, n := parseClass(s[i:])
			if n == 0 {
				return segment{}, `it has a "[" that is not closed: write \[ for the character itself`
			}
			tokens = append(tokens, t)
			i += n - 1
		default:
			run.WriteByte(s[i])
		}
	}
	flush()
	switch {
	case len(tokens) == 0:
		return segment{kind: literal}, ""
	case len(tokens) == 1 && tokens[0].kind == text:
		return segment{kind: literal, text: tokens[0].text}, ""
	case len(tokens) == 1 && tokens[0].kind == many:
		return segment{kind: anyName, text: "*"}, ""
	}
	return segment{kind: glob, text: s, glob: tokens}, ""
}

// parseClass reads "[…]" and returns its length, 0 when it is not closed.
func parseClass(s string) (token, int) {
	t := token{kind: class}
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		t.not = true
		i++
	}
	for first := true; i < len(s); first = false {
		if s[i] == ']' && !first {
			return t, i + 1
		}
		if name, n := posixClass(s[i:]); n > 0 {
			t.ranges = append(t.ranges, name...)
			i += n
			continue
		}
		lo, n := classRune(s[i:])
		if n == 0 {
			return t, 0
		}
		i += n
		hi := lo
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			var m int
			if hi, m = classRune(s[i+1:]); m == 0 {
				return t, 0
			}
			i += 1 + m
		}
		t.ranges = append(t.ranges, span{lo, hi})
	}
	return t, 0
}

func classRune(s string) (rune, int) {
	skip := 0
	if s[0] == '\\' {
		skip = 1
	}
	if skip == len(s) {
		return 0, 0
	}
	r, n := utf8.DecodeRuneInString(s[skip:])
	return r, n + skip
}

var posixClasses = map[string][]span{
	"[:alpha:]":  {{'a', 'z'}, {'A', 'Z'}},
	"[:digit:]":  {{'0', '9'}},
	"[:alnum:]":  {{'a', 'z'}, {'A', 'Z'}, {'0', '9'}},
	"[:upper:]":  {{'A', 'Z'}},
	"[:lower:]":  {{'a', 'z'}},
	"[:space:]":  {{' ', ' '}, {'\t', '\r'}},
	"[:blank:]":  {{' ', ' '}, {'\t', '\t'}},
	"[:punct:]":  {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}},
	"[:xdigit:]": {{'0', '9'}, {'a', 'f'}, {'A', 'F'}},
	"[:cntrl:]":  {{0, 31}, {127, 127}},
	"[:graph:]":  {{'!', '~'}},
	"[:print:]":  {{' ', '~'}},
}

func posixClass(s string) ([]span, int) {
	if !strings.HasPrefix(s, "[:") {
		return nil, 0
	}
	end := strings.Index(s, ":]")
	if end < 0 {
		return nil, 0
	}
	if spans, ok := posixClasses[s[:end+2]]; ok {
		return spans, end + 2
	}
	return nil, 0
}

// match reports whether tokens match a whole name. A "*" that failed is tried
// again one character on, which is enough because only the last one matters.
func match(tokens []token, name string) bool {
	ti, ni := 0, 0
	starT, starN := -1, 0
	for {
		if ti < len(tokens) && tokens[ti].kind == many {
			starT, starN = ti, ni
			ti++
			continue
		}
		if ti == len(tokens) && ni == len(name) {
			return true
		}
		if ti < len(tokens) {
			if n := tokens[ti].at(name[ni:]); n > 0 {
				ni += n
				ti++
				continue
			}
		}
		if starT < 0 || starN >= len(name) {
			return false
		}
		_, n := utf8.DecodeRuneInString(name[starN:])
		starN += n
		ti, ni = starT+1, starN
	}
}

// at returns how much of the beginning of s a token matches, 0 for none.
func (t *token) at(s string) int {
	switch t.kind {
	case text:
		if strings.HasPrefix(s, t.text) {
			return len(t.text)
		}
		return 0
	case one:
		_, n := utf8.DecodeRuneInString(s)
		return n
	case class:
		r, n := utf8.DecodeRuneInString(s)
		if n == 0 || t.holds(r) == t.not {
			return 0
		}
		return n
	}
	return 0
}

func (t *token) holds(r rune) bool {
	for _, sp := range t.ranges {
		if sp.lo <= r && r <= sp.hi {
			return true
		}
	}
	return false
}

// matchName reports whether a segment matches one name.
func (s *segment) match(name string) bool {
	switch s.kind {
	case literal:
		return s.text == name
	case glob:
		if t := &s.glob[len(s.glob)-1]; t.kind == text && !strings.HasSuffix(name, t.text) {
			return false
		}
		return match(s.glob, name)
	}
	return true
}

// folded gives the segment for names that were folded in the same way.
func (s segment) folded(f folding) segment {
	switch s.kind {
	case literal:
		s.text = f.name(s.text)
	case glob:
		tokens := make([]token, len(s.glob))
		for i, t := range s.glob {
			switch t.kind {
			case text:
				t.text = f.part(t.text)
			case class:
				t.ranges = f.spans(t.ranges)
			}
			tokens[i] = t
		}
		s.glob = tokens
		s.text = f.part(s.text)
	}
	return s
}

// maxSpan is the size of a range in a class up to which it is folded rune by rune.
const maxSpan = 0x3000

// spans folds a class: a rune that folds into it belongs to it.
func (f folding) spans(in []span) []span {
	if !f.fold.Case {
		return in
	}
	out := append([]span(nil), in...)
	for _, sp := range in {
		for r := sp.lo; r <= sp.hi && r-sp.lo < maxSpan; r++ {
			if unicode.IsLetter(r) {
				if k := foldRune(r); k != r {
					out = append(out, span{k, k})
				}
			}
		}
	}
	return out
}
