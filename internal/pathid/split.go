package pathid

import "strings"

// Split is an absolute glob pattern in two parts.
type Split struct {
	Kind    Kind   // AtPath when it was cut, Refused, or NoPath when it is not absolute
	Base    string // the directory that is searched, as spelled
	Pattern string // the rest, relative to Base
	Word    Word   // of Refused
}

// meta are the characters that begin the part of a pattern that is no path.
const meta = "*?[{"

// SplitGlob cuts an absolute glob pattern where its literal directory ends. With
// the family None, the pattern's own is taken. A pattern without metacharacters
// is cut before its last component; separators behind that do not count.
//
// Whoever searches must keep the rest below Base: it may hold "..", and braces
// that expand to "..", both are to be refused.
func SplitGlob(pattern string, f Family) Split {
	if f == None {
		f = Of(pattern)
	}
	switch {
	case f == Win32:
		return splitWin32(pattern)
	case f == Posix && strings.HasPrefix(pattern, "/"):
		base, rest := cut(pattern, func(c byte) bool { return c == '/' })
		if base == "" {
			base = "/"
		}
		return Split{Kind: AtPath, Base: base, Pattern: rest}
	}
	return Split{}
}

func splitWin32(pattern string) Split {
	if pattern == "" {
		return Split{}
	}
	w := Screen(pattern, Win32)
	if isUNC(pattern) && (w == "" || w == IncompleteUNC) && isOpenUNC(pattern) {
		return Split{}
	}
	if w != "" {
		return Split{Kind: Refused, Word: w}
	}
	vol := volume(pattern)
	if vol == "" && !isSep(pattern[0]) {
		return Split{}
	}
	base, rest := cut(pattern[len(vol):], isSep)
	switch {
	case base != "":
		base = vol + base
	case vol == "":
		base = pattern[:1]
	case len(vol) == 2:
		base = vol + `\`
	default:
		base = vol
	}
	return Split{Kind: AtPath, Base: base, Pattern: rest}
}

// isOpenUNC reports whether a metacharacter stands before the end of the share.
func isOpenUNC(pattern string) bool {
	head := volume(pattern)
	if head == "" {
		head = pattern
	}
	return strings.ContainsAny(head[2:], meta)
}

// cut divides at the last separator before the first metacharacter.
func cut(pattern string, sep func(byte) bool) (base, rest string) {
	end := strings.IndexAny(pattern, meta)
	if end < 0 {
		for end = len(pattern); end > 0 && sep(pattern[end-1]); end-- {
		}
		pattern = pattern[:end]
	}
	for end--; end >= 0; end-- {
		if sep(pattern[end]) {
			return pattern[:end], pattern[end+1:]
		}
	}
	return "", pattern
}
