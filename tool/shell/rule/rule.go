// Package rule matches the words of a simple command against the patterns of Bash
// rules.
//
// Holds: the grammar of patterns. "git status" is that command and no other;
// "npm run:*" and "npm run *" are every command that begins with those words; a "*"
// elsewhere stands for any text, also for several words or none; "*" alone and ""
// are every command; a backslash takes its meaning from the character that follows.
//
// Guarantees: pure. A word stays a word: `git "push x"` is not what "git push x"
// allows. What a text does not show is never taken for what a rule allows, and
// never taken for what a rule denies without saying that it may be.
//
// Does not: parse command lines, look through wrappers, or decide between rules.
package rule

import (
	"fmt"
	"strings"
)

// NotShown is the byte that stands in a word for what the text does not show.
const NotShown = '\x00'

// Match is how a pattern meets a command.
type Match int

// Matches. Maybe: it depends on what the text does not show.
const (
	No Match = iota
	Maybe
	Yes
)

// Rule is one pattern. The zero value matches every command.
type Rule struct {
	pattern string
	tokens  []token
	all     bool
}

// token is one element of a pattern or of a text.
type token struct {
	c    byte // a byte, or the end of a word
	kind kind
}

type kind int

const (
	literal  kind = iota
	boundary      // between two words
	anything      // "*" of a pattern, or what a text does not show
)

// Parse reads a pattern.
func Parse(pattern string) (Rule, error) {
	r := Rule{pattern: pattern}
	p := strings.TrimSpace(pattern)
	if strings.IndexByte(p, NotShown) >= 0 {
		return r, fmt.Errorf("reading the rule Bash(%q): it holds a NUL: remove it", pattern)
	}
	if stem, ok := strings.CutSuffix(p, ":*"); ok && !strings.HasSuffix(stem, `\`) {
		p = strings.TrimRight(stem, " \t") + " *"
	}
	if p = strings.TrimSpace(p); p == "" || p == "*" {
		r.all = true
		return r, nil
	}
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\' && i+1 < len(p):
			i++
			r.tokens = append(r.tokens, token{c: p[i]})
		case c == '*':
			r.tokens = append(r.tokens, token{kind: anything})
		case c == ' ' || c == '\t':
			if last := len(r.tokens) - 1; last >= 0 && r.tokens[last].kind != boundary {
				r.tokens = append(r.tokens, token{kind: boundary})
			}
		default:
			r.tokens = append(r.tokens, token{c: c})
		}
	}
	return r, nil
}

// String returns the pattern as it was written.
func (r Rule) String() string { return r.pattern }

// Allows reports whether the rule, as one that allows, speaks of the command.
// What the text does not show must lie under a "*".
func (r Rule) Allows(words []string) bool {
	if r.all || r.pattern == "" {
		return true
	}
	return meets(r.tokens, tokens(words, false), false)
}

// Reaches tells whether the rule, as one that denies or asks, reaches the command.
// Here the limits of words do not count: `"git push"` is reached like `git push`.
func (r Rule) Reaches(words []string) Match {
	if r.all || r.pattern == "" {
		return Yes
	}
	text := tokens(words, true)
	switch {
	case meets(r.tokens, text, false):
		return Yes
	case meets(r.tokens, text, true):
		return Maybe
	}
	return No
}

// tokens spells words; loose makes spaces in words boundaries too.
func tokens(words []string, loose bool) []token {
	var out []token
	for i, w := range words {
		if i > 0 {
			out = append(out, token{kind: boundary})
		}
		for j := range len(w) {
			switch c := w[j]; {
			case c == NotShown:
				out = append(out, token{c: c, kind: anything})
			case loose && (c == ' ' || c == '\t' || c == '\n'):
				out = append(out, token{kind: boundary})
			default:
				out = append(out, token{c: c})
			}
		}
	}
	return out
}

// meets reports whether the pattern matches the whole text. With guess, what the
// text does not show may be anything; else only a "*" covers it.
func meets(pattern, text []token, guess bool) bool {
	// row[j] tells whether the pattern so far matches text[:j].
	row := make([]bool, len(text)+1)
	row[0] = true
	if guess {
		openUnknown(row, text)
	}
	for i, p := range pattern {
		next := make([]bool, len(text)+1)
		if p.kind == anything {
			// A last " *" is also met by nothing at all.
			seen := false
			for j := range row {
				seen = seen || row[j]
				next[j] = seen
			}
		} else {
			if p.kind == boundary && i == len(pattern)-2 && pattern[i+1].kind == anything && row[len(text)] {
				return true
			}
			for j, t := range text {
				switch {
				case row[j] && p == t:
					next[j+1] = true
				case guess && t.kind == anything && (row[j] || row[j+1]):
					next[j+1] = true
				}
			}
			if guess {
				openUnknown(next, text)
			}
		}
		row = next
	}
	return row[len(text)]
}

// openUnknown lets what the text does not show be empty.
func openUnknown(row []bool, text []token) {
	for j, t := range text {
		if row[j] && t.kind == anything {
			row[j+1] = true
		}
	}
}
