package scope

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a turn did to a path outside of the scopes.
const (
	Added       = "added"
	Changed     = "changed"
	Removed     = "removed"
	Permissions = "permissions"
)

// What was done about it.
const (
	TakenAway = "taken away" // the path was new
	PutBack   = "put back"
)

// Change is a path outside of the scopes that a turn changed.
type Change struct {
	Repository string `json:"repository"`
	Path       string `json:"path"` // slash-separated, relative; quoted as in Go when it is not plain text
	What       string `json:"what"`
	Done       string `json:"done,omitempty"`   // "" when nothing could be done
	Reason     string `json:"reason,omitempty"` // why not
	Kept       string `json:"kept,omitempty"`   // absolute path of a copy of what the turn wrote; the text of a link
}

// Report is what a turn changed outside of the scopes, and what became of it.
type Report struct {
	Changes []Change `json:"changes,omitempty"`
}

// found is a Report that grows, on disk.
type found struct {
	Done    bool     `json:"done,omitempty"`
	Changes []Change `json:"changes,omitempty"`
}

// note takes up a change; one of the same path is replaced.
func (f *found) note(c Change) {
	for i, old := range f.Changes {
		if old.Repository == c.Repository && old.Path == c.Path {
			if c.Kept == "" {
				c.Kept = old.Kept
			}
			f.Changes[i] = c
			return
		}
	}
	f.Changes = append(f.Changes, c)
}

// Failed returns the changes that are still there.
func (r Report) Failed() []Change {
	var failed []Change
	for _, c := range r.Changes {
		if c.Done == "" {
			failed = append(failed, c)
		}
	}
	return failed
}

// maxTold bounds the paths that Text names.
const maxTold = 40

// Text tells the report to a person or a model, one line a path; "" when there is
// nothing to tell. It says which paths are still changed first.
func (r Report) Text() string {
	if len(r.Changes) == 0 {
		return ""
	}
	var b strings.Builder
	failed := r.Failed()
	fmt.Fprintf(&b, "The turn changed %s outside of the scope of the task. The scope holds:", paths(len(r.Changes)))
	told := 0
	for _, still := range []bool{true, false} {
		for _, c := range r.Changes {
			if (c.Done == "") != still || told == maxTold {
				continue
			}
			told++
			fmt.Fprintf(&b, "\n- [%s] %s: %s, ", c.Repository, c.Path, c.What)
			if b.WriteString(c.Done); still {
				fmt.Fprintf(&b, "not put back: %s", c.Reason)
			}
			if c.Kept != "" {
				fmt.Fprintf(&b, "; what was written is in %s", c.Kept)
			}
		}
	}
	if more := len(r.Changes) - told; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	if len(failed) > 0 {
		fmt.Fprintf(&b, "\n%s could not be put back: put them right by hand.", paths(len(failed)))
	}
	return b.String()
}

func paths(n int) string {
	if n == 1 {
		return "1 path"
	}
	return fmt.Sprintf("%d paths", n)
}

// shown is a path as text: quoted when it holds anything but printable
// characters.
func shown(at string) string {
	if !utf8.ValidString(at) || strings.ContainsFunc(at, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.QuoteToASCII(at)
	}
	return at
}

// plain is a short name for a file that is about a path.
func plain(at string) string {
	clean := strings.Map(func(r rune) rune {
		if odd(r) {
			return '_'
		}
		return r
	}, at)
	return clean[max(0, len(clean)-60):]
}

func odd(r rune) bool {
	return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
