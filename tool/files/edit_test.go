package files_test

import (
	"encoding/binary"
	"strings"
	"testing"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		args    m
		want    string
	}{
		"once":           {"a b c\n", m{"old_string": "b", "new_string": "x"}, "a x c\n"},
		"delete":         {"a b c\n", m{"old_string": " b", "new_string": ""}, "a c\n"},
		"lines":          {"a\nb\nc\n", m{"old_string": "a\nb", "new_string": "x\ny\nz"}, "x\ny\nz\nc\n"},
		"all":            {"a a a\n", m{"old_string": "a", "new_string": "aa", "replace_all": true}, "aa aa aa\n"},
		"all overlap":    {"aaaaa", m{"old_string": "aa", "new_string": "b", "replace_all": true}, "bba"},
		"aliases":        {"a\n", m{"old_str": "a", "newString": "b", "replaceAll": "false"}, "b\n"},
		"several":        {"a b\n", m{"edits": []m{{"old_string": "a", "new_string": "b c"}, {"old_string": "c", "new_string": "d"}}}, "b d b\n"},
		"several, text":  {"a b\n", m{"edits": `[{"old_string": "a", "new_string": "x"}]`}, "x b\n"},
		"on results":     {"a\n", m{"edits": []m{{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}}}, "c\n"},
		"regexp is text": {"a.*\\1$\n", m{"old_string": ".*\\1$", "new_string": "$1"}, "a$1\n"},
		"crlf":           {"a\r\nb\r\nc\r\n", m{"old_string": "a\nb", "new_string": "x\ny"}, "x\r\ny\r\nc\r\n"},
		"crlf, new":      {"a\r\nb\r\n", m{"old_string": "b", "new_string": "x\ny"}, "a\r\nx\r\ny\r\n"},
		"crlf, sent":     {"a\r\nb\r\n", m{"old_string": "a\r\nb", "new_string": "x\r\ny"}, "x\r\ny\r\n"},
		"mixed, crlf":    {"a\r\nb\nc\n", m{"old_string": "a", "new_string": "x\ny"}, "x\r\ny\r\nb\nc\n"},
		"mixed, lf":      {"a\r\nb\nc", m{"old_string": "b", "new_string": "x\ny"}, "a\r\nx\ny\nc"},
		"mixed, last":    {"a\nb\r\nc", m{"old_string": "c", "new_string": "x\ny"}, "a\nb\r\nx\r\ny"},
		"crlf, begin":    {"a\r\nb\r\n", m{"old_string": "\nb", "new_string": "\nx"}, "a\r\nx\r\n"},
		"crlf, joined":   {"a\r\nb\r\n", m{"old_string": "a\n", "new_string": "a"}, "ab\r\n"},
		"mixed, begin":   {"a\nb\r\nc\r\n", m{"old_string": "\nc", "new_string": "\nx"}, "a\nb\r\nx\r\n"},
		"bom":            {"\xef\xbb\xbfa\n", m{"old_string": "a", "new_string": "b"}, "\xef\xbb\xbfb\n"},
		"utf16":          {wide(binary.LittleEndian, "\xff\xfe", "a😀\r\n"), m{"old_string": "a😀\n", "new_string": "ä\n"}, wide(binary.LittleEndian, "\xff\xfe", "ä\r\n")},
		"utf16be":        {wide(binary.BigEndian, "\xfe\xff", "a\n"), m{"old_string": "a", "new_string": "😀"}, wide(binary.BigEndian, "\xfe\xff", "😀\n")},
		"latin1":         {"caf\xe9 a\n", m{"old_string": "é a", "new_string": "é ö"}, "caf\xe9 \xf6\n"},
		"damaged":        {"äö\xff a\n", m{"old_string": "a", "new_string": "ü"}, "äö\xff ü\n"},
		"nfd stays":      {"e\u0301 a\n", m{"old_string": "a", "new_string": "b"}, "e\u0301 b\n"},
		"no line feed":   {"a", m{"old_string": "a", "new_string": "b"}, "b"},
	} {
		b := newBench(t)
		b.Put(t, "f", c.content)
		c.args["path"] = "f"
		r, err := b.run("edit", c.args)
		if got := b.Get(t, "f"); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		if len(r.Changes) != 1 || len(b.host.Announced()) != 1 {
			t.Errorf("%s: %d changes, %d announced", name, len(r.Changes), len(b.host.Announced()))
		}
	}
}

