// Package token reads the interpolation of workspace manifests: ${input.NAME},
// ${input.NAME | default: VALUE} and ${credential.NAME}.
//
// Holds: Token and Lex, and the text of a value inside another text.
//
// Guarantees: the texts of all tokens, joined, are the text that was read, but for
// what they stand for; what cannot be read is told.
//
// Does not: know which inputs there are, or what they are worth.
package token

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// Token is a piece of a text with interpolation: literal text, or a name.
type Token struct {
	Text       string
	Input      string
	Fallback   json.RawMessage // of an input: what its default says
	Credential string
}

var pattern = text.MustPattern(
	`^\$\{\s*(?:input\.([A-Za-z_][A-Za-z0-9_-]*)` +
		`(?:\s*\|\s*default:\s*("(?:[^"\\]|\\.)*"|'[^']*'|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false))?` +
		`|credential\.([A-Z][A-Z0-9_]*))\s*\}`)

// Lex splits a text into tokens; "$${" stands for "${". What it cannot read comes
// as messages.
func Lex(s string) (tokens []Token, wrong []string) {
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			tokens = append(tokens, Token{Text: literal.String()})
			literal.Reset()
		}
	}
	for s != "" {
		at := strings.IndexByte(s, '$')
		if at < 0 {
			break
		}
		literal.WriteString(s[:at])
		s = s[at:]
		switch {
		case strings.HasPrefix(s, "$${"):
			literal.WriteString("${")
			s = s[3:]
		case strings.HasPrefix(s, "${"):
			flush()
			t, size, why := read(s)
			if why != "" {
				wrong = append(wrong, why)
			} else {
				tokens = append(tokens, t)
			}
			s = s[size:]
		default:
			literal.WriteByte('$')
			s = s[1:]
		}
	}
	literal.WriteString(s)
	flush()
	return tokens, wrong
}

// read reads the token at the beginning of s, and its size.
func read(s string) (Token, int, string) {
	if m := pattern().FindStringSubmatch(s); m != nil {
		t := Token{Input: m[1], Credential: m[3]}
		if m[2] != "" {
			raw, err := literalJSON(m[2])
			if err != nil {
				return Token{}, len(m[0]), fmt.Sprintf("the default %s is no string as JSON writes it", m[2])
			}
			t.Fallback = raw
		}
		return t, len(m[0]), ""
	}
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return Token{}, len(s), fmt.Sprintf("token %q has no end", text.Head(s, 40, "…"))
	}
	shown := s[:end+1]
	if strings.Contains(shown[2:], "${") {
		return Token{}, end + 1, fmt.Sprintf("token %q is inside another one", shown)
	}
	if strings.Contains(shown, "null") {
		return Token{}, end + 1, fmt.Sprintf("token %q: null is no default", shown)
	}
	return Token{}, end + 1, fmt.Sprintf("unsupported interpolation token %q", shown)
}

func literalJSON(s string) (json.RawMessage, error) {
	if strings.HasPrefix(s, "'") {
		return json.Marshal(s[1 : len(s)-1])
	}
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return nil, err
	}
	return json.RawMessage(s), nil
}

// Hint says what tokens there are.
const Hint = "tokens are ${input.NAME}, ${input.NAME | default: VALUE} and, in env, ${credential.NAME}; $${ writes a plain ${"

// String is the text of a value inside another text.
func String(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw) // canonical
}
