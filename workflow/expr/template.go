package expr

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Token is one {{...}} of a text.
type Token struct {
	Text    string   // what stands between the braces
	Root    string   // as in a path: "vars" for run.NAME
	Path    []string // below the root
	Column  int      // of the first brace, in characters from 1
	Pointer string   // JSON pointer of the string, from Tokens
}

// Template is a parsed text with tokens. It may be used by any number of goroutines.
type Template struct {
	parts []part
}

// part is literal text or a token.
type part struct {
	text  string
	token *Token
}

const open = "{{"

// ParseTemplate reads a text. {{{{ stands for a literal {{. Level1 knows
// {{run.NAME}}, {{outputs.NODE.path}} and {{history.text}} and leaves every other {{
// as it is, but refuses a malformed {{run. token; Level2 also knows {{inputs.x}},
// {{vars.x}}, {{item.x}}, {{answers.ID}} and {{candidate}}, and refuses everything
// else. The error is of type *Error.
func ParseTemplate(s string, level int) (*Template, error) {
	t := &Template{}
	var text strings.Builder
	at, counted, col := 0, 0, 1 // col is the column of byte offset counted
	for {
		i := strings.Index(s[at:], open)
		if i < 0 {
			text.WriteString(s[at:])
			return t.text(&text), nil
		}
		text.WriteString(s[at : at+i])
		at += i
		rest := s[at:]
		if strings.HasPrefix(rest, open+open) {
			text.WriteString(open)
			at += 2 * len(open)
			continue
		}
		var token *Token
		if !strings.HasPrefix(rest, "{{{") { // there the token, if any, begins one brace later
			col += utf8.RuneCountInString(s[counted:at])
			counted = at
			var err *Error
			if token, err = parseToken(rest, level); err != nil {
				err.Column = col
				return nil, err
			}
		}
		if token == nil {
			text.WriteByte('{')
			at++
			continue
		}
		token.Column = col
		t = t.text(&text)
		t.parts = append(t.parts, part{token: token})
		at += len(token.Text) + 2*len(open)
	}
}

// text moves what was gathered into the template.
func (t *Template) text(gathered *strings.Builder) *Template {
	if gathered.Len() > 0 {
		t.parts = append(t.parts, part{text: gathered.String()})
		gathered.Reset()
	}
	return t
}

// maxToken bounds the text between two braces, in bytes.
const maxToken = 1024

// parseToken reads the token that s begins with; nil means that it is plain text.
func parseToken(s string, level int) (*Token, *Error) {
	s = s[:min(len(s), maxToken)]
	body, _, closed := strings.Cut(s[len(open):], "}}")
	if closed {
		if token := tokenOf(body, level); token != nil {
			return token, nil
		}
	}
	run := strings.HasPrefix(body, "run.")
	if level < Level2 && !run {
		return nil, nil
	}
	e := &Error{Code: CodeInterpolation, Hint: "write {{{{ for two braces"}
	switch shown := open + body; {
	case !closed:
		e.Message = fmt.Sprintf("%.40s… has no closing }}", firstLine(shown))
	case run:
		e.Message, e.Hint = fmt.Sprintf("%.80s}} is not {{run.NAME}}", shown), "a name has letters, digits, _ and -, and begins with a letter"
	default:
		e.Message, e.Hint = fmt.Sprintf("unknown token %.80s}}", shown), "there are {{inputs.x}}, {{vars.x}}, {{outputs.NODE.path}}, {{item.x}}, {{answers.ID}}, {{history.text}}, {{candidate}}; write {{{{ for two braces"
	}
	return nil, e
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// tokenOf knows the tokens of a level, or gives nil.
func tokenOf(body string, level int) *Token {
	path, ok := segments(body)
	if !ok {
		return nil
	}
	root, path := path[0], path[1:]
	switch {
	case root == "run" && len(path) == 1 && ValidName(path[0]):
		return &Token{Text: body, Root: "vars", Path: path}
	case root == "outputs" && len(path) >= 2, root == "history" && len(path) == 1 && path[0] == "text":
		return &Token{Text: body, Root: root, Path: path}
	}
	if level < Level2 {
		return nil
	}
	switch root {
	case "outputs", "inputs", "vars", "answers":
		ok = len(path) >= 1
	case "item", "candidate":
	default:
		ok = false
	}
	if !ok {
		return nil
	}
	return &Token{Text: body, Root: root, Path: path}
}

// Tokens lists the tokens of the template, in order.
func (t *Template) Tokens() []Token {
	var tokens []Token
	for _, p := range t.parts {
		if p.token != nil {
			tokens = append(tokens, *p.token)
		}
	}
	return tokens
}

// Text fills in the template. Strings come in as they are, other values as JSON. A
// token without a value is an *Error with CodeMissing.
func (t *Template) Text(scope Scope) (string, error) {
	var out strings.Builder
	for _, p := range t.parts {
		if p.token == nil {
			out.WriteString(p.text)
			continue
		}
		v, err := p.token.value(scope)
		if err != nil {
			return "", err
		}
		s, err := plain(v)
		if err != nil {
			return "", fmt.Errorf("writing {{%s}}: %w", p.token.Text, err)
		}
		if out.Len()+len(s) > MaxResult {
			return "", tooLong(p.token)
		}
		out.WriteString(s)
	}
	return out.String(), nil
}

// MaxResult bounds one filled-in text, in bytes.
const MaxResult = 2 << 20

func tooLong(t *Token) error {
	return &Error{Code: CodeInterpolation, Column: t.Column, Message: fmt.Sprintf("the text with {{%s}} has more than %d bytes", t.Text, MaxResult), Hint: "hand large values over in a file"}
}

// Value is Text, except that a template that is nothing but one token gives the
// value itself, with its type.
func (t *Template) Value(scope Scope) (any, error) {
	if len(t.parts) == 1 && t.parts[0].token != nil {
		return t.parts[0].token.value(scope)
	}
	return t.Text(scope)
}

func (t *Token) value(scope Scope) (any, error) {
	v, ok, err := scope.Lookup(t.Root, t.Path)
	if err != nil {
		return nil, fmt.Errorf("reading {{%s}}: %w", t.Text, err)
	}
	if !ok || isUndefined(v) {
		return nil, &Error{Code: CodeMissing, Name: t.Text, Column: t.Column, Message: fmt.Sprintf("{{%s}} has no value", t.Text), Hint: "set it before this node, or correct the name"}
	}
	return v, nil
}

func isUndefined(v any) bool {
	if raw, ok := v.(json.RawMessage); ok {
		return !json.Valid(raw)
	}
	_, missing := v.(undefined)
	return missing
}
