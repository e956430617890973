package files_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/files"
	"github.com/tenonrun/tenon/tool/tooltest"
)

// bench is a fence with the tools and a session.
type bench struct {
	*tooltest.Fence
	t    testing.TB
	set  *tool.Set
	call tool.Call
	host *tooltest.Host
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, Fence: tooltest.New(t), host: &tooltest.Host{}}
	var err error
	if b.set, err = tool.NewSet(files.Tools(files.Config{})...); err != nil {
		t.Fatal(err)
	}
	b.call = tool.Call{ID: "1", Fence: b.Fence, Session: &tool.Session{}, Host: b.host.Tool()}
	return b
}

func (b *bench) run(name string, args any) (tool.Result, error) {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := b.set.Run(b.t.Context(), name, raw, b.call)
	if !utf8.ValidString(r.Text) || len(r.Text) > 52<<10 {
		b.t.Fatalf("%s %.200s: %d bytes of text, valid: %v", name, raw, len(r.Text), utf8.ValidString(r.Text))
	}
	var asked *tool.Asked
	if err != nil && !tool.ByModel(err) && !errors.As(err, &asked) {
		b.t.Fatalf("%s %.200s: not for the model: %v", name, raw, err)
	}
	return r, err
}

// ok runs a call that has to succeed, and gives its text.
func (b *bench) ok(name string, args any) string {
	b.t.Helper()
	r, err := b.run(name, args)
	if err != nil {
		b.t.Fatalf("%s %.200v: %v", name, args, err)
	}
	return r.Text
}

// fails runs a call that has to fail with these words.
func (b *bench) fails(name string, args any, words ...string) {
	b.t.Helper()
	r, err := b.run(name, args)
	if err == nil {
		b.t.Errorf("%s %.200v: no error, %q", name, args, r.Text)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			b.t.Errorf("%s %.200v: %v; want %q", name, args, err, w)
		}
	}
}

func (b *bench) want(name string, args any, want string) {
	b.t.Helper()
	if got := b.ok(name, args); got != want {
		b.t.Errorf("%s %.200v:\n%s\nwant:\n%s", name, args, got, want)
	}
}

func (b *bench) remove(rel string) {
	b.t.Helper()
	if err := os.RemoveAll(b.Path(rel)); err != nil {
		b.t.Fatal(err)
	}
}

type m = map[string]any

func mustJSON(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
