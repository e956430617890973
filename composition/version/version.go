// Package version orders versions and reads requests for them.
//
// Holds: semantic versions with their precedence, the version of content that says
// none, and requests: the latest, a revision, one version, a range.
//
// Guarantees: strict, pure; what is not a version or a request is refused with what
// to write.
//
// Does not: know what has a version.
package version

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

var versionPattern = text.MustPattern(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$`)

// Version is a semantic version.
type Version struct {
	Major, Minor, Patch uint64
	Pre, Build          string
}

// Parse reads MAJOR.MINOR.PATCH with an optional pre-release and build.
func Parse(s string) (Version, error) {
	m := versionPattern().FindStringSubmatch(s)
	if m == nil {
		return Version{}, fmt.Errorf("%q is not a version: write MAJOR.MINOR.PATCH, such as 1.0.0", s)
	}
	v := Version{Pre: m[4], Build: m[5]}
	for i, part := range []*uint64{&v.Major, &v.Minor, &v.Patch} {
		n, err := strconv.ParseUint(m[i+1], 10, 63)
		if err != nil {
			return Version{}, fmt.Errorf("%q is not a version: %s is too large", s, m[i+1])
		}
		*part = n
	}
	for _, field := range []string{v.Pre, v.Build} {
		if field != "" && strings.Contains("."+field+".", "..") {
			return Version{}, fmt.Errorf("%q is not a version: there is nothing between two dots", s)
		}
	}
	for id := range strings.SplitSeq(v.Pre, ".") {
		if len(id) > 1 && id[0] == '0' && isDigits(id) {
			return Version{}, fmt.Errorf("%q is not a version: %s begins with a zero", s, id)
		}
	}
	return v, nil
}

// String gives the version as it was written.
func (v Version) String() string {
	s := fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	if v.Pre != "" {
		s += "-" + v.Pre
	}
	if v.Build != "" {
		s += "+" + v.Build
	}
	return s
}

// Compare orders by precedence: a pre-release comes before its version, and the
// build does not count.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch), comparePre(v.Pre, w.Pre))
}

func comparePre(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, y := as[i], bs[i]
		nx, ny := isDigits(x), isDigits(y)
		var c int
		switch {
		case nx && ny:
			c = cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
		case nx:
			c = -1
		case ny:
			c = 1
		default:
			c = strings.Compare(x, y)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Implicit is the version of content that says none.
func Implicit(digest string) string {
	return "0.0.0+" + digest[:min(12, len(digest))]
}

// Request is what a reference says about the version.
type Request struct {
	kind     kind
	revision int
	exact    string
	low, top Version // of a range: low <= v < top
}

type kind uint8

const (
	latest kind = iota
	byRevision
	exactly
	ranged
)

// ParseRequest reads "", latest, an integer, a version, or ^ or ~ and one to three
// numbers.
func ParseRequest(s string) (Request, error) {
	switch {
	case s == "" || s == "latest":
		return Request{}, nil
	case isDigits(s):
		n, err := strconv.Atoi(s)
		if err != nil || n == 0 || s[0] == '0' {
			return Request{}, fmt.Errorf("%q is not a revision: revisions count from 1", s)
		}
		return Request{kind: byRevision, revision: n}, nil
	case s[0] == '^' || s[0] == '~':
		return parseRange(s)
	}
	if _, err := Parse(s); err != nil {
		return Request{}, fmt.Errorf("%q is not a version: write latest, a revision such as 3, or a version such as 1.2.0", s)
	}
	return Request{kind: exactly, exact: s}, nil
}

func parseRange(s string) (Request, error) {
	parts := strings.Split(s[1:], ".")
	text := s[1:]
	if len(parts) < 3 {
		text += strings.Repeat(".0", 3-len(parts))
	}
	low, err := Parse(text)
	if err != nil {
		return Request{}, fmt.Errorf("%q is not a range: write ^1, ~1.2 or ^1.2.3", s)
	}
	top := Version{Major: low.Major + 1}
	switch {
	case s[0] == '~' && len(parts) > 1, s[0] == '^' && low.Major == 0 && low.Minor > 0:
		top = Version{Major: low.Major, Minor: low.Minor + 1}
	case s[0] == '^' && low.Major == 0 && len(parts) > 2:
		top = Version{Patch: low.Patch + 1}
	case s[0] == '^' && low.Major == 0 && len(parts) == 2:
		top = Version{Minor: 1}
	}
	return Request{kind: ranged, low: low, top: top}, nil
}

// Exact returns the version that is asked for, and whether it is one only.
func (r Request) Exact() (string, bool) { return r.exact, r.kind == exactly }

// Range reports whether any of several versions is asked for by numbers.
func (r Request) Range() bool { return r.kind == ranged }

// Fits reports whether an item of this version, as written in text, and of this
// revision answers the request. A pre-release answers a range only if the range
// begins with one of the same numbers.
func (r Request) Fits(version Version, text string, revision int) bool {
	switch r.kind {
	case byRevision:
		return revision == r.revision
	case exactly:
		return text == r.exact
	case ranged:
		if version.Pre != "" && (r.low.Pre == "" || version.Major != r.low.Major || version.Minor != r.low.Minor || version.Patch != r.low.Patch) {
			return false
		}
		return version.Compare(r.low) >= 0 && version.Compare(r.top) < 0
	case latest:
	}
	return true
}
