package line_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/shell/line"
)

// tree is the disk of the table, below /.
var tree = fstest.MapFS{
	"p/a.go": {}, "p/b.go": {}, "p/.env": {}, "p/src/c.go": {}, "p/src/.hidden": {}, "p/dir/x": {}, "h/.ssh/id": {}, "etc/passwd": {},
}

func options() line.Options {
	return line.Options{
		Cwd: "/p", Home: "/h",
		ReadDir: func(dir string) ([]fs.DirEntry, error) {
			dir = strings.TrimPrefix(path.Clean(dir), "/")
			if info, err := fs.Stat(tree, dir); err == nil && !info.IsDir() {
				return nil, syscall.ENOTDIR
			}
			return fs.ReadDir(tree, dir)
		},
		IsDir: func(p string) bool {
			info, err := fs.Stat(tree, strings.TrimPrefix(p, "/"))
			return err == nil && info.IsDir()
		},
	}
}

// told spells what a line shows: operations with paths, below /p without it; "{x|y}"
// when the directory is one of several, "?/" when it is not known; a last "?" when
// something is opaque.
func told(l line.Line) string {
	var words []string
	for _, c := range l.Commands {
		for _, o := range c.Operands {
			p := o.Spelled
			switch {
			case path.IsAbs(p):
				p = path.Clean(p)
			case o.Base == "":
				p = "?/" + p
			default:
				p = path.Join(o.Base, p)
			}
			if p == "/p" {
				p = "."
			}
			word := string(o.Op[0]) + " " + strings.TrimPrefix(p, "/p/")
			if !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	slices.Sort(words)
	s := strings.Join(words, ", ")
	if !l.Clear() {
		s = strings.TrimSpace(s + " ?")
	}
	return s
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range judgments {
		l, err := line.Read(c.text, options())
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := told(l); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
	if len(judgments) < 120 {
		t.Errorf("only %d command lines", len(judgments))
	}
}

func TestReadDeep(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"grep -rn x .": true, "grep -R x src": true, "grep --recursive x src": true, "grep x a": false, "ls -R .": false, "cp -a . /x": true, "cp a b": false,
		"tar cf - .": true, "tar xf a": false, "rg x": false, "rg -uu x": true, "rg --hidden x src": true, "zip -r o.zip .": true, "diff -r a b": true, "find .": false, "bash -c 'cd src && grep -r x'": true,
	} {
		l, err := line.Read(text, options())
		if err != nil {
			t.Fatal(err)
		}
		deep := false
		for _, c := range l.Commands {
			for _, o := range c.Operands {
				deep = deep || o.Deep
			}
		}
		if deep != want {
			t.Errorf("%q reads all below: %t, want %t", text, deep, want)
		}
	}
}

// TestReadOuter checks that rules can reach the wrappers.
func TestReadOuter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"timeout 5 nice rm a":            "rm a|timeout 5 nice rm a|nice rm a",
		"bash -c 'sh -c \"rm a\"'":       "rm a|bash -c sh -c \"rm a\"|sh -c rm a",
		"/usr/bin/rm a":                  "rm a|/usr/bin/rm a",
		"/x/rm a":                        "/x/rm a|rm a",
		"env X=1 git push":               "git push|env X=1 git push",
		"git commit -m \"$X\"":           "git commit -m \x00",
		"xargs -I {} cp {} /x":           "cp \x00 /x \x00|xargs -I {} cp {} /x",
		"find . -exec rm -f {} ';'":      "find . -exec rm -f {} ;;rm -f \x00|find . -exec rm -f {} ;",
		"sudo rm a":                      "sudo rm a;rm a|sudo rm a",
		"cd x && python y":               "cd x;python y",
		"tar czf a b":                    "tar czf a b",
		"git log | grep x":               "git log;grep x",
		"a=1 b=2":                        "",
		"echo $(git push; (rm x)) && ls": "git push;rm x;echo \x00;ls",
	} {
		l, err := line.Read(text, options())
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var commands []string
		for _, c := range l.Commands {
			spelled := []string{strings.Join(c.Words, " ")}
			for _, o := range c.Outer {
				spelled = append(spelled, strings.Join(o, " "))
			}
			commands = append(commands, strings.Join(spelled, "|"))
		}
		if got := strings.Join(commands, ";"); got != want {
			t.Errorf("%s\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"echo 'open":                        "1:6",
		"echo a\x00b":                       "NUL",
		strings.Repeat("x", line.MaxText+1): "bytes",
		strings.Repeat("(", 1000):           "nested",
		"if true":                           "1:1",
	} {
		if _, err := line.Read(text, options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q in it", text, err, want)
		}
	}
}

// TestReadIsBounded reads texts that grow when they are read.
func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	var doubling strings.Builder
	for range 40 {
		doubling.WriteString("f() { f; f; g; g; }; g() { f; g; };")
	}
	nested := "rm x"
	for range 8 { // each level quotes the quotes before it
		nested = "eval " + quote(nested)
	}
	for _, text := range []string{
		doubling.String() + "f; g",
		nested,
		strings.Repeat("cat $(", 400) + strings.Repeat(")", 400),
		strings.Repeat("cd a; ", 2000),
		strings.Repeat("{a,b}", 100),
		"cat /*/*/*/*/*/*/*/*",
		strings.Repeat("while :; do cd x; ", 60) + strings.Repeat("done;", 60),
	} {
		l, err := line.Read(text, options())
		if err == nil && l.Clear() && !strings.HasPrefix(text, "c") && !strings.HasPrefix(text, "w") {
			t.Errorf("%.30q: nothing is opaque", text)
		}
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// FuzzRead looks for texts that crash the walk, lose a command, or show a word that
// no shell can have.
func FuzzRead(f *testing.F) {
	for _, c := range judgments {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := line.Read(text, options())
		if err != nil {
			return
		}
		for _, c := range l.Commands {
			if len(c.Words) == 0 && len(c.Operands) == 0 {
				t.Errorf("%q: an empty command", text)
			}
			for _, o := range c.Operands {
				if strings.Contains(o.Spelled, tool.NotShown) || o.Spelled == "" || o.Op == tool.OpNone || o.Base != "" && !path.IsAbs(o.Base) {
					t.Errorf("%q: operand %+v", text, o)
				}
			}
		}
	})
}
