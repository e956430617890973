package notes

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/tenonrun/tenon/internal/text"
)

// Bounds of notes.
const (
	MaxText  = 4000 // of one note, in code points
	MaxSlug  = 64   // of a name, in bytes
	MaxNotes = 500  // of one scope
	maxFile  = 64 << 10
)

// Scope says for whom a note is.
type Scope string

// Scopes of notes.
const (
	Project Scope = "project"
	User    Scope = "user" // all projects of the person
)

// Kind says what a note is.
type Kind string

// Kinds of notes.
const (
	Lesson     Kind = "lesson"
	Pattern    Kind = "pattern"
	Correction Kind = "correction"
	Preference Kind = "preference"
)

// Note is a text to remember. Scope and Slug name it.
type Note struct {
	Scope Scope
	Kind  Kind
	Slug  string // lower-case letters, digits and single "-" between them
	Text  string // Markdown
}

// check returns what is wrong with a note.
func (n Note) check() error {
	if err := checkName(n.Scope, n.Slug); err != nil {
		return err
	}
	switch n.Kind {
	case Lesson, Pattern, Correction, Preference:
	default:
		return fmt.Errorf("the note %s has the kind %q: write lesson, pattern, correction or preference", n.Slug, n.Kind)
	}
	switch length := len([]rune(n.Text)); {
	case strings.TrimSpace(n.Text) == "":
		return fmt.Errorf("the note %s is empty: remove it instead", n.Slug)
	case length > MaxText:
		return fmt.Errorf("the note %s has %d characters: shorten it to %d", n.Slug, length, MaxText)
	}
	return nil
}

func checkName(scope Scope, slug string) error {
	if scope != Project && scope != User {
		return fmt.Errorf("the scope %q of a note is not known: write project or user", scope)
	}
	ok := slug != "" && len(slug) <= MaxSlug && slug[0] != '-' && slug[len(slug)-1] != '-' && !strings.Contains(slug, "--")
	for _, r := range slug {
		ok = ok && (r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	}
	if !ok {
		return fmt.Errorf("the slug %.80q of a note is not usable: write up to %d lower-case letters, digits and single dashes", slug, MaxSlug)
	}
	return nil
}

// clean returns a text as it is kept: valid UTF-8, "\n" at the end of lines, and
// no other control or format characters than tabs.
func clean(s string) string {
	s = strings.ReplaceAll(text.Repair(s), "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s))
}

// field is a line of front matter.
type field struct{ key, value string }

// marshal returns a file: front matter and a text.
func marshal(head []field, body string) []byte {
	var b strings.Builder
	b.WriteString("---\n")
	for _, f := range head {
		b.WriteString(f.key + ": " + strings.ReplaceAll(f.value, "\n", " ") + "\n")
	}
	b.WriteString("---\n" + body + "\n")
	return []byte(b.String())
}

// unmarshal reads front matter and text. Keys that are not known are for others.
func unmarshal(raw []byte) (head map[string]string, body string, err error) {
	all := clean(string(raw))
	rest, ok := strings.CutPrefix(all, "---\n")
	front, body, closed := strings.Cut("\n"+rest, "\n---")
	if !ok || !closed || body != "" && body[0] != '\n' {
		return nil, "", fmt.Errorf("it has no front matter between two lines of \"---\"")
	}
	head = map[string]string{}
	for line := range strings.SplitSeq(front, "\n") {
		if key, value, ok := strings.Cut(line, ":"); ok {
			head[strings.TrimSpace(key)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return head, strings.TrimSpace(body), nil
}

// Text shows notes as data, within maxRunes code points: the first ones whole, as
// many as fit, and how many are left out.
func Text(list []Note, maxRunes int) string {
	var b strings.Builder
	room := maxRunes
	for i, n := range list {
		one := fmt.Sprintf("[%s %s] %s:\n%s\n", n.Scope, n.Kind, n.Slug, clean(n.Text))
		more := fmt.Sprintf("(%d more are left out)\n", len(list)-i)
		if size := len([]rune(one)); size+len(more) <= room {
			room -= size
			b.WriteString(one)
			continue
		}
		if len(more) <= room {
			b.WriteString(more)
		}
		break
	}
	return b.String()
}
