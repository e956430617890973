package permission

import (
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/pathid"
)

// Warning tells about a rule that can do nothing, or not what it seems to say.
type Warning struct {
	Rule    Rule
	Problem string // one clause
	Next    string // what to write instead; may be empty
}

func (w Warning) String() string {
	s := w.Rule.String() + ": " + w.Problem
	if w.Next != "" {
		s += "; " + w.Next
	}
	return s
}

func (s *Set) warnf(r *Rule, next, format string, args ...any) {
	s.warnings = append(s.warnings, Warning{Rule: *r, Problem: fmt.Sprintf(format, args...), Next: next})
}

// warn looks at every rule, in order.
func (s *Set) warn() {
	byIndex := map[int]*row{}
	for _, r := range s.rows {
		byIndex[r.index] = r
	}
	for i := range s.rules {
		r := &s.rules[i]
		key := ToolKey(r.Tool)
		switch {
		case !s.known(key):
			next := ""
			if near := s.nearest(key); near != "" {
				next = "did you mean " + near + "?"
			}
			s.warnf(r, next, "there is no tool %s, so the rule is never asked", r.Tool)
		case r.Whole || has(commandTools, key):
		case has(plainTools, key) && r.Effect == Allow:
			s.warnf(r, "write "+r.Tool+" without parentheses", "%s takes no path, so the rule allows nothing", r.Tool)
		case has(plainTools, key):
			s.warnf(r, "write "+r.Tool+" without parentheses", "%s takes no path, so the rule is taken for all its calls", r.Tool)
		default:
			s.warnPattern(r, byIndex[i])
		}
	}
	s.warnShadowed()
}

func (s *Set) known(key string) bool {
	if strings.HasPrefix(key, "mcp__") || has(pathTools, key) || has(commandTools, key) || has(plainTools, key) {
		return true
	}
	for _, name := range s.scope.Tools {
		if ToolKey(name) == key {
			return true
		}
	}
	return false
}

func (s *Set) nearest(key string) string {
	best, least := "", 3
	for _, list := range [][]string{pathTools, commandTools, plainTools, s.scope.Tools} {
		for _, name := range list {
			if d := distance(key, ToolKey(name)); d < least {
				best, least = name, d
			}
		}
	}
	return best
}

// distance is the number of letters to change, up to a few.
func distance(a, b string) int {
	if len(a) > 32 || len(b) > 32 {
		return 99
	}
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		last, diag := i+1, prev[0]
		prev[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost = 1 + min(diag, prev[j+1], last)
			}
			diag, last = prev[j+1], cost
			prev[j+1] = cost
		}
	}
	return prev[len(b)]
}

// systemDirs are the directories that people mean when they write "/etc".
var systemDirs = []string{"etc", "home", "Users", "usr", "var", "tmp", "root", "opt", "private", "mnt", "media", "Volumes", "proc", "sys", "dev", "srv", "bin", "Applications", "Library", "System"}

func (s *Set) warnPattern(r *Rule, w *row) {
	p := &w.pattern
	switch {
	case p.carve && !s.carvesSomething(w):
		s.warnf(r, "put it behind the rule that it makes an exception from, in the same file", "it takes nothing out: only earlier %s rules relative to the task root of the same file can have exceptions", r.Effect)
	case p.unusable != "" && (r.Effect == Allow || p.carve):
		s.warnf(r, "", "it is not usable and allows nothing: %s", p.unusable)
	case p.unusable != "":
		s.warnf(r, "", "it is not usable as a pattern and guards the path %s as it is written: %s", joinPath(p.head(), s.scope.Family), p.unusable)
	case s.scope.Family == pathid.Posix && pathid.Of(strings.TrimPrefix(r.Pattern, "!")) == pathid.Win32:
		s.warnf(r, "", "it is a Windows path and can never match here")
	case strings.HasPrefix(r.Pattern, "~") && p.relative && !p.carve:
		s.warnf(r, "write ~/… or //… with the whole path", "only ~/ means a home, so it names a file beside the task root")
	}
	s.warnAnchor(r, w)
	if strings.ContainsAny(r.Pattern, "{}") && !strings.Contains(r.Pattern, `\{`) {
		s.warnf(r, "write one rule for each", "braces are ordinary characters in rules")
	}
}

// warnAnchor tells about a single "/" that looks like the root of the file system,
// and about patterns that leave the directory that they are relative to.
func (s *Set) warnAnchor(r *Rule, w *row) {
	text := strings.TrimPrefix(r.Pattern, "!")
	if strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		first, _, _ := strings.Cut(text[1:], "/")
		if has(systemDirs, first) {
			s.warnf(r, "write /"+text+" for the root of the file system", "it means %s", "/"+strings.Join(w.pattern.head(), "/"))
		}
	}
	if !w.pattern.relative || w.pattern.unusable != "" {
		return
	}
	if root := components(s.scope.Root, s.scope.Family); root != nil && !hasPrefix(w.pattern.head(), root) {
		s.warnf(r, "write the whole path behind //", "it leaves the task root and means %s", joinPath(w.pattern.head(), s.scope.Family))
	}
}

func (s *Set) carvesSomething(c *row) bool {
	for _, r := range s.rows {
		for _, other := range r.carves {
			if other == c {
				return true
			}
		}
	}
	return false
}

// warnShadowed tells about rules that a rule for the whole tool makes idle.
func (s *Set) warnShadowed() {
	for _, r := range s.rows {
		if r.rule.Effect == Deny {
			continue
		}
		for _, by := range s.rows {
			if by.rule.Whole && by.rule.Effect > r.rule.Effect && reaches(ToolKey(by.rule.Tool), ToolKey(r.rule.Tool)) {
				s.warnf(&s.rules[r.index], "", "it does nothing: %s holds for every call", by.rule)
				break
			}
		}
	}
}
