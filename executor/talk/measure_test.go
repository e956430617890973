package talk_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor/talk"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// TestMeasure: whatever a request asks is in its digest, and what it does not ask
// is not; what is remembered of tools changes nothing.
func TestMeasure(t *testing.T) {
	t.Parallel()
	base := func() provider.Request {
		return provider.Request{
			Model: "m", System: "s", Messages: []provider.Message{provider.UserText("hi <b>")}, ToolChoice: "b", Schema: json.RawMessage(`{"a":1}`),
			Tools: []provider.ToolSpec{
				{Name: "a", Description: "first <&>", Schema: json.RawMessage(`{"type":"object"}`)},
				{Name: "b", Description: "second", Schema: json.RawMessage(`{"type":"object","required":["x"]}`)},
			},
			MaxOutputTokens: 5, Effort: "low", Stop: []string{"x"}, Cache: true, Metadata: map[string]string{"node": "n"},
		}
	}
	measured := func(change func(r *provider.Request)) workflow.Digest {
		r := base()
		change(&r)
		d, _, err := talk.Measure(r)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same := measured(func(*provider.Request) {})
	seen := map[workflow.Digest]string{same: "nothing"}
	for what, change := range map[string]func(r *provider.Request){
		"model": func(r *provider.Request) { r.Model = "n" }, "system": func(r *provider.Request) { r.System = "" },
		"messages": func(r *provider.Request) { r.Messages = nil }, "choice": func(r *provider.Request) { r.ToolChoice = "a" },
		"schema": func(r *provider.Request) { r.Schema = nil }, "effort": func(r *provider.Request) { r.Effort = "" },
		"stop": func(r *provider.Request) { r.Stop = nil }, "cache": func(r *provider.Request) { r.Cache = false },
		"no tools": func(r *provider.Request) { r.Tools = nil }, "a tool less": func(r *provider.Request) { r.Tools = r.Tools[:1] },
		"order of tools": func(r *provider.Request) { r.Tools[0], r.Tools[1] = r.Tools[1], r.Tools[0] },
		"tool name":      func(r *provider.Request) { r.Tools[1].Name = "c" }, "tool text": func(r *provider.Request) { r.Tools[1].Description = "" },
		"tool schema": func(r *provider.Request) { r.Tools[1].Schema = nil },
	} {
		d := measured(change)
		if was, dup := seen[d]; dup {
			t.Errorf("a change of %s gives the digest of %s", what, was)
		}
		seen[d] = what
	}
	for what, change := range map[string]func(r *provider.Request){
		"labels": func(r *provider.Request) { r.Metadata = nil }, "limit": func(r *provider.Request) { r.MaxOutputTokens = 9 }, "nothing": func(*provider.Request) {},
	} {
		if measured(change) != same {
			t.Errorf("a change of %s changes the digest", what)
		}
	}
	if _, size, err := talk.Measure(base()); err != nil || size != len(`s{"a":1}hi <b>afirst <&>{"type":"object"}bsecond{"type":"object","required":["x"]}`) {
		t.Errorf("%d bytes are sent, %v", size, err)
	}
	if _, _, err := talk.Measure(provider.Request{Tools: []provider.ToolSpec{{Name: "a", Schema: json.RawMessage(`{`)}}}); err == nil {
		t.Error("a schema that is no JSON is measured")
	}
	if n := reflect.TypeFor[provider.Request]().NumField(); n != 11 {
		t.Errorf("a request has %d fields; measure them all", n)
	}
}

func BenchmarkMeasure(b *testing.B) {
	tools := make([]provider.ToolSpec, 14)
	for i := range tools {
		tools[i] = provider.ToolSpec{Name: "tool", Description: strings.Repeat("words and ", 80), Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"` + string(rune('a'+i)) + `"}}}`)}
	}
	r := provider.Request{Model: "m", Messages: []provider.Message{provider.UserText("hi")}, Tools: tools}
	for b.Loop() {
		if _, _, err := talk.Measure(r); err != nil {
			b.Fatal(err)
		}
	}
}
