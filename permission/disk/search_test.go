//go:build unix

package disk_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/files"
)

// TestSearchWithAndWithoutRipgrep compares whole results of grep on random trees:
// text and binary, all line endings, files that are ignored, hidden, denied, asked
// about, linked, and special.
func TestSearchWithAndWithoutRipgrep(t *testing.T) {
	t.Parallel()
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("RIPGREP IS NOT INSTALLED, so that searches with it are not compared: install rg (the package ripgrep)")
	}
	with, err := tool.NewSet(files.Tools(files.Config{Ripgrep: rg})...)
	must(t, err)
	without, err := tool.NewSet(files.Tools(files.Config{})...)
	must(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		w := searchWorld(t, rt)
		a := w.agent("deny Read(denied/**)", "ask Read(*.asked)", "deny Grep(*.nogrep)")
		for range 3 {
			args, err := json.Marshal(map[string]any{
				"pattern": rapid.SampledFrom([]string{"alpha", "(?i)alpha", "alpha|beta", "^alpha$", "alpha.*beta", "a.pha", "beta\\b", "\\x00", "straße", "nothing", "(al|be)\\w+"}).Draw(rt, "pattern"),
				"mode":    rapid.SampledFrom([]string{"content", "files", "count"}).Draw(rt, "mode"), "ignore_case": rapid.Bool().Draw(rt, "fold"),
				"include_ignored": rapid.Bool().Draw(rt, "ignored"), "limit": rapid.SampledFrom([]int{2, 1000}).Draw(rt, "limit"),
				"path": rapid.SampledFrom([]string{".", "sub", "todir", "denied", ".hidden"}).Draw(rt, "path"), "context": rapid.IntRange(0, 2).Draw(rt, "context"),
				"glob": rapid.SampledFrom([]string{"**", "*.txt", "!*.txt", "sub/**"}).Draw(rt, "glob"),
			})
			must(t, err)
			run := func(s *tool.Set) string {
				r, err := s.Run(t.Context(), "grep", args, a.call)
				return fmt.Sprintf("%s\n%s\n%v", r.Text, r.Data, err)
			}
			helped, plain := run(with), run(without)
			if helped != plain {
				rt.Fatalf("%s with ripgrep:\n%s\nwithout:\n%s", args, helped, plain)
			}
			if strings.Contains(plain, "SECRET") {
				rt.Fatalf("%s tells what is denied:\n%s", args, plain)
			}
		}
	})
}

// searchWorld makes a tree in which a search by ripgrep pays.
func searchWorld(t *testing.T, rt *rapid.T) *world {
	at, err := os.MkdirTemp(t.TempDir(), "w")
	must(t, err)
	w := &world{t: t, at: at}
	w.put("proj/", "home/", "out/", "proj/sub/deep/", "proj/.hidden/", "proj/ignored/", "proj/denied/", "proj/.git/")
	word := rapid.SampledFrom([]string{"alpha", "beta", "Alpha beta", "ALPHA", "stra\u00dfe", "x", "", "alpha beta", "\u212a", "al\x00pha"})
	content := rapid.Custom(func(rt *rapid.T) string {
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(rt, "end")
		s := strings.Join(rapid.SliceOfN(word, 0, 4).Draw(rt, "lines"), end)
		return rapid.SampledFrom([]string{"", "", "", "\xef\xbb\xbf", "\x00\x01", "\xff\xfe", "\x89PNG\r\n\x1a\n"}).Draw(rt, "head") + s + rapid.SampledFrom([]string{"", end, "\xe9"}).Draw(rt, "tail")
	})
	dirs := []string{"", "sub/", "sub/deep/", ".hidden/", "ignored/", "denied/", ".git/"}
	texts := rapid.SliceOfN(content, 10, 25).Draw(rt, "contents")
	for i := range 220 { // more than 64 stay that may be searched: then ripgrep is asked
		text := texts[i%len(texts)]
		dir := dirs[i%len(dirs)]
		ext := []string{".txt", ".log", ".asked", ".nogrep", ""}[i%5]
		if dir == "denied/" || ext == ".asked" || ext == ".nogrep" {
			text += "\nalpha SECRET beta\n"
		}
		must(t, os.WriteFile(w.path(fmt.Sprintf("proj/%sf%d%s", dir, i, ext)), []byte(text), 0o600))
	}
	must(t, os.WriteFile(w.path("out/x"), []byte("alpha SECRET\n"), 0o600))
	must(t, os.WriteFile(w.path("proj/.gitignore"), []byte(rapid.SampledFrom([]string{"ignored/\n*.log\n", "*\n!*.txt\n!*/\n", "", "sub/**\n"}).Draw(rt, "ignore")), 0o600))
	w.put("proj/todir -> sub", "proj/tofile.txt -> sub/deep", "proj/toout -> /out/x", "proj/todenied -> denied", "proj/ring -> ring", "proj/nowhere -> none", "proj/sub/up -> ..")
	return w
}
