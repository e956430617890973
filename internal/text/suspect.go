package text

import (
	"strings"
	"sync"
)

// search says which patterns are worth trying.
type search uint8

const (
	forKeys    search = 1 << iota // values of secret-looking keys
	forHeaders                    // authorization headers and schemes
	forTokens                     // well-known token prefixes
	forUsers                      // user names in URLs
	forQueries                    // parameters in URLs
)

// anchors are lower-case texts of which every match of a pattern contains one.
var anchors = map[search][]string{
	forKeys | forQueries: {"token", "secret", "passw", "credential", "key"},
	forKeys:              {"passphrase"},
	forHeaders:           {"bearer", "basic", "authorization"},
	forUsers:             {"://"},
	forQueries:           {"signature", "?auth=", "&auth=", "?sig=", "&sig="},
	forTokens: {
		"sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "akia", "asia", "xox", "aiza", "ya29.", "npm_", "hf_", "pypi-", "sk_live_", "sk_test_",
		"rk_live_", "rk_test_", "whsec_", "eyj",
	},
}

// anchor is what follows the first byte of an anchor.
type anchor struct {
	rest string
	what search
}

// tables hold the anchors by their first byte, and the first two bytes of anchors
// as a set, both in either case of ASCII letters.
type tables struct {
	byFirst [256][]anchor
	pairs   [1 << 16 / 64]uint64
}

var anchorTables = sync.OnceValue(makeTables)

func makeTables() *tables {
	t := &tables{}
	for what, texts := range anchors {
		for _, text := range texts {
			for _, first := range cases(text[0]) {
				t.byFirst[first] = append(t.byFirst[first], anchor{text[1:], what})
				for _, second := range cases(text[1]) {
					pair := int(first)<<8 | int(second)
					t.pairs[pair>>6] |= 1 << (pair & 63)
				}
			}
		}
	}
	return t
}

func cases(c byte) []byte {
	if c >= 'a' && c <= 'z' {
		return []byte{c, c - 'a' + 'A'}
	}
	return []byte{c}
}

// nextAnchor finds the first place from which a pattern may match, and which ones;
// -1 if there is none.
func nextAnchor(s string, from int) (at int, what search) {
	t := anchorTables()
	for i := from; i+1 < len(s); i++ {
		pair := int(s[i])<<8 | int(s[i+1])
		if t.pairs[pair>>6]&(1<<(pair&63)) == 0 {
			continue
		}
		for _, a := range t.byFirst[s[i]] {
			if hasPrefixFold(s[i+1:], a.rest) {
				what |= a.what
			}
		}
		if what != 0 {
			return i, what
		}
	}
	return -1, 0
}

func suspicious(s string) bool {
	at, _ := nextAnchor(s, 0)
	return at >= 0
}

// hasPrefixFold tells whether s begins with the lower-case ASCII prefix.
func hasPrefixFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := 0; i < len(prefix); i++ {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}

// Patterns are slow, lines may have megabytes: only the surroundings of anchors are
// searched.
const (
	before   = 256     // bytes: what a pattern needs to see before its anchor
	after    = 512     // and after it, up to the next quotation mark
	farAfter = 1 << 16 // at most
)

// hideLine redacts one line.
func hideLine(out *strings.Builder, line string) {
	done := 0
	at, what := nextAnchor(line, 0)
	for at >= 0 {
		start, end := max(done, at-before), surroundings(line, at)
		next, more := nextAnchor(line, at+1)
		for next >= 0 && next-before <= end {
			what |= more
			if next+after > end {
				end = surroundings(line, next)
			}
			next, more = nextAnchor(line, next+1)
		}
		out.WriteString(line[done:start])
		out.WriteString(hidePatterns(line[start:end], what))
		done, at, what = end, next, more
	}
	out.WriteString(line[done:])
}

func surroundings(line string, at int) int {
	end := at + after
	if end >= len(line) {
		return len(line)
	}
	far := min(len(line), at+farAfter)
	i := strings.IndexAny(line[end:far], `"'`)
	if i < 0 {
		return far
	}
	return end + i
}
