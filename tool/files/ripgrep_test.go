package files_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/files"
)

// TestMain plays ripgrep when the binary is started by that name, so that the
// help of it is tested where it is not installed.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "rg" {
		os.Exit(playRipgrep(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func playRipgrep(args []string) int {
	if args[len(args)-1] == "--version" {
		fmt.Println("ripgrep 0.0.0 (played)")
		return 0
	}
	fold, code := false, 1
	var texts []*regexp.Regexp
	for i, a := range args {
		if a == "--" {
			args = args[i+1:]
			break
		}
		fold = fold || a == "--ignore-case"
		if s, ok := strings.CutPrefix(a, "--regexp="); ok {
			s = strings.ReplaceAll(s, "(?-u:", "(?:")
			if fold {
				s = "(?i)" + s
			}
			texts = append(texts, regexp.MustCompile(s))
		}
	}
	for _, name := range args {
		raw, err := os.ReadFile(name)
		if err != nil {
			return 2
		}
		for _, s := range texts {
			if s.Match(raw) {
				fmt.Printf("%s\x00", name)
				code = 0
				break
			}
		}
	}
	return code
}

func TestRipgrepPlayed(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rg := filepath.Join(t.TempDir(), "rg")
	if err := os.Symlink(self, rg); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	for i := range 90 {
		b.Put(t, fmt.Sprintf("t/%d/f", i), strings.Repeat("x\n", i%7)+[]string{"alpha", "ALPHA beta", "beta", "\x00alpha", wide(binary.LittleEndian, "\xff\xfe", "alpha")}[i%5])
	}
	for _, args := range []m{{"pattern": "alpha"}, {"pattern": "alpha|beta", "mode": "count", "ignore_case": true}, {"pattern": "al.ha", "mode": "files"}, {"pattern": "nothing"}} {
		without, helped := with(b, "", args), with(b, rg, args)
		if without.Text != helped.Text || string(without.Data) != string(helped.Data) {
			t.Errorf("%v: with\n%s\nwithout\n%s", args, helped.Text, without.Text)
		}
	}
}

// TestRipgrep needs the program rg; without it, it says so.
func TestRipgrep(t *testing.T) {
	t.Parallel()
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed: install rg to compare with it")
	}
	differ(t, rg)
}

// TestRipgrepBroken holds that a search does not depend on ripgrep.
func TestRipgrepBroken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 100 {
		b.Put(t, fmt.Sprintf("f%d", i), "needle\n")
	}
	want := b.ok("grep", m{"pattern": "needle", "mode": "count"})
	for _, rg := range []string{"/nowhere/rg", "/bin/sleep", "/bin/echo", b.Path("f1")} {
		if got := with(b, rg, m{"pattern": "needle", "mode": "count"}); got.Text != want {
			t.Errorf("%s: %q", rg, got.Text)
		}
	}
}

// with runs grep with the help of a program.
func with(b *bench, rg string, args m) tool.Result {
	b.t.Helper()
	set, err := tool.NewSet(files.Tools(files.Config{Ripgrep: rg})...)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := set.Run(b.t.Context(), "grep", mustJSON(b.t, args), b.call)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// differ compares searches with and without ripgrep on random trees.
func differ(t *testing.T, rg string) {
	b := newBench(t)
	word := rapid.SampledFrom([]string{"alpha", "beta", "Alpha", "k", "\u212a", "straße", "é", "foo.bar", "\t", " ", "x\ry", "\x1b[0m", "aaa", "12", ""})
	line := rapid.Map(rapid.SliceOfN(word, 0, 4), func(w []string) string { return strings.Join(w, " ") })
	content := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(line, 0, 5).Draw(t, "lines"), rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			return wide(binary.LittleEndian, "\xff\xfe", s)
		case 1:
			return wide(binary.BigEndian, "\xfe\xff", s)
		case 5: // the mark of an encoding that it does not have
			return "\xff\xfe" + s
		case 2:
			return s + "\xe9 alpha\n"
		case 3:
			return s + "\x00\nalpha"
		case 4:
			return "\xef\xbb\xbf" + s
		}
		return s
	})
	pattern := rapid.SampledFrom([]string{"alpha", "(?i)alpha", "alpha|beta", "^alpha$", "al+pha", "(al|be)(pha|ta)", "foo\\.bar", "(?i)K", "(?i)kk|straSSe", "(?:alpha ){2}", "[a]lpha", "\\balpha\\b",
		"a.pha", ".", "^$", "\\d\\d", "stra[ß]e", "(?i)straße", "é alpha", "aa", "x?beta", "beta$", "\\x1b\\[0m", "(alpha)?beta", "alpha.*beta"})
	rapid.Check(t, func(t *rapid.T) {
		b.remove("t")
		some := rapid.SliceOfN(content, 4, 12).Draw(t, "contents")
		for i := range 66 { // from 64 on ripgrep is asked
			b.Put(b.t, fmt.Sprintf("t/%s/f %d", []string{"a", "b/c", "-x", "é\xff"}[i%4], i), some[i*7%len(some)])
		}
		for range 2 {
			args := m{"pattern": pattern.Draw(t, "pattern"), "mode": rapid.SampledFrom([]string{"content", "files", "count"}).Draw(t, "mode"), "path": "t", "limit": rapid.SampledFrom([]int{3, 500}).Draw(t, "limit"), "ignore_case": rapid.Bool().Draw(t, "fold")}
			without, helped := with(b, "", args), with(b, rg, args)
			if without.Text != helped.Text || string(without.Data) != string(helped.Data) {
				t.Fatalf("%v: with ripgrep\n%s\n%s\nwithout\n%s\n%s", args, helped.Text, helped.Data, without.Text, without.Data)
			}
		}
	})
}
