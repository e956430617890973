package tenon_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon"
	scripts "github.com/tenonrun/tenon/script/store"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// said is a script that returns its args.
func said(name string) string {
	return "export const meta = {name: '" + name + "', description: 'says its args'}\nreturn args === undefined ? 'nothing' : args\n"
}

func TestScriptCatalog(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	tn := opened(t, map[string]string{
		".tenon/workflows/one.js": said("one"), ".claude/workflows/one.js": said("one"), ".claude/workflows/migrate.js": said("migrate"),
		".tenon/workflows/mine.yaml": trivial, ".tenon/workflows/broken.js": "export const meta = {name: 'broken', ...more}",
	}, func(c *tenon.Config) {
		for name, text := range map[string]string{".claude/workflows/mine.js": said("mine"), ".config/tenon/workflows/own.js": said("own"), ".claude/workflows/broken.js": said("broken")} {
			path := filepath.Join(home, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		c.Getenv = func(name string) string { return map[string]string{"HOME": home}[name] }
	})
	dir := filepath.Join(tn.Project.Home, "scripts")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "kept.js"), []byte(said("kept")), 0o600), os.WriteFile(filepath.Join(dir, "one.js"), []byte(said("one")), 0o600)); err != nil {
		t.Fatal(err)
	}
	list, broken, err := tn.Scripts().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range list {
		row := n.Name + " " + string(n.Origin)
		if n.HiddenBy != "" {
			row += " hidden by " + filepath.Base(n.HiddenBy)
		}
		got = append(got, row)
	}
	want := []string{
		"broken user hidden by broken.js", "code-review built-in", "deep-research built-in", "discussion built-in", "kept saved",
		"migrate project", "migrate built-in hidden by migrate.js", "mine user hidden by mine.yaml",
		"one project", "one project hidden by one.js", "one saved hidden by one.js", "own user",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the scripts are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(broken) != 1 || !strings.Contains(broken[0].Error(), ".tenon/workflows/broken.js:1:") {
		t.Errorf("broken: %v", broken)
	}
	for name, where := range map[string]string{"kept": "saved:kept.js", "discussion": "built-in:discussion.js", "migrate": ".claude/workflows/migrate.js", "own": filepath.Join(home, ".config/tenon/workflows/own.js")} {
		n, err := tn.Scripts().Check(name)
		if err != nil || n.File != where || len(n.Source()) == 0 {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
	}
	_, err = tn.Load("discusion")
	fails(t, err, workflow.CodeWorkflowNotFound, `did you mean "discussion"`)
	_, err = tn.Scripts().Show("mine")
	fails(t, err, workflow.CodeInvalidArguments, "is a definition and no script")
}

// TestScriptKept keeps the script of every run, runs it again from there, and
// saves it under a name.
func TestScriptKept(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	tn := opened(t, map[string]string{"a.js": said("a"), "doc.yaml": trivial}, func(c *tenon.Config) {
		c.Memory = false
		c.Getenv = func(name string) string { return map[string]string{"HOME": home}[name] }
	})
	w, err := tn.Load("a.js")
	if err != nil {
		t.Fatal(err)
	}
	r, err := tn.Run(t.Context(), tenon.Request{Workflow: w, Args: json.RawMessage(`[1]`)})
	if err != nil || string(r.Outputs["result"]) != "[1]" {
		t.Fatalf("%+v, %v", r, err)
	}
	if text, err := os.ReadFile(r.ScriptPath); err != nil || string(text) != said("a") {
		t.Errorf("kept: %q, %v", text, err)
	}
	again, err := tn.Load(r.ScriptPath)
	if err != nil || again.Digest != w.Digest {
		t.Errorf("again: %+v, %v", again, err)
	}
	for _, user := range []bool{false, true, true} { // the same text twice is no conflict
		path, err := tn.Scripts().Save(t.Context(), r.Run, "mine", user)
		if text, broken := os.ReadFile(path); err != nil || broken != nil || string(text) != said("a") {
			t.Errorf("saved: %v, %q, %v", err, text, broken)
		}
	}
	if n, err := tn.Scripts().Show("mine"); err != nil || n.Origin != tenon.OriginProject {
		t.Errorf("what was saved: %+v, %v", n, err)
	}
	saves := func(name, says string) {
		t.Helper()
		_, err := tn.Scripts().Save(t.Context(), r.Run, name, false)
		fails(t, err, workflow.CodeInvalidArguments, says)
	}
	saves("../a", "cannot be the name")
	folder := filepath.Join(tn.Project.Root, ".tenon", "workflows")
	outside := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "other.js"), nil, 0o600), os.Symlink(filepath.Join(outside, "x.js"), filepath.Join(folder, "link.js"))); err != nil {
		t.Fatal(err)
	}
	saves("other", "is there already")
	saves("link", "is a link")
	if err := errors.Join(os.RemoveAll(folder), os.Symlink(outside, folder)); err != nil {
		t.Fatal(err)
	}
	saves("mine", "is a link")
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("written through the link: %v, %v", left, err)
	}
	doc, err := tn.Load("doc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if r, err = tn.Run(t.Context(), tenon.Request{Workflow: doc}); err != nil || r.ScriptPath != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	_, err = tn.Scripts().Save(t.Context(), r.Run, "doc", false)
	fails(t, err, workflow.CodeInvalidArguments, "of no script")
}

