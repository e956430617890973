package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/internal/text"
)

func TestBounds(t *testing.T) {
	t.Parallel()
	type bound func(string, int, string) string
	tests := []struct {
		name   string
		f      bound
		s      string
		n      int
		marker string
		want   string
	}{
		{"head fits", text.Head, "héllo", 5, "…", "héllo"},
		{"head cut", text.Head, "héllo!", 5, "…", "héll…"},
		{"head no room", text.Head, "abcdef", 2, "[cut]", "ab"},
		{"head none", text.Head, "abc", 0, "", ""},
		{"head negative", text.Head, "abc", -1, "…", ""},
		{"head repairs", text.Head, "a\xffb", 3, "", "a\ufffdb"},
		{"tail fits", text.Tail, "héllo", 5, "…", "héllo"},
		{"tail cut", text.Tail, "ahéllo", 5, "…", "…éllo"},
		{"tail no room", text.Tail, "abcdef", 2, "[cut]", "ef"},
		{"head bytes fits", text.HeadBytes, "héllo", 6, "!", "héllo"},
		{"head bytes cut", text.HeadBytes, "ééé", 5, "", "éé"},
		{"head bytes marker", text.HeadBytes, "ééé", 5, "..", "é.."},
		{"head bytes repair grows", text.HeadBytes, "\xff\x00\xff", 3, "", "\ufffd"},
		{"head bytes runs of rubbish", text.HeadBytes, strings.Repeat("\xff", 9) + "é", 8, "", "\ufffdé"},
		{"tail bytes cut", text.TailBytes, "ééé", 5, "", "éé"},
		{"tail bytes marker", text.TailBytes, "ééé", 5, "..", "..é"},
		{"tail bytes rubbish", text.TailBytes, "abc" + strings.Repeat("\x80", 9), 6, "", "\ufffd"},
		{"tail bytes none", text.TailBytes, "abc", 0, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.f(tt.s, tt.n, tt.marker); got != tt.want {
				t.Errorf("(%q, %d, %q) = %q, want %q", tt.s, tt.n, tt.marker, got, tt.want)
			}
		})
	}
}

func TestBoundsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		marker := rapid.SampledFrom([]string{"", "…", "[cut]"}).Draw(t, "marker")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		check := func(name, got string, size int) {
			if !utf8.ValidString(got) || size > n {
				t.Fatalf("%s = %q: %d of at most %d", name, got, size, n)
			}
		}
		head, tail := text.Head(s, n, marker), text.Tail(s, n, marker)
		check("Head", head, utf8.RuneCountInString(head))
		check("Tail", tail, utf8.RuneCountInString(tail))
		head, tail = text.HeadBytes(s, n, marker), text.TailBytes(s, n, marker)
		check("HeadBytes", head, len(head))
		check("TailBytes", tail, len(tail))
		if utf8.ValidString(s) && (!strings.HasPrefix(s, text.HeadBytes(s, n, "")) || !strings.HasSuffix(s, text.TailBytes(s, n, ""))) {
			t.Fatalf("cut of %q is no part of it", s)
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"prompt", "shell", "verify", "condition", "approval", "map", "end"}
	tests := map[string]string{
		"promt": "prompt", "Shell": "shell", "verfiy": "verify", "conditoin": "condition", "aproval": "approval", "mpa": "map",
		"ned": "end", "": "", "x": "", "database": "", "zz": "", "shellfish": "", "éprompt": "prompt",
	}
	for in, want := range tests {
		if got := text.Nearest(in, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
	if got := text.Nearest("ab", []string{"ac", "aa"}); got != "aa" {
		t.Errorf("of equally near names got %q", got)
	}
	if got := text.Nearest("ab", nil); got != "" {
		t.Errorf("of no names got %q", got)
	}
}
