package source

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// text is the document as it was written.
type text struct {
	name      string
	data      []byte
	firstLine int
}

// check refuses what neither parser is to see.
func (t *text) check(limits Limits) Errors {
	if len(t.data) > limits.MaxBytes {
		return Errors{{File: t.name, Code: CodeTooLarge, Message: fmt.Sprintf("%d bytes are more than the %d allowed", len(t.data), limits.MaxBytes)}}
	}
	if !utf8.Valid(t.data) {
		at := 0
		for at < len(t.data) {
			r, size := utf8.DecodeRune(t.data[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		return Errors{t.errorAt(t.position(at), CodeEncoding, fmt.Sprintf("byte 0x%02x is not UTF-8", t.data[at]), "save the file as UTF-8")}
	}
	if at := bytes.IndexByte(t.data, 0); at >= 0 {
		return Errors{t.errorAt(t.position(at), CodeEncoding, "a NUL byte", "remove it")}
	}
	return nil
}

// position finds line and column of a byte offset.
func (t *text) position(offset int) Position {
	before := t.data[:min(offset, len(t.data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return Position{t.name, bytes.Count(before, []byte{'\n'}) + t.firstLine, utf8.RuneCount(before[start:]) + 1}
}

func (t *text) errorAt(p Position, code, message, hint string) Error {
	return Error{File: p.File, Line: p.Line, Column: p.Column, Code: code, Message: message, Hint: hint, Excerpt: t.excerpt(p)}
}

// excerptWidth is the number of characters of a line that are shown.
const excerptWidth = 100

// excerpt shows the line of p and a caret below its column.
func (t *text) excerpt(p Position) string {
	rest := t.data
	for line := t.firstLine; line < p.Line; line++ {
		_, after, ok := bytes.Cut(rest, []byte{'\n'})
		if !ok {
			return ""
		}
		rest = after
	}
	if p.Line < t.firstLine {
		return ""
	}
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	runes := []rune(strings.Map(printable, string(bytes.TrimSuffix(line, []byte{'\r'}))))
	column := max(0, min(p.Column-1, len(runes)))
	from := 0
	if len(runes) > excerptWidth {
		from = max(0, min(column-excerptWidth/2, len(runes)-excerptWidth))
		runes = runes[from:min(len(runes), from+excerptWidth)]
	}
	number := fmt.Sprintf("%5d", p.Line)
	return fmt.Sprintf("%s | %s\n%s | %s^", number, string(runes), strings.Repeat(" ", len(number)), strings.Repeat(" ", column-from))
}

// printable keeps one column for every character.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
		return ' '
	}
	return r
}
