package talk_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor/talk"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// TestMeasure: the digest is that of the request as JSON, whatever is taken from
// earlier ones.
func TestMeasure(t *testing.T) {
	t.Parallel()
	tools := []provider.ToolSpec{
		{Name: "a", Description: "first <&>", Schema: json.RawMessage(`{ "type": "object" }`)},
		{Name: "b", Description: "second \u2028", Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)},
	}
	for name, r := range map[string]provider.Request{
		"nothing":  {},
		"plain":    {Model: "m", System: "s", Messages: []provider.Message{provider.UserText("hi <b>")}},
		"tools":    {Model: "m", Messages: []provider.Message{provider.UserText("hi")}, Tools: tools},
		"one tool": {Model: "m", Tools: tools[:1], ToolChoice: "a"},
		"all": {Model: "m", System: "s", Messages: []provider.Message{provider.UserText("hi")}, Tools: tools, ToolChoice: "b", Schema: json.RawMessage(`{ "a": 1 }`),
			MaxOutputTokens: 5, Effort: "low", Stop: []string{"x"}, Cache: true, Metadata: map[string]string{"node": "n"}},
	} {
		want := r
		want.Metadata, want.MaxOutputTokens = nil, 0
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, _, err := talk.Measure(r)
			if err != nil || got != workflow.Digest(canon.Sum(raw)) {
				t.Errorf("%s: %s, %v; want that of %s", name, got, err, raw)
			}
		}
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
