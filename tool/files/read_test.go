package files_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"os"
	"strings"
	"testing"
	"unicode/utf16"
)

func wide(order binary.AppendByteOrder, bom, s string) string {
	out := []byte(bom)
	for _, u := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		args    m
		want    string
	}{
		"whole":        {"a\n\tb\n", nil, "     1\ta\n     2\t\tb\n"},
		"no line feed": {"a", nil, "     1\ta\n"},
		"empty":        {"", nil, "[the file is empty]"},
		"one break":    {"\n", nil, "     1\t\n"},
		"range":        {"a\nb\nc\nd\n", m{"offset": 2, "limit": 2}, "     2\tb\n     3\tc\n[lines 2 to 3 of 4, the file has 8 bytes; go on with offset 4]"},
		"rest":         {"a\nb\nc", m{"offset": 3}, "     3\tc\n"},
		"beyond":       {"a\nb\n", m{"offset": 3}, "[there is no line 3: the file has 2 lines]"},
		"crlf":         {"a\r\nb\r\n", nil, "     1\ta\n     2\tb\n[line endings: CRLF]"},
		"mixed":        {"a\r\nb\n", nil, "     1\ta\n     2\tb\n[line endings: mixed LF and CRLF]"},
		"carriage":     {"a\rb\n", nil, "     1\ta\rb\n"},
		"bom":          {"\xef\xbb\xbfa\n", nil, "     1\ta\n[encoding: UTF-8 with byte order mark]"},
		"utf16le":      {wide(binary.LittleEndian, "\xff\xfe", "ä\r\n😀\r\n"), nil, "     1\tä\n     2\t😀\n[line endings: CRLF]\n[encoding: UTF-16 little-endian]"},
		"utf16be":      {wide(binary.BigEndian, "\xfe\xff", "ä\n"), nil, "     1\tä\n[encoding: UTF-16 big-endian]"},
		"latin1":       {"caf\xe9\n", nil, "     1\tcafé\n[the file is not UTF-8: shown as Latin-1, which may be wrong for its special characters]"},
		"damaged":      {"ä ö \xff\n", nil, "     1\tä ö \ufffd\n[some characters are damaged and shown as U+FFFD]"},
		"long line":    {strings.Repeat("ä", 1500) + "\nb\n", nil, "     1\t" + strings.Repeat("ä", 1000) + " [cut: the line has 3000 bytes]\n     2\tb\n"},
		"text numbers": {"a\nb\n", m{"offset": "2"}, "     2\tb\n"},
	} {
		b := newBench(t)
		b.Put(t, "f", c.content)
		args := m{"file_path": "f"}
		for k, v := range c.args {
			args[k] = v
		}
		if got := b.ok("read", args); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, c.want)
		}
	}
}

func TestReadBounds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var s strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&s, "line %d\n", i+1)
	}
	b.Put(t, "long", s.String())
	if got := b.ok("read", m{"path": "long"}); !strings.HasSuffix(got, "[lines 1 to 2000 of 100000, the file has 1063.4 KiB; go on with offset 2001]") {
		t.Errorf("%q", got[len(got)-100:])
	}
	got := b.ok("read", m{"path": "long", "limit": 10_000, "offset": 90_001})
	if !strings.Contains(got, "of 100000") || !strings.HasPrefix(got, " 90001\tline 90001\n") {
		t.Errorf("%q", got[:100])
	}
	b.fails("read", m{"path": "long", "limit": 10_001}, "limit")
	b.fails("read", m{"path": "long", "offset": -1}, "offset")
	b.fails("read", m{}, "path", "the arguments are: path, limit?, offset?")
	b.fails("read", m{"path": "nowhere"}, "nowhere does not exist", "look with ls or glob")
	b.fails("read", m{"path": "."}, "is a directory", "use ls")
	b.fails("read", m{"path": ""}, "path")
	b.fails("read", m{"path": "long/x"})
	b.fails("read", m{"path": strings.Repeat("n", 300)})

	r, err := b.run("read", m{"path": "long", "limit": 1})
	if err != nil || len(r.Seen) != 1 || r.Seen[0].Path != b.Path("long") || !strings.Contains(string(r.Data), `"lines":100000`) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReadNoText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 640, 480))); err != nil {
		t.Fatal(err)
	}
	b.Put(t, "a.png", picture.String())
	b.fails("read", m{"path": "a.png"}, "an image (png, 640 x 480 pixels) of ", " bytes, which is not shown")
	b.Put(t, "a.bin", "\x00\x01\x02")
	b.fails("read", m{"path": "a.bin"}, "binary content of 3 bytes")
	b.Put(t, "a.gz", "\x1f\x8b\x08\x00\x00")
	b.fails("read", m{"path": "a.gz"}, "binary content (application/x-gzip)")
	b.Put(t, "late", strings.Repeat("text\n", 5000)+"\x00")
	b.fails("read", m{"path": "late"}, "binary content")
	b.Put(t, "odd", "\xff\xfea")
	if got := b.ok("read", m{"path": "odd"}); !strings.Contains(got, "Latin-1") {
		t.Errorf("%q", got)
	}
}

