package files_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/tool"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.want("write", m{"path": "x/y/new.txt", "content": "a\nb\n"}, "wrote the new file x/y/new.txt: 2 lines, 4 bytes")
	b.want("write", m{"path": "x/y/new.txt", "content": "c\n"}, "replaced x/y/new.txt: 1 line, 2 bytes (before: 4 bytes)")
	b.Put(t, "x/y/new.txt", "by hand")
	b.fails("write", m{"path": "x/y/new.txt", "content": "d\n"}, "x/y/new.txt changed since you read it, nothing was written", "read it again, or send overwrite: true")
	b.ok("read", m{"path": "x/y/new.txt"})
	b.ok("write", m{"path": "x/y/new.txt", "contents": "d\n"})
	b.Put(t, "other", "1\r\n2\r\n")
	b.fails("write", m{"path": "other", "content": "x"}, "other exists, and you did not read it", "or send overwrite: true")
	if got := b.Get(t, "other"); got != "1\r\n2\r\n" {
		t.Errorf("%q", got)
	}
	b.want("write", m{"path": "other", "content": "1\n2\n", "overwrite": true}, "replaced other: 2 lines, 4 bytes (before: 6 bytes)\n[the line endings were CRLF before]")
	b.want("write", m{"path": "other", "content": "1\n2\n"}, "other had exactly this content: 2 lines, 4 bytes")
	b.Put(t, "coded", "\xef\xbb\xbfa\n")
	b.want("write", m{"path": "coded", "content": "a\n", "overwrite": true}, "replaced coded: 1 line, 2 bytes (before: 5 bytes)\n[the encoding was UTF-8 with byte order mark before]")
	b.Put(t, "gone", "x")
	b.ok("read", m{"path": "gone"})
	b.remove("gone")
	b.ok("write", m{"path": "gone", "content": "y"})

	if err := os.Chmod(b.Path("other"), 0o750); err != nil {
		t.Fatal(err)
	}
	b.ok("write", m{"path": "other", "content": "z"})
	if info, err := os.Stat(b.Path("other")); err != nil || info.Mode().Perm() != 0o750 {
		t.Error(info.Mode(), err)
	}
	b.fails("write", m{"path": "x/", "content": ""}, "x/ names a directory")
	b.fails("write", m{"path": "x", "content": ""}, "x is a directory")
	b.fails("write", m{"path": "other/below", "content": ""})
	b.fails("write", m{"path": "a", "content": 7, "mode": "w"}, "mode")
	b.fails("write", m{"path": "a"}, "content")
	b.fails("write", m{"path": "a", "content": strings.Repeat("x", 10<<20)}, "do it in several smaller calls")
	if left, err := fs.Glob(os.DirFS(b.Root), ".tooltest*"); err != nil || len(left) > 0 {
		t.Error("left behind", left)
	}
}

// TestWriteEvidence holds that a change is announced before it can be seen, and
// that nothing is written when it cannot be.
func TestWriteEvidence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Put(t, "a", "old")
	b.ok("read", m{"path": "a"})
	r, err := b.run("write", m{"path": "a", "content": "new"})
	if err != nil || len(b.host.Announced()) != 1 || len(r.Changes) != 1 || r.Changes[0] != b.host.Announced()[0] {
		t.Fatal(r.Changes, b.host.Announced(), err)
	}
	if fate, err := tool.Resolve(t.Context(), b.Fence, r.Changes); fate != tool.Done || err != nil {
		t.Error(fate, err)
	}
	b.host.Fail = errors.New("the journal is full")
	for name, args := range map[string]m{"write": {"path": "a", "content": "newer"}, "edit": {"path": "a", "old_string": "new", "new_string": "newer"}} {
		if _, err := b.set.Run(t.Context(), name, mustJSON(t, args), b.call); !errors.Is(err, b.host.Fail) || tool.ByModel(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.Get(t, "a") != "new" {
		t.Error(b.Get(t, "a"))
	}
	fate, err := tool.Resolve(t.Context(), b.Fence, b.host.Announced()[1:2])
	if fate != tool.NotDone || err != nil {
		t.Error(fate, err)
	}
}

func TestWriteJudged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Put(t, "a", "old")
	b.Put(t, "secret/key", "k")
	b.Deny = []string{"secret"}
	out := t.TempDir()
	for link, target := range map[string]string{"out": out + "/evil", "outdir": out, "key": "secret/key", "hop": "a"} {
		if err := os.Symlink(target, b.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"out", "outdir/x", "key", "secret/new/deep", "../x", "/etc/x"} {
		b.fails("write", m{"path": path, "content": "x", "overwrite": true}, "denied")
		b.fails("edit", m{"path": path, "old_string": "k", "new_string": "x"}, "denied")
	}
	if list, err := os.ReadDir(out); err != nil || len(list) > 0 {
		t.Error("written outside", list, err)
	}
	b.ReadOnly = true
	b.fails("write", m{"path": "fresh", "content": "x"}, "this agent may only read")
	b.fails("edit", m{"path": "a", "old_string": "old", "new_string": "new"}, "this agent may only read")
}
