package vm

import (
	"encoding/json"
	"strings"
	"unicode"
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
