package load

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/workflow"
)

// Publish returns the text that w was loaded from with its digest written as its
// version; nothing else of the text changes. A document whose version is wrong
// must be loaded with Config.AnyVersion first.
func Publish(w *Workflow, data []byte) ([]byte, error) {
	place, written := w.Source.At("/version")
	var out []byte
	if written {
		at := offset(data, place)
		out = splice(data, at, scalar(data[at:]), `"`+string(w.Digest)+`"`)
	} else {
		place, _ = w.Source.KeyAt("/id")
		at := offset(data, place)
		out = splice(data, at, 0, newVersion(data, at, w.Digest))
	}
	again, err := source.Parse(w.Source.Name(), out, source.Limits{})
	if err == nil {
		c := &checker{doc: again, fields: object(again.JSON())}
		if _, digest := c.identity(); digest != w.Digest || len(c.issues) > 0 {
			err = fmt.Errorf("the text would mean something else")
		}
	}
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidDefinition, "writing the version into %s: %w", w.Source.Name(), err).
			WithHint("write it yourself: version: %s", w.Digest)
	}
	return out, nil
}

// offset is the byte offset of a place.
func offset(data []byte, p source.Position) int {
	at := 0
	for range p.Line - 1 {
		at += bytes.IndexByte(data[at:], '\n') + 1
	}
	if at == 0 {
		at = len(data) - len(bytes.TrimPrefix(data, []byte("\ufeff")))
	}
	for range p.Column - 1 {
		_, size := utf8.DecodeRune(data[at:])
		at += size
	}
	return at
}

func splice(data []byte, at, remove int, insert string) []byte {
	out := append([]byte{}, data[:at]...)
	out = append(out, insert...)
	return append(out, data[at+remove:]...)
}

// scalar is the length of the scalar that text begins with.
func scalar(text []byte) int {
	if len(text) > 0 && (text[0] == '"' || text[0] == '\'') {
		for i := 1; i < len(text); i++ {
			switch {
			case text[i] == '\\' && text[0] == '"':
				i++
			case text[i] == text[0]:
				return i + 1
			}
		}
	}
	if n := bytes.IndexAny(text, " \t\r\n,}#"); n >= 0 {
		return n
	}
	return len(text)
}

// newVersion is the text of a version that is put before the key at an offset,
// in the manner of the document.
func newVersion(data []byte, at int, digest workflow.Digest) string {
	line := data[bytes.LastIndexByte(data[:at], '\n')+1 : at]
	between := " "
	if len(bytes.TrimSpace(line)) == 0 {
		between = "\n" + string(line)
	}
	switch {
	case data[at] == '"' && flow(data):
		return fmt.Sprintf(`"version": "%s",%s`, digest, between)
	case flow(data):
		return fmt.Sprintf(`version: "%s",%s`, digest, between)
	}
	return fmt.Sprintf("version: \"%s\"\n%s", digest, line)
}

// flow reports whether a document is written with braces.
func flow(data []byte) bool {
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && line[0] != '%' && line != "---" {
			return strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(line, "---")), "{")
		}
	}
	return false
}