// TestReadHuge reads files that are too big to hold: with holes, of one line, and
// of many.
func TestReadHuge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Put(t, "holes", "")
	if err := os.Truncate(b.Path("holes"), 100<<30); err != nil {
		t.Fatal(err)
	}
	b.fails("read", m{"path": "holes"}, "binary content of 100.0 GiB", "with holes: 0 bytes are on disk")
	b.Put(t, "begun", strings.Repeat("line of text\n", 1000))
	if err := os.Truncate(b.Path("begun"), 100<<30); err != nil {
		t.Fatal(err)
	}
	if got := b.ok("read", m{"path": "begun", "offset": 999}); !strings.HasPrefix(got, "   999\tline of text\n  1000\tline of text\n[binary content begins at line 1001") {
		t.Errorf("%q", got)
	}
	b.Put(t, "line", strings.Repeat("x", 17<<20))
	if got := b.ok("read", m{"path": "line"}); !strings.HasSuffix(got, "x [cut: the line has 17825792 bytes]\n") {
		t.Errorf("%q", got[len(got)-100:])
	}
	b.Put(t, "many", strings.Repeat("caf\xe9 au lait\n", 3<<19))
	if got := b.ok("read", m{"path": "many", "offset": 1_500_000, "limit": 1}); !strings.HasPrefix(got, "1500000\tcafé au lait\n[lines 1500000 to 1500000 of a file of 19.5 MiB; go on with offset 1500001]") {
		t.Errorf("%q", got)
	}
	if got := b.ok("read", m{"path": "many", "offset": 3_000_000}); !strings.Contains(got, "[there is no line 3000000: the file has 1572864 lines]") {
		t.Errorf("%q", got)
	}
	b.fails("edit", m{"path": "many", "old_string": "a", "new_string": "b"}, "has 19.5 MiB, more than the 16.0 MiB that this tool works on")
	b.fails("write", m{"path": "holes", "content": "", "overwrite": true}, "100.0 GiB", "move it away with a command first")
}

func TestReadJudged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Put(t, "in/a", "x")
	b.Put(t, "secret/key", "k")
	b.Deny = []string{"secret"}
	for link, target := range map[string]string{"in/out": "/etc/passwd", "in/key": "../secret/key", "in/ok": "a", "in/dangling": "nowhere", "in/loop": "loop"} {
		if err := os.Symlink(target, b.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	b.want("read", m{"path": "in/ok"}, "     1\tx\n")
	b.fails("read", m{"path": "in/out"}, "in/out -> /etc/passwd")
	b.fails("read", m{"path": "in/key"}, "denied", "(rule secret, canonical path)")
	b.fails("read", m{"path": "in/dangling"}, "does not exist (it leads to")
	if _, err := b.run("read", m{"path": "in/loop"}); err == nil {
		t.Error("a loop was read")
	}
	b.fails("read", m{"path": "/proc/self/environ"}, "denied")
	r, err := b.run("read", m{"path": "/dev/zero"})
	if err == nil {
		t.Error(r)
	}
	b.Root = "/" // a fence that allows everything
	for _, path := range []string{"/proc/self/environ", "/dev/zero", "/dev/tty", "/proc/cmdline"} {
		b.fails("read", m{"path": path}, "a window into the system")
		b.fails("write", m{"path": path, "content": "x", "overwrite": true}, "a window into the system")
		b.fails("edit", m{"path": path, "old_string": "x", "new_string": ""}, "a window into the system")
	}
	for _, dir := range []string{"/proc/self", "/dev"} {
		b.fails("grep", m{"path": dir, "pattern": "a"}, "a window into the system")
		b.fails("ls", m{"path": dir}, "a window into the system")
		b.fails("glob", m{"path": dir, "pattern": "**"}, "a window into the system")
	}
}
