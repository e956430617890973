package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/internal/schema"
)

func compile(t *testing.T, raw string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(raw))
	if err != nil {
		t.Fatalf("Compile(%s): %v", raw, err)
	}
	return s
}

// lines renders problems as pointer|keyword|message.
func lines(ps schema.Problems) string {
	var out []string
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%s|%s|%s", p.Pointer, p.Keyword, p.Message))
	}
	return strings.Join(out, "\n")
}

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ schema, value, want string }{
		"fits":           {`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1.0,"b":2}`, ""},
		"true":           {`true`, `[1]`, ""},
		"false":          {`false`, `1`, "|false|no value is allowed here"},
		"type":           {`{"type":["string","null"]}`, `1`, "|type|want null or string, have number"},
		"all at once":    {`{"properties":{"a":{"type":"string"},"b":{"minimum":3},"c":{"minItems":1}},"required":["d","e"]}`, `{"a":1,"b":2,"c":[]}`, "|required|the key \"d\" is missing\n|required|the key \"e\" is missing\n/a|type|want string, have number\n/b|minimum|want at least 3, have 2\n/c|minItems|want at least 1 items, have 0"},
		"unknown key":    {`{"properties":{"name":{},"kind":{}},"additionalProperties":false}`, `{"nam/e":1}`, `/nam~1e|additionalProperties|unknown key "nam/e"`},
		"enum":           {`{"enum":["read","write",1]}`, `"rad"`, `|enum|want read, write or 1, have "rad"`},
		"const":          {`{"const":{"a":1}}`, `2`, `|const|want {"a":1}, have 2`},
		"pattern":        {`{"pattern":"^[a-z]+$"}`, `"A"`, `|pattern|"A" does not match ^[a-z]+$`},
		"lengths":        {`{"items":{"minLength":2,"maxLength":3}}`, `["é","éééé"]`, "/0|minLength|want at least 2 characters, have 1\n/1|maxLength|want at most 3 characters, have 4"},
		"numbers":        {`{"items":{"exclusiveMinimum":0,"exclusiveMaximum":10,"multipleOf":0.5}}`, `[0,10,0.3]`, "/0|exclusiveMinimum|want more than 0, have 0\n/1|exclusiveMaximum|want less than 10, have 10\n/2|multipleOf|want a multiple of 0.5, have 0.3"},
		"decimals":       {`{"items":{"multipleOf":0.01}}`, `[19.99,4.35,0.3,1e300,0.001]`, "/4|multipleOf|want a multiple of 0.01, have 0.001"},
		"large":          {`{"maxItems":1e300,"maximum":1000000,"items":{"minLength":5e9}}`, `["",""]`, "/0|minLength|want at least 5000000000 characters, have 0\n/1|minLength|want at least 5000000000 characters, have 0"},
		"names in items": {`{"items":{"propertyNames":false}}`, `[{"a":1},{}]`, `/0/a|propertyNames|the key "a" is not allowed here: no value is allowed here`},
		"in a not":       {`{"not":{"properties":{"a":true},"unevaluatedProperties":true},"unevaluatedProperties":false}`, `{"a":1}`, "|not|is of a kind that is not allowed\n/a|unevaluatedProperties|unknown key \"a\""},
		"counts":         {`{"maxItems":1,"uniqueItems":true,"contains":{"type":"string"}}`, `[1,1]`, "|contains|no item is of the kind that is wanted\n|maxItems|want at most 1 items, have 2\n|uniqueItems|the items 0 and 1 are equal"},
		"properties":     {`{"minProperties":2,"propertyNames":{"pattern":"^[a-z]$"}}`, `{"A":1}`, "|minProperties|want at least 2 keys, have 1\n/A|propertyNames|the key \"A\" is not allowed here: \"A\" does not match ^[a-z]$"},
		"dependent":      {`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `|dependentRequired|the key "b" is missing, which goes with "a"`},
		"not":            {`{"not":{"type":"string"}}`, `"x"`, "|not|is of a kind that is not allowed"},
		"reference":      {`{"$defs":{"n":{"type":"number"}},"items":{"$ref":"#/$defs/n"}}`, `[1,"x"]`, "/1|type|want number, have string"},
		"any of types":   {`{"anyOf":[{"type":"string"},{"type":"array"}]}`, `1`, "|anyOf|fits none of the 2 alternatives: want array or string"},
		"near one":       {`{"anyOf":[{"type":"string"},{"type":"object","required":["a"]}]}`, `{}`, `|required|the key "a" is missing`},
		"one constant":   {`{"oneOf":[{"properties":{"kind":{"const":"x"},"n":{"type":"number"}}},{"properties":{"kind":{"const":"y"}},"required":["m"]}]}`, `{"kind":"y"}`, `|required|the key "m" is missing`},
		"told apart":     {`{"oneOf":[{"properties":{"kind":{"const":"x"}},"required":["n"]},{"properties":{"kind":{"const":"y"}},"required":["m"]}]}`, `{"kind":"y"}`, `|required|the key "m" is missing`},
		"two fit":        {`{"oneOf":[{"type":"number"},{"minimum":0}]}`, `1`, "|oneOf|fits more than one of the alternatives: [0 1]"},
		"unevaluated":    {`{"allOf":[{"properties":{"a":{}}}],"properties":{"b":{}},"unevaluatedProperties":false}`, `{"a":1,"c":2}`, `/c|unevaluatedProperties|unknown key "c"`},
		"endless":        {`{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `1`, "|$ref|the schema refers to itself without end"},
		"recursive":      {`{"properties":{"n":{"$ref":"#"}},"additionalProperties":false}`, `{"n":{"n":{"m":1}}}`, `/n/n/m|additionalProperties|unknown key "m"`},
		"format ignored": {`{"format":"email","contentMediaType":"application/json"}`, `"no"`, ""},
		"not JSON":       {`true`, `{"a":`, "||not JSON: the text ends too early"},
		"more":           {`true`, `1 2`, "||not JSON: there is more after the value"},
		"huge number":    {`{"minimum":0}`, `1e999999999`, "||not JSON: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := lines(compile(t, tt.schema).Validate(json.RawMessage(tt.value)))
			if got != tt.want && (!strings.HasSuffix(tt.want, ": ") || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("Validate(%s, %s)\n got %s\nwant %s", tt.schema, tt.value, got, tt.want)
			}
		})
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"$defs":{"a/b":{"type":"object","properties":{"name":{},"kind":{}},"additionalProperties":false}},
		"properties":{"x":{"$ref":"#/$defs/a~1b"},"l":{"type":"array","items":{"anyOf":[{"properties":{"z":{}},"additionalProperties":false}]}}}}`)
	for value, want := range map[string]string{
		`{"x":{"nme":1}}`: "nme: kind name",
		`{"l":[{"y":1}]}`: "y: z",
	} {
		ps := s.Validate([]byte(value))
		if len(ps) != 1 || ps[0].Key+": "+strings.Join(ps[0].Allowed, " ") != want {
			t.Errorf("%s: %+v, want %s", value, ps, want)
		}
	}
	if ps := compile(t, `{"enum":["a",2]}`).Validate("b"); len(ps) != 1 || strings.Join(ps[0].Allowed, " ") != "a 2" {
		t.Errorf("enum: %+v", ps)
	}
	if ps := s.Validate(map[string]any{"x": []any{}}); ps.Error() != "/x: want object, have array" {
		t.Errorf("error text %q", ps.Error())
	}
}

func TestValidateGoValues(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"n":{"type":"integer"}},"required":["n"]}`)
	type value struct {
		N any `json:"n"`
	}
	if ps := s.Validate(value{3}); ps != nil {
		t.Errorf("struct: %v", ps)
	}
	if ps := s.Validate(&value{"x"}); lines(ps) != "/n|type|want integer, have string" {
		t.Errorf("pointer: %v", ps)
	}
	if ps := s.Validate(func() {}); len(ps) != 1 {
		t.Errorf("function: %v", ps)
	}
	if ps := s.Validate(map[string]any{"n": 3}); ps != nil {
		t.Errorf("integer in a map: %v", ps)
	}
	if ps := s.Validate(map[string]any{"n": math.NaN()}); len(ps) != 1 {
		t.Errorf("no number: %v", ps)
	}
	if ps := compile(t, `{"type":"null"}`).Validate(nil); ps != nil {
		t.Errorf("nil: %v", ps)
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ schema, pointer, message string }{
		"not JSON":      {`{`, "", "the schema is not JSON"},
		"no schema":     {`[]`, "", "a schema is an object"},
		"unknown":       {`{"properties":{"a":{"typ":"string"}}}`, "/properties/a/typ", `unknown keyword "typ"`},
		"unknown deep":  {`{"anyOf":[{"if":{"items":{"nullable":true}}}]}`, "/anyOf/0/if/items/nullable", "unknown keyword"},
		"in definition": {`{"$defs":{"a/b":{"x":1}}}`, "/$defs/a~1b/x", "unknown keyword"},
		"remote":        {`{"$ref":"https://example.com/x"}`, "/$ref", "outside the schema"},
		"file":          {`{"items":{"$ref":"other.json"}}`, "/items/$ref", "outside the schema"},
		"missing ref":   {`{"$ref":"#/$defs/none"}`, "", "none"},
		"old draft":     {`{"$schema":"http://json-schema.org/draft-07/schema#"}`, "/$schema", "only draft 2020-12"},
		"inner id":      {`{"items":{"$id":"x"}}`, "/items/$id", "only possible at the root"},
		"bad type":      {`{"type":"strin"}`, "/type", ""},
		"bad value":     {`{"properties":{"a":{"minLength":-1}}}`, "/properties/a/minLength", "want at least 0"},
		"bad shape":     {`{"properties":[]}`, "/properties", "want object"},
		"bad pattern":   {`{"properties":{"a":{"pattern":"(?=x)"}}}`, "/properties/a/pattern", "is not a valid regex"},
		"array items":   {`{"items":[{}]}`, "/items", "want"},
		"bad key":       {`{"patternProperties":{"(?=x)":{}}}`, "/patternProperties/(?=x)", "is not a valid regex"},
		"bad id":        {`{"$id":"%zz"}`, "/$id", "is not a URI"},
		"no anchor":     {`{"$ref":"#nowhere"}`, "/$ref", "leads nowhere"},
		"bad escape":    {`{"$ref":"#%zz"}`, "/$ref", "leads nowhere"},
		"two anchors":   {`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, "/$defs/b/$anchor", "already"},
		"odd target":    {`{"$ref":"#/default","default":{"type":"strin"}}`, "/default/type", "want array, boolean"},
		"odd keyword":   {`{"$ref":"#/default","default":{"typ":1}}`, "/default/typ", "unknown keyword"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.Compile([]byte(tt.schema))
			var ps schema.Problems
			if !errors.As(err, &ps) || len(ps) == 0 {
				t.Fatalf("Compile(%s): %v, want problems", tt.schema, err)
			}
			if !strings.HasPrefix(ps[0].Pointer, tt.pointer) || !strings.Contains(ps.Error(), tt.message) || strings.Contains(ps.Error(), "schema:///") {
				t.Errorf("Compile(%s): %v at %q", tt.schema, ps, ps[0].Pointer)
			}
		})
	}
	if _, err := schema.Compile([]byte(`{"a":1,"items":{"b":2}}`)); len(problemsOf(err)) != 2 {
		t.Errorf("not all unknown keywords: %v", err)
	}
	if _, err := schema.Compile([]byte(`{"typ":1,"type":"text","$ref":"#/x","pattern":"("}`)); len(problemsOf(err)) != 4 {
		t.Errorf("not all that is wrong: %v", err)
	}
	compile(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/mine","const":{"typ":1},"default":{"x":2},"properties":{"typ":{}},"$ref":"#/$defs/a","$defs":{"a":{"$anchor":"b"}}}`)
}

