package rule_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/tool/shell/rule"
)

func TestAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		words   []string
		want    bool
	}{
		{"git status", words("git status"), true},
		{"git status", words("git status -s"), false},
		{"git  status ", words("git status"), true},
		{"git status", words("gits tatus"), false},
		{"npm run:*", words("npm run"), true},
		{"npm run:*", words("npm run build --x"), true},
		{"npm run:*", words("npm runx"), false},
		{"npm run test:*", words("npm run test:unit"), false},
		{"npm run test:unit", words("npm run test:unit"), true},
		{"npm run *", words("npm run build"), true},
		{"npm run *", words("npm run"), true},
		{"ls*", words("lsof"), true},
		{"ls *", words("lsof"), false},
		{"git * main", words("git push origin main"), true},
		{"git * main", words("git main"), false},
		{"* --version", words("go --version"), true},
		{"", words("anything at all"), true},
		{"*", words("anything at all"), true},
		{":*", words("anything at all"), true},
		{`echo \*`, words("echo *"), true},
		{`echo \*`, words("echo x"), false},
		{"git push x", []string{"git", "push x"}, false},
		{"git push x", []string{"git push", "x"}, false},
		{"git commit:*", []string{"git", "commit", "-m", "\x00"}, true},
		{"git commit -m x", []string{"git", "commit", "-m", "\x00"}, false},
		{"git:*", []string{"\x00", "status"}, false},
		{"git:*", []string{"git\x00", "status"}, false},
		{"echo:*", []string{"echo", ""}, true},
		{"echo", []string{"echo", ""}, false},
		{"cd:*", words("python x"), false},
	} {
		if got := parse(t, c.pattern).Allows(c.words); got != c.want {
			t.Errorf("Bash(%s) allows %q: %t, want %t", c.pattern, c.words, got, c.want)
		}
	}
}

func TestReaches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		words   []string
		want    rule.Match
	}{
		{"rm:*", words("rm -rf x"), rule.Yes},
		{"rm:*", words("rmdir x"), rule.No},
		{"git push:*", []string{"git push", "x"}, rule.Yes},
		{"git push:*", []string{"git", "\x00"}, rule.Maybe},
		{"git push:*", []string{"\x00"}, rule.Maybe},
		{"git push:*", []string{"git", "pu\x00"}, rule.Maybe},
		{"git push:*", []string{"git", "pull", "\x00"}, rule.No},
		{"git push:*", []string{"\x00", "status"}, rule.Maybe},
		{"git push", []string{"git", "push\x00"}, rule.Maybe},
		{"curl", []string{"echo", "\x00"}, rule.No},
		{"*", nil, rule.Yes},
	} {
		if got := parse(t, c.pattern).Reaches(c.words); got != c.want {
			t.Errorf("Bash(%s) reaches %q: %d, want %d", c.pattern, c.words, got, c.want)
		}
	}
}

func TestParseRefusesNUL(t *testing.T) {
	t.Parallel()
	if _, err := rule.Parse("a\x00b"); err == nil {
		t.Error("a NUL was taken")
	}
}

func words(s string) []string { return strings.Fields(s) }

func parse(t interface{ Fatal(...any) }, pattern string) rule.Rule {
	r, err := rule.Parse(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAllowIsNarrower checks that what a rule allows it also reaches as a denial,
// and that hiding a part of a command never makes it allowed.
func TestAllowIsNarrower(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := parse(t, rapid.StringMatching(`[ab* :]{0,6}`).Draw(t, "pattern"))
		shown := rapid.SliceOfN(rapid.StringMatching(`[ab ]{0,3}`), 1, 3).Draw(t, "words")
		if r.Allows(shown) && r.Reaches(shown) != rule.Yes {
			t.Fatalf("Bash(%s) allows %q and does not reach it", r, shown)
		}
		hidden := append([]string(nil), shown...)
		hidden[rapid.IntRange(0, len(hidden)-1).Draw(t, "hide")] = "\x00"
		if r.Allows(hidden) && !r.Allows(shown) {
			t.Fatalf("Bash(%s) allows %q and not %q", r, hidden, shown)
		}
		if r.Reaches(shown) == rule.Yes && r.Reaches(hidden) == rule.No {
			t.Fatalf("Bash(%s) reaches %q and not %q", r, shown, hidden)
		}
	})
}
