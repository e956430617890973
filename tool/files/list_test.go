package files_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/tool"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, name := range []string{"a.go", "b/c.go", "b/d/e.go", "b/d/f.txt", "x[1].go", ".h/i.go", ".git/j.go"} {
		b.Put(t, name, "x")
		if err := os.Chtimes(b.Path(name), time.Time{}, time.Unix(int64(1000+i%3), 0)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args m
		want string
	}{
		"all go":      {m{"pattern": "**/*.go"}, ".h/i.go\nb/d/e.go\nb/c.go\nx[1].go\na.go"},
		"top":         {m{"pattern": "*.go"}, "x[1].go\na.go"},
		"dir":         {m{"pattern": "b/**/*.go"}, "b/d/e.go\nb/c.go"},
		"braces":      {m{"pattern": "b/{c,d/e}.go"}, "b/d/e.go\nb/c.go"},
		"path":        {m{"pattern": "**/*.txt", "path": "b"}, "b/d/f.txt"},
		"dot":         {m{"pattern": "./b/*.go", "path": "./"}, "b/c.go"},
		"escape":      {m{"pattern": `x\[1\].go`}, "x[1].go"},
		"limit":       {m{"pattern": "**/*.go", "limit": 2}, ".h/i.go\nb/d/e.go\n[the last changed 2 of 5 files; narrow the pattern to see others]"},
		"none":        {m{"pattern": "*.md"}, "[no file matches]\n[only . itself was looked at; write **/*.md for all directories below it]"},
		"absolute":    {m{"pattern": b.Path("b") + "/**/*.go"}, b.Path("b/d/e.go") + "\n" + b.Path("b/c.go")},
		"exact":       {m{"pattern": b.Path("b/c.go")}, b.Path("b/c.go")},
		"above brace": {m{"pattern": "{..,b}/c.go"}, "b/c.go"},
	} {
		if got := b.ok("glob", c.args); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
	b.fails("glob", m{"pattern": "../*"}, "pattern has \"..\"")
	b.fails("glob", m{"pattern": "/x/*", "path": "b"}, "an absolute pattern alone")
	b.fails("glob", m{"pattern": "b/"}, "write b/**, or use ls")
	b.fails("glob", m{"pattern": "[a"}, "not well formed")
	b.fails("glob", m{"pattern": "*", "path": "a.go"}, "is a file and no directory")
	b.fails("glob", m{"pattern": "*", "path": "none"}, "none does not exist")
	b.fails("glob", m{}, "pattern")
}

// TestNames lists names that break lines, terminals and encodings.
func TestNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	long := strings.Repeat("n", 255)
	for _, name := range []string{"new\nline", "bad\xff", "\x1b[2J", " space ", "quo\"te", "\"", "\u202egpj", long, "ä", "-rf", "a:b", "tab\t"} {
		b.Put(t, name, "needle\n")
	}
	want := `"\x1b[2J"  7 bytes
" space "  7 bytes
"\""  7 bytes
-rf  7 bytes
a:b  7 bytes
"bad\xff"  7 bytes
"new\nline"  7 bytes
` + long + `  7 bytes
quo"te  7 bytes
"tab\t"  7 bytes
ä  7 bytes
"\u202egpj"  7 bytes`
	b.want("ls", m{}, want)
	for name, args := range map[string]m{"glob": {"pattern": "**"}, "grep": {"pattern": "needle", "mode": "files"}} {
		if got := b.ok(name, args); strings.Count(got, "\n") != 11 || strings.ContainsAny(got, "\x1b\u202e") {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, name := range []string{"new\nline", "\x1b[2J", " space ", "-rf", long} {
		b.want("read", m{"path": name}, "     1\tneedle\n")
	}
	for tool, more := range map[string]m{"read": {}, "write": {"content": "x"}, "edit": {"old_string": "a", "new_string": "b"}, "grep": {"pattern": "x"}, "glob": {"pattern": "x"}, "ls": {}} {
		for name, words := range map[string]string{"a\x00b": "NUL", strings.Repeat("p/", 2048): "has 4096 bytes, less than 4096 are possible"} {
			more["path"] = name
			b.fails(tool, more, words)
		}
		more["path"] = long + "n"
		if _, err := b.run(tool, more); err == nil || strings.Count(err.Error(), "n") < 200 {
			t.Errorf("%s: %v", tool, err)
		}
	}
	deep := strings.Repeat(strings.Repeat("d", 200)+"/", 18) + "f"
	b.fails("ls", m{"path": deep}, "does not exist")
}

func TestLs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.want("ls", m{}, "[the directory is empty]")
	for i := range 30 {
		b.Put(t, fmt.Sprintf("f%02d", i), "x")
	}
	b.want("ls", m{"limit": 2}, "f00  1 bytes\nf01  1 bytes\n[the first 2 of 30 entries by name; use glob to find some of them]")
	b.fails("ls", m{"path": "f00"}, "is a file and no directory; use read")
	b.fails("ls", m{"path": "none"}, "does not exist")
	b.fails("ls", m{"limit": 5001}, "limit")
	if got := b.ok("ls", nil); strings.Count(got, "\n") != 29 {
		t.Errorf("%q", got)
	}
}

