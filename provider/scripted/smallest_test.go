package scripted_test

import (
	"encoding/json"
	"testing"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/scripted"
)

// TestSmallest answers schemas for which nobody wrote a reply.
func TestSmallest(t *testing.T) {
	t.Parallel()
	p := scripted.New("", nil)
	for schema, want := range map[string]string{
		`{"type":"object"}`: `{}`,
		`{"type":"object","required":["a","b","c"],"properties":{"a":{"type":"string","minLength":2},"b":{"type":"integer","minimum":3},"c":{"enum":["x","y"]},"d":{"type":"string"}}}`: `{"a":"xx","b":3,"c":"x"}`,
		`{"type":"object","required":["l"],"properties":{"l":{"type":"array","minItems":2,"items":{"type":"boolean"}}}}`:                                                                `{"l":[false,false]}`,
		`{"type":"object","required":["n"],"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":["number","null"],"exclusiveMinimum":0}}}`:                                      `{"n":1}`,
		`{"type":"object","allOf":[{"required":["a"],"properties":{"a":{"const":7}}},{"$ref":"#/$defs/b"}],"$defs":{"b":{"required":["b"]}}}`:                                           `{"a":7,"b":null}`,
		`{"type":"object","anyOf":[false,{"required":["z"],"properties":{"z":{"type":"number","maximum":-2}}}]}`:                                                                        `{"z":-2}`,
		`{"type":"object","required":["p"],"properties":{"p":{"type":"string","pattern":"^[0-9]{4}$"}}}`:                                                                                `ok`,
		`{"type":"object","required":["r"],"properties":{"r":{"$ref":"#"}}}`:                                                                                                            `ok`,
		``: `ok`,
	} {
		r, err := p.Stream(t.Context(), provider.Request{Schema: json.RawMessage(schema)}, func(provider.Delta) {})
		if err != nil || r.Text() != want {
			t.Errorf("%s: %q, %v, want %q", schema, r.Text(), err, want)
		}
	}
	tools := []provider.ToolSpec{{Name: "read"}, {Name: "submit", Schema: json.RawMessage(`{"type":"object","required":["answer"],"properties":{"answer":{"type":"object","required":["a"]}}}`)}}
	if r, err := p.Stream(t.Context(), provider.Request{Tools: tools}, func(provider.Delta) {}); err != nil || r.Text() != `{"a":null}` {
		t.Errorf("an agent that has to submit: %q, %v", r.Text(), err)
	}
}
