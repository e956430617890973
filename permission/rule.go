package permission

import (
	"errors"
	"fmt"
	"strings"
)

// Owner says whose word a rule is.
type Owner uint8

// Owners. A Repository's rules never lift the protection of places that run code.
const (
	Repository Owner = iota // files of the tree that is worked on
	User                    // the person's own configuration, answers and flags
	Host                    // the program itself
)

// Source is where a rule was written.
type Source struct {
	Name  string // a file, or what else it came from
	Line  int    // from 1; 0 when not known
	Owner Owner
}

func (s Source) String() string {
	if s.Line > 0 {
		return fmt.Sprintf("%s:%d", s.Name, s.Line)
	}
	return s.Name
}

// Rule is one row of a list of permissions.
type Rule struct {
	Effect  Effect
	Tool    string // as written
	Pattern string // of a path, or of a command for a tool that runs commands
	Whole   bool   // about every call of the tool; Pattern is empty
	Anchor  string // absolute directory that a leading single "/" means; empty for the task root
	Home    string // what "~" means; empty for the home of the Scope
	Source  Source
}

func (r *Rule) String() string {
	s := r.Effect.String() + " " + r.Tool
	if !r.Whole {
		s += "(" + r.Pattern + ")"
	}
	if r.Source.Name != "" {
		s += " at " + r.Source.String()
	}
	return s
}

// ParseRule reads "Tool" or "Tool(pattern)".
func ParseRule(effect Effect, text string, source Source) (Rule, error) {
	r := Rule{Effect: effect, Source: source}
	text = strings.TrimSpace(text)
	open := strings.IndexByte(text, '(')
	r.Tool = strings.TrimSpace(text)
	r.Whole = true
	if open >= 0 {
		if !strings.HasSuffix(text, ")") {
			return r, fmt.Errorf("the rule %q has no closing parenthesis at its end: write %s(…)", text, text[:open])
		}
		r.Tool, r.Pattern, r.Whole = strings.TrimSpace(text[:open]), text[open+1:len(text)-1], false
	}
	if r.Tool == "" || strings.ContainsAny(r.Tool, " \t\n/\\*)") {
		return r, fmt.Errorf("the rule %q does not begin with the name of a tool: write Tool or Tool(pattern)", text)
	}
	switch {
	case r.Whole:
	case r.Pattern == "" && effect == Allow:
		return r, errors.New("the rule " + text + " allows nothing: write " + r.Tool + " for every call, or a pattern")
	case r.Pattern == "", has(commandTools, ToolKey(r.Tool)) && (r.Pattern == "*" || r.Pattern == ":*"):
		r.Pattern, r.Whole = "", true
	}
	return r, nil
}

// EscapePath writes a path as a pattern that means this path only. In rules, a
// path that is absolute in the file system begins with "//".
func EscapePath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', ']', '\\', '!', '{', '}':
			b.WriteByte('\\')
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
