package permission

import (
	"github.com/tenonrun/tenon/internal/pathid"
)

// Base names the directory that a relative path of a call starts from.
type Base string

// Bases. With BaseCwd, a call without a working directory starts from the root;
// BaseRoot never falls back to the working directory.
const (
	BaseRoot Base = "root"
	BaseCwd  Base = "cwd"
)

// Absent says what a call is about that names no path.
type Absent string

// Values of Absent.
const (
	AbsentNone Absent = "none" // no path
	AbsentBase Absent = "base" // the base itself
)

// Target declares which path a call is about. It is a fact of the tool.
type Target struct {
	Slot    string // name of the argument that holds the path; empty for a tool without one
	Base    Base
	Absent  Absent
	Pattern string // name of the argument whose absolute glob pattern names a directory when Slot is absent; may be empty
	Op      Op
}

// Bases are the directories of one call, as spelled and unfolded. An empty one is
// not known.
type Bases struct {
	Root string // of the task: it does not move
	Cwd  string // the tracked working directory
}

func (b Bases) of(which Base) string {
	if which == BaseCwd && b.Cwd != "" {
		return b.Cwd
	}
	return b.Root
}

// Spelling is what a call names, before it is located: the pair that whoever
// canonicalises and whoever opens must both use.
type Spelling struct {
	Kind    pathid.Kind // NoPath, AtPath when there is a spelling, Unreadable or Refused
	Spelled string
	Base    string
	Family  pathid.Family
	Word    pathid.Word // of Refused
	Reason  string      // of Unreadable
	Pattern string      // rest of the glob pattern that named the directory
}

// Select finds what a call names, by the declaration of its tool and by nothing
// else. A nil target is a tool without a declaration.
func Select(t *Target, args map[string]any, b Bases) Spelling {
	if t == nil || t.Slot == "" && t.Absent != AbsentBase {
		return Spelling{}
	}
	base := b.of(t.Base)
	if v, ok := args[t.Slot]; ok && v != nil {
		s, text := v.(string)
		if !text {
			return Spelling{}
		}
		return Spelling{Kind: pathid.AtPath, Spelled: s, Base: base, Family: pathid.ReadingFamily(b.Root, b.Cwd, s)}
	}
	if t.Absent != AbsentBase {
		return Spelling{}
	}
	if pattern, ok := args[t.Pattern].(string); ok && t.Pattern != "" {
		f := pathid.ReadingFamily(b.Root, b.Cwd, pattern)
		switch cut := pathid.SplitGlob(pattern, f); cut.Kind {
		case pathid.Refused:
			return Spelling{Kind: pathid.Refused, Spelled: pattern, Family: f, Word: cut.Word}
		case pathid.AtPath:
			return Spelling{Kind: pathid.AtPath, Spelled: cut.Base, Base: base, Family: f, Pattern: cut.Pattern}
		}
	}
	f := pathid.ReadingFamily(b.Root, b.Cwd, "")
	if base == "" {
		return Spelling{Kind: pathid.Unreadable, Family: f, Reason: "it names no path, and there is no directory that it would start from"}
	}
	return Spelling{Kind: pathid.AtPath, Spelled: base, Base: base, Family: f}
}
