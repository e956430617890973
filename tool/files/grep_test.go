package files_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestGrep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Put(t, "a.go", "package a\n\nfunc A() {\n\treturn\n}\n\nfunc B() {}\n")
	b.Put(t, "b/b.go", "package b\r\nfunc A() {}\r\n")
	b.Put(t, "b/c.txt", "function\nFUNC\n")
	b.Put(t, "b/z w.txt", "func")
	b.Put(t, ".hidden/x.go", "func H()\n")
	b.Put(t, ".git/x.go", "func G()\n")
	b.Put(t, "skip/x.go", "func S()\n")
	b.Put(t, ".gitignore", "skip/\n")
	for name, c := range map[string]struct {
		args m
		want string
	}{
		"content":     {m{"pattern": "^func "}, ".hidden/x.go\n1:func H()\n\na.go\n3:func A() {\n7:func B() {}\n\nb/b.go\n2:func A() {}"},
		"files":       {m{"pattern": "func", "output_mode": "files_with_matches"}, ".hidden/x.go\na.go\nb/b.go\nb/c.txt\nb/z w.txt"},
		"count":       {m{"pattern": "func", "mode": "count"}, ".hidden/x.go: 1\na.go: 2\nb/b.go: 1\nb/c.txt: 1\nb/z w.txt: 1"},
		"end":         {m{"pattern": `\{\}$`}, "a.go\n7:func B() {}\n\nb/b.go\n2:func A() {}"},
		"case":        {m{"pattern": "Func", "-i": true, "path": "b", "glob": "c.*"}, "b/c.txt\n1:function\n2:FUNC"},
		"literal":     {m{"pattern": "A() {", "literal": true}, "a.go\n3:func A() {\n\nb/b.go\n2:func A() {}"},
		"path":        {m{"pattern": "func", "path": "b/b.go"}, "b/b.go\n2:func A() {}"},
		"dot":         {m{"pattern": "func B", "path": "."}, "a.go\n7:func B() {}"},
		"glob":        {m{"pattern": "func", "glob": "*.go", "mode": "files"}, ".hidden/x.go\na.go\nb/b.go"},
		"glob, path":  {m{"pattern": "func", "glob": "b/*.{go,txt}", "mode": "files"}, "b/b.go\nb/c.txt\nb/z w.txt"},
		"glob, not":   {m{"pattern": "func", "glob": "!*.go", "mode": "files"}, "b/c.txt\nb/z w.txt"},
		"context":     {m{"pattern": "return", "context": 1}, "a.go\n3-func A() {\n4:\treturn\n5-}"},
		"two":         {m{"pattern": "func", "glob": "a.go", "-A": 1}, "a.go\n3:func A() {\n4-\treturn\n--\n7:func B() {}"},
		"joined":      {m{"pattern": "func|return", "glob": "a.go", "before": 1, "after": 1}, "a.go\n2-\n3:func A() {\n4:\treturn\n5-}\n6-\n7:func B() {}"},
		"all ignored": {m{"pattern": "func S", "mode": "files"}, "[no line matches in 6 files]\n[ignored files were left out; send include_ignored: true to search them]"},
		"ignored":     {m{"pattern": "func S", "include_ignored": true}, "skip/x.go\n1:func S()"},
		"limit":       {m{"pattern": "func", "head_limit": 2}, ".hidden/x.go\n1:func H()\n\na.go\n3:func A() {\n[shown are 2 of 6 lines in 5 files; narrow the search, or raise limit]"},
		"limit files": {m{"pattern": "func", "limit": 2, "mode": "files"}, ".hidden/x.go\na.go\n[shown are 2 of 5 files in 5 files; narrow the search, or raise limit]"},
		"bare":        {nil, ""},
	} {
		if c.args == nil {
			r, err := b.set.Run(t.Context(), "grep", json.RawMessage(`"func B"`), b.call)
			if err != nil || r.Text != "a.go\n7:func B() {}" {
				t.Errorf("%q, %v", r.Text, err)
			}
			continue
		}
		if got := b.ok("grep", c.args); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
	b.fails("grep", m{"pattern": "a(b"}, "missing closing )", "send literal: true for plain text")
	b.fails("grep", m{"pattern": "(?=a)"}, "no regular expression")
	b.fails("grep", m{"pattern": `(a)\1`}, "no regular expression")
	b.fails("grep", m{"pattern": "a\nb"}, "line break")
	b.fails("grep", m{"pattern": ""}, "pattern")
	b.fails("grep", m{"pattern": "x{1000}{1000}"}, "no regular expression")
	b.fails("grep", m{"pattern": "a", "glob": "[a"}, "not well formed")
	b.fails("grep", m{"pattern": "a", "path": "none"}, "does not exist")
	b.fails("grep", m{"pattern": "a", "mode": "lines"}, "mode")
	b.fails("grep", m{"query": "a", "pattern": "b"}, "pattern is given twice")
}

