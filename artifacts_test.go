package tenon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// writing is a project whose agent writes two artifacts, one of them twice, and
// one of the project, and whose child run writes one more.
func writing() map[string]string {
	return map[string]string{
		".tenon/scripted.yaml": `
version: 1
replies:
  - turn: 1
    tool_calls:
      - {name: artifact_write, args: {id: a, title: A, mime: text/plain, content: one}}
      - {name: artifact_write, args: {identifier: a, title: A, mime: text/plain, content: two}}
      - {name: artifact_write, args: {id: "../b", title: B, mime: text/plain, content: no}}
      - {name: artifact_write, args: {id: b, title: B, mime: text/plain, content: three}}
      - {name: artifact_write, args: {id: s, title: S, mime: text/plain, content: shared, collection: team}}
  - {text: done}
`,
		".tenon/workflows/child.yaml": `
schemaVersion: 2
id: child
delivery: {requiresVerified: false}
entry: save
nodes:
  save: {kind: artifact, params: {id: c, content: of the child}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`,
	}
}

const writes = head + `entry: ask
nodes:
  ask: {kind: prompt, params: {engine: {provider: scripted}, text: Hello, access: read}, ends: {next: below, failed: null}}
  below: {kind: workflow, params: {name: child}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`

func onDisk(c *tenon.Config) { c.Memory, c.TrustProject = false, true }

// made lists the revisions of a collection with their ids.
func made(t *testing.T, tn *tenon.Tenon, run workflow.RunID) (list, ids []string) {
	t.Helper()
	_, c, err := tn.Artifacts().Of(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range c.Export(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list, ids = append(list, fmt.Sprintf("%s@%d", r.Artifact, r.Version)), append(ids, r.ID)
	}
	return list, ids
}

func ran(t *testing.T, tn *tenon.Tenon, q tenon.Request) workflow.RunID {
	t.Helper()
	res, err := tn.Run(t.Context(), q)
	if err != nil || res.Status != workflow.StatusSucceeded {
		t.Fatalf("%s, %v: %+v", res.Status, err, res.Failures)
	}
	return res.Run
}

// A run has one collection with its children; another one is the project's.
func TestArtifactsOfARun(t *testing.T) {
	t.Parallel()
	for _, tune := range []func(*tenon.Config){onDisk, func(c *tenon.Config) { c.TrustProject = true }} {
		tn := opened(t, writing(), tune)
		res, err := tn.Run(t.Context(), tenon.Request{Workflow: document(t, tn, writes)})
		if err != nil || res.Status != workflow.StatusSucceeded {
			t.Fatalf("%s, %v: %+v", res.Status, err, res.Failures)
		}
		if got, _ := made(t, tn, res.Run); !slices.Equal(got, []string{"a@1", "a@2", "b@1", "c@1"}) {
			t.Errorf("the run has %v", got)
		}
		var listed []string
		for _, m := range res.Artifacts {
			if m.Collection == string(res.Run) {
				m.Collection = ""
			}
			listed = append(listed, fmt.Sprintf("%s/%s@%d", m.Collection, m.ID, m.Version))
		}
		if !slices.Equal(listed, []string{"/a@2", "/b@1", "team/s@1"}) {
			t.Errorf("the result lists %v", listed)
		}
		shared, err := tn.Artifacts().Shared(t.Context(), "team")
		if err != nil {
			t.Fatal(err)
		}
		if _, content, err := shared.Read(t.Context(), "s", artifact.Latest); err != nil || content != "shared" {
			t.Errorf("the project has %q, %v", content, err)
		}
		_, err = tn.Artifacts().Shared(t.Context(), string(res.Run))
		fails(t, err, workflow.CodeInvalidArtifactID, "name of a run")
		_, _, err = tn.Artifacts().Of(t.Context(), "rnone")
		fails(t, err, workflow.CodeRunNotFound, "no such run")
	}
}

// A log that is lost is written again from the history, under the same ids; one
// that is there is left alone.
func TestArtifactsAreRehydrated(t *testing.T) {
	t.Parallel()
	cfg := config(t, writing())
	onDisk(&cfg)
	tn, err := tenon.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	run := ran(t, tn, tenon.Request{Workflow: document(t, tn, writes)})
	_, ids := made(t, tn, run)
	home := tn.Project.Home
	if err := errors.Join(tn.Close(), os.RemoveAll(filepath.Join(home, "collections"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if tn, err = tenon.Open(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		got, again := made(t, tn, run)
		if !slices.Equal(got, []string{"a@1", "a@2", "b@1"}) || !slices.Equal(again, ids[:3]) {
			t.Errorf("the run has %v as %v, was %v", got, again, ids)
		}
		if err := tn.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A run that goes on with an edited workflow has what the run before it made; one
// that is refused leaves nothing.
func TestArtifactsOfAnEditedWorkflow(t *testing.T) {
	t.Parallel()
	tn := opened(t, writing(), onDisk)
	run := ran(t, tn, tenon.Request{Workflow: document(t, tn, writes)})
	edited := document(t, tn, head+`entry: ask
nodes:
  ask: {kind: prompt, params: {engine: {provider: scripted}, text: Hello, access: read}, ends: {next: more, failed: null}}
  more: {kind: artifact, params: {id: a, content: edited}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`)
	next, err := tn.Continue(t.Context(), run, tenon.Change{Workflow: edited, By: "me"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tn.Resume(t.Context(), next, "me"); err != nil {
		t.Fatal(err)
	}
	if got, _ := made(t, tn, next); !slices.Equal(got, []string{"a@1", "a@2", "b@1", "c@1", "a@3"}) {
		t.Errorf("the next run has %v", got)
	}
	if got, _ := made(t, tn, run); len(got) != 4 {
		t.Errorf("the first run has %v", got)
	}
	names, err := tn.Artifacts().Names(t.Context())
	if err != nil || len(names) != 3 {
		t.Errorf("there are %v, %v", names, err)
	}
	if _, err := tn.Continue(t.Context(), "rnone", tenon.Change{Workflow: edited, By: "me"}); err == nil {
		t.Error("a run that is not there goes on")
	}
	if after, err := tn.Artifacts().Names(t.Context()); err != nil || !slices.Equal(after, names) {
		t.Errorf("there are %v, %v", after, err)
	}
}
