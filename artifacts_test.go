package tenon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/disk"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
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
		".tenon/workflows/writer.js": writesScript,
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

// saves has nodes that write what they compute, side by side and in turn.
const saves = head + `entry: set
nodes:
  set: {kind: assign, params: {set: {n: 7, list: [1, 2, 3]}}, ends: {next: each, failed: null}}
  each: {kind: map, params: {over: {items: [1, 2, 3]}, concurrency: 3, body: {entry: save, nodes: {save: {kind: artifact, params: {id: "item-{{item.index}}", content: {item: "{{item.value}}"}}, ends: {next: null, failed: null}}}}}, ends: {next: all}}
  all: {kind: join, params: {reduce: all-ok}, ends: {next: text, fail: null}}
  text: {kind: artifact, params: {id: text, title: "N is {{vars.n}}", mime: text/markdown, content: "# {{vars.n}}"}, ends: {next: value, failed: null}}
  value: {kind: artifact, params: {id: text, mime: text/x-go, language: go, from: $vars}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`

const writesScript = `export const meta = { name: 'writes', description: 'Writes artifacts' }
const said = await agent('Hello')
for (const n of [1, 2, 3]) await artifact('a' + n, { title: 'A ' + n, content: { said, n } })
await artifact('a1', { mime: 'text/markdown', content: '# ' + said })
return said
`

const edited = head + `entry: ask
nodes:
  ask: {kind: prompt, params: {engine: {provider: scripted}, text: Hello, access: read}, ends: {next: more, failed: null}}
  more: {kind: artifact, params: {id: a, content: edited}, ends: {next: done, failed: null}}
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
		if r.Deleted {
			continue
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
			row := fmt.Sprintf("%s/%s@%d by %s", m.Collection, m.ID, m.Version, m.Node)
			if m.Run != "" {
				row += " of a child run"
			}
			listed = append(listed, row)
		}
		if !slices.Equal(listed, []string{"/a@2 by ask", "/b@1 by ask", "team/s@1 by ask", "/c@1 by save of a child run"}) {
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

// A log that is lost is written again from the histories of the run and its child
// runs, under the same ids, numbers and times; one that is there is left alone.
func TestArtifactsAreRehydrated(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]func(*testing.T, *tenon.Tenon) *tenon.Workflow{
		"agents": func(t *testing.T, tn *tenon.Tenon) *tenon.Workflow { return document(t, tn, writes) },
		"nodes":  func(t *testing.T, tn *tenon.Tenon) *tenon.Workflow { return document(t, tn, saves) },
		"script": func(t *testing.T, tn *tenon.Tenon) *tenon.Workflow { return loaded(t, tn, "writer") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, writing())
			onDisk(&cfg)
			tn := reopened(t, cfg)
			run := ran(t, tn, tenon.Request{Workflow: doc(t, tn)})
			before := whole(t, tn, run)
			if len(before) < 4 {
				t.Fatalf("the run has %v", before)
			}
			loseArtifacts(t, tn)
			for i := range 2 {
				tn := reopened(t, cfg)
				if got := whole(t, tn, run); !slices.Equal(got, before) {
					t.Errorf("the run has\n%v, had\n%v", got, before)
				}
				told, ok := tn.Artifacts().Rehydrated(string(run))
				if ok != (i == 0) || ok && (told.Versions != len(before) || len(told.Missing) > 0) {
					t.Errorf("it tells %+v, %v", told, ok)
				}
				if err := tn.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// What people wrote is in no history, and neither is what a person's secret was.
func TestRehydrationTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	cfg := config(t, writing())
	onDisk(&cfg)
	tn := reopened(t, cfg)
	q := tenon.Request{Workflow: document(t, tn, head+`entry: one