func TestGrepKinds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Put(t, "le", wide(binary.LittleEndian, "\xff\xfe", "ein Käse\r\n"))
	b.Put(t, "be", wide(binary.BigEndian, "\xfe\xff", "ein Käse\n"))
	b.Put(t, "l1", "ein K\xe4se\n")
	b.Put(t, "bom", "\xef\xbb\xbfein Käse\n")
	b.Put(t, "bin", "ein K\x00")
	b.Put(t, "other.bin", "nichts\x00")
	b.Put(t, "long", strings.Repeat("ä", 5000)+"ein Käse"+strings.Repeat("ö", 5000)+"\n")
	b.Put(t, "half", "ein K\xff\xc3\xa4\xc3\xb6 \x1b[2J\n")
	got := b.ok("grep", m{"pattern": "^.*ein K"})
	for _, want := range []string{"be\n1:ein Käse\n", "bom\n1:ein Käse\n", "l1\n1:ein Käse\n", "le\n1:ein Käse\n", "half\n1:ein K\ufffd", "[1 binary file matched, not shown]", "… [cut: the line has 20009 bytes]"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got := b.ok("grep", m{"pattern": "ein K", "path": "long"}); len(got) > 700 || !strings.Contains(got, "ein Käse") || !strings.Contains(got, "1:…ä") {
		t.Errorf("%q", got)
	}
	b.fails("grep", m{"pattern": "ein", "path": "bin"}, "binary content")
}

// TestGrepJudged holds that results are judged file by file.
func TestGrepJudged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"a", "secret/a", "x/secret", "maybe/a", "z"} {
		b.Put(t, name, "find me in "+name+"\n")
	}
	b.Deny, b.Ask = []string{"secret"}, []string{"maybe"}
	for link, target := range map[string]string{"link": "secret/a", "dir": "secret", "out": "/etc"} {
		if err := os.Symlink(target, b.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	left := "\n[2 entries left out: not allowed; 1 entry left out: a person has to allow them; name one to ask for it]"
	b.want("grep", m{"pattern": "find", "mode": "files"}, "a\nz"+left)
	b.want("ls", m{}, "a  13 bytes\ndir -> secret\nlink -> secret/a\nout -> /etc\nx/\nz  13 bytes\n[1 entry left out: not allowed; 1 entry left out: a person has to allow them; name one to ask for it]")
	if got := b.ok("glob", m{"pattern": "**"}); strings.Contains(got, "secret\n") || !strings.HasSuffix(got, left) {
		t.Errorf("%q", got)
	}
	for _, path := range []string{"secret", "secret/a", "link", "dir", "out", "/etc"} {
		b.fails("grep", m{"pattern": "find", "path": path}, "denied")
		b.fails("ls", m{"path": path}, "denied")
		b.fails("glob", m{"pattern": "*", "path": path}, "denied")
	}
	b.fails("glob", m{"pattern": "/etc/*"}, "denied")
	b.fails("glob", m{"pattern": b.Path("secret/*")}, "denied")
}

func TestGrepBounds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 50 {
		b.Put(t, fmt.Sprintf("f%02d", i), strings.Repeat("match this line of text, which is long\n", 200))
	}
	got := b.ok("grep", m{"pattern": "match", "limit": 5000})
	if len(got) > 49<<10 || !strings.Contains(got, " of 10000 lines in 50 files; narrow the search") {
		t.Errorf("%d bytes: %q", len(got), got[len(got)-100:])
	}
	b.Put(t, "f00", "")
	if err := os.Truncate(b.Path("f00"), 100<<30); err != nil {
		t.Fatal(err)
	}
	b.Put(t, "f01", "match\n"+strings.Repeat(strings.Repeat("no such thing ", 50)+"\n", 100<<10))
	if got := b.ok("grep", m{"pattern": "^match$"}); got != "f01\n1:match\n[only the first 64.0 MiB were searched of 2 files]" {
		t.Errorf("%q", got)
	}
}
