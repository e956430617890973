package provider_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/provider"
)

func TestAssembly(t *testing.T) {
	t.Parallel()
	req := provider.Request{Messages: []provider.Message{provider.UserText("a"), {Role: provider.RoleAssistant}, provider.UserText("b")}}
	var deltas []provider.Delta
	a := provider.Assemble(provider.Config{}, req, func(d provider.Delta) { deltas = append(deltas, d) })
	a.Reasoning("0", "hm")
	a.State("0", provider.PartReasoning, "w", json.RawMessage(`{"s":1}`))
	a.Text("", "one ")
	a.Text("", "")
	a.Text("", "two")
	a.ToolUse("x", "", "read")
	a.ToolInput("x", `{"a":`)
	a.ToolUse("y", "id-y", "")
	a.ToolUse("y", "", "list")
	a.ToolInput("x", `1}`)
	a.Text("", "three")
	a.SetToolInput("y", `{"late":true}`)
	a.SetToolInput("x", `{"a":1}`)
	want := []provider.Part{
		{Kind: provider.PartReasoning, Text: "hm", State: json.RawMessage(`{"s":1}`), Wire: "w"},
		{Kind: provider.PartText, Text: "one two"},
		{Kind: provider.PartToolUse, ID: "call-2-1", Name: "read", Input: json.RawMessage(`{"a":1}`)},
		{Kind: provider.PartToolUse, ID: "id-y", Name: "list", Input: json.RawMessage(`{"late":true}`)},
		{Kind: provider.PartText, Text: "three"},
	}
	got := a.Done()
	if !reflect.DeepEqual(got.Parts, want) {
		t.Errorf("got %+v", got.Parts)
	}
	var kinds []string
	for _, d := range deltas {
		kinds = append(kinds, string(d.Kind)+":"+d.ID+":"+d.Name+d.Text)
	}
	if s := strings.Join(kinds, " "); s != `reasoning::hm text::one  text::two tool_use:call-2-1:read tool_input:call-2-1:{"a": tool_use:id-y:list tool_input:call-2-1:1} text::three tool_input:id-y:{"late":true}` {
		t.Errorf("deltas %s", s)
	}
	if got.Text() != "one twothree" || len(got.ToolUses()) != 2 || got.Message().Role != provider.RoleAssistant || got.Message().Text() != got.Text() {
		t.Errorf("got %+v", got)
	}
}

// A response survives the journal, whatever the model wrote.
func TestResponseRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := provider.Assemble(provider.Config{}, provider.Request{}, nil)
		a.Text("", rapid.String().Draw(t, "text"))
		a.ToolUse("k", rapid.String().Draw(t, "id"), rapid.String().Draw(t, "name"))
		a.ToolInput("k", rapid.OneOf(rapid.String(), rapid.Just(`{"a":1}`), rapid.Just(`[`)).Draw(t, "input"))
		want := a.Done()
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got provider.Response
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v came back as %+v", want, got)
		}
		for _, p := range got.ToolUses() {
			if p.ID == "" || p.Invalid != (p.Input == nil) || !json.Valid(p.Arguments()) || p.Arguments()[0] != '{' {
				t.Errorf("got %+v with arguments %s", p, p.Arguments())
			}
		}
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	var u provider.Usage
	if _, known := u.Total(); known || u.Known() {
		t.Error("nothing is known of a zero value")
	}
	b, err := json.Marshal(u)
	if err != nil || string(b) != `{"input":null,"cached":null,"cacheWrite":null,"output":null,"reasoning":null,"costUsd":null}` {
		t.Errorf("%s, %v", b, err)
	}
	u = provider.Usage{Input: new(int64(5)), Output: new(int64(0))}
	if n, known := u.Total(); n != 5 || !known || !u.Known() {
		t.Errorf("total %d, known %v", n, known)
	}
}

func TestOutputLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]int{{0, 0, provider.DefaultMaxOutputTokens}, {0, 100, 100}, {7, 100, 7}} {
		if got := (provider.Config{MaxOutputTokens: tt[1]}).OutputLimit(provider.Request{MaxOutputTokens: tt[0]}); got != tt[2] {
			t.Errorf("%v: got %d", tt, got)
		}
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                                                                          true,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                                                           false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                                                       false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`:                                                 false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"object","properties":{},"additionalProperties":false}]}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"string"}`: true,
	} {
		m, err := provider.Object(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := provider.Strict(m); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
	if _, err := provider.Object(json.RawMessage(`[1]`)); err == nil {
		t.Error("a list is no schema")
	}
}
