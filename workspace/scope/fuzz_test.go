package scope_test

import (
	"context"
	"maps"
	"os"
	"strings"
	"testing"
)

// places are the paths that programs work on; the first ones lie in the scope.
var places = []string{"app/x", "app", "lib", "lib/a.go", "lib/deep", "lib/deep/c.go", "run.sh", "link", "new", "new/y", "new/y/z", ".gitignore", ".git/info/exclude"}

// program does what its bytes say, two for each step: what, and where. Whether a
// step works does not matter.
func (w *work) program(steps []byte, inTurn bool) {
	for ; len(steps) >= 2; steps = steps[2:] {
		at := places[int(steps[1])%len(places)]
		if strings.HasPrefix(at, ".git") && (!inTurn || steps[0]%8 != 0) {
			continue // only a turn hides its files
		}
		switch full := w.path(at); steps[0] % 8 {
		case 0:
			_ = os.WriteFile(full, []byte{'*', '\n'}, 0o644) // a link is followed
		case 1:
			_ = os.WriteFile(full, []byte("package x"), 0o600)
		case 2:
			_ = os.RemoveAll(full)
		case 3:
			_ = os.MkdirAll(full, 0o755)
		case 4:
			_ = os.Symlink("lib", full)
		case 5:
			_ = os.Chmod(full, 0o700) //nolint:gosec // a step
		case 6:
			_ = os.Rename(full, w.path("new"))
		case 7:
			_ = os.Rename(w.path("lib"), full)
		}
	}
}

// outside are the files and links that do not lie in the scope.
func (w *work) outside() map[string]string {
	all := w.tree()
	maps.DeleteFunc(all, func(at, what string) bool {
		return what == "dir" || at == "app" || strings.HasPrefix(at, "app/")
	})
	return all
}

// FuzzTurn: whatever was there and whatever the turn does, outside of the scope
// every file and link is as it was.
func FuzzTurn(f *testing.F) {
	for _, seed := range []string{"", "\x01\x03", "\x02\x02\x04\x02\x01\x03", "\x07\x08\x04\x02\x01\x03\x01\x05", "\x00\x0b\x03\x09\x01\x0a", "\x02\x06\x03\x06\x04\x0a"} {
		f.Add([]byte(seed), []byte(seed), true)
		f.Add([]byte("\x01\x0a\x02\x04"), []byte(seed+"\x02\x08\x00\x0c\x01\x08"), false)
	}
	f.Fuzz(func(t *testing.T, before, turn []byte, git bool) {
		if len(before) > 20 || len(turn) > 20 {
			return
		}
		w := plain(t)
		if git {
			w = repo(t)
		} else {
			w.fill()
		}
		w.program(before, false)
		want := w.outside()
		report, err := w.guard().Around(t.Context(), w.turn(), func(context.Context) error { w.program(turn, true); return nil })
		if err != nil || len(report.Failed()) > 0 {
			t.Fatalf("%v: %s", err, report.Text())
		}
		got := w.outside()
		if !maps.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}
