package permission

import (
	"strings"

	"github.com/tenonrun/tenon/internal/pathid"
)

// pattern is the pattern of a rule, placed: absolute components. It reaches every
// path that has a beginning which the components match.
type pattern struct {
	segs     []segment
	relative bool // written relative to the task root: carve-outs apply
	carve    bool // "!…"
	below    bool // it ended in "**"
	unusable string
}

// places are the directories that patterns are relative to.
type places struct {
	root, anchor, home string
	family             pathid.Family
}

// parsePattern places the pattern of a rule. A pattern that cannot be used has
// unusable set; for deny and ask its components are then its literal text.
func parsePattern(r *Rule, at places) pattern {
	text := r.Pattern
	var p pattern
	if strings.HasPrefix(text, "!") {
		p.carve, text = true, text[1:]
	}
	base, rest, deep := p.anchor(text, r.Effect, at)
	if p.unusable == "" && base == nil {
		p.unusable = "there is no directory that it is relative to"
	}
	parts, why := splitPattern(rest, at.family)
	if p.unusable == "" {
		p.unusable = why
	}
	if p.unusable != "" {
		if r.Effect != Allow && !p.carve && p.segs == nil {
			p.segs = literals(base, rest)
		}
		return p
	}
	p.segs = make([]segment, 0, len(base)+len(parts)+1)
	for _, name := range base {
		p.segs = append(p.segs, segment{kind: literal, text: name})
	}
	if deep {
		p.segs = append(p.segs, segment{kind: anyDeep, text: "**"})
	}
	for _, part := range parts {
		p.add(part, rootSize(base, at.family))
	}
	p.trim()
	return p
}

// rootSize is how many components of a path ".." does not leave.
func rootSize(path []string, f pathid.Family) int {
	switch {
	case f != pathid.Win32 || len(path) == 0:
		return 0
	case len(path[0]) == 1:
		return 1
	}
	return 2
}

// add appends a component and folds "." and "..", which stops at floor.
func (p *pattern) add(part string, floor int) {
	switch part {
	case ".":
		return
	case "..":
		n := len(p.segs)
		switch {
		case n <= floor:
		case p.segs[n-1].kind == literal:
			p.segs = p.segs[:n-1]
		default:
			p.unusable = `it has ".." behind a wildcard`
		}
		return
	}
	seg, why := parseSegment(part)
	if why != "" {
		p.unusable = why
		seg = segment{kind: literal, text: part}
	}
	if n := len(p.segs); seg.kind == anyDeep && n > 0 && p.segs[n-1].kind == anyDeep {
		return
	}
	p.segs = append(p.segs, seg)
}

// trim drops a trailing "**", which says what every pattern says already.
func (p *pattern) trim() {
	for n := len(p.segs); n > 0 && p.segs[n-1].kind == anyDeep; n-- {
		p.segs, p.below = p.segs[:n-1], true
	}
}

