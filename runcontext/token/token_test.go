package token_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/runcontext/token"
)

func TestLex(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                               "plain",
		"a ${input.x} b":                      "a |<x>| b",
		"${ input.x | default: \"y\" }":       `<x="y">`,
		"${input.x | default: 'y'}":           `<x="y">`,
		"${credential.KEY}$${input.x}":        "<KEY>|${input.x}",
		"$5 and $$":                           "$5 and $$",
		"${env.HOME}":                         `!unsupported interpolation token "${env.HOME}"`,
		"${input.x":                           "!no end",
		"${input.${input.x}}":                 "}!inside another",
		"${input.x | default: null}":          "!null is no default",
		"${input.x | default: \"\\q\"} after": " after!no string",
	} {
		tokens, wrong := token.Lex(text)
		var parts []string
		for _, p := range tokens {
			part := p.Text
			if p.Input+p.Credential != "" {
				part = "<" + p.Input + p.Credential
				if p.Fallback != nil {
					part += "=" + string(p.Fallback)
				}
				part += ">"
			}
			parts = append(parts, part)
		}
		words, told, _ := strings.Cut(want, "!")
		if got := strings.Join(parts, "|"); got != words {
			t.Errorf("%s is read as %q, want %q", text, got, words)
		}
		if all := strings.Join(wrong, "; "); (all == "") != (told == "") || !strings.Contains(all, told) {
			t.Errorf("%s: told %q, want %q", text, all, told)
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`"a"`: "a", `7`: "7", `[1,"b"]`: `[1,"b"]`} {
		if got := token.String([]byte(raw)); got != want {
			t.Errorf("%s is %q", raw, got)
		}
	}
}
