package tooltest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// Rules are what a fence under test has to hold, beside keeping to Root: reads
// and writes below it are allowed, what is outside is not.
type Rules struct {
	Root string   // canonical, absolute
	Deny []string // directories and files below Root, slash-separated
	Ask  []string // the same
}

// TestFence holds an implementation to the contract of tool.Fence.
func TestFence(t *testing.T, build func(testing.TB, Rules) tool.Fence) {
	for name, run := range map[string]func(*suite, *testing.T){
		"judge": (*suite).judge, "links": (*suite).links, "open": (*suite).open, "write": (*suite).write,
		"evidence": (*suite).evidence, "swap": (*suite).swap, "walk": (*suite).walk, "within": (*suite).within, "digest": (*suite).digest,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := New(t)
			s := &suite{Fence: f, t: t}
			for _, p := range []string{"a.txt", "dir/b.txt", "dir/sub/c.txt", "secret/key", "dir/secret.txt", "maybe/m.txt"} {
				f.Put(t, p, "content of "+p)
			}
			s.fence = build(t, Rules{Root: f.Root, Deny: []string{"secret", "dir/secret.txt"}, Ask: []string{"maybe"}})
			run(s, t)
		})
	}
}

// suite is one part of TestFence with its tree.
type suite struct {
	*Fence
	t     *testing.T
	fence tool.Fence
}

func (f *suite) ask(op tool.Op, spelled string) (tool.Place, error) {
	effect, name := workflow.EffectRead, map[tool.Op]string{tool.OpRead: "read", tool.OpSearch: "grep", tool.OpWrite: "write"}[op]
	if op == tool.OpWrite {
		effect = workflow.EffectWrite
	}
	args, err := tool.ParseArgs(name, []byte(`{"path":`+string(quoted(spelled))+`}`))
	if err != nil {
		f.t.Fatal(err)
	}
	return f.fence.Judge(f.t.Context(), tool.Request{Tool: name, Effect: effect, Args: args,
		Target: tool.Target{Slot: "path", Base: tool.BaseRoot, Absent: tool.AbsentNone, Op: op}})
}