// anchor tells where a pattern begins: the components of a directory, the text
// below it, and whether it may match at any depth there.
func (p *pattern) anchor(text string, effect Effect, at places) (base []string, rest string, deep bool) {
	win := at.family == pathid.Win32
	switch {
	case win && pathid.Of(text) == pathid.Win32:
		if w := pathid.Screen(text, pathid.Win32); w != "" && w != pathid.ReservedName {
			p.unusable = "it is in a device namespace"
		}
		base, rest = winVolume(strings.ReplaceAll(text, `\`, "/"))
		return base, rest, false
	case strings.HasPrefix(text, "//"):
		rest = text[2:]
		if win && len(rest) > 0 && (len(rest) == 1 || rest[1] == '/') {
			rest = strings.ToLower(rest[:1]) + rest[1:]
		}
		return []string{}, rest, false
	case text == "~" || strings.HasPrefix(text, "~/") || win && strings.HasPrefix(text, `~\`):
		return components(at.home, at.family), strings.TrimPrefix(text, "~"), false
	case strings.HasPrefix(text, "/"):
		anchor := at.anchor
		if anchor == "" {
			anchor = at.root
		}
		return components(anchor, at.family), text[1:], false
	}
	p.relative = true
	if strings.HasPrefix(text, "./") || text == "." {
		return components(at.root, at.family), text[1:], false
	}
	return components(at.root, at.family), text, anyDepth(text, effect, at.family)
}

// anyDepth reports whether a relative pattern matches at every depth: one name,
// and for deny and ask a name with everything below it.
func anyDepth(text string, effect Effect, f pathid.Family) bool {
	text = strings.TrimRight(text, "/")
	if effect != Allow {
		text = strings.TrimRight(strings.TrimSuffix(text, "/**"), "/")
	}
	parts, _ := splitPattern(text, f)
	return len(parts) == 1 && parts[0] != ".." && parts[0] != "." && parts[0] != "**"
}

// winVolume divides a native Windows pattern, written with slashes, into its
// volume and the rest.
func winVolume(text string) (base []string, rest string) {
	if strings.HasPrefix(text, "//") {
		server, rest, _ := strings.Cut(text[2:], "/")
		return []string{serverName(server)}, rest
	}
	return []string{strings.ToLower(text[:1])}, text[2:]
}

// serverName is the first component of a network path. It cannot be taken for a
// drive.
func serverName(server string) string {
	if len(server) == 1 {
		return `\\` + server
	}
	return server
}

// splitPattern divides a pattern into components. In Win32 a backslash is a
// separator but before a bracket, a brace or "!", which names there can hold.
func splitPattern(text string, f pathid.Family) (parts []string, why string) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, "it holds a NUL"
	}
	start := 0
	cut := func(end int) {
		if end > start {
			parts = append(parts, text[start:end])
		}
		start = end + 1
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '/':
			cut(i)
		case text[i] != '\\':
		case f == pathid.Win32 && (i+1 == len(text) || !strings.ContainsRune(`[]{}!`, rune(text[i+1]))):
			cut(i)
		case i+1 < len(text) && text[i+1] != '/':
			i++
		}
	}
	cut(len(text))
	return parts, ""
}

// literals takes the text of an unusable pattern for a path.
func literals(base []string, rest string) []segment {
	segs := make([]segment, 0, len(base))
	for _, name := range base {
		segs = append(segs, segment{kind: literal, text: name})
	}
	for name := range strings.SplitSeq(rest, "/") {
		if name != "" && name != "." && name != "**" {
			segs = append(segs, segment{kind: literal, text: name})
		}
	}
	return segs
}

// components divides an absolute path. It is nil for a path that is not absolute
// in the family.
func components(path string, f pathid.Family) []string {
	if path == "" || !pathid.Qualified(path, f) {
		return nil
	}
	p := pathid.Identity(path, f)
	if p.Kind != pathid.AtPath {
		return nil
	}
	return splitPath([]string{}, p.Path, f)
}

// splitPath appends the components of an absolute folded path. A Win32 path
// begins with its drive as one lower-case letter, or with server and share.
func splitPath(buf []string, path string, f pathid.Family) []string {
	sep := byte('/')
	if f == pathid.Win32 {
		sep = '\\'
		if len(path) >= 2 && path[1] == ':' {
			buf = append(buf, driveNames[(path[0]|0x20-'a')%26])
			path = path[2:]
		} else if strings.HasPrefix(path, `\\`) {
			server, rest, _ := strings.Cut(path[2:], `\`)
			buf = append(buf, serverName(server))
			path = rest
		}
	}
	start := 0
	for i := 0; i <= len(path); i++ {
		if i == len(path) || path[i] == sep {
			if i > start {
				buf = append(buf, path[start:i])
			}
			start = i + 1
		}
	}
	return buf
}

var driveNames = strings.Split("abcdefghijklmnopqrstuvwxyz", "")

// joinPath is the reverse of splitPath.
func joinPath(parts []string, f pathid.Family) string {
	if f != pathid.Win32 {
		return "/" + strings.Join(parts, "/")
	}
	switch {
	case len(parts) == 0:
		return `\`
	case len(parts[0]) == 1:
		return strings.ToUpper(parts[0]) + `:\` + strings.Join(parts[1:], `\`)
	}
	return `\\` + strings.TrimPrefix(strings.Join(parts, `\`), `\\`)
}

// head returns the literal components that a pattern begins with.
func (p *pattern) head() []string {
	var names []string
	for _, s := range p.segs {
		if s.kind != literal {
			break
		}
		names = append(names, s.text)
	}
	return names
}

// moved returns the pattern with its first n components replaced.
func (p *pattern) moved(n int, to []string) pattern {
	q := *p
	q.segs = make([]segment, 0, len(p.segs)-n+len(to))
	for _, name := range to {
		q.segs = append(q.segs, segment{kind: literal, text: name})
	}
	q.segs = append(q.segs, p.segs[n:]...)
	return q
}

// levels calls yield with every length of a beginning of path that the pattern
// matches as a whole, the shortest first, until it returns false. It keeps the
// set of places in the pattern where a match may be, so many "**" cost no more.
func (p *pattern) levels(path []string, yield func(int) bool) {
	size := len(p.segs) + 1
	now, next := make([]bool, size), make([]bool, size)
	now[0] = true
	for pi := 0; ; pi++ {
		for si := range p.segs {
			if now[si] && p.segs[si].kind == anyDeep {
				now[si+1] = true
			}
		}
		if now[size-1] && !yield(pi) || pi == len(path) {
			return
		}
		clear(next)
		for si := range p.segs {
			switch s := &p.segs[si]; {
			case !now[si]:
			case s.kind == anyDeep:
				next[si] = true
			case s.match(path[pi]):
				next[si+1] = true
			}
		}
		now, next = next, now
	}
}

func (p *pattern) folded(f folding) pattern {
	q := *p
	q.segs = make([]segment, len(p.segs))
	for i, s := range p.segs {
		q.segs[i] = s.folded(f)
	}
	return q
}
