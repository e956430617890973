package source_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/internal/source"
)

func parse(t *testing.T, name, text string) *source.Document {
	t.Helper()
	doc, err := source.Parse(name, []byte(text), source.Limits{})
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return doc
}

func refuse(t *testing.T, name, text string) source.Errors {
	t.Helper()
	doc, err := source.Parse(name, []byte(text), source.Limits{})
	var errs source.Errors
	if !errors.As(err, &errs) || len(errs) == 0 {
		t.Fatalf("Parse(%.80q) = %v, %v; want errors", text, doc, err)
	}
	return errs
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, in, want string }{
		"json":           {"a.json", " {\"b\": [1.50, -0, 1E+2, 123456789012345678901], \"a\": {\"x\": null, \"y\": true}}\n", `{"b":[1.50,-0,1E+2,123456789012345678901],"a":{"x":null,"y":true}}`},
		"json strings":   {"a.json", `["\u00e9\ud83d\ude00\/\"\\\n\u001f<"]`, `["é😀/\"\\\n\u001f<"]`},
		"json scalar":    {"a.json", ` 12 `, `12`},
		"json empty":     {"a.JSON", `[[],{}]`, `[[],{}]`},
		"json mark":      {"a.json", "\ufeff{}", `{}`},
		"by content":     {"-", ` [1]`, `[1]`},
		"yaml content":   {"-", `a: 1`, `{"a":1}`},
		"yaml":           {"a.yaml", "b:\n  - 1\n  - 1.50\n  - x y\na: {c: null, d: ~, e: true, f: True}\n", `{"b":[1,1.50,"x y"],"a":{"c":null,"d":null,"e":true,"f":true}}`},
		"yaml numbers":   {"a.yml", "[0x1f, 0o17, 0b11, 1_000, +1, .5, 1., 1e3, -0, 123456789012345678901234567890]", `[31,15,3,1000,1,0.5,1,1e3,-0,123456789012345678901234567890]`},
		"yaml strings":   {"a.yaml", "[yes, no, on, 2024-01-01, '1', \"\\u00e9\", !!str 5, 1.2.3, =]", `["yes","no","on","2024-01-01","1","é","5","1.2.3","="]`},
		"yaml blocks":    {"a.yaml", "a: |\n  one\n  two\nb: >-\n  one\n  two\n", `{"a":"one\ntwo\n","b":"one two"}`},
		"yaml date key":  {"a.yaml", "2024-01-01: x", `{"2024-01-01":"x"}`},
		"yaml alias":     {"a.yaml", "a: &x {k: [1]}\nb: *x\n", `{"a":{"k":[1]},"b":{"k":[1]}}`},
		"yaml empty":     {"a.yaml", "", `null`},
		"yaml comments":  {"a.yaml", "# nothing yet\n", `null`},
		"yaml empty doc": {"a.yaml", "---\n", `null`},
		"yaml marker":    {"a.yaml", "---\na: 1\n...\n", `{"a":1}`},
		"yaml crlf":      {"a.yaml", "a: 1\r\nb: x\r\n", `{"a":1,"b":"x"}`},
		"json in yaml":   {"a.yaml", `{"a": [1, "b"]}`, `{"a":[1,"b"]}`},
		"depth":          {"a.json", strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 64) + strings.Repeat("]", 64)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := parse(t, tt.file, tt.in)
			if got := string(doc.JSON()); got != tt.want {
				t.Errorf("JSON of %q\n got %s\nwant %s", tt.in, got, tt.want)
			}
			if doc.Name() != tt.file {
				t.Errorf("name %q", doc.Name())
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, in, code, want string }{
		"empty":            {"a.json", "", source.CodeSyntax, "a.json:1:1: the text ends where a value should be"},
		"comma":            {"a.json", "{\n  \"é\": 1,\n}", source.CodeSyntax, "a.json:3:1: unexpected '}' where a key in double quotes should be (is there a comma too many before it?)"},
		"no comma":         {"a.json", "[1 2]", source.CodeSyntax, "a.json:1:4: unexpected '2' in an array"},
		"no colon":         {"a.json", `{"é" 1}`, source.CodeSyntax, "a.json:1:6: unexpected '1' after a key"},
		"open object":      {"a.json", `{"a": 1`, source.CodeSyntax, "a.json:1:8: the text ends in an object"},
		"comment":          {"a.json", "// x\n{}", source.CodeSyntax, "JSON has no comments"},
		"single quotes":    {"a.json", "{'a': 1}", source.CodeSyntax, "use double quotes"},
		"more":             {"a.json", "{} x", source.CodeSyntax, "a.json:1:4: unexpected 'x' after the end"},
		"number":           {"a.json", "[01]", source.CodeSyntax, "01 is not a JSON number"},
		"number 2":         {"a.json", "[1.]", source.CodeSyntax, "1. is not a JSON number"},
		"range":            {"a.json", "[1e400]", source.CodeNumber, "out of range"},
		"infinity":         {"a.json", "[NaN]", source.CodeSyntax, "unexpected 'N'"},
		"open string":      {"a.json", `["a`, source.CodeSyntax, "a.json:1:2: a string without its closing quote"},
		"line in string":   {"a.json", "[\"a\nb\"]", source.CodeSyntax, "a.json:1:4: a line end"},
		"escape":           {"a.json", `["C:\dir"]`, source.CodeSyntax, `an unknown escape in a string (write \\ for a backslash)`},
		"short escape":     {"a.json", `["\u12"]`, source.CodeSyntax, "an unknown escape"},
		"surrogate":        {"a.json", `["\ud800x"]`, source.CodeEncoding, "half of a surrogate pair"},
		"low surrogate":    {"a.json", `["\udc00\udc00"]`, source.CodeEncoding, "half of a surrogate pair"},
		"NUL escape":       {"a.json", `["\u0000"]`, source.CodeEncoding, "a NUL character"},
		"NUL":              {"a.json", "[\n\"\x00\"]", source.CodeEncoding, "a.json:2:2: a NUL byte"},
		"UTF-8":            {"a.json", "[\"é\xff\"]", source.CodeEncoding, "a.json:1:4: byte 0xff is not UTF-8"},
		"depth":            {"a.json", strings.Repeat("[", 65), source.CodeTooDeep, "more than 64 nested"},
		"size":             {"a.json", strings.Repeat(" ", 2<<20+1), source.CodeTooLarge, "2097153 bytes"},
		"yaml syntax":      {"a.yaml", "a: [1\nb: 2", source.CodeSyntax, "a.yaml:2:2: did not find expected ',' or ']'"},
		"yaml tab":         {"a.yaml", "a:\n\tb: 1", source.CodeSyntax, "indent with spaces"},
		"yaml documents":   {"a.yaml", "a: 1\n---\nb: 2\n", source.CodeUnsupported, "a second document"},
		"yaml later error": {"a.yaml", "a: 1\n...\n]", source.CodeSyntax, "a.yaml:3:1:"},
		"yaml tag":         {"a.yaml", "a: !foo x", source.CodeUnsupported, "the tag !foo"},
		"yaml map tag":     {"a.yaml", "a: !foo {b: 1}", source.CodeUnsupported, "the tag !foo"},
		"yaml binary":      {"a.yaml", "a: !!binary aGk=", source.CodeUnsupported, "the tag !!binary"},
		"yaml set":         {"a.yaml", "!!set {a, b}", source.CodeUnsupported, "the tag !!set"},
		"yaml number key":  {"a.yaml", "a:\n  1: x", source.CodeUnsupported, "a.yaml:2:3: a key that is not a string"},
		"yaml null key":    {"a.yaml", "~: x", source.CodeUnsupported, "not a string"},
		"yaml list key":    {"a.yaml", "? [a]\n: x", source.CodeUnsupported, "not a string"},
		"yaml alias key":   {"a.yaml", "a: &k x\n*k : y", source.CodeUnsupported, "not a string"},
		"yaml merge":       {"a.yaml", "a: &x {b: 1}\nc:\n  <<: *x", source.CodeUnsupported, "a.yaml:3:3: a merge key"},
		"yaml infinity":    {"a.yaml", "a: .inf", source.CodeNumber, "the number .inf"},
		"yaml nan":         {"a.yaml", "a: .NaN", source.CodeNumber, "the number .NaN"},
		"yaml octal":       {"a.yaml", "mode: 0755", source.CodeNumber, "write 0o17 for octal"},
		"yaml bad int":     {"a.yaml", "a: !!int x", "", "a.yaml"},
		"yaml bool":        {"a.yaml", "a: !!bool maybe", "", "a.yaml"},
		"yaml NUL":         {"a.yaml", `a: "\0"`, source.CodeEncoding, "a NUL character"},
		"yaml surrogate":   {"a.yaml", `a: "\ud800"`, source.CodeSyntax, "a.yaml:1:7"},
		"yaml depth":       {"a.yaml", strings.Repeat("[", 65) + strings.Repeat("]", 65), source.CodeTooDeep, "more than 64 nested"},
		"yaml anchor":      {"a.yaml", "a: *x", source.CodeSyntax, "unknown anchor"},
		"yaml self alias":  {"a.yaml", "&a [*a]", "", "a.yaml"},
		"yaml many":        {"a.yaml", "a: &x 1\nb: [" + strings.Repeat("*x, ", 65) + "]", source.CodeUnsupported, "more than 64 aliases"},
		"yaml bomb":        {"a.yaml", "a: &a [" + strings.Repeat("x, ", 999) + "]\nb: &b [" + strings.Repeat("*a, ", 9) + "]\nc: [*b, *b]", source.CodeTooLarge, "more than 10000 values"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := refuse(t, tt.file, tt.in)
			if tt.code != "" && errs[0].Code != tt.code || !strings.Contains(errs.Error(), tt.want) {
				t.Errorf("got %s %v\nwant %s %s", errs[0].Code, errs, tt.code, tt.want)
			}
		})
	}
}

