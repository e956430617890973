package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/provider/scripted"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

func TestFind(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"m/.git": "/", "m/.tenon/workflows/deploy.yaml": "", "m/.tenon/workflows/shared.json": "", "m/.claude/workflows/review.js": "",
		"m/a/.tenon/workflows/shared.yml": "", "m/a/.claude/workflows/shared.js": "", "m/a/.tenon/workflows/twice.yaml": "", "m/a/.tenon/workflows/twice.json": "",
		"m/a/sub/local.yaml": "", "m/a/sub/plain": "", "m/a/.tenon/workflows/notes.md": "",
		".tenon-outside": "", "outside/.tenon/workflows/far.yaml": "",
	})
	p := open(t, options(root, "m/a/sub", nil))
	for name, want := range map[string]string{
		"shared": "m/a/.tenon/workflows/shared.yml", "deploy": "m/.tenon/workflows/deploy.yaml", "review": "m/.claude/workflows/review.js",
		"local.yaml": "m/a/sub/local.yaml", "../.tenon/workflows/twice.json": "m/a/.tenon/workflows/twice.json", "plain": "m/a/sub/plain",
		filepath.Join(root, "outside/.tenon/workflows/far.yaml"): "outside/.tenon/workflows/far.yaml",
	} {
		f, err := p.Find(name)
		if err != nil || f.Path != filepath.Join(root, want) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
		if script := strings.HasSuffix(want, ".js"); script != (f.Kind == workflow.KindScript) {
			t.Errorf("%s is of kind %s", name, f.Kind)
		}
	}
	for name, want := range map[string]string{
		"twice": "twice: .tenon/workflows/twice.yaml and .tenon/workflows/twice.json", "depoly": `did you mean "deploy"?`,
		"far": "known: deploy, review, shared, twice", "none.yaml": "no such file", "../.tenon/workflows": "is not a file",
	} {
		if _, err := p.Find(name); workflow.CodeOf(err) != workflow.CodeWorkflowNotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	var names []string
	for _, f := range p.Workflows() {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "deploy review shared twice" {
		t.Errorf("workflows: %s", got)
	}
}

// TestFindOwn looks names up among the person's own workflows, after those of
// the project.
func TestFindOwn(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"p/.tenon/workflows/shared.yaml": "", "p/.claude/workflows/near.js": "", "h/.config/tenon/workflows/shared.js": "",
		"h/.config/tenon/workflows/mine.yaml": "", "h/.claude/workflows/near.js": "", "h/.claude/workflows/own.js": "", "h/.claude/workflows/no.yaml": "",
	})
	p := open(t, options(root, "p", map[string]string{"HOME": filepath.Join(root, "h"), "XDG_CONFIG_HOME": filepath.Join(root, "h/.config")}))
	for name, want := range map[string]string{
		"shared": "p/.tenon/workflows/shared.yaml", "near": "p/.claude/workflows/near.js", "mine": "h/.config/tenon/workflows/mine.yaml", "own": "h/.claude/workflows/own.js",
	} {
		f, ok, err := p.Named(name)
		if err != nil || !ok || f.Path != filepath.Join(root, want) || f.User != strings.HasPrefix(want, "h/") {
			t.Errorf("%s: %+v, %v, %v", name, f, ok, err)
		}
	}
	for _, name := range []string{"no", "", "..", "../workflows/near", "."} {
		if f, ok, err := p.Named(name); ok || err != nil {
			t.Errorf("%q: %+v, %v", name, f, err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(root, "p/.claude/workflows/dir.js"), 0o700), os.Symlink("nowhere", filepath.Join(root, "p/.claude/workflows/link.js"))); err != nil {
		t.Fatal(err)
	}
	if all := p.Everywhere(); len(all) != 6 || len(p.Workflows()) != 4 {
		t.Errorf("everywhere: %+v", all)
	}
	if _, err := p.Find("elsewhee", "elsewhere"); err == nil || !strings.Contains(err.Error(), `did you mean "elsewhere"?`) {
		t.Errorf("a name that others know: %v", err)
	}
	home := open(t, options(root, "h", map[string]string{"HOME": filepath.Join(root, "h")}))
	if f, _, err := home.Named("own"); err != nil || f.User {
		t.Errorf("in the home directory itself: %+v, %v", f, err)
	}
}

func TestInit(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"p": "/", "old/.tenon/config.yaml": "verification: {commands: [{command: rm}]}"})
	p, files, err := project.Init(options(root, "p", nil))
	if err != nil {
		t.Fatal(err)
	}
	if trusted, err := p.Trusted(); !trusted || err != nil {
		t.Errorf("what init wrote is not trusted: %v", err)
	}
	if len(files) != 3 || files[0].Kept || p.Config.Providers["fixture"].Type != "scripted" {
		t.Errorf("files %+v, config %+v", files, p.Config)
	}
	f, err := p.Find("hello")
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := piece.NewRegistry(append(control.Pieces(), model.Pieces(model.Config{})...)...)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := load.Load(f.Path, data, load.Config{Pieces: pieces}); err != nil || len(w.Warnings) > 0 {
		t.Errorf("the workflow of init: %+v, %v", w, err)
	}
	script := p.Path(p.Config.Providers["scripted"].File)
	if data, err = os.ReadFile(script); err != nil {
		t.Fatal(err)
	}
	if _, err := scripted.Load(script, data); err != nil {
		t.Errorf("the script of init: %v", err)
	}
	if _, files, err = project.Init(options(root, "p", nil)); err != nil || !files[0].Kept || !files[2].Kept {
		t.Errorf("a second init: %+v, %v", files, err)
	}
	p, files, err = project.Init(options(root, "old", nil))
	if err != nil || !files[0].Kept || files[1].Kept {
		t.Fatalf("init over a configuration: %+v, %v", files, err)
	}
	if trusted, _ := p.Trusted(); trusted {
		t.Error("init trusts a configuration that it did not write")
	}
}
