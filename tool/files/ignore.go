package files

import (
	"regexp"
	"strings"
)

// ignoreFile is the content of one .gitignore: patterns below a directory.
type ignoreFile struct {
	dir   string // slash-separated, relative to the top; empty for the top
	rules []ignoreRule
}

type ignoreRule struct {
	match   *regexp.Regexp // of the path below the directory of the file
	negated bool
	dirOnly bool
}

// maxIgnore is the size of an ignore file that is read, in bytes.
const maxIgnore = 1 << 20

// parseIgnore reads the text of an ignore file, as git does. Patterns that cannot
// be understood match nothing.
func parseIgnore(dir, s string) ignoreFile {
	f := ignoreFile{dir: dir}
	s = strings.TrimPrefix(s, "\ufeff")
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if r, ok := parseRule(trimRight(line)); ok {
			f.rules = append(f.rules, r)
		}
	}
	return f
}

// trimRight drops spaces at the end that no backslash keeps.
func trimRight(s string) string {
	for strings.HasSuffix(s, " ") {
		slashes := 0
		for i := len(s) - 2; i >= 0 && s[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}

func parseRule(line string) (r ignoreRule, ok bool) {
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.negated, line = true, line[1:]
	}
	if len(line) > 1 && strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, line[:len(line)-1]
	}
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	body, ok := wildcard(line, anchored)
	if !ok {
		return r, false
	}
	if !anchored {
		body = `(?:.*/)?` + body
	}
	var err error
	r.match, err = regexp.Compile(`(?s)\A` + body + `\z`)
	return r, err == nil
}

// wildcard translates a pattern of git into a regular expression. In a pattern
// without a slash, which is matched against names, "**" means "*".
func wildcard(p string, pathname bool) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '\\':
			if i++; i == len(p) {
				return "", false
			}
			b.WriteString(quoteByte(p[i]))
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			class, n, ok := class(p[i:])
			if !ok {
				return "", false
			}
			b.WriteString(class)
			i += n - 1
		case '*':
			n := 1
			for i+n < len(p) && p[i+n] == '*' {
				n++
			}
			b.WriteString(stars(p, &i, n, pathname))
		default:
			b.WriteString(quoteByte(c))
		}
	}
	return b.String(), true
}

// stars translates a run of n stars at *i and moves behind it.
func stars(p string, i *int, n int, pathname bool) string {
	start, end := *i, *i+n
	*i = end - 1
	alone := n >= 2 && pathname && (start == 0 || p[start-1] == '/')
	switch {
	case alone && end < len(p) && p[end] == '/':
		*i = end
		return `(?:.*/)?`
	case alone && end == len(p) && start == 0:
		return `.*`
	case alone && end == len(p):
		return `.+`
	}
	return `[^/]*`
}

// quoteByte matches one byte of a name. Names are matched in Latin-1, one
// character a byte, so that any name can be.
func quoteByte(c byte) string { return regexp.QuoteMeta(string(rune(c))) }

var classNames = map[string]string{"alnum": `0-9A-Za-z`, "alpha": `A-Za-z`, "blank": ` \t`, "cntrl": `\x00-\x1f\x7f`, "digit": `0-9`, "graph": `!-.0-~`,
	"lower": `a-z`, "print": ` -.0-~`, "punct": "!-.:-@\\[-`{-~", "space": `\t-\r `, "upper": `A-Z`, "xdigit": `0-9A-Fa-f`}

// class translates a bracket expression at the begin of p and gives its length.
func class(p string) (expr string, n int, ok bool) {
	i, negated := 1, false
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		negated = true
		i++
	}
	var set strings.Builder
	for first := true; ; first = false {
		if i >= len(p) {
			return "", 0, false
		}
		if p[i] == ']' && !first {
			break
		}
		if rest, named := strings.CutPrefix(p[i:], "[:"); named {
			name, _, closed := strings.Cut(rest, ":]")
			members, known := classNames[name]
			if closed && !known {
				return "", 0, false
			}
			if closed {
				set.WriteString(members)
				i += len(name) + 4
				continue
			}
		}
		lo, next, good := member(p, i)
		if !good {
			return "", 0, false
		}
		hi := lo
		if next+1 < len(p) && p[next] == '-' && p[next+1] != ']' {
			if hi, next, good = member(p, next+1); !good {
				return "", 0, false
			}
		}
		set.WriteString(between(lo, min(hi, '/'-1)) + between(max(lo, '/'+1), hi))
		i = next
	}
	i++
	return closeClass(set.String(), negated), i, true
}

// closeClass builds a class that never takes a slash.
func closeClass(set string, negated bool) string {
	switch {
	case negated:
		return `[^/` + set + `]`
	case set == "":
		return `[^\x00-\x{10ffff}]`
	}
	return `[` + set + `]`
}

func member(p string, i int) (c byte, next int, ok bool) {
	if p[i] == '\\' {
		i++
	}
	if i >= len(p) {
		return 0, 0, false
	}
	return p[i], i + 1, true
}

// between is a range of a class, or nothing.
func between(lo, hi byte) string {
	if lo > hi {
		return ""
	}
	return classByte(lo) + "-" + classByte(hi)
}

func classByte(c byte) string {
	const hex = "0123456789abcdef"
	return `\x` + string(hex[c>>4]) + string(hex[c&15])
}

// ignores reports whether the ignore files say that a path is not of interest.
// The last rule of the deepest file wins. Directories above it are asked before.
func ignores(files []ignoreFile, rel string, dir bool) bool {
	name := asLatin1.decode([]byte(rel))
	for i := len(files) - 1; i >= 0; i-- {
		below := name
		if d := files[i].dir; d != "" {
			var ok bool
			if below, ok = strings.CutPrefix(name, asLatin1.decode([]byte(d))+"/"); !ok {
				continue
			}
		}
		for j := len(files[i].rules) - 1; j >= 0; j-- {
			r := files[i].rules[j]
			if (!r.dirOnly || dir) && r.match.MatchString(below) {
				return !r.negated
			}
		}
	}
	return false
}