func TestAllDuplicates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in     string
		column int // of the inner key
	}{
		"json": {"{ \"a\": 1,\n  \"a\": 2,\n  \"b\": {\"x~/\":1,\"\\u0078~/\":2},\n  \"a\": 3}", 17},
		"yaml": {"  a: 1\n  a: 2\n  b: {x~/: 1, \"x~/\": 2}\n  a: 3\n", 15},
	}
	for name, tt := range tests {
		errs := refuse(t, "d", tt.in)
		want := fmt.Sprintf(`d:2:3: duplicate key "a", first used in line 1 (keep one of them)
d:3:%d: duplicate key "x~/", first used in line 3 (keep one of them)
d:4:3: duplicate key "a", first used in line 1 (keep one of them)`, tt.column)
		if got := errs.Error(); got != want {
			t.Fatalf("%s\n got %s\nwant %s", name, got, want)
		}
		if errs[1].Pointer != "/b/x~0~1" {
			t.Errorf("%s: pointer %q", name, errs[1].Pointer)
		}
	}
	both := refuse(t, "d", `{"a":1,"a":2,]`)
	if len(both) != 2 || both[0].Code != source.CodeDuplicate || both[1].Code != source.CodeSyntax {
		t.Errorf("a duplicate before a syntax error: %v", both)
	}
}