func quoted(s string) []byte {
	return []byte(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`)
}

// at judges a place that has to be allowed.
func (f *suite) at(op tool.Op, spelled string) tool.Place {
	f.t.Helper()
	p, err := f.ask(op, spelled)
	if err != nil {
		f.t.Fatalf("%s %s: %v", op, spelled, err)
	}
	return p
}

func (f *suite) link(target, rel string) {
	f.t.Helper()
	if err := os.Symlink(target, f.Path(rel)); err != nil {
		f.t.Fatal(err)
	}
}

// stopped holds that a call is denied, or has to be asked about.
func (f *suite) stopped(op tool.Op, spelled string) {
	f.t.Helper()
	_, err := f.ask(op, spelled)
	var denied *tool.Denied
	var asked *tool.Asked
	if !errors.As(err, &denied) && !errors.As(err, &asked) {
		f.t.Errorf("%s %s: %v", op, spelled, err)
	}
}

func (f *suite) judge(t *testing.T) {
	p := f.at(tool.OpRead, "dir/../a.txt")
	if p.Lexical != f.Path("a.txt") || p.Canonical != f.Path("a.txt") || !p.Exists || p.Spelled != "dir/../a.txt" || p.Op != tool.OpRead {
		t.Errorf("%+v", p)
	}
	if p := f.at(tool.OpWrite, "new/file"); p.Exists || p.Canonical != f.Path("new/file") {
		t.Errorf("%+v", p)
	}
	for _, spelled := range []string{"secret/key", "secret", "dir/secret.txt", f.Path("secret/new"), "dir/../secret/key"} {
		for _, op := range []tool.Op{tool.OpRead, tool.OpWrite} {
			_, err := f.ask(op, spelled)
			var denied *tool.Denied
			if !errors.As(err, &denied) || denied.Reason == "" || denied.Spelled != spelled || denied.Op != op {
				t.Errorf("%s %s: %v", op, spelled, err)
			}
		}
	}
	_, err := f.ask(tool.OpRead, "maybe/m.txt")
	var asked *tool.Asked
	if !errors.As(err, &asked) || asked.Spelled != "maybe/m.txt" || asked.Canonical != f.Path("maybe/m.txt") {
		t.Error(err)
	}
	f.stopped(tool.OpWrite, "../x")
	f.stopped(tool.OpWrite, f.Root+"-evil/x")
	if p, err := f.fence.Judge(t.Context(), tool.Request{Tool: "todo_write", Effect: workflow.EffectRead, Args: &tool.Args{Values: map[string]any{}}}); err != nil || p != (tool.Place{}) {
		t.Errorf("a call without a path: %+v, %v", p, err)
	}
}

func (f *suite) links(t *testing.T) {
	out, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f.link("secret/key", "to-key")
	f.link("secret", "to-secret")
	f.link(out, "out")
	f.link(filepath.Join(out, "new"), "dangling")
	f.link("dir", "in")
	f.link("loop", "loop")
	for _, spelled := range []string{"to-key", "to-secret/key", "to-secret/new", "out/x", "dangling", "loop"} {
		f.stopped(tool.OpWrite, spelled)
	}
	f.stopped(tool.OpRead, "to-key")
	f.stopped(tool.OpRead, "to-secret/key")
	p := f.at(tool.OpRead, "in/b.txt")
	if p.Lexical != f.Path("in/b.txt") || p.Canonical != f.Path("dir/b.txt") {
		t.Errorf("%+v", p)
	}
}

func (f *suite) open(t *testing.T) {
	h, err := f.fence.Open(t.Context(), f.at(tool.OpRead, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(h)
	if err != nil || string(raw) != "content of a.txt" || h.Info().Size != 16 || h.Info().Kind != tool.KindFile {
		t.Errorf("%q, %+v, %v", raw, h.Info(), err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.fence.Stat(t.Context(), f.at(tool.OpRead, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if info, err := f.fence.Stat(t.Context(), f.at(tool.OpRead, "dir")); err != nil || info.Kind != tool.KindDir {
		t.Errorf("%+v, %v", info, err)
	}
	for _, name := range []string{"dir", "none"} {
		var failed *tool.Failed
		if _, err := f.fence.Open(t.Context(), f.at(tool.OpRead, name)); !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (f *suite) write(t *testing.T) {
	ctx := t.Context()
	if err := os.Chmod(f.Path("a.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	c, err := f.fence.Write(ctx, f.at(tool.OpWrite, "a.txt"), tool.Draft{Content: []byte("new")})
	if err != nil || f.Get(t, "a.txt") != "new" || c.Path != f.Path("a.txt") || c.Size != 3 || c.Before == c.After {
		t.Fatalf("%+v, %v", c, err)
	}
	if info, err := os.Stat(f.Path("a.txt")); err != nil || info.Mode().Perm() != 0o640 {
		t.Error("the mode changed", info, err)
	}
	var changed *tool.Changed
	if _, err = f.fence.Write(ctx, f.at(tool.OpWrite, "a.txt"), tool.Draft{Content: []byte("x"), Expect: c.Before}); !errors.As(err, &changed) || changed.Found != c.After {
		t.Error(err)
	}
	if _, err = f.fence.Write(ctx, f.at(tool.OpWrite, "a.txt"), tool.Draft{Content: []byte("x"), Expect: tool.NoFile}); !errors.As(err, &changed) {
		t.Error(err)
	}
	if _, err = f.fence.Write(ctx, f.at(tool.OpWrite, "a.txt"), tool.Draft{Content: []byte("newer"), Expect: c.After}); err != nil {
		t.Error(err)
	}
	if _, err = f.fence.Write(ctx, f.at(tool.OpWrite, "p/q/r"), tool.Draft{Content: []byte("x")}); err == nil {
		t.Error("parents were made without being asked for")
	}
	c, err = f.fence.Write(ctx, f.at(tool.OpWrite, "p/q/r"), tool.Draft{Content: []byte("x"), MakeParents: true, Expect: tool.NoFile})
	if err != nil || c.Before != tool.NoFile || f.Get(t, "p/q/r") != "x" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err = f.fence.Write(ctx, f.at(tool.OpRead, "a.txt"), tool.Draft{Content: []byte("x")}); err == nil || f.Get(t, "a.txt") != "newer" {
		t.Error("a place that was judged for reading was written")
	}
}

func (f *suite) evidence(t *testing.T) {
	stop := errors.New("stop")
	var told tool.Change
	_, err := f.fence.Write(t.Context(), f.at(tool.OpWrite, "a.txt"), tool.Draft{Content: []byte("new"), Announce: func(_ context.Context, c tool.Change) error {
		if told = c; f.Get(t, "a.txt") != "content of a.txt" {
			t.Error("it was published before it was announced")
		}
		return stop
	}})
	if !errors.Is(err, stop) || f.Get(t, "a.txt") != "content of a.txt" {
		t.Fatal(err)
	}
	if fate, err := tool.Resolve(t.Context(), f.fence, []tool.Change{told}); fate != tool.NotDone || err != nil {
		t.Error(fate, err)
	}
	entries, err := os.ReadDir(f.Root)
	if err != nil || len(entries) != 4 {
		t.Error("something was left behind", entries, err)
	}
	var changed *tool.Changed
	_, err = f.fence.Write(t.Context(), f.at(tool.OpWrite, "a.txt"), tool.Draft{Content: []byte("new"), Announce: func(context.Context, tool.Change) error {
		f.Put(t, "a.txt", "somebody else")
		return nil
	}})
	if !errors.As(err, &changed) || f.Get(t, "a.txt") != "somebody else" {
		t.Error("a file that changed meanwhile was replaced", err)
	}
	c, err := f.fence.Write(t.Context(), f.at(tool.OpWrite, "a.txt"), tool.Draft{Content: []byte("new")})
	if err != nil {
		t.Fatal(err)
	}
	if fate, err := tool.Resolve(t.Context(), f.fence, []tool.Change{c}); fate != tool.Done || err != nil {
		t.Error(fate, err)
	}
}

// swap puts a link where a judged file was.
func (f *suite) swap(t *testing.T) {
	read, write := f.at(tool.OpRead, "dir/sub/c.txt"), f.at(tool.OpWrite, "dir/sub/c.txt")
	if err := os.Rename(f.Path("dir/sub"), f.Path("dir/was")); err != nil {
		t.Fatal(err)
	}
	f.Put(t, "secret/c.txt", "hidden")
	f.link("../secret", "dir/sub")
	if h, err := f.fence.Open(t.Context(), read); err == nil {
		h.Close()
		t.Error("a link was followed that was not judged")
	}
	if _, err := f.fence.Write(t.Context(), write, tool.Draft{Content: []byte("x")}); err == nil || f.Get(t, "secret/c.txt") != "hidden" {
		t.Error("written through a link that was not judged", err)
	}
}

func (f *suite) walk(t *testing.T) {
	f.link("sub", "dir/link")
	var seen []string
	root := f.at(tool.OpSearch, f.Root)
	walk := func(o tool.WalkOptions, stop func(tool.Entry) error) tool.Left {
		t.Helper()
		seen = nil
		left, err := f.fence.Walk(t.Context(), root, o, func(e tool.Entry) error {
			seen = append(seen, e.Rel+" "+string(e.Info.Kind))
			return stop(e)
		})
		if err != nil {
			t.Error(err)
		}
		return left
	}
	all := func(tool.Entry) error { return nil }
	want := []string{"a.txt file", "dir dir", "dir/b.txt file", "dir/link link", "dir/sub dir", "dir/sub/c.txt file"}
	if left := walk(tool.WalkOptions{}, all); !slices.Equal(seen, want) || left != (tool.Left{Denied: 2, Asked: 1}) {
		t.Errorf("%q, %+v", seen, left)
	}
	if walk(tool.WalkOptions{Depth: 1, Info: true}, all); !slices.Equal(seen, want[:2]) {
		t.Errorf("depth 1: %q", seen)
	}
	walk(tool.WalkOptions{}, func(e tool.Entry) error {
		if e.Info.Kind == tool.KindDir {
			return fs.SkipDir
		}
		return nil
	})
	if !slices.Equal(seen, want[:2]) {
		t.Errorf("skipped: %q", seen)
	}
	if walk(tool.WalkOptions{}, func(tool.Entry) error { return fs.SkipAll }); len(seen) != 1 {
		t.Errorf("stopped: %q", seen)
	}
	stop := errors.New("stop")
	if _, err := f.fence.Walk(t.Context(), root, tool.WalkOptions{}, func(tool.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	walk(tool.WalkOptions{Info: true}, func(e tool.Entry) error {
		if e.Rel != "dir/b.txt" {
			return nil
		}
		h, err := f.fence.Open(t.Context(), e.Place)
		if err != nil || e.Info.Size != 20 || e.Info.ModTime.IsZero() {
			t.Fatalf("%+v, %v", e.Info, err)
		}
		return h.Close()
	})
}

func (f *suite) within(t *testing.T) {
	dir := f.at(tool.OpSearch, "dir")
	p, err := f.fence.Within(t.Context(), dir, "sub/c.txt", tool.OpRead)
	if err != nil || p.Canonical != f.Path("dir/sub/c.txt") || p.Op != tool.OpRead {
		t.Errorf("%+v, %v", p, err)
	}
	f.link("../secret/key", "dir/key")
	for _, rel := range []string{"secret.txt", "key", "../secret/key", "../a.txt", f.Path("a.txt")} {
		if p, err := f.fence.Within(t.Context(), dir, rel, tool.OpRead); err == nil {
			t.Errorf("%s: %+v", rel, p)
		}
	}
}

func (f *suite) digest(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	f.Put(t, "empty", "")
	for name, want := range map[string]string{"empty": empty, "none": tool.NoFile} {
		if got, err := f.fence.Digest(t.Context(), f.Path(name)); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if got, err := f.fence.Digest(t.Context(), f.Path("dir")); err == nil {
		t.Errorf("a directory has the digest %s", got)
	}
}
