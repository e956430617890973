package schema_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/internal/schema"
)

// TestOracle: a value has no problems exactly when an implementation of others
// accepts it, for any schema and value.
func TestOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		document := rapid.OneOf(schemas(3), open(schemas(2)), multiples).Draw(t, "schema")
		if object, ok := document.(map[string]any); ok {
			object["$defs"] = map[string]any{
				"d": rapid.OneOf(schemas(1), schemas(2)).Draw(t, "d"),
				"e": map[string]any{"$anchor": "e", "anyOf": []any{schemas(1).Draw(t, "e")}},
				"f": map[string]any{"$dynamicAnchor": "f", "allOf": []any{schemas(1).Draw(t, "f")}},
			}
		}
		accepts, err := oracle(document)
		raw, _ := json.Marshal(document)
		s, mine := schema.Compile(raw)
		if err != nil || mine != nil {
			t.Fatalf("Compile(%s): %v, the oracle says %v", raw, mine, err)
		}
		for _, value := range rapid.SliceOfN(values(3), 1, 8).Draw(t, "values") {
			if ps := s.Validate(value); (ps == nil) != accepts(value) {
				text, _ := json.Marshal(value)
				t.Fatalf("%s under %s: %v; the oracle accepts it: %v", text, raw, ps, accepts(value))
			}
		}
	})
}

// TestOracleRefuses: a schema with a keyword of any shape is refused exactly when
// an implementation of others refuses it.
func TestOracleRefuses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		document := map[string]any{}
		for _, keyword := range rapid.SliceOfNDistinct(rapid.SampledFrom(anyKeyword), 1, 3, rapid.ID).Draw(t, "keywords") {
			document[keyword] = rapid.OneOf(values(2), schemas(1), rapid.SampledFrom([]any{"(", "^a$", "string", []any{"string", "null"}, []any{"a", "a"}, map[string]any{"(?=x)": true}, map[string]any{"a": []any{"b"}}, "#", "#x", "#/none", "#/items", []any{}, []any{true}, -1.0, 0.0, 1.5})).Draw(t, keyword)
		}
		_, err := oracle(document)
		raw, _ := json.Marshal(document)
		_, mine := schema.Compile(raw)
		var ps schema.Problems
		if mine != nil && !errors.As(mine, &ps) {
			t.Fatalf("Compile(%s): %v", raw, mine)
		}
		if (mine == nil) == (err == nil) {
			return
		}
		for _, p := range ps {
			if p.Keyword == "additionalProperties" || p.Keyword == "$ref" || p.Keyword == "$dynamicRef" {
				return // stricter: an unknown keyword in an odd place, and a reference that nothing uses
			}
		}
		t.Fatalf("Compile(%s): %v; the oracle says %v", raw, mine, err)
	})
}

var anyKeyword = []string{
	"$anchor", "$comment", "$defs", "$ref", "type", "enum", "const", "title", "default", "deprecated", "examples", "multipleOf", "maximum", "exclusiveMinimum",
	"maxLength", "minLength", "pattern", "format", "contentSchema", "items", "prefixItems", "contains", "minContains", "maxItems", "uniqueItems", "unevaluatedItems",
	"properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties", "minProperties", "required", "dependentRequired",
	"dependentSchemas", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
}

// oracle compiles a schema with the other implementation.
func oracle(document any) (accepts func(value any) bool, err error) {
	const address = "schema:///root"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(address, document); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(address)
	if err != nil {
		return nil, err
	}
	return func(value any) bool { return compiled.Validate(value) == nil }, nil
}

var (
	keys     = []string{"a", "b", "a/b", "é~"}
	patterns = []string{"^a", "b", "^$", "."}
	floats   = []float64{0, 1, 2, 3, -1, 0.1, 0.3, 19.99, 0.01, 9007199254740993, 1e21, 1e300}
)

// values are decoded JSON values.
func values(depth int) *rapid.Generator[any] {
	all := []*rapid.Generator[any]{
		rapid.SampledFrom([]any{nil, true, false, "", "a", "ab", "éé", "1"}),
		rapid.Custom(func(t *rapid.T) any { return rapid.SampledFrom(floats).Draw(t, "number") }),
	}
	if depth > 0 {
		all = append(all,
			rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(values(depth-1), 0, 4).Draw(t, "items") }),
			rapid.Custom(func(t *rapid.T) any {
				return rapid.MapOfN(rapid.SampledFrom(keys), values(depth-1), 0, 3).Draw(t, "members")
			}))
	}
	return rapid.OneOf(all...)
}

