package live

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// maxTail is how much of a stream is kept, in bytes: more than a line shows.
const maxTail = 1024

// tail is the end of what a model or command says.
type tail struct {
	kind   string // text, reasoning, tool, note
	text   []byte
	tokens int64
}

// add takes the next piece of a stream. Text grows; a tool's line replaces the
// one before.
func (t *tail) add(kind, text string) {
	if kind != t.kind || kind != "text" && kind != "reasoning" {
		t.kind, t.text = kind, t.text[:0]
	}
	t.text = append(t.text, text...)
	if over := len(t.text) - maxTail; over > maxTail {
		for over < len(t.text) && !utf8.RuneStart(t.text[over]) {
			over++
		}
		t.text = append(t.text[:0], t.text[over:]...)
	}
}

// label says what the stream is.
func (t *tail) label() string {
	switch t.kind {
	case "reasoning":
		return "thinks:"
	case "tool", "note":
		return ""
	}
	return "says:"
}

// clean makes text safe to draw: one line, no control of the terminal, nothing
// whose width terminals disagree about.
func clean(s string) string {
	s = ansi.Strip(strings.ToValidUTF8(s, "\ufffd"))
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = b.Len() > 0
			continue
		case unicode.Is(unicode.Cf, r), r >= 0xfe00 && r <= 0xfe0f: // joiners, directions, selectors
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
