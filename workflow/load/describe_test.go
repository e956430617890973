package load_test

import (
	"reflect"
	"testing"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

const nested = `
schemaVersion: 2
id: nested
entry: prepare
onExhausted: stop
delivery: {requiresVerified: false}
nodes:
  stop: {kind: end, params: {outcome: failure}, ends: {}}
  prepare: {kind: shell, group: build, label: Prepare, params: {argv: [make]}, ends: {ok: build, fail: stop, failed: stop}}
  build: {kind: component, params: {ref: part}, ends: {again: fan, next: null}}
  fan:
    kind: parallel
    params:
      branches:
        left: part
        right: {entry: x, nodes: {x: {kind: end, params: {outcome: success}, ends: {}}}}
    ends: {next: call, fail: stop}
  call: {kind: workflow, params: {name: other, inputs: {n: 1}}, ends: {next: null, failed: stop}}
components:
  part:
    entry: x
    outputs: [next, again]
    nodes: {x: {kind: end, params: {outcome: success, exit: again}, ends: {}}}
`

func TestDescribe(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	w, err := load.Load("nested.yaml", []byte(nested), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	byName := map[string]load.NodeInfo{}
	for _, n := range w.Nodes {
		order = append(order, n.Body+":"+n.Node)
		byName[n.Body+":"+n.Node] = n
	}
	if want := []string{":prepare", ":build", ":stop", ":fan", ":call", "fan[right]:x", "part:x"}; !reflect.DeepEqual(order, want) {
		t.Errorf("nodes %v, want %v", order, want)
	}
	if got := byName[":build"].Traits.Outcomes; !reflect.DeepEqual(got, []string{"next", "again"}) {
		t.Errorf("outcomes of a component: %v", got)
	}
	if n := byName[":prepare"]; n.Group != "build" || n.Label != "Prepare" || !n.Entry || n.Traits.Effect != workflow.EffectWrite {
		t.Errorf("prepare: %+v", n)
	}
	if got, want := byName[":fan"].Bodies, []load.BodyUse{{Body: "part", Branch: "left"}, {Body: "fan[right]", Branch: "right", Inline: true}}; !reflect.DeepEqual(got, want) {
		t.Errorf("bodies of a parallel: %+v", got)
	}
	if !byName[":stop"].Last {
		t.Error("the node of onExhausted is not marked")
	}
	if want := []load.Child{{Ref: "other", Name: "other", Pointer: "/nodes/call/params"}}; !reflect.DeepEqual(w.Children, want) {
		t.Errorf("children %+v", w.Children)
	}
	again, err := load.Describe(w.Definition, cfg.Pieces, cfg.Env)
	if err != nil || !reflect.DeepEqual(again, w.Nodes) {
		t.Errorf("the definition is described otherwise than its document:\n%+v\n%+v\n%v", again, w.Nodes, err)
	}
}

func TestMissingChild(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Workflow = func(p workflow.WorkflowParams) error {
		return workflow.Errorf(workflow.CodeWorkflowNotFound, "no %s here", p.Name)
	}
	_, err := load.Load("nested.yaml", []byte(nested), cfg)
	if code := workflow.CodeOf(err); code != workflow.CodeWorkflowNotFound {
		t.Errorf("code %s: %v", code, err)
	}
}

func TestEffective(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		def  workflow.Definition
		want workflow.Policies
	}{
		{workflow.Definition{SchemaVersion: 1}, workflow.Policies{HistoryMaxChars: 1500, Concurrency: 1}},
		{workflow.Definition{SchemaVersion: 2}, workflow.Policies{FailFast: 2, NoProgress: 2, HistoryMaxChars: 1500, Concurrency: 4}},
		{
			workflow.Definition{SchemaVersion: 2, Policies: workflow.Policies{FailFast: 9, Concurrency: 256}},
			workflow.Policies{FailFast: 9, NoProgress: 2, HistoryMaxChars: 1500, Concurrency: 256},
		},
	} {
		if got := load.Effective(&c.def); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.def, got, c.want)
		}
	}
	if n := load.Transitions(&workflow.Definition{SchemaVersion: 2}); n != 1000 {
		t.Errorf("default transitions %d", n)
	}
	if ai, plain := load.Attempts(workflow.Node{}, true), load.Attempts(workflow.Node{}, false); ai != 2 || plain != 1 {
		t.Errorf("default attempts %d, %d", ai, plain)
	}
	if n := load.Attempts(workflow.Node{Retry: workflow.Retry{MaxAttempts: 5}}, false); n != 5 {
		t.Errorf("attempts %d", n)
	}
}

func TestShellInterpolationAllowed(t *testing.T) {
	t.Parallel()
	doc := `{"schemaVersion": 2, "id": "x", "entry": "a", "delivery": {"requiresVerified": false},
		"nodes": {"a": {"kind": "shell", "params": {"commandLine": "echo {{vars.changeId}}"}, "ends": {"ok": null, "fail": null, "failed": null}}}}`
	cfg := config(t)
	if _, err := load.Load("x.json", []byte(doc), cfg); workflow.CodeOf(err) != workflow.CodeUnsafeInterpolation {
		t.Errorf("not refused: %v", err)
	}
	cfg.Compat.ShellInterpolation = true
	w, err := load.Load("x.json", []byte(doc), cfg)
	if err != nil || len(w.Warnings) != 1 || w.Warnings[0].Code != workflow.CodeUnsafeInterpolation {
		t.Errorf("not a warning: %+v, %v", w, err)
	}
}
