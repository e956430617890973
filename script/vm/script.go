package vm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxSource is the largest script in bytes.
const MaxSource = 256 << 10

// maxNesting is how deep brackets may nest, also inside strings.
const maxNesting = 500

// Script is a checked script, ready for any number of machines.
type Script struct {
	File string
	Meta json.RawMessage // the literal; members in their order
	code string          // an expression: a function that runs the body
	maps []segment
	size int // lines of code
}

// Parse checks a script and lowers it. The file is only for messages. An error is
// a *SyntaxError.
func Parse(file string, source []byte) (*Script, error) {
	text, err := plain(file, source)
	if err != nil {
		return nil, err
	}
	meta, export, err := metaOf(file, text)
	if err != nil {
		return nil, err
	}
	if err := flat(file, text); err != nil {
		return nil, err
	}
	text = text[:export] + strings.Repeat(" ", len("export")) + text[export+len("export"):]
	low, err := lower(file, text)
	if err != nil {
		return nil, err
	}
	return &Script{File: file, Meta: meta, code: low.code, maps: low.maps, size: strings.Count(low.code, "\n") + 1}, nil
}

// Meta checks only the head of a script and returns its meta literal.
func Meta(file string, source []byte) (json.RawMessage, error) {
	text, err := plain(file, source)
	if err != nil {
		return nil, err
	}
	meta, _, err := metaOf(file, text)
	return meta, err
}

// plain removes the byte order mark and blanks the line of a shebang.
func plain(file string, source []byte) (string, error) {
	at := func(line, col int, msg, hint string) error {
		return &SyntaxError{File: file, Line: line, Column: col, Msg: msg, Hint: hint}
	}
	if len(source) > MaxSource {
		return "", at(1, 1, fmt.Sprintf("the script has %d bytes; at most %d (256 KiB) are taken", len(source), MaxSource), "pass large data in args, or let agents read files")
	}
	text := strings.TrimPrefix(string(source), "\ufeff")
	if !utf8.ValidString(text) {
		pos := 0
		for pos < len(text) {
			c, n := utf8.DecodeRuneInString(text[pos:])
			if c == utf8.RuneError && n == 1 {
				break
			}
			pos += n
		}
		line, col := position(text, pos)
		return "", at(line, col, "the script is not valid UTF-8", "save it as UTF-8")
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		line, col := position(text, i)
		return "", at(line, col, "the script holds a NUL character", "")
	}
	if strings.HasPrefix(text, "#!") {
		text = "//" + text[2:]
	}
	return text, nil
}

// Code nests without brackets too: by words and signs before what they apply to.
// A parser needs stack for each. maxWords bounds how many there are in a script,
// strings and comments included, maxChain how many signs follow each other, and
// maxCommas how many commas join values, for which it needs much time.
const (
	maxWords  = 25_000
	maxChain  = 4000
	maxCommas = 8000
)

// nesters are words that begin something inside which the next can begin.
var nesters = []string{"if", "for", "while", "else", "do", "new", "typeof", "void", "delete", "await", "yield", "extends", "with"}

// flat refuses texts that would need too deep a stack to be parsed.
func flat(file, text string) error {
	depth, chain, words, start := 0, 0, 0, 0
	var open [maxNesting + 2]struct { // brackets around
		kind   byte
		commas int
	}
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' {
			continue
		}
		if start < i && slices.Contains(nesters, text[start:i]) {
			words++
		}
		start = i + 1
		switch c {
		case '(', '[', '{':
			depth++
			open[depth].kind, open[depth].commas = c, 0
		case ')', ']', '}':
			depth = max(0, depth-1)
		case '?', '=', '*':
			words++
			chain++
		case '!', '~', '-', '+':
			chain++
		case ':':
			chain++
			open[depth].commas = 0
		case ',':
			chain = 0
			if open[depth].kind != '[' {
				open[depth].commas++
			}
		case ';':
			chain, open[depth].commas = 0, 0
		case '\'', '"', '`', '/', '#', '|':
			chain = 0
		}
		if depth > maxNesting || chain > maxChain || words > maxWords || open[depth].commas > maxCommas {
			line, col := position(text, i)
			return &SyntaxError{File: file, Line: line, Column: col, Msg: "the code is nested too deep", Hint: "split it into functions"}
		}
	}
	return nil
}