// open are schemas that ask for what others evaluate.
func open(subs *rapid.Generator[any]) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		part := rapid.Custom(func(t *rapid.T) any {
			return rapid.SampledFrom([]any{
				map[string]any{"properties": map[string]any{"a": true}},
				map[string]any{"patternProperties": map[string]any{"b": subs.Draw(t, "sub")}},
				map[string]any{"additionalProperties": subs.Draw(t, "sub")}, map[string]any{"unevaluatedProperties": subs.Draw(t, "sub")},
				map[string]any{"prefixItems": []any{true, subs.Draw(t, "sub")}}, map[string]any{"contains": subs.Draw(t, "sub")},
				map[string]any{"items": subs.Draw(t, "sub")}, map[string]any{"unevaluatedItems": subs.Draw(t, "sub")}, subs.Draw(t, "sub"),
			}).Draw(t, "part")
		})
		list := func() any { return rapid.SliceOfN(part, 1, 3).Draw(t, "parts") }
		object := map[string]any{"unevaluatedProperties": false, "unevaluatedItems": false}
		switch keyword := rapid.SampledFrom([]string{"allOf", "anyOf", "oneOf", "if", "dependentSchemas", "$ref"}).Draw(t, "keyword"); keyword {
		case "if":
			object["if"], object["then"], object["else"] = part.Draw(t, "if"), part.Draw(t, "then"), part.Draw(t, "else")
		case "dependentSchemas":
			object[keyword] = map[string]any{"a": part.Draw(t, "part")}
		case "$ref":
			object[keyword] = "#/$defs/d"
		default:
			object[keyword] = list()
		}
		return object
	})
}

// multiples are schemas of numbers.
var multiples = rapid.Custom(func(t *rapid.T) any {
	return map[string]any{"items": map[string]any{"multipleOf": rapid.SampledFrom(floats[5:]).Draw(t, "limit")}, "multipleOf": rapid.SampledFrom(floats[5:]).Draw(t, "limit")}
})

// schemas are well-formed.
func schemas(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
			return rapid.Bool().Draw(t, "bool")
		}
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				assertion(t, object)
			} else {
				applicator(t, object, depth-1)
			}
		}
		return object
	})
}

func assertion(t *rapid.T, object map[string]any) {
	names := func() any {
		all := []any{}
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 2, rapid.ID).Draw(t, "names") {
			all = append(all, key)
		}
		return all
	}
	small := float64(rapid.IntRange(0, 3).Draw(t, "small"))
	switch keyword := rapid.SampledFrom([]string{"type", "types", "enum", "const", "number", "count", "pattern", "uniqueItems", "required", "dependentRequired", "contains", "ref"}).Draw(t, "assertion"); keyword {
	case "type", "types":
		object["type"] = rapid.SampledFrom([]any{"null", "boolean", "integer", "number", "string", "array", "object", []any{"integer", "array"}, []any{"string", "object", "null"}}).Draw(t, "type")
	case "enum":
		object["enum"] = rapid.SliceOfN(values(1), 1, 3).Draw(t, "enum")
	case "const":
		object["const"] = values(2).Draw(t, "const")
	case "number":
		limit := rapid.SampledFrom(floats).Draw(t, "limit")
		keyword := rapid.SampledFrom([]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}).Draw(t, "bound")
		if keyword != "multipleOf" || limit > 0 {
			object[keyword] = limit
		}
	case "count":
		object[rapid.SampledFrom([]string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}).Draw(t, "bound")] = small
	case "pattern":
		object["pattern"] = rapid.SampledFrom(patterns).Draw(t, "pattern")
	case "uniqueItems":
		object["uniqueItems"] = small > 0
	case "required":
		object["required"] = names()
	case "dependentRequired":
		object["dependentRequired"] = map[string]any{"a": names(), "b": names()}
	case "contains":
		object["contains"] = map[string]any{"type": "integer"}
		object["minContains"] = small
	case "ref":
		object["format"] = "email"
	}
}

func applicator(t *rapid.T, object map[string]any, depth int) {
	sub := func() any { return schemas(depth).Draw(t, "sub") }
	switch keyword := rapid.SampledFrom([]string{
		"items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "not", "prefixItems", "allOf", "anyOf", "oneOf",
		"properties", "patternProperties", "dependentSchemas", "if", "$ref",
	}).Draw(t, "applicator"); keyword {
	case "prefixItems", "allOf", "anyOf", "oneOf":
		object[keyword] = rapid.SliceOfN(schemas(depth), 1, 3).Draw(t, "list")
	case "properties", "dependentSchemas":
		object[keyword] = rapid.MapOfN(rapid.SampledFrom(keys), schemas(depth), 1, 3).Draw(t, "dict")
	case "patternProperties":
		object[keyword] = rapid.MapOfN(rapid.SampledFrom(patterns), schemas(depth), 1, 2).Draw(t, "dict")
	case "if":
		object["if"], object["then"], object["else"] = sub(), sub(), sub()
	case "$ref":
		object[rapid.SampledFrom([]string{"$ref", "$dynamicRef"}).Draw(t, "reference")] = rapid.SampledFrom([]any{"#", "#/$defs/d", "#e", "#f"}).Draw(t, "target")
	default:
		object[keyword] = sub()
	}
}
