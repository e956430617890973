package vm

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// MaxSource is the largest script in bytes.
const MaxSource = 512 << 10

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
		return "", at(1, 1, "the script is larger than 512 KiB", "pass large data in args, or let agents read files")
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

// chainers are characters of which long rows nest without brackets: operators
// before a value, arrows, and conditional expressions.
const chainers = "!~-+=?:"

// maxChain is how many chaining characters may follow each other with nothing
// but words between them.
const maxChain = 4000

// flat refuses texts that would need too deep a stack to be parsed.
func flat(file, text string) error {
	depth, chain := 0, 0
	for i := range len(text) {
		switch c := text[i]; c {
		case '(', '[', '{':
			depth++
			if depth > maxNesting {
				return tooDeep(file, text, i)
			}
		case ')', ']', '}':
			depth = max(0, depth-1)
		case ';', ',', '\'', '"', '`', '/', '*', '#', '|':
			chain = 0
		default:
			if strings.IndexByte(chainers, c) < 0 {
				continue
			}
			if chain++; chain > maxChain {
				return tooDeep(file, text, i)
			}
		}
	}
	return nil
}

func tooDeep(file, text string, pos int) error {
	line, col := position(text, pos)
	return &SyntaxError{File: file, Line: line, Column: col, Msg: "the code is nested too deep", Hint: "split it into functions"}
}
