package workflow_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

func TestDefinitionDecodes(t *testing.T) {
	t.Parallel()
	const doc = `{"schemaVersion":2,"id":"w","version":"v","title":"T","journal":"ledger-only","change":"new",
		"inputs":{"type":"object","required":["a"]},"roles":["dev"],"dimensions":{"size":"small"},
		"entry":"a","maxTransitions":9,"onExhausted":"z","outputs":["next"],
		"budget":{"maxTokens":5,"maxCostUsd":0.5,"maxDurationMs":1000},"policies":{"failFast":2,"noProgress":3,"historyMaxChars":400,"concurrency":4},
		"delivery":{"requiresVerified":false},
		"nodes":{"a":{"kind":"work","params":{"x":[1]},"ends":{"next":"z","failed":null},"retry":{"maxAttempts":3,"backoffMs":0,"retryOn":["timeout"]},"label":"L","group":"G"},
			"z":{"kind":"end","params":{},"ends":{}}},
		"components":{"c":{"entry":"i","inputs":["p","q"],"outputs":["next","odd"],"maxTransitions":3,"onExhausted":"i","nodes":{"i":{"kind":"end","params":{},"ends":{}}}}}}`
	var d workflow.Definition
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		t.Fatal(err)
	}
	no, zero, z := false, int64(0), "z"
	want := workflow.Definition{
		SchemaVersion: 2, ID: "w", Version: "v", Title: "T", Journal: "ledger-only", Change: "new",
		Inputs: json.RawMessage(`{"type":"object","required":["a"]}`), Roles: []string{"dev"}, Dimensions: map[string]string{"size": "small"},
		Budget: workflow.Budget{MaxTokens: 5, MaxCostUSD: 0.5, MaxDurationMs: 1000}, Policies: workflow.Policies{FailFast: 2, NoProgress: 3, HistoryMaxChars: 400, Concurrency: 4},
		Delivery: workflow.Delivery{RequiresVerified: &no},
		Body: workflow.Body{Entry: "a", MaxTransitions: 9, OnExhausted: "z", Outputs: []string{"next"}, Nodes: map[string]workflow.Node{
			"a": {Kind: "work", Params: json.RawMessage(`{"x":[1]}`), Ends: map[string]*string{"next": &z, "failed": nil}, Retry: workflow.Retry{MaxAttempts: 3, BackoffMs: &zero, RetryOn: []workflow.Code{"timeout"}}, Label: "L", Group: "G"},
			"z": {Kind: "end", Params: json.RawMessage(`{}`), Ends: map[string]*string{}},
		}},
		Components: map[string]workflow.Body{"c": {
			Entry: "i", InputNames: []string{"p", "q"}, Outputs: []string{"next", "odd"}, MaxTransitions: 3, OnExhausted: "i",
			Nodes: map[string]workflow.Node{"i": {Kind: "end", Params: json.RawMessage(`{}`), Ends: map[string]*string{}}},
		}},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("it is read as\n%+v\nwant\n%+v", d, want)
	}
}

// The inputs of a component are names; those of a definition are a schema.
func TestInputsAreNamesOrASchema(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		inputs string
		names  []string
	}{{`["a","b"]`, []string{"a", "b"}}, {`[]`, []string{}}, {`{"type":"object"}`, nil}, {`null`, nil}, {"\n  [ \"a\" ]", []string{"a"}}} {
		var b workflow.Body
		if err := json.Unmarshal([]byte(`{"entry":"e","inputs":`+tt.inputs+`}`), &b); err != nil || !slices.Equal(b.InputNames, tt.names) || b.Entry != "e" {
			t.Errorf("%s is read as %+v (%v)", tt.inputs, b, err)
		}
	}
	for _, bad := range []string{`{"inputs":[1]}`, `{"entry":1}`, `[]`} {
		var b workflow.Body
		var d workflow.Definition
		if json.Unmarshal([]byte(bad), &b) == nil || json.Unmarshal([]byte(bad), &d) == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

func TestControlParamsDecode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		raw  string
		want workflow.MapSource
	}{
		{`"tickets"`, workflow.MapSource{Name: "tickets"}},
		{`{"outputsOf":"a","path":"b.c"}`, workflow.MapSource{OutputsOf: "a", Path: "b.c"}},
		{`{"expr":"$vars.x"}`, workflow.MapSource{Expr: "$vars.x"}},
		{`{"items":[1]}`, workflow.MapSource{Items: json.RawMessage(`[1]`)}},
	} {
		var m workflow.MapParams
		if err := json.Unmarshal([]byte(`{"over": `+tt.raw+`,"body": "b","concurrency":3}`), &m); err != nil || !reflect.DeepEqual(m.Over, tt.want) || m.Body.Name != "b" || m.Concurrency != 3 {
			t.Errorf("%s is read as %+v (%v)", tt.raw, m, err)
		}
	}
	var p workflow.ParallelParams
	if err := json.Unmarshal([]byte(`{"branches":{"a":"named","b": {"entry":"e","inputs":["x"],"nodes":{}}}}`), &p); err != nil {
		t.Fatal(err)
	}
	if a, b := p.Branches["a"], p.Branches["b"]; a.Name != "named" || a.Inline != nil || b.Name != "" || b.Inline.Entry != "e" || b.Inline.InputNames[0] != "x" {
		t.Errorf("branches %+v", p.Branches)
	}
	for _, bad := range []string{`{"over":1,"body":"b"}`, `{"over":"tickets","body":2}`, `{"over":{"path":1},"body":"b"}`} {
		var m workflow.MapParams
		if err := json.Unmarshal([]byte(bad), &m); err == nil {
			t.Errorf("%s is read as %+v", bad, m)
		}
	}
	if got := (workflow.WorkflowParams{Name: "n", File: "f"}).Ref() + (workflow.WorkflowParams{File: "f"}).Ref(); got != "nf" {
		t.Errorf("refs %s", got)
	}
}
