package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// tree makes a repository with links that stay inside and links that leave it.
func tree(t *testing.T) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"repo/pkg/a", "repo/pkg/ab", "repo/other", "outside"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"repo/in": "pkg/a", "repo/out": "../outside", "repo/pkg/a/side": "../../other", "repolink": "repo"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "repo/file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return base
}

func TestDir(t *testing.T) {
	t.Parallel()
	base := tree(t)
	for _, tc := range []struct {
		path  string
		scope []string
		cwd   string
		want  string // below base; or
		err   string
	}{
		{"repo", nil, "", "repo", ""},
		{"repo", nil, "pkg/a", "repo/pkg/a", ""},
		{"repo", nil, "pkg/../other", "repo/other", ""},
		{"repolink", nil, "pkg", "repo/pkg", ""},
		{"repo", nil, "in", "repo/pkg/a", ""},
		{"repo", nil, "out", "", "leads out"},
		{"repo", nil, "..", "", "leads out"},
		{"repo", nil, "/tmp", "", "absolute"},
		{"repo", nil, "file", "", "not a directory"},
		{"repo", nil, "none", "", "none"},
		{"gone", nil, "", "", "finding repository"},
		{"repo", []string{"pkg/a"}, "", "repo/pkg/a", ""},
		{"repo", []string{"pkg/a"}, "pkg/a", "repo/pkg/a", ""},
		{"repo", []string{"pkg/a"}, "in", "repo/pkg/a", ""},
		{"repo", []string{"pkg/a"}, "pkg/ab", "", "outside the scope"},
		{"repo", []string{"pkg/a"}, "pkg", "", "outside the scope"},
		{"repo", []string{"pkg/a"}, "pkg/a/side", "", "outside the scope"},
		{"repo", []string{"pkg/a", "other"}, "", "", "several scopes"},
		{"repo", []string{"pkg/a", "other"}, "other", "repo/other", ""},
		{"repo", []string{"out"}, "out", "", "leads out"},
	} {
		got, err := command.Dir(workflow.RepositoryInfo{ID: "r", Path: filepath.Join(base, tc.path), Scope: tc.scope}, tc.cwd)
		switch {
		case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
			t.Errorf("%s %v %q: %v, want %q", tc.path, tc.scope, tc.cwd, err, tc.err)
		case tc.err == "" && (err != nil || got != filepath.Join(base, tc.want)):
			t.Errorf("%s %v %q: %q, %v, want %q", tc.path, tc.scope, tc.cwd, got, err, tc.want)
		}
	}
}

func TestRepository(t *testing.T) {
	t.Parallel()
	repos := []workflow.RepositoryInfo{{ID: "repo", Path: "/w/app"}, {ID: "lib", Path: "/w/repo"}}
	for id, want := range map[string]string{"repo": "repo", "lib": "lib", "app": "repo"} {
		if r, err := command.Repository(repos, id); err != nil || r.ID != want {
			t.Errorf("%s: %+v, %v", id, r, err)
		}
	}
	for id, want := range map[string]string{"": "repo, lib", "libs": `"lib"`, "zzzzzzz": "repo, lib"} {
		if _, err := command.Repository(repos, id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", id, err, want)
		}
	}
	if r, err := command.Repository(repos[:1], ""); err != nil || r.ID != "repo" {
		t.Errorf("only repository: %+v, %v", r, err)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	r := text.NewRedactor(nil, "hunter2hunter2")
	if got := command.Clean(r, []byte("a hunter2hunter2 \xff\x00"), 0); got != "a "+text.Mark+" \ufffd\x00" {
		t.Errorf("got %q", got)
	}
	got := command.Clean(nil, []byte(strings.Repeat("ä", 500)+"END"), 101)
	if len(got) > 101 || !utf8.ValidString(got) || !strings.HasPrefix(got, "ä") || !strings.HasSuffix(got, "END") || !strings.Contains(got, "[...]") {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var got []string
	see := command.Lines(text.NewRedactor(nil, "hunter2hunter2"), func(s string) { got = append(got, s) })
	see(workspace.Stdout, []byte("one hunter2"))
	see(workspace.Stderr, []byte("err\n"))
	see(workspace.Stdout, []byte("hunter2\ntwo\nthr"))
	want := "err\n|one " + text.Mark + "\ntwo\n"
	if strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	see(workspace.Stderr, []byte(strings.Repeat("x", 9000)))
	if len(got) != 3 || len(got[2]) > 9000 || got[2] == "" {
		t.Errorf("a line without end: %d pieces", len(got))
	}
}

func TestCheckLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]workflow.Code{
		"a | b": "", "a | b; c": workflow.CodeUncheckedPipe, "if": workflow.CodeInvalidPieceParams,
	} {
		var got workflow.Code
		if defects := command.CheckLine(line); len(defects) > 0 {
			got = defects[0].Code
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