func TestCoerce(t *testing.T) {
	t.Parallel()
	tests := []struct{ schema, text, want string }{
		{`{"type":"array","items":{"type":"string"}}`, `["a","b"]`, `["a","b"]`},
		{`{"type":"array","items":{"type":"string"}}`, ` [ "a" ] `, `["a"]`},
		{`{"type":"array"}`, `a`, `error: want array, have string`},
		{`{"type":"array"}`, `[a]`, `error: want array, have string; the text is not JSON: invalid character 'a'`},
		{`{"type":"array","items":{"type":"string"}}`, `[1]`, `error: /0: want string, have number`},
		{`{"type":"string"}`, `123`, `"123"`},
		{`{"type":"string"}`, `"quoted"`, `"quoted"`},
		{`{"type":"string"}`, `<a & b>`, `"\u003ca \u0026 b\u003e"`},
		{`{"type":"string"}`, ``, `""`},
		{`{"type":"string","maxLength":1}`, `12`, `error: want at most 1 characters, have 2`},
		{`{"type":"integer"}`, `12`, `12`},
		{`{"type":"integer"}`, `1.5`, `error: want integer, have number`},
		{`{"type":"integer"}`, `twelve`, `error: want integer, have string`},
		{`{"type":"boolean"}`, `true`, `true`},
		{`true`, `null`, `null`},
		{`true`, `plain`, `"plain"`},
		{`{"enum":["yes","no"]}`, `yes`, `"yes"`},
		{`{"enum":["yes","no"]}`, `maybe`, `error: want yes or no, have "maybe"`},
	}
	for _, tt := range tests {
		got, err := schema.Coerce(compile(t, tt.schema), tt.text)
		out := string(got)
		if err != nil {
			out = "error: " + err.Error()
		}
		if out != tt.want && (err == nil || !strings.HasPrefix(out, tt.want)) {
			t.Errorf("Coerce(%s, %q)\n got %s\nwant %s", tt.schema, tt.text, out, tt.want)
		}
	}
	for text, want := range map[string]string{`[1]`: `[1]`, `x y`: `"x y"`} {
		if got, err := schema.Coerce(nil, text); err != nil || string(got) != want {
			t.Errorf("Coerce(nil, %q) = %s, %v", text, got, err)
		}
	}
}