func TestManyErrorsEnd(t *testing.T) {
	t.Parallel()
	if errs := refuse(t, "a.yaml", strings.Repeat("a: !x 1\n", 5000)); len(errs) > 200 {
		t.Errorf("%d errors", len(errs))
	}
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	errs := refuse(t, "w.json", "{\n\t\"é\": 1,,\n}")
	want := "w.json:2:9: unexpected ',' where a key in double quotes should be\n" +
		"    2 |  \"é\": 1,,\n" +
		"      |         ^"
	if got := errs.Detail(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	long := refuse(t, "w.json", `["`+strings.Repeat("é", 500)+`", ]`+strings.Repeat("x", 500))
	lines := strings.Split(long[0].Excerpt, "\n")
	if len(lines) != 2 || len([]rune(lines[0])) != 8+100 {
		t.Fatalf("excerpt %q", long[0].Excerpt)
	}
	if column := len(lines[1]) - 1; string([]rune(lines[0])[column]) != "]" {
		t.Errorf("caret under %q", string([]rune(lines[0])[column]))
	}
	inner := source.Limits{FirstLine: 10}
	_, err := source.Parse("a.md", []byte("a: 1\nb: ]\n"), inner)
	if err == nil || !strings.HasPrefix(err.Error(), "a.md:11:4: ") || !strings.Contains(detail(err), "   11 | b: ]") {
		t.Errorf("inside a larger file: %v", err)
	}
}

// detail returns the long form of an error of Parse.
func detail(err error) string {
	var all source.Errors
	if !errors.As(err, &all) {
		return ""
	}
	return all.Detail()
}

const sample = `{
  "nodes": {
    "é": {"ends": [1, {"a/b": true}]},
    "z~": 2
  }
}`

func TestAt(t *testing.T) {
	t.Parallel()
	doc := parse(t, "f.json", sample)
	tests := map[string]struct {
		value, key string
		ok         bool
	}{
		"":                     {"f.json:1:1", "f.json:1:1", true},
		"/nodes":               {"f.json:2:12", "f.json:2:3", true},
		"/nodes/é/ends":        {"f.json:3:19", "f.json:3:11", true},
		"/nodes/é/ends/0":      {"f.json:3:20", "f.json:3:20", true},
		"/nodes/é/ends/1/a~1b": {"f.json:3:31", "f.json:3:24", true},
		"/nodes/z~0":           {"f.json:4:11", "f.json:4:5", true},
		"/nodes/none/ends":     {"f.json:2:12", "f.json:2:12", false},
		"/nodes/é/ends/2":      {"f.json:3:19", "f.json:3:19", false},
		"/nodes/é/ends/00":     {"f.json:3:19", "f.json:3:19", false},
		"/nodes/é/ends/0/x":    {"f.json:3:20", "f.json:3:20", false},
		"no pointer":           {"f.json:1:1", "f.json:1:1", false},
	}
	for pointer, tt := range tests {
		value, ok := doc.At(pointer)
		key, okKey := doc.KeyAt(pointer)
		if value.String() != tt.value || key.String() != tt.key || ok != tt.ok || okKey != tt.ok {
			t.Errorf("%q: value %v %t, key %v %t; want %v", pointer, value, ok, key, okKey, tt)
		}
	}
	yaml := parse(t, "f.yaml", "# first\nnodes:\n  é:\n    - x: &v [1]\n    - *v\n")
	for pointer, want := range map[string]string{"/nodes": "f.yaml:3:3", "/nodes/é/0/x": "f.yaml:4:10", "/nodes/é/1": "f.yaml:5:7"} {
		if got, ok := yaml.At(pointer); !ok || got.String() != want {
			t.Errorf("%q: %v %t, want %s", pointer, got, ok, want)
		}
	}
	if got, _ := yaml.KeyAt("/nodes/é/0/x"); got.String() != "f.yaml:4:7" {
		t.Errorf("key at %v", got)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	doc := parse(t, "f.json", sample)
	e := doc.LocateKey(source.Error{Pointer: "/nodes/z~0", Code: "unknown", Message: "unknown key", Hint: "did you mean z?"})
	if e.Error() != "f.json:4:5: unknown key (did you mean z?)" || !strings.Contains(e.Detail(), `    4 |     "z~": 2`) {
		t.Errorf("%s", e.Detail())
	}
	if e := doc.Locate(e); e.Column != 11 {
		t.Errorf("value at column %d", e.Column)
	}
	if got := (source.Error{Message: "bad"}).Detail(); got != "document: bad" {
		t.Errorf("without a place: %q", got)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	type config struct {
		Name string
		List []struct{ N int }
	}
	var got config
	if err := parse(t, "c.yaml", "name: x\nlist: [{n: 1}, {n: 2}]").Decode(&got); err != nil || got.Name != "x" || len(got.List) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	tests := map[string]string{
		"name: [1]":                 "c.yaml:1:7: an array where a string should be",
		"list:\n  - n: 1\n  - n: x": "c.yaml:3:8: a string where an integer should be",
		"list: {}":                  "c.yaml:1:7: an object where an array should be",
		"list: [{n: true}]":         "c.yaml:1:12: a boolean where an integer should be",
	}
	for in, want := range tests {
		var errs source.Errors
		if err := parse(t, "c.yaml", in).Decode(&config{}); !errors.As(err, &errs) || errs.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
	var errs source.Errors
	if err := parse(t, "c.yaml", "list:\n  - n: 1\n  - n: x").Decode(&config{}); !errors.As(err, &errs) || errs[0].Pointer != "/list/1/n" {
		t.Errorf("pointer of %v", err)
	}
	if err := parse(t, "c.yaml", "a: 1").Decode(config{}); err == nil || !strings.Contains(err.Error(), "decoding c.yaml") {
		t.Errorf("into no pointer: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{sample, "a: &x [1]\nb: *x\n", "- |\n a\n- 0x1f\n", `["\ud83d\ude00"]`, "a: 1\na: 2", "---\n...\n", "? a\n: {<<: 1}", "é: !!int 3", "[1e5, -0]"} {
		f.Add("a.json", []byte(seed))
		f.Add("a.yaml", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		doc, err := source.Parse(name, data, source.Limits{})
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without text")
			}
			return
		}
		if !json.Valid(doc.JSON()) {
			t.Fatalf("%q gives no JSON: %q", data, doc.JSON())
		}
		again, err := source.Parse("again.json", doc.JSON(), source.Limits{MaxBytes: 1 << 30})
		if err != nil || !bytes.Equal(again.JSON(), doc.JSON()) {
			t.Fatalf("%q gives %q, which reads as %v, %v", data, doc.JSON(), again, err)
		}
		var v any
		if err := doc.Decode(&v); err != nil {
			t.Fatalf("%q does not decode: %v", doc.JSON(), err)
		}
	})
}
