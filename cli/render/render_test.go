package render_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/cli/render"
)

func TestTame(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\tb\nc\r\nd":                "a\tb\nc\nd",
		"\x1b]0;title\x07\x1b[2Jx":    "\ufffd]0;title\ufffd\ufffd[2Jx",
		"a\u202eb\u2066c\x00\x7f\x9b": "a\ufffdb\ufffdc\ufffd\ufffd\ufffd",
		"é ✓ 日本":                      "é ✓ 日本",
	} {
		if got := render.Tame(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Every language that a mime type is highlighted as is colored, or shown as it is.
func TestCode(t *testing.T) {
	t.Parallel()
	color := render.Options{Color: true}
	for language, code := range map[string]string{
		"go": "package a\n\n// F is.\nfunc F() string { return \"x\" + `y` + string('z') }\n", "python": "def f(x):\n    return 'a' # c\n",
		"javascript": "const a = 'x' // y\n", "typescript": "let a: string = 'x'\n", "json": `{"a": [1, "b", null]}`, "yaml": "a: 1 # b\nc: [d]\n",
		"css": "a { color: red; }\n", "bash": "if true; then echo \"x\"; fi # y\n", "sql": "SELECT a FROM b WHERE c = 'd';\n", "rust": "fn main() { let a = 1; }\n",
		"java": "class A { int b = 1; }\n", "c": "int main(void) { return 0; }\n", "cpp": "class A { public: int b; };\n", "csharp": "class A { int B = 1; }\n",
		"diff": "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "toml": "[a]\nb = \"c\"\n", "xml": "<a b=\"c\">d</a>\n", "ruby": "def f; 'x'; end\n",
		"kotlin": "fun main() { val a = 1 }\n", "lua": "local a = 'x' -- y\n", "swift": "let a = \"x\"\n", "graphql": "query { a(b: 1) }\n",
		"php": "<h1>é</h1>\n<?php\nfunction f($a) { return \"x $a\"; } // c\n?>\n<p><?= f(1) ?></p>\n", "phtml": "function f() { return 'x'; }\n",
		"html": "<!DOCTYPE html>\n<script>if (a < b && c) { d('</p>') }</script>\n<p class=x hidden>é &amp; <br></p>\n",
	} {
		got := render.Code(code, language, color)
		if !strings.Contains(got, "\x1b[") || ansi.Strip(got) != code {
			t.Errorf("%s: %q", language, got)
		}
		if plain := render.Code(code, language, render.Options{}); plain != code {
			t.Errorf("%s without color: %q", language, plain)
		}
	}
	for _, language := range []string{"", "klingon", "../render", "go/../go", "a.b"} {
		if got := render.Code("x = 1\n", language, color); got != "x = 1\n" {
			t.Errorf("%q: %q", language, got)
		}
	}
	for _, odd := range []string{"x ?> y ?> z\n", "<?php ?> <? ?> ?> < <?\n", "<?php \"{$a\n", "<?"} {
		if got := render.Code(odd, "php", color); ansi.Strip(got) != odd {
			t.Errorf("%q: %q", odd, got)
		}
	}
	long := strings.Repeat("var x = 1\n", 100_000)
	if render.Code(long, "go", color) != long {
		t.Error("a very long text is read")
	}
}

// A grammar that is there can be read.
func TestGrammars(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("grammars/*.xml")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		language := strings.TrimSuffix(filepath.Base(f), ".xml")
		if got := render.Code("1 \"a\" // b\n", language, render.Options{Color: true}); ansi.Strip(got) != "1 \"a\" // b\n" {
			t.Errorf("%s: %q", language, got)
		}
		if raw, err := os.ReadFile(f); err != nil || strings.Contains(string(raw), "<usinglexer") {
			t.Errorf("%s needs another one (%v)", language, err)
		}
	}
}

const page = `# A *title*

Some **bold**, _slanted_ and ` + "`code`" + ` with a [link](https://x.example/y "t") and <https://z.example>.
A second line, \*kept\*, &amp; &#27;[31m.

- one
- two
  - inner
1. first
2. second

> quoted

` + "```go\nfunc F() {}\n```" + `

| a | long |
| --- | --- |
| 1 | 2 |

- [x] done

<script>alert(1)</script>

---

![pic](https://e.example/i.png)
`

const want = `# A title

Some bold, slanted and ` + "`code`" + ` with a link (https://x.example/y) and https://z.example. A second line, *kept*, & ` + "\ufffd" + `[31m.

• one
• two
  • inner

1. first
2. second

│ quoted

    func F() {}

a  long
───────
1  2

• [x] done

<script>alert(1)</script>

───

[picture: pic] (https://e.example/i.png)
`

func TestMarkdown(t *testing.T) {
	t.Parallel()
	if got := render.Markdown(page, render.Options{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	colored := render.Markdown(page, render.Options{Color: true, Width: 30})
	for _, line := range strings.Split(ansi.Strip(colored), "\n") {
		if ansi.StringWidthWc(line) > 45 { // a table and a link are not broken
			t.Errorf("a line is long: %q", line)
		}
	}
	codes := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	if rest := codes.ReplaceAllString(colored, ""); strings.ContainsAny(rest, "\x1b\x07") {
		t.Errorf("there are other codes than colors: %q", rest)
	}
	if !strings.Contains(colored, "\x1b[1;4m") || !strings.Contains(colored, "\x1b[35mfunc") {
		t.Errorf("%q", colored)
	}
}

func TestMarkdownIsBounded(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "\n\n", strings.Repeat("> ", 5000) + "x", strings.Repeat("- ", 2000) + "x", strings.Repeat("a", 600_000), "|a|\n|-|\n|b|c|d|\n", "![](x)", "[](<>)"} {
		for _, width := range []int{0, 1, 80} {
			_ = render.Markdown(s, render.Options{Width: width, Color: true})
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add(page)
	f.Add("* a\n\n  b\n\t- c\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := render.Markdown(render.Tame(s), render.Options{Width: 40})
		if strings.ContainsAny(got, "\x1b\x07\x00") {
			t.Errorf("%q gives %q", s, got)
		}
	})
}

// Each kind of artifact has languages that this room knows.
func TestLanguagesOfMimes(t *testing.T) {
	t.Parallel()
	for _, mime := range []string{"application/json", "text/x-python", "text/x-go", "text/css", "text/x-sh"} {
		if got := render.Code("1\n'a'\n{}\n", artifact.LanguageOf(mime), render.Options{Color: true}); !strings.Contains(got, "\x1b[") {
			t.Errorf("%s: %q", mime, got)
		}
	}
}