// TestScriptStore takes saved scripts, their defaults and the places of runs from
// a store of another program.
func TestScriptStore(t *testing.T) {
	t.Parallel()
	full := false
	kept := map[string]string{}
	foreign, err := scripts.Adapt(scripts.Foreign{
		ScopePartitioned: true,
		PersistScript: func(_ context.Context, run, script, scope string) (string, error) {
			if full {
				return "", errors.New("the disk is full")
			}
			kept[scope+"/"+run] = script
			return "/" + scope + "/" + run, nil
		},
		LoadScript: func(context.Context, string, string) (string, error) { return "", os.ErrNotExist },
		Resolve: func(_ context.Context, name string) (json.RawMessage, error) {
			if name != "remote" {
				return nil, nil
			}
			return json.Marshal(map[string]any{"script": said("remote"), "defaultArgs": map[string]any{"a": 1, "b": 2}, "stringArgKey": "b"})
		},
		ListNames: func(context.Context) ([]scripts.Listing, error) { return []scripts.Listing{{Name: "remote"}}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	tn := opened(t, nil, func(c *tenon.Config) { c.Scripts = foreign })
	w, err := tn.Load("remote")
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"": `{"a":1,"b":2}`, `"text"`: `{"a":1,"b":"text"}`, `{"a":[]}`: `{"a":[],"b":2}`, "null": "null", "7": "7"} {
		q := tenon.Request{Workflow: w}
		if args != "" {
			q.Args = json.RawMessage(args)
		}
		r, err := tn.Run(t.Context(), q)
		if err != nil || string(r.Outputs["result"]) != want {
			t.Errorf("%s: %s, %v, want %s", args, r.Outputs["result"], err, want)
		}
	}
	if len(kept) != 5 {
		t.Errorf("kept %v", kept)
	}
	full = true
	r, err := tn.Run(t.Context(), tenon.Request{Workflow: w})
	if err != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "the disk is full") {
		t.Errorf("a full disk: %+v, %v", r.Warnings, err)
	}
	list, _, err := tn.Scripts().List(t.Context())
	if err != nil || list[len(list)-1].Name != "remote" || list[len(list)-1].Origin != tenon.OriginSaved {
		t.Errorf("list: %+v, %v", list, err)
	}
}

// TestScriptStoreBroken runs scripts although they cannot be kept, and tells it.
func TestScriptStoreBroken(t *testing.T) {
	t.Parallel()
	tn := opened(t, map[string]string{"a.js": said("a")}, func(c *tenon.Config) { c.Memory = false })
	dir := filepath.Join(tn.Project.Home, "scripts")
	if _, err := os.Lstat(dir); err == nil {
		t.Error("there is a directory of scripts before there is one")
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := tn.Load("a.js")
	if err != nil {
		t.Fatal(err)
	}
	r, err := tn.Run(t.Context(), tenon.Request{Workflow: w})
	if err != nil || r.Status != workflow.StatusSucceeded || r.ScriptPath != "" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "is not kept as a file") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := tn.Load("discussion"); err != nil {
		t.Errorf("a script that comes along: %v", err)
	}
	if _, err := tn.Load("nothing"); err == nil || !strings.Contains(err.Error(), "script store") {
		t.Errorf("a name that may be saved: %v", err)
	}
}

// TestStringArgs reads a text that stands for an object as that, and says so.
func TestStringArgs(t *testing.T) {
	t.Parallel()
	tn := opened(t, nil)
	w := document(t, tn, "export const meta = {name: 'a', description: 'b', args: {type: 'object', required: ['n']}}\nreturn args.n\n")
	r, err := tn.Run(t.Context(), tenon.Request{Workflow: w, Args: json.RawMessage(`"{\"n\": 3}"`)})
	if err != nil || string(r.Outputs["result"]) != "3" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "read as JSON") {
		t.Errorf("%+v, %v", r, err)
	}
	for _, args := range []string{"", `"text"`, `{}`, `[]`} {
		q := tenon.Request{Workflow: w}
		if args != "" {
			q.Args = json.RawMessage(args)
		}
		_, err := tn.Run(t.Context(), q)
		fails(t, err, workflow.CodeInvalidInputs, "workflow a")
	}
	all, err := tn.Store.Runs(t.Context(), store.Query{})
	if err != nil || len(all) != 1 {
		t.Errorf("%d runs, %v", len(all), err)
	}
}
