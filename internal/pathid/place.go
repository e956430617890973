package pathid

import (
	"path"
	"strings"
)

// Kind is the kind of an answer about a spelling.
type Kind uint8

// Kinds of answers.
const (
	NoPath     Kind = iota // nothing names a path
	AtPath                 // Path is the answer
	Unreadable             // a path is named and cannot be located: Reason
	Refused                // the spelling is in a device namespace: Word
)

func (k Kind) String() string {
	switch k {
	case AtPath:
		return "path"
	case Unreadable:
		return "unreadable"
	case Refused:
		return "refused"
	}
	return "none"
}

// Placement is where a spelling is, links not followed.
type Placement struct {
	Kind   Kind
	Path   string // absolute and folded: no ".", "..", or doubled and trailing separators
	Family Family
	Word   Word   // of Refused
	Reason string // of Unreadable, one clause
}

// Place locates a spelling under a base, both as spelled, in a family. An empty
// base is a base that is not known.
func Place(spelled, base string, f Family) Placement {
	if f == Win32 {
		return placeWin32(spelled, base)
	}
	if spelled != "" && spelled[0] == '/' {
		return Placement{Kind: AtPath, Path: path.Clean(spelled), Family: Posix}
	}
	if !Qualified(base, Posix) {
		return Placement{Kind: Unreadable, Family: Posix, Reason: baseReason(base)}
	}
	return Placement{Kind: AtPath, Path: path.Clean(base + "/" + spelled), Family: Posix}
}

// Identity is the placement of an absolute path that somebody holds already, such
// as a canonical path or the target of a link.
func Identity(absolute string, f Family) Placement { return Place(absolute, "", f) }

func placeWin32(spelled, base string) Placement {
	if w := Screen(spelled, Win32); w != "" {
		return Placement{Kind: Refused, Family: Win32, Word: w}
	}
	switch {
	case volume(spelled) != "":
		return Placement{Kind: AtPath, Path: native(spelled), Family: Win32}
	case isDrive(spelled):
		return Placement{Kind: Unreadable, Family: Win32, Reason: "it starts from the current directory of a drive, which is not known"}
	}
	if w := Screen(base, Win32); w != "" {
		return Placement{Kind: Refused, Family: Win32, Word: w}
	}
	if !Qualified(base, Win32) {
		return Placement{Kind: Unreadable, Family: Win32, Reason: baseReason(base)}
	}
	full := base + `\` + spelled
	if spelled != "" && isSep(spelled[0]) {
		full = volume(base) + spelled
	}
	return Placement{Kind: AtPath, Path: native(full), Family: Win32}
}

func baseReason(base string) string {
	if base == "" {
		return "it is relative and there is no directory that it starts from"
	}
	return "it is relative and the directory that it starts from is not an absolute path of this system"
}

// native folds a fully qualified Win32 path and writes it with backslashes. A
// root keeps its separator.
func native(s string) string {
	vol := volume(s)
	rest := s[len(vol):]
	var b strings.Builder
	b.Grow(len(s) + 1)
	for i := range len(vol) {
		c := vol[i]
		if c == '/' {
			c = '\\'
		}
		b.WriteByte(c)
	}
	var stack [32]string
	parts := stack[:0]
	for rest != "" {
		n := segment(rest)
		switch name := rest[:n]; name {
		case "", ".":
		case "..":
			if len(parts) > 0 {
				parts = parts[:len(parts)-1]
			}
		default:
			parts = append(parts, name)
		}
		if n == len(rest) {
			break
		}
		rest = rest[n+1:]
	}
	if len(parts) == 0 {
		b.WriteByte('\\')
	}
	for _, p := range parts {
		b.WriteByte('\\')
		b.WriteString(p)
	}
	return b.String()
}