// TestManyEntries lists a directory that is too big for Walk to sort.
func TestManyEntries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const n = tool.SortUpTo + 2000
	if err := os.Mkdir(b.Path("big"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.Symlink("x", filepath.Join(b.Root, "big", fmt.Sprintf("%05d", i))); err != nil {
			t.Fatal(err)
		}
	}
	b.want("ls", m{"path": "big", "limit": 2}, fmt.Sprintf("00000 -> x\n00001 -> x\n[the first 2 of %d entries by name; use glob to find some of them]", n))
	if got := b.ok("glob", m{"pattern": "**", "limit": 1}); !strings.Contains(got, fmt.Sprintf("[the last changed 1 of %d files", n)) {
		t.Errorf("%q", got)
	}
}

// endless is a fence with a directory of many million entries.
type endless struct {
	tool.Fence
	entries int
	visited int
}

func (e *endless) Walk(ctx context.Context, dir tool.Place, _ tool.WalkOptions, visit func(tool.Entry) error) (tool.Left, error) {
	for e.visited = 0; e.visited < e.entries; e.visited++ {
		if ctx.Err() != nil {
			return tool.Left{}, ctx.Err()
		}
		name := strconv.Itoa(10_000_000 + e.entries - e.visited)[1:]
		err := visit(tool.Entry{Rel: name, Info: tool.Info{Kind: tool.KindFIFO}, Place: dir})
		if errors.Is(err, fs.SkipAll) {
			break
		}
		if err != nil {
			return tool.Left{}, err
		}
	}
	return tool.Left{Denied: 7}, nil
}

// TestMillions holds that memory and output are bounded whatever a directory has.
func TestMillions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	far := &endless{Fence: b.Fence, entries: 1_000_000}
	b.call.Fence = far
	if got := b.ok("ls", m{"limit": 3}); !strings.HasPrefix(got, "0000001") || !strings.Contains(got, "[the first 3 of 1000000 entries by name; use glob to find some of them]\n[7 entries left out: not allowed]") {
		t.Errorf("%q", got)
	}
	far.entries = 200_000
	if got := b.ok("glob", m{"pattern": "*1", "limit": 3}); !strings.HasPrefix(got, "0000001\n0000011\n0000021\n[the last changed 3 of 20000 files") {
		t.Errorf("%q", got)
	}
	far.entries = 1_100_000
	if got := b.ok("grep", m{"pattern": "x"}); !strings.Contains(got, "[the tree is too big") || far.visited > 1_000_001 {
		t.Errorf("%d visited: %q", far.visited, got)
	}
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	for _, name := range []string{"grep", "glob"} {
		if _, err := b.set.Run(late, name, mustJSON(t, m{"pattern": "x"}), b.call); err == nil || !strings.Contains(err.Error(), "took too long") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
