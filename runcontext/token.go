package runcontext

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// token is a piece of a text with interpolation: literal text, or a name.
type token struct {
	text       string
	input      string
	fallback   json.RawMessage // of an input: what its default says
	credential string
}

var tokenPattern = text.MustPattern(
	`^\$\{\s*(?:input\.([A-Za-z_][A-Za-z0-9_-]*)` +
		`(?:\s*\|\s*default:\s*("(?:[^"\\]|\\.)*"|'[^']*'|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false))?` +
		`|credential\.([A-Z][A-Z0-9_]*))\s*\}`)

// lex splits a text into tokens; "$${" stands for "${". What it cannot read comes
// as messages.
func lex(s string) (tokens []token, wrong []string) {
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			tokens = append(tokens, token{text: literal.String()})
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
			t, size, why := readToken(s)
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

// readToken reads the token at the beginning of s, and its size.
func readToken(s string) (token, int, string) {
	if m := tokenPattern().FindStringSubmatch(s); m != nil {
		t := token{input: m[1], credential: m[3]}
		if m[2] != "" {
			raw, err := literalJSON(m[2])
			if err != nil {
				return token{}, len(m[0]), fmt.Sprintf("the default %s is no string as JSON writes it", m[2])
			}
			t.fallback = raw
		}
		return t, len(m[0]), ""
	}
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return token{}, len(s), fmt.Sprintf("token %q has no end", text.Head(s, 40, "…"))
	}
	shown := s[:end+1]
	if strings.Contains(shown[2:], "${") {
		return token{}, end + 1, fmt.Sprintf("token %q is inside another one", shown)
	}
	if strings.Contains(shown, "null") {
		return token{}, end + 1, fmt.Sprintf("token %q: null is no default", shown)
	}
	return token{}, end + 1, fmt.Sprintf("unsupported interpolation token %q", shown)
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

const tokenHint = "tokens are ${input.NAME}, ${input.NAME | default: VALUE} and, in env, ${credential.NAME}; $${ writes a plain ${"

// stringify is the text of a value inside another text.
func stringify(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw) // canonical
}