nodes:
  one: {kind: artifact, params: {id: a, content: first}, ends: {next: ask, failed: null}}
  ask: {kind: question, params: {text: "Well?"}, ends: {next: two}}
  two: {kind: artifact, params: {id: a, content: {said: "{{answers.ask}}"}}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`)}
	res, err := tn.Run(t.Context(), q)
	if err != nil || len(res.Questions) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	editArtifact(t, tn, res.Run, "a", "mine")
	answerAll(t, tn, res)
	editArtifact(t, tn, res.Run, "a", "mine again")
	loseArtifacts(t, tn)
	tn = reopened(t, cfg)
	if got, _ := made(t, tn, res.Run); !slices.Equal(got, []string{"a@1", "a@3"}) {
		t.Errorf("the run has %v", got)
	}
	told, _ := tn.Artifacts().Rehydrated(string(res.Run))
	if told.Versions != 2 || !slices.Equal(told.Missing, []string{"a version 2: no agent, node or script of the run wrote it, so a person did"}) {
		t.Errorf("it tells %+v", told)
	}
}

// A fork whose log is lost begins with its parent's again, and has its own. So has
// a run that goes on with an edited workflow.
func TestRehydrationOfForks(t *testing.T) {
	t.Parallel()
	cfg := config(t, writing())
	onDisk(&cfg)
	tn := reopened(t, cfg)
	run := ran(t, tn, tenon.Request{Workflow: document(t, tn, writes)})
	fork, err := tn.Fork(t.Context(), engine.ForkRequest{Run: run, Node: "below"})
	if err != nil {
		t.Fatal(err)
	}
	next, err := tn.Continue(t.Context(), run, tenon.Change{Workflow: document(t, tn, edited), By: "me"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []workflow.RunID{fork, next} {
		if res, err := tn.Resume(t.Context(), r, "me"); err != nil || res.Status != workflow.StatusSucceeded {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	forked, continued := whole(t, tn, fork), whole(t, tn, next)
	if len(forked) != 4 || len(continued) != 5 {
		t.Fatalf("there are %v and %v", forked, continued)
	}
	loseArtifacts(t, tn)
	tn = reopened(t, cfg)
	if got := whole(t, tn, fork); !slices.Equal(got, forked) {
		t.Errorf("the fork has\n%v, had\n%v", got, forked)
	}
	if got := whole(t, tn, next); !slices.Equal(got, continued) {
		t.Errorf("the next run has\n%v, had\n%v", got, continued)
	}
}

// What a fork sees goes by the positions in the journals, whatever clocks said: the
// writes of visits that it keeps, of child runs that had ended, and what people
// wrote before anything that it does not keep.
func TestForksGoByPosition(t *testing.T) {
	t.Parallel()
	for _, shift := range []int64{0, 1_000_000_000_000, -1_000_000_000_000} {
		cfg := config(t, writing())
		onDisk(&cfg)
		tn := reopened(t, cfg)
		res, err := tn.Run(t.Context(), tenon.Request{Workflow: document(t, tn, head+`entry: zero
nodes:
  zero: {kind: artifact, params: {id: z, content: zero}, ends: {next: below, failed: null}}
  below: {kind: workflow, params: {name: child}, ends: {next: ask, failed: null}}
  ask: {kind: question, params: {text: "Well?"}, ends: {next: more}}
  more: {kind: artifact, params: {id: z, content: more}, ends: {next: again, failed: null}}
  again: {kind: workflow, params: {name: child}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`)})
		if err != nil || len(res.Questions) != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		editArtifact(t, tn, res.Run, "z", "mine")
		_, c, err := tn.Artifacts().Of(t.Context(), res.Run)
		if err == nil { // a visit that has not ended, as after a crash
			_, err = c.Put(t.Context(), artifact.Draft{ID: "q", Title: "Q", Mime: "text/plain", Key: artifact.Key(string(res.Run), "ask#1")})
		}
		if err != nil {
			t.Fatal(err)
		}
		fork, err := tn.Fork(t.Context(), engine.ForkRequest{Run: res.Run, Node: "ask"})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := made(t, tn, fork); !slices.Equal(got, []string{"z@1", "c@1"}) {
			t.Errorf("a fork of a run that waits has %v", got)
		}
		if err := c.Delete(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		answerAll(t, tn, res)
		editArtifact(t, tn, res.Run, "z", "mine, later")
		jump(t, tn, res.Run, shift)
		tn = reopened(t, cfg)
		for node, want := range map[string][]string{
			"zero": {}, "below": {"z@1"}, "ask": {"z@1", "c@1"}, "more": {"z@1", "c@1", "z@2"}, "again": {"z@1", "c@1", "z@2", "z@3"},
		} {
			fork, err := tn.Fork(t.Context(), engine.ForkRequest{Run: res.Run, Node: node})
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := made(t, tn, fork); !slices.Equal(got, want) {
				t.Errorf("clocks jump by %d: a fork at %s has %v, want %v", shift, node, got, want)
			}
		}
	}
}

// A fork of a child run has what the run above it had made when it started the
// child, and what the child had made up to the cut.
func TestForksOfAChildRun(t *testing.T) {
	t.Parallel()
	files := writing()
	files[".tenon/workflows/two.yaml"] = head + `entry: save
nodes:
  save: {kind: artifact, params: {id: c, content: one}, ends: {next: more, failed: null}}
  more: {kind: artifact, params: {id: d, content: two}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`
	tn := opened(t, files, func(c *tenon.Config) { c.TrustProject = true })
	res, err := tn.Run(t.Context(), tenon.Request{Workflow: document(t, tn, head+`entry: zero
nodes:
  zero: {kind: artifact, params: {id: z, content: zero}, ends: {next: below, failed: null}}
  below: {kind: workflow, params: {name: two}, ends: {next: after, failed: null}}
  after: {kind: artifact, params: {id: z, content: after}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`)})
	if err != nil || len(res.Artifacts) != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	child := res.Artifacts[slices.IndexFunc(res.Artifacts, func(m workflow.MadeBy) bool { return m.Run != "" })].Run
	fork, err := tn.Fork(t.Context(), engine.ForkRequest{Run: child, Node: "more"})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := made(t, tn, fork); !slices.Equal(got, []string{"z@1", "c@1"}) {
		t.Errorf("the fork has %v", got)
	}
	if res, err := tn.Resume(t.Context(), fork, "me"); err != nil || res.Status != workflow.StatusSucceeded {
		t.Fatalf("%+v, %v", res, err)
	}
	if got, _ := made(t, tn, fork); !slices.Equal(got, []string{"z@1", "c@1", "d@1"}) {
		t.Errorf("the fork has %v", got)
	}
	again, err := tn.Fork(t.Context(), engine.ForkRequest{Run: fork, Node: "more"})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := made(t, tn, again); !slices.Equal(got, []string{"z@1", "c@1"}) {
		t.Errorf("a fork of the fork has %v", got)
	}
}

// jump moves the times of the revisions of a run, as a clock that is set would.
func jump(t *testing.T, tn *tenon.Tenon, run workflow.RunID, by int64) {
	t.Helper()
	var all []artifact.Copy
	c, err := tn.Artifacts().Existing(t.Context(), string(run))
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range c.Export(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		content := ""
		if !r.Deleted {
			content, err = r.Content(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		r.At += by
		r.Content = func(context.Context) (string, error) { return content, nil }
		all = append(all, r)
	}
	home := tn.Project.Home
	loseArtifacts(t, tn)
	d, err := disk.Open(disk.Config{Dir: filepath.Join(home, "collections")})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	to, err := d.Open(t.Context(), string(run))
	if err != nil {
		t.Fatal(err)
	}
	m, err := to.Merge(t.Context(), func(yield func(artifact.Copy, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	})
	if err != nil || m.Added != len(all) {
		t.Fatalf("%+v, %v", m, err)
	}
}

func loaded(t *testing.T, tn *tenon.Tenon, name string) *tenon.Workflow {
	t.Helper()
	w, err := tn.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func reopened(t *testing.T, cfg tenon.Config) *tenon.Tenon {
	t.Helper()
	tn, err := tenon.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tn.Close() })
	return tn
}

// loseArtifacts closes a project and removes its artifacts.
func loseArtifacts(t *testing.T, tn *tenon.Tenon) {
	t.Helper()
	if err := errors.Join(tn.Close(), os.RemoveAll(filepath.Join(tn.Project.Home, "collections"))); err != nil {
		t.Fatal(err)
	}
}

func editArtifact(t *testing.T, tn *tenon.Tenon, run workflow.RunID, id, content string) {
	t.Helper()
	_, c, err := tn.Artifacts().Of(t.Context(), run)
	if err == nil {
		_, err = c.Edit(t.Context(), artifact.Edit{Artifact: id, Content: content})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// answerAll answers the questions of a run and goes on with it to its end.
func answerAll(t *testing.T, tn *tenon.Tenon, res history.Result) {
	t.Helper()
	for _, q := range res.Questions {
		if err := tn.Send(t.Context(), res.Run, engine.Control{By: "me", Answer: &engine.AnswerControl{Question: q.ID, Value: json.RawMessage(`"yes"`)}}); err != nil {
			t.Fatal(err)
		}
	}
	if res, err := tn.Resume(t.Context(), res.Run, "me"); err != nil || res.Status != workflow.StatusSucceeded {
		t.Fatalf("%+v, %v", res, err)
	}
}

// whole tells all of the revisions of a run but where and when each was written:
// what is written side by side has no order.
func whole(t *testing.T, tn *tenon.Tenon, run workflow.RunID) []string {
	t.Helper()
	_, c, err := tn.Artifacts().Of(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for r, err := range c.Export(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		content, err := r.Content(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.At, r.Device, r.Seq = 0, "", 0
		list = append(list, fmt.Sprintf("%+v: %s", r.Revision, content))
	}
	slices.Sort(list)
	return list
}

// A run that goes on with an edited workflow has what the run before it made; one
// that is refused leaves nothing.
func TestArtifactsOfAnEditedWorkflow(t *testing.T) {
	t.Parallel()
	tn := opened(t, writing(), onDisk)
	run := ran(t, tn, tenon.Request{Workflow: document(t, tn, writes)})
	next, err := tn.Continue(t.Context(), run, tenon.Change{Workflow: document(t, tn, edited), By: "me"})
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
	if _, err := tn.Continue(t.Context(), "rnone", tenon.Change{Workflow: document(t, tn, edited), By: "me"}); err == nil {
		t.Error("a run that is not there goes on")
	}
	if after, err := tn.Artifacts().Names(t.Context()); err != nil || !slices.Equal(after, names) {
		t.Errorf("there are %v, %v", after, err)
	}
}
