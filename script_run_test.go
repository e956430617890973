package tenon_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

const panel = `export const meta = {name: 'panel', description: 'asks a panel'}
phase('ask')
const said = await parallel(args.members.map(m => () => agent('what does ' + m + ' say?', {label: m})))
log('all have spoken')
const verdict = await agent('decide: ' + said.join(' / '), {schema: {type: 'object', required: ['winner'], properties: {winner: {type: 'string'}}}})
const ran = await shell(['sh', '-c', 'echo ran > ran.txt; echo out'])
return {said, winner: verdict.winner, exit: ran.exitCode}
`

const panelReplies = `version: 1
replies:
  - {match: "ada say", text: "ada: yes"}
  - {match: "bob say", turn: 1, tool_calls: [{name: write, args: {path: bob.txt, content: "was here"}}]}
  - {match: "bob say", text: "bob: no"}
  - {match: "decide:", json: {winner: ada}}
`

// A script of the dialect runs from a file: its agents have tools, its commands
// run, and its result is the run's.
func TestScriptRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(".claude/workflows/panel.js", panel)
	put(".tenon/scripted.yaml", panelReplies)
	tn, err := tenon.Open(t.Context(), tenon.Config{Dir: dir, State: t.TempDir(), TrustProject: true, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer tn.Close()
	w, err := tn.Load("panel")
	if err != nil {
		t.Fatal(err)
	}
	res, err := tn.Run(t.Context(), tenon.Request{Workflow: w, By: "tester", Args: json.RawMessage(`{"members":["ada","bob"]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if res.Status != workflow.StatusSucceeded {
		t.Fatalf("the run is %s: %+v %+v", res.Status, res.Failures, res.Unfinished)
	}
	if got := string(res.Outputs["result"]); got != `{"said":["ada: yes","bob: no"],"winner":"ada","exit":0}` {
		t.Errorf("the result is %s", got)
	}
	for name, want := range map[string]string{"bob.txt": "was here", "ran.txt": "ran\n"} {
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(raw) != want {
			t.Errorf("%s holds %q, %v", name, raw, err)
		}
	}
	for text, want := range map[string]string{
		"export const meta = {name: 'x', description: get()}": "meta",
		"import fs from 'fs'": "the first statement must be",
		strings.SplitN(panel, "\n", 2)[0] + "\nimport fs from 'fs'": "bad.js:2",
	} {
		put("bad.js", text)
		if _, err := tn.Load("bad.js"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// An agent with a work tree of its own changes nothing in the repository; the tree
// is kept with what it did, and removed when it did nothing.
func TestIsolatedAgents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for name, content := range map[string]string{
		"a.txt": "a\n",
		"two.js": `export const meta = {name: 'two', description: 'isolates'}
return await parallel([() => agent('writer', {isolation: 'worktree'}), () => agent('reader', {isolation: 'worktree'})])`,
		".tenon/scripted.yaml": `version: 1
replies:
  - {match: writer, turn: 1, tool_calls: [{name: write, args: {path: new.txt, content: "x"}}]}
  - {text: done}
`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	tn, err := tenon.Open(t.Context(), tenon.Config{Dir: dir, State: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer tn.Close()
	w, err := tn.Load("two.js")
	if err != nil {
		t.Fatal(err)
	}
	res, err := tn.Run(t.Context(), tenon.Request{Workflow: w, By: "tester"})
	if err != nil || res.Status != workflow.StatusSucceeded {
		t.Fatalf("the run is %s: %+v, %v", res.Status, res.Failures, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
		t.Error("an isolated agent wrote into the repository")
	}
	out, err := exec.Command("git", "-C", dir, "worktree", "list").Output()
	if err != nil || strings.Count(string(out), "\n") != 2 {
		t.Errorf("the work trees are\n%s, %v", out, err)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "left its changes in the work tree") {
		t.Errorf("the run warns of %q", res.Warnings)
	}
}

// A rehearsal asks no model that is configured, also from a program.
func TestRehearsalOfTheLibrary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tn, err := tenon.Open(t.Context(), tenon.Config{
		Dir: dir, State: t.TempDir(), Getenv: func(string) string { return "" },
		Providers: map[string]provider.Provider{"costly": refusing{t}}, Models: map[string]string{"costly": "big"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tn.Close()
	w, err := tn.LoadDocument("two.js", []byte(`export const meta = {name: 'two', description: 'asks'}
return [await agent("hello"), await agent("fill", {schema: {type: "object", required: ["n"], properties: {n: {type: "integer"}}}})]`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := tn.Run(t.Context(), tenon.Request{Workflow: w, By: "tester", Models: []string{"scripted"}})
	if err != nil || res.Status != workflow.StatusSucceeded || string(res.Outputs["result"]) != `["ok",{"n":0}]` {
		t.Fatalf("the run is %s with %s: %+v, %v", res.Status, res.Outputs["result"], res.Failures, err)
	}
}

// TestManyAgents: a script whose bound of agents is raised is not stopped by the
// bound of visits that definitions have.
func TestManyAgents(t *testing.T) {
	t.Parallel()
	tn, err := tenon.Open(t.Context(), tenon.Config{Dir: t.TempDir(), State: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer tn.Close()
	w, err := tn.LoadDocument("many.js", []byte(`export const meta = {name: 'many', description: 'many agents'}
return (await parallel(Array.from({length: 1001}, (_, i) => () => agent("say " + i)))).filter(Boolean).length`))
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]string{0: "1000", 2000: "1001"} {
		q := tenon.Request{Workflow: w, By: "tester", Models: []string{"scripted"}}
		q.Script.MaxAgents = most
		res, err := tn.Run(t.Context(), q)
		if err != nil || string(res.Outputs["result"]) != want {
			t.Errorf("with %d, the run is %s with %s: %v", most, res.Status, res.Outputs["result"], err)
		}
	}
}

// refusing is a provider that must not be asked.
type refusing struct{ t *testing.T }

func (refusing) Name() string { return "costly" }

func (r refusing) Stream(context.Context, provider.Request, func(provider.Delta)) (provider.Response, error) {
	r.t.Error("a configured provider was asked")
	return provider.Response{}, errors.New("it must not be asked")
}
