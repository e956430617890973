//go:build unix

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"
	"github.com/tenonrun/tenon/tool"
)

// outcome names what a judge answered.
func outcome(err error) string {
	var (
		denied *tool.Denied
		asked  *tool.Asked
		failed *tool.Failed
		bad    *tool.BadArguments
	)
	switch {
	case err == nil:
		return "allow"
	case errors.As(err, &denied):
		return "deny"
	case errors.As(err, &asked):
		return "ask"
	case errors.As(err, &failed):
		return "failed"
	case errors.As(err, &bad):
		return "bad"
	}
	return "error: " + err.Error()
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	entries := []string{"proj/a", "proj/sub/", "out/x", "more/y", "lib/z", "state/db", "state/ws/a", "home/.ssh/id", "home/.bashrc", "proj/.env", "proj/.git/config",
		"proj/.claude/settings.json", "proj/pkg/.claude/x", "proj/pkg/.git", "proj/leak -> /out/x", "proj/key -> /home/.ssh/id", "proj/new -> /out/none", "proj/loop -> loop"}
	for _, c := range []struct {
		tool, path                  string
		normal, askw, locked, rdony string
	}{
		{"read", "a", "allow", "allow", "allow", "allow"},
		{"read", "none", "allow", "allow", "allow", "allow"},
		{"read", "//more/y", "allow", "allow", "allow", "allow"},
		{"read", "//lib/z", "allow", "allow", "allow", "allow"},
		{"read", "//out/x", "ask", "ask", "deny", "ask"},
		{"read", "leak", "ask", "ask", "deny", "ask"},
		{"read", "loop", "ask", "ask", "deny", "ask"},
		{"read", ".env", "ask", "ask", "deny", "ask"},
		{"read", "a/../.env", "ask", "ask", "deny", "ask"},
		{"read", "//state/db", "deny", "deny", "deny", "deny"},
		{"read", "//state/ws/a", "allow", "allow", "allow", "allow"},
		{"read", "//home/.ssh/id", "deny", "deny", "deny", "deny"},
		{"read", "key", "deny", "deny", "deny", "deny"},
		{"grep", "-", "allow", "allow", "allow", "allow"},
		{"ls", "sub", "allow", "allow", "allow", "allow"},
		{"write", "a", "allow", "ask", "allow", "deny"},
		{"write", "sub/n", "allow", "ask", "allow", "deny"},
		{"write", "//more/y", "allow", "ask", "allow", "deny"},
		{"write", "//lib/z", "deny", "deny", "deny", "deny"},
		{"write", "//out/x", "deny", "deny", "deny", "deny"},
		{"write", "new", "deny", "deny", "deny", "deny"},
		{"edit", ".git/config", "ask", "ask", "deny", "deny"},
		{"edit", ".git/hooks/pre-commit", "ask", "ask", "deny", "deny"},
		{"edit", "pkg/.git", "ask", "ask", "deny", "deny"},
		{"edit", ".claude/settings.json", "ask", "ask", "deny", "deny"},
		{"edit", "pkg/.claude/x", "allow", "ask", "allow", "deny"},
		{"edit", "//home/.bashrc", "ask", "ask", "deny", "deny"},
		{"read", ".git/config", "allow", "allow", "allow", "allow"},
	} {
		w := newWorld(t, entries...)
		base := disk.Config{Access: permission.AccessWrite, Directories: []string{w.path("more"), w.path("state/ws")}, Readable: []string{w.path("lib")}, Private: []string{w.path("state")}}
		for mode, want := range map[permission.Mode]string{permission.ModeDefault: c.normal, permission.ModeAskWrites: c.askw, permission.ModeLocked: c.locked, "read": c.rdony} {
			conf := base
			if conf.Mode = mode; mode == "read" {
				conf.Mode, conf.Access = permission.ModeDefault, permission.AccessRead
			}
			_, err := w.judge(w.fenceOf(conf), c.tool, c.path)
			if got := outcome(err); got != want {
				t.Errorf("%s %s in %s: %s, not %s (%v)", c.tool, c.path, mode, got, want, err)
			}
		}
	}
}

func TestRulesOverDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, tool, path, want string
	}{
		{"allow Read(//out/**)", "read", "//out/x", "allow"},
		{"allow Edit(//out/**)", "write", "//out/x", "allow"},
		{"allow Read", "read", "//out/x", "allow"},
		{"allow Read", "read", "//home/.ssh/id", "deny"},
		{"user allow Read(//home/**)", "read", "//home/.ssh/id", "deny"},
		{"allow Edit(.git/**)", "edit", ".git/config", "ask"},
		{"allow Edit", "edit", ".git/config", "ask"},
		{"user allow Edit", "edit", ".git/config", "ask"},
		{"user allow Edit(./.git/**)", "edit", ".git/config", "allow"},
		{"user allow Edit(//home/.bashrc)", "edit", "//home/.bashrc", "allow"},
		{"allow Read(.env)", "read", ".env", "allow"},
		{"deny Edit(a)", "write", "a", "deny"},
		{"deny Read(a)", "write", "a", "allow"},
		{"deny Read(a)", "grep", "a", "deny"},
		{"ask Read(//out/**)", "read", "link", "ask"},
	} {
		w := newWorld(t, "proj/a", "out/x", "home/.ssh/id", "home/.bashrc", "proj/.git/config", "proj/.env", "proj/link -> /out/x")
		_, err := w.judge(w.fence(c.rule), c.tool, c.path)
		if got := outcome(err); got != c.want {
			t.Errorf("%s: %s %s is %s, not %s (%v)", c.rule, c.tool, c.path, got, c.want, err)
		}
	}
}

func TestRootBelowGitDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main/.git/trees/x/a", "main/.git/trees/x/.git")
	f := w.fenceOf(disk.Config{Root: w.path("main/.git/trees/x"), Access: permission.AccessWrite})
	for p, want := range map[string]string{"a": "allow", ".git": "ask", "sub/.git/config": "ask"} {
		if _, err := w.judge(f, "edit", p); outcome(err) != want {
			t.Errorf("%s is %s, not %s", p, outcome(err), want)
		}
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "out/x", "out/d/y", "proj/.git/config", "home/.ssh/id", "proj/a")
	must(t, os.Link(w.path("out/x"), w.path("proj/hard")))
	f := w.fence("ask Read(./a)", "deny Read(//out/d/y)").Granting(
		disk.Grant{Tool: "read", Op: tool.OpRead, Path: w.path("out"), Below: true},
		disk.Grant{Tool: "edit", Op: tool.OpWrite, Path: w.path("proj/.git/config")},
		disk.Grant{Tool: "write", Op: tool.OpWrite, Path: w.path("proj/hard")},
		disk.Grant{Tool: "read", Op: tool.OpRead, Path: w.path("home/.ssh/id")},
		disk.Grant{Tool: "read", Op: tool.OpRead, Path: w.path("proj/a")},
		disk.Grant{Tool: "bash", Text: "eval $x", Path: w.path("proj")},
		disk.Grant{Tool: "bash", Op: tool.OpRead, Path: w.path("out/x")},
	)
	for call, want := range map[string]string{
		"read //out/x": "allow", "read //out/d/y": "deny", "grep //out/x": "ask", "read //out-x": "ask", "write //out/x": "deny", "read a": "allow", "read //home/.ssh/id": "deny",
		"edit .git/config": "allow", "edit .git/hooks/x": "ask", "write hard": "allow", "edit hard": "ask",
	} {
		name, p, _ := strings.Cut(call, " ")
		if _, err := w.judge(f, name, p); outcome(err) != want {
			t.Errorf("%s is %s, not %s", call, outcome(err), want)
		}
	}
	for line, want := range map[string]string{"eval $x": "allow", "eval $y": "ask", "cat x | read //out/x": "ask", "eval $x | write //out/x": "deny"} {
		if err := f.JudgeShell(t.Context(), w.shell(true, line)); outcome(err) != want {
			t.Errorf("%s is %s, not %s", line, outcome(err), want)
		}
	}
	if err := f.JudgeShell(t.Context(), w.shell(false, "cat x | read //out/x")); err != nil {
		t.Error(err)
	}
}

func TestDenialTellsBothEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "out/x", "proj/mid -> /out/x", "proj/a -> mid")
	_, err := w.judge(w.fence("deny Read(./mid)"), "read", "a")
	var denied *tool.Denied
	if !errors.As(err, &denied) {
		t.Fatal(err)
	}
	v := denied.Verdict
	if v.Tool != "read" || v.Op != tool.OpRead || v.Spelled != "a" || v.Canonical != w.path("out/x") || v.View != "hop" || v.Reason == "" ||
		!strings.HasPrefix(v.Rule, "deny Read(./mid) at rules:1") {
		t.Errorf("the denial tells %+v", v)
	}
	lines := strings.Join(func() []string {
		v := w.fence("deny Read(./mid)").Explain(t.Context(), w.request("read", "a"))
		return v.Explain()
	}(), "\n")
	for _, want := range []string{"deny: read a -> " + w.path("out/x"), "hops: " + w.path("proj/mid"), "rule: deny Read(./mid) at rules:1, reached by the hop path"} {
		if !strings.Contains(lines, want) {
			t.Errorf("the explanation lacks %q:\n%s", want, lines)
		}
	}
}

func TestBeforeRewriteDenyHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a", "proj/secret")
	f := w.fence("deny Read(secret)")
	r := w.request("read", "a")
	r.Args.From = w.request("read", "secret").Args
	if _, err := f.Judge(t.Context(), r); outcome(err) != "deny" {
		t.Error("arguments that were denied are allowed after they were changed:", err)
	}
	r.Args.From = w.request("read", "other").Args
	if _, err := f.Judge(t.Context(), r); err != nil {
		t.Error(err)
	}
}

