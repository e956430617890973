package line_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/shell/line"
)

// real is a directory tree on the disk.
func real(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b/c", "a/d", "e/a"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"one.go", "two.go", ".hid", "sp ace", "a/x", "a/.y", "e/[b]"} {
		if err := os.WriteFile(filepath.Join(root, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func onDisk(root string) line.Options {
	return line.Options{Cwd: root, Home: root + "/a", ReadDir: os.ReadDir}
}

func bash(t *rapid.T, root, text string) string {
	cmd := exec.Command("bash", "-c", text)
	cmd.Dir, cmd.Env = root, []string{"HOME=" + root + "/a", "PATH=" + os.Getenv("PATH")}
	var told strings.Builder
	cmd.Stderr = &told
	out, _ := cmd.Output() // a command that fails is one of the cases
	return string(out) + told.String()
}

// TestDirectoriesAgree runs scripts of random structure in a real shell: every
// directory in which a command ran must be one that the text was read to allow.
func TestDirectoriesAgree(t *testing.T) {
	root := real(t)
	rapid.Check(t, func(t *rapid.T) {
		text := script(3).Draw(t, "script")
		l, err := line.Read(text, onDisk(root))
		if err != nil {
			t.Fatal(err)
		}
		possible := map[string][]string{} // directories by the name of a probe
		for _, c := range l.Commands {
			for _, o := range c.Operands {
				if strings.HasPrefix(o.Spelled, "probe") {
					possible[o.Spelled] = append(possible[o.Spelled], o.Base)
				}
			}
		}
		ran := bash(t, root, `head() { echo "$1 $PWD" >&2; return $((${#1} % 2)); }; exit() { builtin exit 0; };`+text)
		for _, at := range strings.Split(strings.TrimSpace(ran), "\n") {
			probe, dir, _ := strings.Cut(at, " ")
			if dirs := possible[probe]; strings.HasPrefix(probe, "probe") && !slices.Contains(dirs, dir) && !slices.Contains(dirs, "") {
				t.Fatalf("%s\n%s ran in %s, possible are %q", text, probe, dir, dirs)
			}
		}
	})
}

// script draws lists of probes and changes of the directory.
func script(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		probe := func() string { return fmt.Sprintf("head probe%d", rapid.IntRange(0, 999).Draw(t, "probe")) }
		move := func() string {
			return "cd " + rapid.SampledFrom([]string{"a", "b", "..", "a/b", "none", ".", "a/../e", "~", "\"$PWD\"/a", "../..", "'a'"}).Draw(t, "target")
		}
		if depth == 0 {
			return rapid.SampledFrom([]func() string{probe, move}).Draw(t, "leaf")()
		}
		part := func() string { return script(depth-1).Draw(t, "part") }
		return rapid.SampledFrom([]func() string{
			probe, move,
			func() string { return part() + "; " + part() },
			func() string { return part() + " && " + part() },
			func() string { return part() + " || " + part() },
			func() string { return "{ " + part() + "; }; " + part() },
			func() string { return "( " + part() + " ); " + part() },
			func() string { return part() + " | { " + part() + "; }" },
			func() string { return "! { " + part() + "; } && " + part() },
			func() string { return "if " + part() + "; then " + part() + "; else " + part() + "; fi; " + part() },
			func() string { return "for i in 1 2 3; do " + part() + "; done; " + part() },
			func() string { return "f() { " + part() + "; }; f; f; " + part() },
			func() string { return "case x in y) " + part() + ";; x) " + part() + ";; esac; " + part() },
			func() string { return "eval " + quote(part()) + "; " + part() },
			func() string { return "{ " + part() + " & wait; }; " + part() },
			func() string { return part() + " || exit; " + part() },
			func() string { return "echo $( " + part() + " ); " + part() },
			func() string { return "pushd a >/dev/null; " + part() + "; popd >/dev/null; " + part() },
		}).Draw(t, "form")()
	})
}

// TestWordsAgree expands random words with a real shell: when they are shown in
// full, every word of the shell must be among them. "?*" may show ".x" too.
func TestWordsAgree(t *testing.T) {
	root := real(t)
	piece := rapid.SampledFrom([]string{"a", "x", "/", ".", "*", "?", "[ab]", "{x,y}", "{1..3}", "'q*'", "\"d q\"", `\ `, `\*`, "~", "$HOME", "\"$HOME\"", "${PWD}", "$X", "e/", ".go", "$'\\t'", "\\", "-n", "=", "'", "{", "}", ","})
	rapid.Check(t, func(t *rapid.T) {
		word := strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pieces"), "")
		text := "printf '%s\\n' " + word
		l, err := line.Read(text, onDisk(root))
		if err != nil || len(l.Commands) != 1 {
			return // it is no text for a shell, or more than a word
		}
		words := l.Commands[0].Words
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "//", "/")
		}
		if strings.Contains(strings.Join(words, ""), tool.NotShown) {
			return
		}
		want := strings.Split(strings.TrimSuffix(strings.ReplaceAll(bash(t, root, text), "//", "/"), "\n"), "\n")
		for _, w := range want {
			if got := words[2:]; !slices.Contains(got, w) && len(got)+len(w) > 0 {
				t.Fatalf("%s\n got %q\nbash %q", text, got, want)
			}
		}
	})
}
