package expr

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind byte

const (
	tokenEnd tokenKind = iota
	tokenOperator
	tokenWord
	tokenLiteral
	tokenPath
)

type token struct {
	kind  tokenKind
	text  string // operator or word
	value any    // of a literal
	path  Path
	start int // byte offset
}

// lexer splits an expression, one token at a time.
type lexer struct {
	src     string
	level   int
	pos     int
	count   int
	operand bool // the token before ends an operand, so a minus sign subtracts
}

func (l *lexer) fail(offset int, hint, format string, args ...any) *Error {
	return &Error{Code: CodeExpression, Message: fmt.Sprintf(format, args...), Hint: hint, Column: column(l.src, offset)}
}

var operators = []string{"||", "&&", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", ",", "/", "-", "+", "*", "%"}

func (l *lexer) next() (token, error) {
	tok, err := l.scan()
	l.operand = tok.kind != tokenOperator || tok.text == ")"
	return tok, err
}

func (l *lexer) scan() (token, error) {
	for l.pos < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.pos]) >= 0 {
		l.pos++
	}
	start := l.pos
	if start >= len(l.src) {
		return token{kind: tokenEnd, start: start}, nil
	}
	if l.count++; l.count > MaxTokens {
		return token{}, l.fail(start, "split the condition", "more than %d words and signs", MaxTokens)
	}
	switch c := l.src[start]; {
	case c == '$':
		return l.path()
	case c == '"':
		return l.str()
	case isDigit(c) || c == '-' && start+1 < len(l.src) && isDigit(l.src[start+1]) && (l.level < Level2 || !l.operand):
		return l.number()
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_':
		return l.word(), nil
	}
	for _, op := range operators {
		if strings.HasPrefix(l.src[start:], op) {
			l.pos += len(op)
			return token{kind: tokenOperator, text: op, start: start}, nil
		}
	}
	return token{}, l.unexpected(start)
}

func (l *lexer) unexpected(start int) *Error {
	r, _ := utf8.DecodeRuneInString(l.src[start:])
	hint := ""
	switch r {
	case '=':
		hint = "compare with =="
	case '&', '|':
		hint = fmt.Sprintf("write %c%c", r, r)
	case '\'':
		hint = "strings have double quotes"
	}
	return l.fail(start, hint, "unexpected %q", r)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) word() token {
	start := l.pos
	for l.pos < len(l.src) && (segmentByte(l.src[l.pos]) && l.src[l.pos] != '-') {
		l.pos++
	}
	return token{kind: tokenWord, text: l.src[start:l.pos], start: start}
}

func (l *lexer) path() (token, error) {
	start := l.pos
	l.pos++
	for l.pos < len(l.src) && (segmentByte(l.src[l.pos]) || l.src[l.pos] == '.') {
		l.pos++
	}
	parts, ok := segments(l.src[start+1 : l.pos])
	if !ok {
		return token{}, l.fail(start, "write $vars.name or $outputs.node.key", "%.80s is not a path", l.src[start:l.pos])
	}
	for _, root := range roots[l.level] {
		if parts[0] == root {
			return token{kind: tokenPath, path: Path{root, parts[1:], column(l.src, start)}, start: start}, nil
		}
	}
	return token{}, l.fail(start, "there are $"+strings.Join(roots[l.level], ", $"), "unknown value $%.80s", parts[0])
}

// str reads a JSON string.
func (l *lexer) str() (token, error) {
	start := l.pos
	for end := start + 1; end < len(l.src); end++ {
		switch l.src[end] {
		case '\\':
			end++
		case '"':
			var s string
			if err := json.Unmarshal([]byte(l.src[start:end+1]), &s); err != nil {
				return token{}, l.fail(start, "", "a string with a wrong escape or a control character")
			}
			l.pos = end + 1
			return token{kind: tokenLiteral, value: s, start: start}, nil
		}
	}
	return token{}, l.fail(start, "", "a string without its closing quote")
}

// number reads a JSON number with its sign.
func (l *lexer) number() (token, error) {
	start := l.pos
	end := start + 1
	for end < len(l.src) {
		c := l.src[end]
		sign := (c == '+' || c == '-') && l.src[end-1]|0x20 == 'e'
		if !isDigit(c) && c != '.' && c|0x20 != 'e' && !sign {
			break
		}
		end++
	}
	text := l.src[start:end]
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !json.Valid([]byte(text)) {
		return token{}, l.fail(start, "", "%.40s is not a number", text)
	}
	l.pos = end
	return token{kind: tokenLiteral, value: f, start: start}, nil
}

// pattern reads /.../ from a given offset.
func (l *lexer) pattern(start int) (string, error) {
	if start >= len(l.src) || l.src[start] != '/' {
		return "", l.fail(start, "write matches(value, /pattern/)", "a pattern is missing")
	}
	class := false
	for end := start + 1; end < len(l.src); end++ {
		switch c := l.src[end]; {
		case c == '\\':
			end++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			l.pos = end + 1
			if l.pos < len(l.src) && segmentByte(l.src[l.pos]) {
				return "", l.fail(l.pos, "", "a pattern has no flags")
			}
			return l.src[start+1 : end], nil
		}
	}
	return "", l.fail(start, "", "a pattern without its closing /")
}
