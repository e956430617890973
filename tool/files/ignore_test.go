package files_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/tool"
)

// git runs git in a directory, without any configuration of this machine.
func git(t interface{ Fatal(...any) }, dir string, args ...string) []byte {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal("git", args, err)
	}
	return out
}

// listed gives the paths that a glob result shows.
func listed(r tool.Result) []string {
	var list []string
	for line := range strings.SplitSeq(r.Text, "\n") {
		if !strings.HasPrefix(line, "[") && line != "" {
			list = append(list, line)
		}
	}
	slices.Sort(list)
	return list
}

// compare holds that glob finds what git does not ignore.
func compare(t interface{ Fatal(...any) }, b *bench, what any) {
	r, err := b.set.Run(b.t.Context(), "glob", json.RawMessage(`{"pattern":"**","limit":2000}`), b.call)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name := range bytes.SplitSeq(git(t, b.Root, "ls-files", "--others", "--exclude-standard", "-z"), []byte{0}) {
		if len(name) > 0 {
			want = append(want, tool.Quote(string(name)))
		}
	}
	slices.Sort(want)
	if got := listed(r); !slices.Equal(got, want) {
		t.Fatal(fmt.Sprintf("%q\nglob finds %q\ngit finds  %q", what, got, want))
	}
}

func TestIgnore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	git(t, b.Root, "init", "-q")
	for _, name := range []string{"a.log", "b", "build/x", "src/build/y", "src/a.log", "src/keep.log", "src/deep/er/z.txt", "d/a/b/c", "docs/a.md", "docs/x/a.md", "#a", "!b", "sp ", "a[b]", "x\\y", "ä", "é\xff", "A.log", "foo/bar", "-", "]"} {
		b.Put(t, name, "x")
	}
	for _, rules := range []string{
		"", "*.log", "*.log\n!keep.log", "build", "build/", "/build", "/build/", "src/build", "src/**/y", "**/build", "**/build/", "src/**", "src/*\n!src/deep", "docs/**/a.md",
		"d/**/c", "/*\n!/src", "*\n!*/\n!*.txt", "\\#a", "\\!b", "sp\\ ", "sp ", "a\\[b\\]", "a[[]b]", "[!a-c]", "[^a-c]", "[a-c]", "[[:alpha:]].log", "[]]", "[]-]", "[a", "x\\\\y", "x\\", "foo/", "foo/*", "foo/**",
		"**", "*", "/", "//", "**/", "/**", "a.log/", "?.log", "[!/]", "foo[/]bar", "foo?bar", "foo*bar", "foo**bar", "**foo", "foo**", "src/***/y", "ä", "é?", "[\xc3][\xa4]", "a.log\r\nb\r", "\ufeffb", "*.LOG", "d/*/b", "d/*/*/c", "src/deep/er/../er",
		"# comment", " b", "b \\ ", "!", "!\n", "\\", "--", "[--.]", "[z-a]", "[[:nothing:]]", "[[:alpha:]", "src/keep.log\n!src/keep.log", "src\n!src/keep.log",
	} {
		b.Put(t, ".gitignore", rules)
		compare(t, b, rules)
	}
}

// TestIgnoreRandom compares ignore files with git on random trees and patterns.
func TestIgnoreRandom(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	git(t, b.Root, "init", "-q")
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "[^b-z]", "\\a", "\\*", "a*", "*b", "", "*.a", "a.b", "***", "[a", "]", "\\", " ", "[[:lower:]]"})
	name := rapid.SampledFrom([]string{"a", "b", "ab", "a.a", "a.b", "c", "*", "ba"})
	rapid.Check(t, func(t *rapid.T) {
		entries, err := os.ReadDir(b.Root)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != ".git" {
				b.remove(e.Name())
			}
		}
		dirs := []string{""}
		for range rapid.IntRange(1, 12).Draw(t, "files") {
			parts := rapid.SliceOfN(name, 1, 4).Draw(t, "path")
			p := b.Path(strings.Join(parts, "/"))
			if os.MkdirAll(filepath.Dir(p), 0o755) != nil {
				continue
			}
			if info, err := os.Lstat(p); err == nil && info.IsDir() {
				continue
			}
			if err := os.WriteFile(p, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			dirs = append(dirs, strings.Join(parts[:len(parts)-1], "/"))
		}
		var said []string
		for range rapid.IntRange(1, 2).Draw(t, "ignore files") {
			var rules strings.Builder
			for range rapid.IntRange(1, 4).Draw(t, "rules") {
				rules.WriteString(rapid.SampledFrom([]string{"", "", "!", "/"}).Draw(t, "begin"))
				rules.WriteString(strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "pieces"), rapid.SampledFrom([]string{"/", ""}).Draw(t, "between")))
				rules.WriteString(rapid.SampledFrom([]string{"\n", "/\n"}).Draw(t, "end"))
			}
			dir := rapid.SampledFrom(dirs).Draw(t, "dir")
			b.Put(b.t, filepath.Join(dir, ".gitignore"), rules.String())
			said = append(said, dir, rules.String())
		}
		compare(t, b, said)
	})
}

// TestIgnoreAbove searches below a directory whose parents have ignore files.
func TestIgnoreAbove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Put(t, ".gitignore", "*.log\n/sub/out\n")
	b.Put(t, "sub/.gitignore", "!keep.log\n")
	for _, name := range []string{"sub/a.log", "sub/keep.log", "sub/x/b.log", "sub/out/c", "sub/x/out/d"} {
		b.Put(t, name, "x")
	}
	if got, want := b.ok("glob", m{"pattern": "**", "path": "sub"}), []string{"sub/.gitignore", "sub/keep.log", "sub/x/out/d"}; !slices.Equal(listed(tool.Result{Text: got}), want) {
		t.Errorf("%q", got)
	}
	if got := b.ok("grep", m{"pattern": "x", "mode": "files", "path": "sub/x"}); got != "sub/x/out/d" {
		t.Errorf("%q", got)
	}
	if got := b.ok("grep", m{"pattern": "x", "mode": "count", "path": "sub", "include_ignored": true}); strings.Count(got, ": 1") != 5 {
		t.Errorf("%q", got)
	}
	b.Deny = []string{".gitignore"}
	if got := b.ok("glob", m{"pattern": "*.log", "path": "sub"}); !strings.Contains(got, "sub/a.log") || !strings.Contains(got, "1 entry left out: not allowed") {
		t.Errorf("%q", got)
	}
}