// problemsOf returns the problems of an error; nil when it is another one.
func problemsOf(err error) schema.Problems {
	var ps schema.Problems
	errors.As(err, &ps)
	return ps
}

func TestFill(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"n":{"default":2},"o":{"properties":{"p":{"default":"x"}}},"d":{"default":{},"properties":{"q":{"default":null}}},"e":{}}}`)
	for in, want := range map[string]string{
		`{}`:                              `{"d":{"q":null},"n":2}`,
		`{"n":1,"o":{"z":1},"d":{"q":3}}`: `{"d":{"q":3},"n":1,"o":{"p":"x","z":1}}`,
		"\x20{\"n\":1,\"d\":{\"q\":3}}":   ` {"n":1,"d":{"q":3}}`,
		`[1]`:                             `[1]`,
		`null`:                            `null`,
	} {
		if got, err := s.Fill(json.RawMessage(in)); err != nil || string(got) != want {
			t.Errorf("Fill(%s) = %s, %v; want %s", in, got, err, want)
		}
	}
}

// TestCoerceLaw: what Coerce returns is valid under the schema.
func TestCoerceLaw(t *testing.T) {
	t.Parallel()
	var schemas []*schema.Schema
	for _, raw := range []string{`{"type":"string","maxLength":3}`, `{"type":["integer","array"]}`, `{"items":{"type":"string"}}`, `{"not":{"type":"null"}}`} {
		schemas = append(schemas, compile(t, raw))
	}
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"1", "null", `"a"`, `["a"]`, `[1]`, "{}", "tru", "-0.5e3"}))
	rapid.Check(t, func(t *rapid.T) {
		s, text := rapid.SampledFrom(schemas).Draw(t, "schema"), texts.Draw(t, "text")
		raw, err := schema.Coerce(s, text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without text")
			}
			return
		}
		if ps := s.Validate(raw); ps != nil {
			t.Fatalf("%q became %s: %v", text, raw, ps)
		}
	})
}
