package tenon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/workflow"
)

// An agent mends the copy of a script that failed, and has it go on: what was
// settled is kept, and the budget of the agent's run pays for the rest.
func TestAgentMendsAScript(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	put := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *tenon.Tenon {
		t.Helper()
		tn, err := tenon.Open(t.Context(), tenon.Config{Dir: dir, State: state, TrustProject: true, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		return tn
	}
	const replies = "version: 1\nreplies:\n  - {match: first, text: one, usage: {in: 70, out: 7}}\n  - {match: second, text: two, usage: {in: 30, out: 3}}\n"
	put(filepath.Join(dir, ".tenon", "scripted.yaml"), replies)
	tn := open()
	w, err := tn.LoadDocument("steps.js", []byte("export const meta = {name: 'steps', description: 'two'}\nconst a = await agent('first'); throw new Error('not yet: ' + a)"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := tn.Run(t.Context(), tenon.Request{Workflow: w, By: "tester"})
	if err != nil || res.Status != workflow.StatusFailed || res.ScriptPath == "" {
		t.Fatalf("the run is %s, its script %q, %v", res.Status, res.ScriptPath, err)
	}
	if err := tn.Close(); err != nil {
		t.Fatal(err)
	}
	put(res.ScriptPath, "export const meta = {name: 'steps', description: 'two'}\nconst a = await agent('first'); return [a, await agent('second')]")
	put(filepath.Join(dir, ".tenon", "scripted.yaml"), replies+fmt.Sprintf(
		"  - {match: mend, turn: 1, tool_calls: [{name: workflow, args: {scriptPath: %q, resumeFromRunId: %s}}]}\n  - {match: mend, text: it has begun, usage: {in: 5, out: 1}}\n  - {match: is over, text: mended, usage: {in: 5, out: 1}}\n", res.ScriptPath, res.Run))
	put(filepath.Join(dir, "lead.yaml"), `schemaVersion: 2
id: lead
delivery: {requiresVerified: false}
entry: lead
nodes:
  lead: {kind: prompt, params: {engine: {provider: scripted}, access: write, text: mend it}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`)
	tn = open()
	defer tn.Close()
	if w, err = tn.Load("lead.yaml"); err != nil {
		t.Fatal(err)
	}
	lead, err := tn.Run(t.Context(), tenon.Request{Workflow: w, By: "tester", Budget: workflow.Budget{MaxTokens: 200_000}})
	if err != nil || lead.Status != workflow.StatusSucceeded {
		t.Fatalf("the run is %s: %+v, %v", lead.Status, lead.Failures, err)
	}
	var started *workflow.ChildStarted
	var ended *workflow.ChildEnded
	var told string
	if err := tn.Store.Events(t.Context(), lead.Run, 0, func(e workflow.Event) error {
		switch p := e.Payload.(type) {
		case *workflow.ChildStarted:
			started = p
		case *workflow.ChildEnded:
			ended = p
		case *workflow.StepSettled:
			told = string(p.Memo.JSON)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if started == nil || started.Step == "" || started.Budget.MaxTokens <= 0 || started.Budget.MaxTokens >= 200_000 {
		t.Fatalf("the child began as %+v", started)
	}
	if ended == nil || ended.Run != started.Run || ended.Usage.Input != 30 || ended.Usage.Output != 3 {
		t.Errorf("the child ended as %+v: only the second agent is to be asked", ended)
	}
	if !strings.Contains(told, `\"result\": [\n  \"one\",\n  \"two\"\n ]`) {
		t.Errorf("the agent is told %s", told)
	}
	child, err := tn.Inspect(t.Context(), started.Run)
	if err != nil || string(child.Outputs["result"]) != `["one","two"]` {
		t.Errorf("the child has %s, %v", child.Outputs["result"], err)
	}
}