func TestChildOnlyNarrows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a", "proj/secret", "out/x")
	parent := w.fence("deny Read(secret)")
	child, _ := parent.Narrow(t.Context(), disk.Config{Access: permission.AccessRead, Rules: w.rules("allow Read(secret)", "allow Read(//out/**)", "user allow Edit(//out/**)", "deny Read(a)")})
	for call, want := range map[string]string{"read a": "deny", "read secret": "deny", "read b": "allow", "read //out/x": "ask", "write b": "deny", "write //out/x": "deny"} {
		name, p, _ := strings.Cut(call, " ")
		if _, err := w.judge(child, name, p); outcome(err) != want {
			t.Errorf("the child's %s is %s, not %s", call, outcome(err), want)
		}
	}
	if _, err := w.judge(parent, "read", "a"); err != nil {
		t.Error("the parent took the child's rule:", err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a", "proj/dir/b", "proj/in -> dir/b", "out/x")
	must(t, syscall.Mkfifo(w.path("proj/fifo"), 0o600))
	huge, err := os.Create(w.path("proj/huge"))
	must(t, err)
	must(t, errors.Join(huge.Truncate(100<<30), huge.Close()))
	f := w.fence()
	for p, want := range map[string]string{"a": "proj/a", "in": "proj/dir/b", "dir/../a": "proj/a"} {
		h, err := f.Open(t.Context(), w.place(f, "read", p))
		must(t, err)
		got, err := io.ReadAll(h)
		if string(got) != want || err != nil {
			t.Errorf("%s holds %q (%v), not %q", p, got, err, want)
		}
		must(t, h.Close())
	}
	for p, want := range map[string]string{"fifo": "fifo", "dir": "dir", "none": "no such file"} {
		_, err := f.Open(t.Context(), w.place(f, "read", p))
		if outcome(err) != "failed" || !strings.Contains(err.Error(), want) {
			t.Errorf("opening %s: %v", p, err)
		}
	}
	h, err := f.Open(t.Context(), w.place(f, "read", "huge"))
	must(t, err)
	if i := h.Info(); i.Size != 100<<30 || i.Disk > 1<<20 {
		t.Errorf("a file with a hole is %+v", i)
	}
	must(t, h.Close())
	if _, err := f.Open(t.Context(), tool.Place{}); outcome(err) != "failed" {
		t.Error("a place that nobody judged is opened:", err)
	}
}

func TestOpenWhatWasJudged(t *testing.T) {
	t.Parallel()
	for name, swap := range map[string]func(w *world) error{
		"file by link":      func(w *world) error { return replace(w.path("proj/d/f"), w.path("out/x")) },
		"directory by link": func(w *world) error { return replace(w.path("proj/d"), w.path("out")) },
		"file by another":   func(w *world) error { return os.Rename(w.path("proj/other"), w.path("proj/d/f")) },
		"directory moved":   func(w *world) error { return os.Rename(w.path("proj/d"), w.path("out/d")) },
	} {
		w := newWorld(t, "proj/d/f", "proj/other", "out/x", "out/f")
		f := w.fence()
		p, q := w.place(f, "read", "d/f"), w.place(f, "write", "d/new")
		must(t, swap(w))
		if h, err := f.Open(t.Context(), p); err == nil {
			got, _ := io.ReadAll(h)
			t.Errorf("%s: %q was opened", name, got)
		}
		_, err := f.Write(t.Context(), q, tool.Draft{Content: []byte("evil")})
		if inPlace := strings.HasPrefix(name, "file"); (err == nil) != inPlace {
			t.Errorf("%s: writing gave %v", name, err)
		}
		if w.read("out/x") != "out/x" || w.read("out/f") != "out/f" || strings.Contains(w.read("out/new"), "evil") || strings.Contains(w.read("out/d/new"), "evil") {
			t.Errorf("%s: something was written outside", name)
		}
	}
}

// replace puts a link in the place of whatever is there.
func replace(p, target string) error {
	return errors.Join(os.RemoveAll(p), os.Symlink(target, p))
}

func TestWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a", "proj/dir/")
	must(t, os.Chmod(w.path("proj/a"), 0o640))
	f := w.fence()
	p := w.place(f, "write", "a")
	announced := false
	c, err := f.Write(t.Context(), p, tool.Draft{Content: []byte("new"), Announce: func(_ context.Context, c tool.Change) error {
		announced = true
		if got := w.read("proj/a"); got != "proj/a" {
			t.Errorf("before it is announced the file holds %q", got)
		}
		return nil
	}})
	must(t, err)
	if !announced || w.read("proj/a") != "new" || c.Path != w.path("proj/a") || c.Size != 3 || len(c.Before) != 64 || len(c.After) != 64 {
		t.Errorf("the change is %+v", c)
	}
	if info, _ := os.Stat(w.path("proj/a")); info.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v", info.Mode())
	}
	if got, err := f.Digest(t.Context(), c.Path); err != nil || got != c.After {
		t.Errorf("the digest is %s (%v)", got, err)
	}
	if got, err := f.Digest(t.Context(), w.path("proj/none")); err != nil || got != tool.NoFile {
		t.Errorf("the digest of nothing is %s (%v)", got, err)
	}
	var changed *tool.Changed
	if _, err := f.Write(t.Context(), p, tool.Draft{Content: []byte("x"), Expect: c.Before}); !errors.As(err, &changed) {
		t.Errorf("a write that expects another file gives %v", err)
	}
	boom := errors.New("boom")
	if _, err := f.Write(t.Context(), p, tool.Draft{Content: []byte("x"), Announce: func(context.Context, tool.Change) error { return boom }}); !errors.Is(err, boom) {
		t.Errorf("a write that was given up says %v", err)
	}
	if _, err := f.Write(t.Context(), p, tool.Draft{Content: []byte("x"), Announce: func(context.Context, tool.Change) error {
		return os.WriteFile(w.path("proj/a"), []byte("other"), 0o600)
	}}); !errors.As(err, &changed) || w.read("proj/a") != "other" {
		t.Errorf("a write over a change gives %v and %q", err, w.read("proj/a"))
	}
	w.put("proj/moving/")
	_, err = f.Write(t.Context(), w.place(f, "write", "moving/n"), tool.Draft{Content: []byte("x"), Announce: func(context.Context, tool.Change) error {
		return os.Rename(w.path("proj/moving"), w.path("moved"))
	}})
	if outcome(err) != "failed" || w.read("moved/n") == "x" {
		t.Errorf("a directory that moved away while it was written to gives %v", err)
	}
	q := w.place(f, "write", "x/y/z")
	if _, err := f.Write(t.Context(), q, tool.Draft{Content: []byte("x")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a write into no directory gives %v", err)
	}
	c, err = f.Write(t.Context(), q, tool.Draft{Content: []byte("deep"), Expect: tool.NoFile, MakeParents: true})
	if err != nil || w.read("proj/x/y/z") != "deep" || c.Before != tool.NoFile {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := f.Write(t.Context(), w.place(f, "write", "dir"), tool.Draft{}); outcome(err) != "failed" {
		t.Errorf("writing a directory gives %v", err)
	}
	if _, err := f.Write(t.Context(), w.place(f, "read", "a"), tool.Draft{}); outcome(err) != "failed" {
		t.Errorf("writing what was judged for reading gives %v", err)
	}
	left, err := filepath.Glob(w.path("proj/.tenon-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// A write that a crash stopped leaves a file of its own behind. The same write,
// made again, replaces it.
func TestWriteReplacesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a")
	f := w.fence()
	draft := tool.Draft{Content: []byte("new"), Announce: func(context.Context, tool.Change) error {
		staged, err := filepath.Glob(w.path("proj/.tenon-*"))
		if len(staged) == 1 && err == nil {
			err = os.WriteFile(w.path("staged"), []byte(staged[0]), 0o600)
		}
		return err
	}}
	_, err := f.Write(t.Context(), w.place(f, "write", "a"), draft)
	must(t, err)
	must(t, os.WriteFile(w.read("staged"), []byte("half"), 0o600))
	must(t, os.WriteFile(w.path("proj/a"), []byte("old"), 0o600))
	_, err = f.Write(t.Context(), w.place(f, "write", "a"), draft)
	must(t, err)
	if left, _ := filepath.Glob(w.path("proj/.tenon-*")); len(left) > 0 || w.read("proj/a") != "new" {
		t.Errorf("left behind: %v; the file is %q", left, w.read("proj/a"))
	}
}

func TestOwnerIsKept(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only the system's administrator has files of others")
	}
	w := newWorld(t, "proj/a")
	must(t, os.Chown(w.path("proj/a"), 1234, 1235))
	f := w.fence()
	_, err := f.Write(t.Context(), w.place(f, "write", "a"), tool.Draft{Content: []byte("x")})
	must(t, err)
	var st syscall.Stat_t
	must(t, syscall.Stat(w.path("proj/a"), &st))
	if st.Uid != 1234 || st.Gid != 1235 {
		t.Errorf("the file belongs to %d:%d", st.Uid, st.Gid)
	}
}

// TestWritesOfOneFolder has a rule for one folder where other writes are asked
// about, and paths that leave it.
func TestWritesOfOneFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/output/", "proj/output/up -> ..")
	f := w.fenceOf(disk.Config{Access: permission.AccessWrite, Mode: permission.ModeAskWrites, Rules: w.rules("allow Edit(output/**)")})
	for p, want := range map[string]string{
		"output/ok.txt": "allow", "output/new/ok.txt": "allow", "output/../traversal.txt": "ask", "output/up/traversal.txt": "ask",
		"../up.txt": "deny", "output/../../up.txt": "deny", "//abs-out.txt": "deny", "output-evil/x": "ask",
	} {
		if _, err := w.judge(f, "write", p); outcome(err) != want {
			t.Errorf("%s is %s, not %s", p, outcome(err), want)
		}
	}
}

func TestCallsWithoutPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.fence("ask Bash", "ask Task", "deny Memory")
	granted := f.Granting(disk.Grant{Tool: "task"}, disk.Grant{Tool: "bash", Text: "ls", Path: w.path("proj")})
	for name, want := range map[string]string{"bash": "allow allow", "task": "ask allow", "memory": "deny deny", "todo_write": "allow allow"} {
		r := tool.Request{Tool: name, Args: &tool.Args{}}
		_, before := f.Judge(t.Context(), r)
		_, after := granted.Judge(t.Context(), r)
		if got := outcome(before) + " " + outcome(after); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
	if err := f.JudgeShell(t.Context(), w.shell(false, "ls")); outcome(err) != "ask" {
		t.Errorf("a command is %v", err)
	}
	if err := granted.JudgeShell(t.Context(), w.shell(false, "ls")); err != nil {
		t.Errorf("a command that was allowed is %v", err)
	}
}

func TestWriteThroughLinksAndHardLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a", "proj/in -> a", "out/x", "proj/many")
	must(t, os.Link(w.path("out/x"), w.path("proj/hard")))
	must(t, os.Link(w.path("proj/many"), w.path("proj/other")))
	f := w.fence("user allow Edit(./many)")
	if _, err := w.judge(f, "write", "in"); outcome(err) != "failed" || !strings.Contains(err.Error(), w.path("proj/a")) {
		t.Errorf("writing through a link: %v", err)
	}
	if _, err := w.judge(f, "edit", "hard"); outcome(err) != "ask" {
		t.Errorf("writing a file with two names: %v", err)
	}
	if _, err := w.judge(f, "edit", "many"); err != nil {
		t.Errorf("writing it with a rule of the user: %v", err)
	}
	if _, err := w.judge(w.fenceOf(disk.Config{Access: permission.AccessWrite, Mode: permission.ModeLocked}), "edit", "hard"); outcome(err) != "deny" {
		t.Errorf("writing it in the mode locked: %v", err)
	}
	// A file that became a link after it was judged is not written through.
	p := w.place(f, "write", "a")
	must(t, replace(w.path("proj/a"), w.path("out/x")))
	if _, err := f.Write(t.Context(), p, tool.Draft{Content: []byte("evil")}); err == nil || w.read("out/x") != "out/x" {
		t.Errorf("a link that came later is written through: %v", err)
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/b", "proj/a/x", "proj/a/.env", "proj/a/self -> .", "proj/out -> /out", "proj/secret/k", "proj/priv/p", "out/o", "proj/dang -> none", "proj/file -> a/x")
	f := w.fence("deny Read(secret)", "ask Read(priv/**)")
	walk := func(o tool.WalkOptions, name string, visit func(tool.Entry) error) ([]string, tool.Left) {
		var seen []string
		left, err := f.Walk(t.Context(), w.place(f, name, "-"), o, func(e tool.Entry) error {
			seen = append(seen, fmt.Sprintf("%s:%s", e.Rel, e.Info.Kind))
			if visit != nil {
				return visit(e)
			}
			return nil
		})
		must(t, err)
		return seen, left
	}
	seen, left := walk(tool.WalkOptions{}, "grep", nil)
	want := []string{"a:dir", "a/self:link", "a/x:file", "b:file", "dang:link", "file:link"}
	if !slices.Equal(seen, want) {
		t.Errorf("the walk saw %q, not %q", seen, want)
	}
	if left.Denied != 1 || left.Asked != 3 { // secret; .env, out, priv
		t.Errorf("the walk left %+v", left)
	}
	if seen, _ := walk(tool.WalkOptions{Depth: 1}, "ls", nil); !slices.Equal(seen, []string{"a:dir", "b:file", "dang:link", "file:link"}) {
		t.Errorf("one level is %q", seen)
	}
	if seen, _ := walk(tool.WalkOptions{}, "grep", func(e tool.Entry) error {
		if e.Rel == "b" {
			return fs.SkipAll
		}
		return fs.SkipDir
	}); !slices.Equal(seen, []string{"a:dir", "b:file"}) {
		t.Errorf("with skips it is %q", seen)
	}
	boom := errors.New("boom")
	if _, err := f.Walk(t.Context(), w.place(f, "grep", "-"), tool.WalkOptions{Info: true}, func(e tool.Entry) error {
		if e.Info.Kind == tool.KindFile && (e.Info.Size == 0 || e.Info.Links != 1) {
			t.Errorf("the entry is %+v", e)
		}
		if e.Rel == "b" {
			h, err := f.Open(t.Context(), e.Place)
			must(t, err)
			got, _ := io.ReadAll(h)
			h.Close()
			if string(got) != "proj/b" {
				t.Errorf("b holds %q", got)
			}
			return boom
		}
		return nil
	}); !errors.Is(err, boom) {
		t.Errorf("the walk ended with %v", err)
	}
}

func TestWalkOfMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range tool.SortUpTo + 10 {
		must(t, os.WriteFile(w.path(fmt.Sprintf("proj/%06d", i)), nil, 0o600))
	}
	f := w.fence("deny Read(000007)")
	n := 0
	left, err := f.Walk(t.Context(), w.place(f, "ls", "-"), tool.WalkOptions{}, func(tool.Entry) error { n++; return nil })
	if err != nil || n != tool.SortUpTo+9 || left.Denied != 1 {
		t.Errorf("%d seen, %+v left: %v", n, left, err)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a/b", "proj/a/out -> /out", "out/x", "proj/a/key")
	f := w.fence("deny Grep(a/key)")
	dir := w.place(f, "grep", "a")
	p, err := f.Within(t.Context(), dir, "b", tool.OpRead)
	if err != nil || p.Canonical != w.path("proj/a/b") || p.Spelled != "a/b" {
		t.Errorf("%+v %v", p, err)
	}
	for rel, want := range map[string]string{"../x": "failed", "/etc": "failed", "c/../../x": "failed", "out/x": "ask", "key": "deny", "none": "allow"} {
		if _, err := f.Within(t.Context(), dir, rel, tool.OpRead); outcome(err) != want {
			t.Errorf("%s is %s, not %s (%v)", rel, outcome(err), want, err)
		}
	}
}
