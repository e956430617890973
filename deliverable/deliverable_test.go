package deliverable_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/deliverable"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/workflow"
)

func load(t testing.TB, name string) *deliverable.Spec {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := deliverable.Load(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t testing.TB, text string) *deliverable.Spec {
	t.Helper()
	s, err := deliverable.Load("spec.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func codeOf(err error) workflow.Code {
	var known *workflow.Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

// findings are the errors of a spec, one line each.
func findings(t testing.TB, text string) string {
	t.Helper()
	_, err := deliverable.Load("spec.yaml", []byte(text))
	if err == nil {
		return ""
	}
	var known *workflow.Error
	var found source.Errors
	if !errors.As(err, &known) || known.Code != workflow.CodeInvalidArguments || !errors.As(err, &found) {
		t.Fatalf("error %v", err)
	}
	return found.Error() + "\n"
}

func golden(t testing.TB, name, got string) {
	t.Helper()
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestSpec(t *testing.T) {
	t.Parallel()
	s := load(t, "close-report.json")
	if s.Slug != "close-report" || s.Version != "1.2.0" || s.Kind != deliverable.KindJSON || len(s.Digest) != 64 {
		t.Errorf("spec %+v", s)
	}
	other := parse(t, "ref: close-report@2.0.0\nkind: MARKDOWN_DOCUMENT\noutputContract: {mode: workspace-files, files: [{canonicalPath: a.md}, {canonicalPath: b.txt, required: false}]}")
	files := other.Contract.Files
	if other.Version != "2.0.0" || other.Kind != deliverable.KindDocument || !files[0].Required || files[0].Content != deliverable.ContentMarkdown ||
		files[1].Required || files[1].Content != deliverable.ContentText || other.Contract.Slot.String() != "deliverables" {
		t.Errorf("spec %+v", other)
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/wrong.yaml")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "wrong.txt", findings(t, string(data)))
}

func TestKindsAndModes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{slug: a, kind: response-only, outputContract: {mode: response-only}}":                                                                                                         "",
		"{slug: a, kind: RESPONSE_ONLY, outputContract: {mode: workspace-files}}":                                                                                                       "delivers no files",
		"{slug: a, kind: response-only, outputContract: {mode: response-only, files: [], multiPage: {pagePathTemplate: <slug>, pages: [{slug: a}]}, targetSlot: {kind: deliverables}}}": "no files\nno multiPage\nno targetSlot",
		"{slug: a, kind: response-only, outputContract: {mode: response-only}, contentSchema: {}}":                                                                                      "kind response-only has no contentSchema",
		"{slug: a, kind: json-schema, outputContract: {mode: response-only}}":                                                                                                           "has no contentSchema",
		"{slug: a, kind: json-schema, outputContract: {mode: response-only}, contentSchema: true}":                                                                                      "",
		"{slug: a, kind: structured-json, outputContract: {mode: response-only}}":                                                                                                       "",
		"{slug: a, kind: structured-json, outputContract: {mode: workspace-files}}":                                                                                                     "names no JSON file",
		"{slug: a, kind: document, outputContract: {mode: response-only}}":                                                                                                              "is delivered in files",
		"{slug: a, kind: document, outputContract: {mode: workspace-files}}":                                                                                                            "names no page",
		"{slug: a, kind: document, outputContract: {mode: workspace-files, multiPage: {pagePathTemplate: p.md, pages: [{slug: a}]}}}":                                                   "no <slug>",
		"{slug: a, kind: document, outputContract: {mode: workspace-files, multiPage: {pagePathTemplate: ../<slug>, pages: [{slug: a}, {slug: a}]}}}":                                   "is not a path in the slot\nis there twice",
		"{slug: a, kind: custom, outputContract: {mode: workspace-files}}":                                                                                                              "",
		"{slug: a, kind: custom, outputContract: {mode: workspace-files, targetSlot: {kind: repos}}}":                                                                                   "needs the name of a repository\nnothing says which files",
		"{slug: a, kind: zod-schema, outputContract: {mode: response-only}}":                                                                                                            "JSON Schema",
		"{slug: a, kind: ENDPOINT_FETCH, outputContract: {mode: response-only}}":                                                                                                        "not built",
		"{kind: custom, outputContract: {mode: workspace-files}}":                                                                                                                       `missing key "slug"`,
		"{slug: a, ref: a, kind: custom, outputContract: {mode: workspace-files}}":                                                                                                      "keep one",
		"{slug: a, kind: custom, outputContract: {mode: workspace-files, files: [{canonicalPath: a}, {canonicalPath: b}]}, rules: {maxArtifactCount: 1}}":                               "requires 2 files",
		"[]":                "want object",
		"{slug: a, kind: 1": "spec.yaml:2:1",
	} {
		got := findings(t, text)
		for _, part := range strings.Split(want, "\n") {
			if (part == "") != (got == "") || !strings.Contains(got, part) {
				t.Errorf("%s:\n%s want %q", text, got, part)
			}
		}
	}
}

func TestRef(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a": "a", "a@1.2.0": "a@1.2.0", "a@latest": "a", "": "!", "a@": "!", "A": "!", "a@1@2": "!", "a b": "!", "a@ 1": "!"} {
		r, err := deliverable.ParseRef(in)
		got := r.String()
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestCleanPath(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"a": true, "a/b.json": true, "..a": true, ".hidden": true, "": false, ".": false, "..": false, "../a": false, "a/../b": false, "/a": false, "a//b": false, "a/": false,
		`a\b`: false, "c:x": false, "a\x00": false, "a\xff": false, "./a": false,
	} {
		if deliverable.CleanPath(p) != want {
			t.Errorf("CleanPath(%q) is %v", p, !want)
		}
	}
}

func TestContradictions(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type": "number", "minimum": 5, "maximum": 3}`:          "minimum 5 and maximum 3",
		`{"type": "number", "minimum": 3, "maximum": 3}`:          "",
		`{"type": "number", "exclusiveMinimum": 3, "maximum": 3}`: "exclude each other",
		`{"properties": {"a": {"minLength": 4, "maxLength": 2}}}`: "spec.yaml:",
		`{"items": {"minItems": 2, "maxItems": 1}}`:               "minItems 2",
		`{"enum": []}`:                                                                             "enum",
		`{"type": "string", "enum": [1, 2]}`:                                                       "no value of enum is of type string",
		`{"type": ["integer", "null"], "enum": [1, "x"]}`:                                          "",
		`{"type": "integer", "const": 1.5}`:                                                        "const is not of type integer",
		`{"type": "object", "required": ["a"], "properties": {"a": false}}`:                        `"a" is required, and no value is allowed`,
		`{"type": "object", "properties": {"a": false}}`:                                           "",
		`{"required": ["a"], "properties": {"a": {"$ref": "#/$defs/no"}}, "$defs": {"no": false}}`: `"a" is required`,
		`{"required": ["a"], "properties": {"b": {}}, "additionalProperties": false}`:              "additionalProperties is false",
		`{"required": ["a"], "patternProperties": {"^a": {}}, "additionalProperties": false}`:      "",
		`{"required": ["a", "b"], "maxProperties": 1}`:                                             "maxProperties is 1",
		`{"allOf": [{"type": "string"}, {"type": "object"}]}`:                                      "cannot be string and object",
		`{"allOf": [{"type": "integer"}, {"type": "number"}]}`:                                     "",
		`{"anyOf": [false, {"not": {}}]}`:                                                          "none of anyOf",
		`{"anyOf": [false, {"type": "string"}]}`:                                                   "",
		`false`:                                                                                    "its schema is false",
		`{"not": {"enum": [1]}}`:                                                                   "",
		`{"not": {"type": "number", "minimum": 5, "maximum": 3}}`:                                  "",
		`{"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}}`:          "without end",
		`{"type": "object", "properties": {"next": {"$ref": "#"}}}`:                                "",
		`{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"type": "object", "required": ["x"], "properties": {"x": {"$ref": "#/$defs/b"}}}, {"type": "string"}]}, "b": {"$ref": "#/$defs/a"}}}`: "",
		`{"type": "array", "minItems": 1, "items": false}`:                           "minItems is 1, but only 0",
		`{"type": "array", "items": false}`:                                          "",
		`{"type": "array", "minItems": 1, "items": {"type": "string", "enum": [1]}}`: "enum",
		`{"const": {"a": 1}, "required": ["b"]}`:                                     "refuses every value",
	} {
		got := findings(t, "{slug: a, kind: json-schema, outputContract: {mode: response-only}, contentSchema: "+schema+"}")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s:\n%s want %q", schema, got, want)
		}
	}
}