func TestEditFails(t *testing.T) {
	t.Parallel()
	const code = "func a() {\n\tif x {\n\t\treturn nil\n\t}\n}\n\nfunc b() {\n\treturn nil\n}\n"
	for name, c := range map[string]struct {
		content string
		args    m
		words   []string
	}{
		"empty":         {code, m{"old_string": "", "new_string": "x"}, []string{"old_string is empty", "quote the line beside it"}},
		"same":          {code, m{"old_string": "a", "new_string": "a"}, []string{"are the same"}},
		"twice":         {code, m{"old_string": "return nil", "new_string": "x"}, []string{"is there 2 times, at the lines 3, 8", "replace_all: true"}},
		"white space":   {code, m{"old_string": "if x {\n    return nil\n}", "new_string": "y"}, []string{"with other white space at line 2: \"\\tif x {\\n\\t\\treturn nil\\n\\t}\"", "exactly as it is there"}},
		"near":          {code, m{"old_string": "func a(x int) {", "new_string": "y"}, []string{"the closest is line 1: \"func a() {\""}},
		"near, second":  {code, m{"old_string": "\nfunc b(n int) {\n\treturn n\n", "new_string": "y"}, []string{"the closest is line 7"}},
		"far":           {code, m{"old_string": "zzzzzz", "new_string": "y"}, []string{"old_string is not in the file; read the file again"}},
		"line numbers":  {code, m{"old_string": "     8\t\treturn nil", "new_string": "y"}, []string{"line numbers, which are not part of the file"}},
		"done already":  {code, m{"old_string": "func c() {", "new_string": "func b() {"}, []string{"but new_string is, at line 7"}},
		"second fails":  {code, m{"edits": []m{{"old_string": "func a", "new_string": "func z"}, {"old_string": "func a", "new_string": "x"}}}, []string{"edit 2 of 2; nothing was written"}},
		"both forms":    {code, m{"old_string": "a", "edits": []m{{"old_string": "a", "new_string": "b"}}}, []string{"send one of the two forms"}},
		"no form":       {code, m{}, []string{"old_string and new_string are needed, or edits"}},
		"half a form":   {code, m{"old_string": "a"}, []string{"send new_string as \"\" to delete"}},
		"empty list":    {code, m{"edits": []m{}}, []string{"edits"}},
		"wrong entry":   {code, m{"edits": []m{{"old_string": "a", "replacement": "b"}}}, []string{"edits/0"}},
		"no Latin-1":    {"caf\xe9\n", m{"old_string": "caf", "new_string": "😀"}, []string{"Latin-1, which has no character '😀'"}},
		"binary":        {"a\x00b", m{"old_string": "a", "new_string": "b"}, []string{"no text"}},
		"half a pair":   {"\xff\xfea\x00\x00\xd8", m{"old_string": "a", "new_string": "b"}, []string{"damaged UTF-16"}},
		"within":        {"a\r\nb\nc", m{"old_string": "\nb\n", "new_string": "x"}, []string{"begins within a line break"}},
		"nothing there": {"", m{"old_string": "a", "new_string": "b"}, []string{"is not in the file"}},
	} {
		b := newBench(t)
		b.Put(t, "f", c.content)
		c.args["path"] = "f"
		b.fails("edit", c.args, c.words...)
		if got := b.Get(t, "f"); got != c.content || len(b.host.Announced()) > 0 {
			t.Errorf("%s: something was written: %q", name, got)
		}
	}
	b := newBench(t)
	b.fails("edit", m{"path": "none", "old_string": "a", "new_string": "b"}, "none does not exist", "use write for a new file")
	b.fails("edit", m{"path": ".", "old_string": "a", "new_string": "b"}, "is a directory")
}

func TestEditTells(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Put(t, "f", "1\n2\n3\n4\n5\n6\n7\n")
	b.want("edit", m{"path": "f", "old_string": "4", "new_string": "four\nand"}, "edited f: 1 place replaced\n     2\t2\n     3\t3\n     4\tfour\n     5\tand\n     6\t5\n     7\t6")
	b.Put(t, "f", "a\na\n")
	b.want("edit", m{"path": "f", "old_string": "a\n", "new_string": "", "replace_all": true},
		"edited f: 2 places replaced, the first at the lines 1 1\n[the file had changed since you read it; the edit was made in its new content]")
	b.Put(t, "g", strings.Repeat("x\n", 500)+"y\n"+strings.Repeat("\x1b\xff", 5000))
	if got := b.ok("edit", m{"path": "g", "old_string": "y", "new_string": strings.Repeat("z\n", 300)}); len(got) > 4000 || !strings.Contains(got, "   501\tz\n") {
		t.Errorf("%q", got)
	}
}
