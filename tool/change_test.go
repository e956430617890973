package tool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/tooltest"
)

func place(t *testing.T, f *tooltest.Fence, rel string) tool.Place {
	t.Helper()
	p, err := f.Judge(t.Context(), tool.Request{Tool: "t", Target: tool.Target{Slot: "path", Base: tool.BaseRoot, Absent: tool.AbsentNone, Op: tool.OpWrite},
		Args: &tool.Args{Values: map[string]any{"path": rel}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestResolve stops a write before it is announced, between that and publishing,
// and after it, and asks the file what happened.
func TestResolve(t *testing.T) {
	t.Parallel()
	f := tooltest.New(t)
	f.Put(t, "a", "old")
	stop := errors.New("stop")
	var seen []tool.Change
	draft := tool.Draft{Content: []byte("new"), Announce: func(_ context.Context, c tool.Change) error { seen = append(seen, c); return stop }}
	if _, err := f.Write(t.Context(), place(t, f, "a"), draft); !errors.Is(err, stop) || f.Get(t, "a") != "old" {
		t.Fatal("a write that could not be announced was published", err)
	}
	fate := func(want tool.Fate, changes ...tool.Change) {
		t.Helper()
		if got, err := tool.Resolve(t.Context(), f, changes); err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	fate(tool.NotDone, seen...)
	draft.Announce = nil
	c, err := f.Write(t.Context(), place(t, f, "a"), draft)
	if err != nil || c != seen[0] {
		t.Fatal(c, err)
	}
	fate(tool.Done, c)
	made, err := f.Write(t.Context(), place(t, f, "b"), tool.Draft{Content: []byte("b")})
	if err != nil || made.Before != tool.NoFile {
		t.Fatal(made, err)
	}
	fate(tool.Done, c, made)
	f.Put(t, "a", "somebody else")
	fate(tool.Neither, c)
	if err := os.Remove(f.Path("b")); err != nil {
		t.Fatal(err)
	}
	fate(tool.NotDone, made)
	fate(tool.Neither, c, made)
	fate(tool.NotDone)
	twice := []tool.Change{{Path: f.Path("a"), Before: tool.NoFile, After: "x"}, {Path: f.Path("a"), Before: "x", After: "y"}}
	if err := os.Remove(f.Path("a")); err != nil {
		t.Fatal(err)
	}
	fate(tool.NotDone, twice...)
}

func TestSession(t *testing.T) {
	t.Parallel()
	var none *tool.Session
	none.Keep(tool.Result{Cwd: "/x"})
	if _, ok := none.Seen("/a"); ok || none.Cwd() != "" {
		t.Error("no session remembers something")
	}
	var s tool.Session
	s.Keep(tool.Result{Seen: []tool.Seen{{Path: "/a", Digest: "1"}}, Cwd: "/x"})
	s.Keep(tool.Result{Changes: []tool.Change{{Path: "/a", After: "2"}}})
	if d, _ := s.Seen("/a"); d != "2" || s.Cwd() != "/x" {
		t.Error(d, s.Cwd())
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	v := tool.Verdict{Tool: "write", Op: tool.OpWrite, Spelled: "vendor/x", Canonical: "/out/x", View: "canonical", Rule: "Edit(//out/**)", Reason: "a rule denies it"}
	want := "denied: write vendor/x -> /out/x: a rule denies it (rule Edit(//out/**), canonical path)"
	if got := (&tool.Denied{Verdict: v}).Error(); !strings.HasPrefix(got, want) {
		t.Error(got)
	}
	wrapped := fmt.Errorf("outer: %w", &tool.Failed{What: "x", Err: os.ErrNotExist, Next: "y"})
	if !errors.Is(wrapped, os.ErrNotExist) || !tool.ByModel(wrapped) || tool.ByModel(os.ErrNotExist) || tool.Explain(wrapped) != "error: outer: x: file does not exist; y" {
		t.Error(tool.Explain(wrapped))
	}
	if got := tool.Explain(errors.New(strings.Repeat("ä", 9000) + "\xff")); len(got) > 4000 || !utf8.ValidString(got) {
		t.Error(len(got))
	}
}

// TestQuote holds that any name is shown on one line of valid, bounded text.
func TestQuote(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a b/ä.go": "a b/ä.go", "": `""`, "a\nb": `"a\nb"`, "a\xff": `"a\xff"`, " a": `" a"`, `"a"`: `"\"a\""`,
		"\u202egpj": `"\u202egpj"`, "\x1b[2J": `"\x1b[2J"`} {
		if got := tool.Quote(name); got != want {
			t.Errorf("%q is shown as %s", name, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := string(rapid.SliceOfN(rapid.Byte(), 0, 5000).Draw(t, "name"))
		if got := tool.Quote(name); strings.ContainsAny(got, "\n\x00\x1b") || !utf8.ValidString(got) || len(got) > 4000 {
			t.Fatalf("%q is shown as %q", name, got)
		}
	})
}
