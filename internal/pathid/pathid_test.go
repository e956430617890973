package pathid_test

import (
	_ "embed"
	"encoding/json"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/internal/pathid"
)

func TestFamily(t *testing.T) {
	t.Parallel()
	for spelled, want := range map[string]pathid.Family{
		"": pathid.None, "a": pathid.None, "C:": pathid.None, "C:x": pathid.None, `\x`: pathid.None, "~/x": pathid.None, `\??`: pathid.None, "1:/x": pathid.None,
		"/": pathid.Posix, "//srv/share": pathid.Posix,
		`C:\`: pathid.Win32, "z:/x": pathid.Win32, `\\srv`: pathid.Win32, `\??\C:\x`: pathid.Win32, `\\?\C:\x`: pathid.Win32,
	} {
		if got := pathid.Of(spelled); got != want {
			t.Errorf("family of %q is %v, not %v", spelled, got, want)
		}
	}
	for _, c := range []struct {
		root, cwd, spelled string
		want               pathid.Family
	}{
		{"/p", `C:\w`, `C:\x`, pathid.Posix},
		{"p", `C:\w`, "/x", pathid.Win32},
		{"", "", `C:\x`, pathid.Win32},
		{"", "", "x", pathid.Posix},
	} {
		if got := pathid.ReadingFamily(c.root, c.cwd, c.spelled); got != c.want {
			t.Errorf("%+v is read as %v", c, got)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spelled, base string
		family        pathid.Family
		want          string // a path, "?" for unreadable, "!word" for refused
	}{
		{"a/../b", "/p", pathid.Posix, "/p/b"},
		{"", "/p/", pathid.Posix, "/p"},
		{"../../../x", "/p", pathid.Posix, "/x"},
		{"//etc", "", pathid.Posix, "/etc"},
		{"x", "", pathid.Posix, "?"},
		{"x", "rel", pathid.Posix, "?"},
		{`C:\x`, "/p", pathid.Posix, `/p/C:\x`},
		{"NUL", "/p", pathid.Posix, "/p/NUL"},
		{"a\x00b\xff", "/p", pathid.Posix, "/p/a\x00b\xff"},
		{"x", `C:\p`, pathid.Win32, `C:\p\x`},
		{"/x", `D:\p`, pathid.Win32, `D:\x`},
		{`\x\..\..\y`, `\\srv\share\d`, pathid.Win32, `\\srv\share\y`},
		{`..\..`, `C:\p`, pathid.Win32, `C:\`},
		{`\\srv\share`, `C:\p`, pathid.Win32, `\\srv\share\`},
		{"C:x", `C:\p`, pathid.Win32, "?"},
		{"C:", `C:\p`, pathid.Win32, "?"},
		{"x", "/p", pathid.Win32, "?"},
		{"x", `\p`, pathid.Win32, "?"},
		{"", `C:\p`, pathid.Win32, `C:\p`},
		{"x", `\\?\C:\p`, pathid.Win32, "!verbatim"},
		{`\\?\C:\x`, `C:\p`, pathid.Win32, "!verbatim"},
		{`/\?\C:\x`, `C:\p`, pathid.Win32, "!verbatim"},
		{`\\.`, `C:\p`, pathid.Win32, "!device"},
		{`\??\C:\x`, `C:\p`, pathid.Win32, "!nt-object"},
		{`\??`, `C:\p`, pathid.Win32, "!nt-object"},
		{`\\`, `C:\p`, pathid.Win32, "!unc-incomplete"},
		{`\\srv\`, `C:\p`, pathid.Win32, "!unc-incomplete"},
		{`\\\srv\share`, `C:\p`, pathid.Win32, "!unc-incomplete"},
		{`a\NUL .txt`, `C:\p`, pathid.Win32, "!reserved-name"},
		{"com¹.log", `C:\p`, pathid.Win32, "!reserved-name"},
		{"ConOut$", `C:\p`, pathid.Win32, "!reserved-name"},
		{"com0", `C:\p`, pathid.Win32, `C:\p\com0`},
		{"console", `C:\p`, pathid.Win32, `C:\p\console`},
		{"comx", `C:\p`, pathid.Win32, `C:\p\comx`},
		{"comab", `C:\p`, pathid.Win32, `C:\p\comab`},
		{"a.t:b", `C:\p`, pathid.Win32, "!stream"},
		{"a:b", `C:\p`, pathid.Win32, "?"},
		{"ab:", `C:\p`, pathid.Win32, "!stream"},
		{`C:\x:s`, `C:\p`, pathid.Win32, "!stream"},
		{"C:x:s", `C:\p`, pathid.Win32, "!stream"},
	} {
		p := pathid.Place(c.spelled, c.base, c.family)
		got := p.Path
		switch p.Kind {
		case pathid.Unreadable:
			got = "?"
			if p.Reason == "" {
				t.Errorf("%q under %q: no reason", c.spelled, c.base)
			}
		case pathid.Refused:
			got = "!" + string(p.Word)
		}
		if got != c.want {
			t.Errorf("%q under %q (%v) is %q, not %q", c.spelled, c.base, c.family, got, c.want)
		}
		if p.Family != c.family {
			t.Errorf("%q under %q: family %v", c.spelled, c.base, p.Family)
		}
	}
}

// The page was written by the path.win32.resolve of Node.js 20.
//
//go:embed testdata/win32.json
var resolved []byte

func TestPlaceAgreesWithNode(t *testing.T) {
	t.Parallel()
	var page []struct{ Base, Spelled, Path string }
	if err := json.Unmarshal(resolved, &page); err != nil {
		t.Fatal(err)
	}
	for _, c := range page {
		if p := pathid.Place(c.Spelled, c.Base, pathid.Win32); p.Path != c.Path {
			t.Errorf("%q under %q is %q (%v %s), Node says %q", c.Spelled, c.Base, p.Path, p.Kind, p.Word, c.Path)
		}
	}
}

func TestSplitGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern    string
		family     pathid.Family
		base, rest string // base "-" for none, "!word" for refused
	}{
		{"/p/**", pathid.Posix, "/p", "**"},
		{"/", pathid.Posix, "/", ""},
		{"//*", pathid.Posix, "/", "*"},
		{"/p//*", pathid.Posix, "/p/", "*"},
		{"/p/a/", pathid.None, "/p", "a"},
		{`/p\*`, pathid.Posix, "/", `p\*`},
		{"p/*", pathid.Posix, "-", ""},
		{"", pathid.None, "-", ""},
		{`C:\*`, pathid.Win32, `C:\`, "*"},
		{`C:\`, pathid.Win32, `C:\`, ""},
		{`C:x\*`, pathid.Win32, "-", ""},
		{`\*`, pathid.Win32, `\`, "*"},
		{"/x/*", pathid.Win32, "/x", "*"},
		{`\\srv\share\*`, pathid.Win32, `\\srv\share`, "*"},
		{`\\srv\share\a`, pathid.Win32, `\\srv\share`, "a"},
		{`\\srv\share`, pathid.Win32, `\\srv\share`, ""},
		{`\\srv\*`, pathid.Win32, "-", ""},
		{`\\s*\share\x`, pathid.Win32, "-", ""},
		{`\\s*`, pathid.Win32, "-", ""},
		{`\\srv`, pathid.Win32, "!unc-incomplete", ""},
		{`\\?\C:\*`, pathid.None, "!verbatim", ""},
		{`C:\nul\*`, pathid.Win32, "!reserved-name", ""},
		{`//?/*`, pathid.Posix, "/", "?/*"},
	} {
		s := pathid.SplitGlob(c.pattern, c.family)
		base := s.Base
		switch s.Kind {
		case pathid.NoPath:
			base = "-"
		case pathid.Refused:
			base = "!" + string(s.Word)
		}
		if base != c.base || s.Pattern != c.rest {
			t.Errorf("%q is cut into %q and %q, not %q and %q", c.pattern, base, s.Pattern, c.base, c.rest)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value             string
		coordinate, grant bool
	}{
		{"/p", true, true}, {"/", true, false}, {"/p/", true, false}, {"/a/../b", true, false}, {"//p", true, false},
		{"p", false, false}, {"", false, false}, {"~/p", false, false}, {`\x`, false, false}, {"C:", false, false}, {"C:x", false, false},
		{`\\x`, false, false}, {`\\x\`, false, false}, {`\??\C:\x`, false, false},
		{"/p\n", true, false}, {"/p\u0085", true, false}, {"/PROGRA~1", true, true}, {"/p. ", true, true},
		{`C:\p`, true, true}, {"C:/p", true, false}, {`C:\`, true, false}, {`C:\p\`, true, false},
		{`C:\PROGRA~1`, true, false}, {`C:\LONGFI~2.TXT`, true, false}, {`C:\a~b`, true, true}, {`C:\~1`, true, true}, {`C:\longername~1`, true, true},
		{`C:\a~1.html`, true, true}, {`C:\a~`, true, true},
		{`C:\a. \b`, true, false}, {`C:\con`, true, false}, {`C:\a:b`, true, false},
		{`\\srv\share`, true, false}, {`\\srv\share\`, true, false}, {`\\srv\share\d`, true, true}, {`\\?\C:\p`, true, false},
		{"/" + strings.Repeat("a", 1023), true, true}, {"/" + strings.Repeat("a", 1024), true, false},
		{"/" + strings.Repeat("😀", 511) + "a", true, true}, {"/" + strings.Repeat("😀", 512), true, false},
	} {
		if err := pathid.CheckCoordinate(c.value); (err == nil) != c.coordinate {
			t.Errorf("coordinate %.40q: %v", c.value, err)
		}
		if err := pathid.CheckGrant(c.value); (err == nil) != c.grant {
			t.Errorf("grant %.40q: %v", c.value, err)
		}
	}
}

func spellings() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{"a", "b", "..", ".", "", "C:", "c", "NUL", "?", "*", "x:y", "é", " ", "a.", "**", "{a,b}", "~1"})
	sep := rapid.SampledFrom([]string{"/", `\`})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		if rapid.Bool().Draw(t, "rooted") {
			b.WriteString(sep.Draw(t, "sep"))
		}
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			b.WriteString(part.Draw(t, "part"))
			b.WriteString(sep.Draw(t, "sep"))
		}
		b.WriteString(part.Draw(t, "last"))
		return b.String()
	})
}

func TestPlaceIsAFixedPoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := spellings().Draw(t, "spelled")
		base := rapid.SampledFrom([]string{"/p/q", `C:\p`, `\\srv\share\d`, ""}).Draw(t, "base")
		checkFixed(t, s, base, rapid.SampledFrom([]pathid.Family{pathid.Posix, pathid.Win32}).Draw(t, "family"))
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
	Helper()
}

// checkFixed says what holds for every placement.
func checkFixed(t fataler, spelled, base string, f pathid.Family) {
	t.Helper()
	p := pathid.Place(spelled, base, f)
	if p.Kind != pathid.AtPath {
		if p.Path != "" {
			t.Fatalf("%q under %q is %v and has the path %q", spelled, base, p.Kind, p.Path)
		}
		return
	}
	if !pathid.Qualified(p.Path, f) {
		t.Fatalf("%q under %q gives %q, which is not qualified", spelled, base, p.Path)
	}
	if again := pathid.Identity(p.Path, f); again != p {
		t.Fatalf("%q under %q gives %q and again %+v", spelled, base, p.Path, again)
	}
	sep := "/"
	if f == pathid.Win32 {
		sep = `\`
		if strings.Contains(p.Path, "/") {
			t.Fatalf("%q under %q gives %q with a slash", spelled, base, p.Path)
		}
	} else if path.Clean(p.Path) != p.Path {
		t.Fatalf("%q is not folded", p.Path)
	}
	for part := range strings.SplitSeq(p.Path, sep) {
		if part == ".." || part == "." {
			t.Fatalf("%q under %q gives %q", spelled, base, p.Path)
		}
	}
}

func FuzzPlace(f *testing.F) {
	for _, s := range []string{"a/../b", `C:\x`, `\\?\x`, `\\srv\share\..\x`, "C:x", "//x", "nul.txt", "\x00", "a:b"} {
		f.Add(s, `C:\p`, true)
		f.Add(s, "/p", false)
	}
	f.Fuzz(func(t *testing.T, spelled, base string, win bool) {
		family := pathid.Posix
		if win {
			family = pathid.Win32
		}
		checkFixed(t, spelled, base, family)
	})
}

func FuzzSplitGlob(f *testing.F) {
	for _, s := range []string{"/a/*", `C:\*`, `\\srv\share\[a]`, "/", "//*", "/a/", "{/etc,x}/y", `\\?\C:\*`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, pattern string, win bool) {
		family := pathid.Posix
		if win {
			family = pathid.Win32
		}
		s := pathid.SplitGlob(pattern, family)
		if s.Kind != pathid.AtPath {
			if s.Base != "" || s.Pattern != "" {
				t.Fatalf("%q is %v and has parts %q, %q", pattern, s.Kind, s.Base, s.Pattern)
			}
			return
		}
		if strings.ContainsAny(s.Base, "*?[{") {
			t.Fatalf("%q: the base %q holds a metacharacter", pattern, s.Base)
		}
		full := `C:\`
		if !win {
			full = "/"
		}
		if pathid.Place(s.Base, full, family).Kind != pathid.AtPath {
			t.Fatalf("%q: the base %q has no place", pattern, s.Base)
		}
		joined := strings.TrimLeft(strings.TrimPrefix(pattern, s.Base), `/\`)
		if rest := strings.TrimLeft(s.Pattern, `/\`); strings.ContainsAny(pattern, "*?[{") && joined != rest {
			t.Fatalf("%q is cut into %q and %q, which do not join", pattern, s.Base, s.Pattern)
		}
	})
}

func FuzzCheckGrant(f *testing.F) {
	for _, s := range []string{"/p", `C:\p`, `\\srv\share\d`, "/p/", "/p\x7f", `C:\PROGRA~1`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if pathid.CheckGrant(s) != nil {
			return
		}
		if pathid.CheckCoordinate(s) != nil {
			t.Fatalf("%q is a grant and no coordinate", s)
		}
		p := pathid.Identity(s, pathid.Of(s))
		if p.Kind != pathid.AtPath || p.Path != s || utf8.RuneCountInString(s) > pathid.MaxGrant {
			t.Fatalf("%q is a grant and %+v", s, p)
		}
	})
}
