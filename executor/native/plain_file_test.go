package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

func writeFiles(t *testing.T, h *host, in executor.Turn, files ...provider.File) (executor.Reply, error) {
	t.Helper()
	in.Key = "t"
	return native.New(native.Config{Provider: &speaker{says: []line{spoken("ok", files...)}}}).Execute(t.Context(), in, h)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gone"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	files := []provider.File{{Path: "a/b/new.txt", Content: "hi"}, {Path: "old", Content: "y"}, {Path: "gone", Delete: true}, {Path: "never", Delete: true}}
	h, in := &host{}, executor.Turn{Access: workflow.EffectWrite, Dir: dir, Roots: []string{dir}}
	for range 2 { // as after a crash between the call's end and the visit's
		r, err := writeFiles(t, h, in, files...)
		if err != nil || strings.Join(r.Files, " ") != "a/b/new.txt old gone never" {
			t.Fatalf("%q, %v", r.Files, err)
		}
		for name, want := range map[string]string{"a/b/new.txt": "hi", "old": "y"} {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, "gone")); !os.IsNotExist(err) {
			t.Errorf("gone is there: %v", err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "old")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode of old: %v, %v", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("drafts are left: %q, %v", left, err)
	}
	before, _ := os.Stat(filepath.Join(dir, "old"))
	if err := os.Chtimes(filepath.Join(dir, "old"), before.ModTime().Add(-1e12), before.ModTime().Add(-1e12)); err != nil {
		t.Fatal(err)
	}
	before, _ = os.Stat(filepath.Join(dir, "old"))
	if _, err := writeFiles(t, h, in, files...); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(filepath.Join(dir, "old")); !after.ModTime().Equal(before.ModTime()) {
		t.Error("the same content was written again")
	}
}

func TestFilesOutside(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, other := filepath.Join(base, "repo"), filepath.Join(base, "other")
	for _, d := range []string{dir, other} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../other/x", "link/x", "/etc/x", "", ".", "a/../..", "a\x00b", "../repo2/x"} {
		h := &host{}
		_, err := writeFiles(t, h, executor.Turn{Access: workflow.EffectWrite, Dir: dir, Roots: []string{dir}},
			provider.File{Path: name, Content: "x"})
		if workflow.CodeOf(err) != workflow.CodeInvalidOutput {
			t.Errorf("%q: %v", name, err)
		}
	}
	// One bad path, and nothing is written.
	_, err := writeFiles(t, &host{}, executor.Turn{Access: workflow.EffectWrite, Dir: dir, Roots: []string{dir}},
		provider.File{Path: "good", Content: "x"}, provider.File{Path: "../bad", Content: "x"})
	if _, there := os.Stat(filepath.Join(dir, "good")); err == nil || !os.IsNotExist(there) {
		t.Errorf("got %v, %v", err, there)
	}
	if left, _ := os.ReadDir(other); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
	// A link that stays inside is written through.
	if err := os.Symlink("real", filepath.Join(dir, "inside")); err != nil {
		t.Fatal(err)
	}
	if _, err := writeFiles(t, &host{}, executor.Turn{Access: workflow.EffectWrite, Dir: dir}, provider.File{Path: "inside", Content: "x"}); err != nil {
		t.Errorf("link inside: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "real")); string(got) != "x" || err != nil {
		t.Errorf("behind the link: %q, %v", got, err)
	}
	// A second root may be reached.
	if _, err := writeFiles(t, &host{}, executor.Turn{Access: workflow.EffectWrite, Dir: dir, Roots: []string{dir, other}},
		provider.File{Path: "../other/x", Content: "x"}); err != nil {
		t.Errorf("second root: %v", err)
	}
}

func TestFilesNeedWriteAccess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, access := range []workflow.Effect{workflow.EffectRead, workflow.EffectNone} {
		_, err := writeFiles(t, &host{}, executor.Turn{Access: access, Dir: dir}, provider.File{Path: "x", Content: "x"})
		if workflow.CodeOf(err) != workflow.CodeInvalidRoleAccess {
			t.Errorf("access %q: %v", access, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("written: %v", left)
	}
	if _, err := writeFiles(t, &host{}, executor.Turn{Access: workflow.EffectWrite}, provider.File{Path: "x", Content: "x"}); workflow.CodeOf(err) != workflow.CodeInvalidOutput {
		t.Errorf("without a directory: %v", err)
	}
}

// TestFilesAfterACrash settles an answer, changes the files as a crash or a
// person may have left them, and runs the turn again.
func TestFilesAfterACrash(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ left, want string }{
		"not written":         {"old", "new"},
		"written":             {"new", "new"},
		"changed by a person": {"mine", "mine"},
		"removed by a person": {"", ""},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		h, in := &host{}, executor.Turn{Access: workflow.EffectWrite, Dir: dir, Roots: []string{dir}}
		if _, err := writeFiles(t, h, in, provider.File{Path: "f", Content: "new"}); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if tc.left != "" {
			if err := os.WriteFile(file, []byte(tc.left), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := writeFiles(t, h, in); err != nil || strings.Join(r.Files, " ") != "f" {
			t.Errorf("%s: %q, %v", name, r.Files, err)
		}
		if got, err := os.ReadFile(file); string(got) != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tc.want)
		}
	}
}
