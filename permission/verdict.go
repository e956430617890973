package permission

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/pathid"
)

// View names one of the places that a path stands for.
type View string

// Views of a path.
const (
	NoView    View = ""
	Lexical   View = "lexical"   // as written
	Canonical View = "canonical" // where it leads
	Hop       View = "hop"       // passed by a link on the way
)

// Verdict is what a judge says about a call, and why.
type Verdict struct {
	Effect  Effect
	Tool    string
	Op      Op
	Rule    *Rule   // that decided; nil when a default did or nothing spoke
	View    View    // that the rule or the default reached
	Path    string  // that view
	From    string  // location in the rule that leads elsewhere, when its twin was reached
	To      string  // where From leads
	Default string  // the default that decided, one clause
	Reason  string  // one clause for people and models
	Reading Reading // what the call is about
}

// Explain tells a verdict in lines for people: the path with both ends, the rule
// and what it reached.
func (v *Verdict) Explain() []string {
	lines := []string{fmt.Sprintf("%s: %s %s", v.Effect, v.Tool, v.About())}
	lines = append(lines, v.Reading.explain()...)
	if v.Rule != nil {
		line := "rule: " + v.Rule.String()
		if v.View != NoView {
			line += fmt.Sprintf(", reached by the %s path %s", v.View, inLine(v.Path))
		}
		if v.From != "" {
			line += fmt.Sprintf(", as %s leads to %s", inLine(v.From), inLine(v.To))
		}
		lines = append(lines, line)
	}
	if v.Default != "" {
		lines = append(lines, "default: "+v.Default)
	}
	return append(lines, "because "+v.Reason)
}

// About tells what the call is about, both ends of it: "a -> /b".
func (v *Verdict) About() string {
	r := &v.Reading
	switch r.Kind {
	case pathid.NoPath:
		return "(no path)"
	case pathid.AtPath:
		if r.Canonical != "" && r.Canonical != r.Lexical {
			return inLine(r.Spelled) + " -> " + inLine(r.Canonical)
		}
		return inLine(r.Lexical)
	}
	return fmt.Sprintf("%q", r.Spelled)
}

// inLine is a path that stays on its line: one that a terminal would not show as
// it is stands in quotes.
func inLine(path string) string {
	if utf8.ValidString(path) && !strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return path
	}
	return strconv.Quote(path)
}

func (r *Reading) explain() []string {
	switch r.Kind {
	case pathid.NoPath:
		return []string{"reading: the call names no path"}
	case pathid.Unreadable:
		return []string{fmt.Sprintf("reading: %q cannot be located: %s", r.Spelled, r.Reason)}
	case pathid.Refused:
		return []string{fmt.Sprintf("reading: %q is refused: %s", r.Spelled, r.Word)}
	}
	lines := []string{fmt.Sprintf("reading: %q from %q", r.Spelled, r.Base), "lexical: " + inLine(r.Lexical)}
	switch {
	case r.Canonical != "":
		lines = append(lines, "canonical: "+inLine(r.Canonical))
	case r.Asked:
		lines = append(lines, fmt.Sprintf("canonical: no answer (%v)", r.Cause))
	default:
		lines = append(lines, "canonical: not asked")
	}
	if len(r.Hops) > 0 {
		hops := make([]string, len(r.Hops))
		for i, hop := range r.Hops {
			hops[i] = inLine(hop)
		}
		lines = append(lines, "hops: "+strings.Join(hops, ", "))
	}
	if r.Unread && r.Canonical != "" {
		lines = append(lines, fmt.Sprintf("unread: %v", r.Cause))
	}
	return lines
}
