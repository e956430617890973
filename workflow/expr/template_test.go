package expr_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/workflow/expr"
)

func words() expr.Values {
	return expr.Values{
		"vars":      map[string]any{"name": "<é & \"q\">", "n": 3, "f": 0.5, "big": 1e21, "t": true, "nil": nil, "obj": json.RawMessage(`{ "a": [1, 12345678901234567890] }`), "rawtext": json.RawMessage(`"x\n"`)},
		"outputs":   map[string]any{"node-1": map[string]any{"list": []any{1.0, "b"}}},
		"history":   map[string]any{"text": "once\nupon"},
		"inputs":    map[string]any{"x": map[string]any{"y": []any{}}},
		"item":      map[string]any{"index": 0, "value": "v"},
		"answers":   map[string]any{"q1": "yes"},
		"candidate": "c1:ab",
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src   string
		level int
		want  any // nil: the same at both
	}{
		{"", 1, ""}, {"plain { } }} text", 1, "plain { } }} text"}, {"a {{run.name}} b", 1, `a <é & "q"> b`}, {"{{run.n}}{{run.f}}{{run.t}}{{run.nil}}", 1, "30.5truenull"}, {"{{run.n}}", 1, "3"}, {"{{run.n}}", 2, 3}, {"{{run.big}}", 1, "1e+21"},
		{"{{run.obj}}", 1, `{"a":[1,12345678901234567890]}`}, {"{{run.rawtext}}", 1, "x\n"}, {"{{outputs.node-1.list}}", 1, `[1,"b"]`}, {"{{outputs.node-1.list.1}}!", 1, "b!"}, {"{{history.text}}", 1, "once\nupon"},
		{"{{{{run.name}}", 1, "{{run.name}}"}, {"{{{{{{run.n}}", 1, "{{3"}, {"{{{run.n}}}", 1, "{3}"}, {"{{{run.n}}}", 2, "{3}"}, {"{{{{{run.n}}", 1, "{{{run.n}}"},
		{"{{vars.n}} {{inputs.x}} {{item.value}} {{answers.q1}} {{candidate}}", 1, "{{vars.n}} {{inputs.x}} {{item.value}} {{answers.q1}} {{candidate}}"},
		{"{{vars.n}} {{inputs.x}} {{item.value}} {{answers.q1}} {{candidate}}", 2, `3 {"y":[]} v yes c1:ab`},
		{"{{foo}} {{ run.n }} {{Run.n}} {{run}} {{outputs.node}} {{history}} {{", 1, "{{foo}} {{ run.n }} {{Run.n}} {{run}} {{outputs.node}} {{history}} {{"},
		{"{{a {{run.n}}", 1, "{{a 3"}, {"{{inputs.x}}", 2, map[string]any{"y": []any{}}}, {"{{item}}", 2, map[string]any{"index": 0, "value": "v"}}, {"{{outputs.node-1}}.", 2, `{"list":[1,"b"]}.`}, {"{{candidate}}", 2, "c1:ab"}, {"{{vars.nil}}", 2, nil},
	}
	for _, tt := range tests {
		tmpl, err := expr.ParseTemplate(tt.src, tt.level)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		var got any
		if tt.level == 1 {
			got, err = tmpl.Text(words())
		} else {
			got, err = tmpl.Value(words())
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s at level %d = %#v, %v; want %#v", tt.src, tt.level, got, err, tt.want)
		}
	}
}

func TestTemplateRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src     string
		level   int
		column  int
		message string
	}{
		{"é {{run.}}", 1, 3, "{{run.}} is not {{run.NAME}}"}, {"{{run.a.b}}", 1, 1, "is not {{run.NAME}}"}, {"{{run.1}}", 2, 1, "is not"}, {"{{run.a }}", 1, 1, "is not"}, {"{{run.__proto__}}", 1, 1, "is not"}, {"{{run.constructor}}", 2, 1, "is not"},
		{"{{run." + strings.Repeat("a", 65) + "}}", 1, 1, "is not"}, {"x{{run.n", 1, 2, "no closing }}"}, {"{{run.n\nmore", 1, 1, "{{run.n… has no closing }}"}, {"x {{ y", 2, 3, "no closing }}"},
		{"{{foo}}", 2, 1, "unknown token {{foo}}"}, {"{{ vars.n }}", 2, 1, "unknown token"}, {"{{vars}}", 2, 1, "unknown token"}, {"{{history}}", 2, 1, "unknown"}, {"{{history.text.x}}", 2, 1, "unknown"}, {"{{vars.__proto__}}", 2, 1, "unknown"}, {"{{vars.é}}", 2, 1, "unknown"}, {"{{usage.x}}", 2, 1, "unknown"}, {"ok {{vars.n}} {{}}", 2, 15, "unknown token {{}}"},
	}
	for _, tt := range tests {
		_, err := expr.ParseTemplate(tt.src, tt.level)
		var e *expr.Error
		if !errors.As(err, &e) || e.Code != expr.CodeInterpolation || e.Column != tt.column || !strings.Contains(err.Error(), tt.message) || e.Hint == "" {
			t.Errorf("%q at level %d: %v; want column %d and %q", tt.src, tt.level, err, tt.column, tt.message)
		}
	}
}

func TestTemplateMissing(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"{{run.none}}", "a {{outputs.node-1.none}}", "{{outputs.no.x}}", "{{history.text}} {{run.none}}"} {
		tmpl, err := expr.ParseTemplate(src, 1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tmpl.Text(words())
		var e *expr.Error
		if !errors.As(err, &e) || e.Code != expr.CodeMissing || e.Name == "" || !strings.Contains(err.Error(), "{{"+e.Name+"}} has no value") {
			t.Errorf("%s: %v", src, err)
		}
	}
	tmpl, err := expr.ParseTemplate("{{outputs.a.b}}", 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tmpl.Value(&brokenScope{}); !errors.Is(err, errBroken) {
		t.Errorf("broken scope: %v", err)
	}
}

func TestInterpolate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in    string
		level int
		want  string
	}{
		{` {"a": "no tokens", "n": 1.50} `, 2, ` {"a": "no tokens", "n": 1.50} `},
		{`{"{{run.n}}":["{{run.n}}",1.50,true,null,{"x":"a{{run.n}}<"}],"e":{},"l":[]}`, 1, `{"{{run.n}}":["3",1.50,true,null,{"x":"a3<"}],"e":{},"l":[]}`},
		{`["{{vars.n}}","{{vars.obj}}","{{vars.nil}}","{{inputs.x.y}}","{{vars.name}}"," {{vars.obj}}"]`, 2, `[3,{"a":[1,12345678901234567890]},null,[],"<é & \"q\">"," {\"a\":[1,12345678901234567890]}"]`},
		{`"\u007b\u007brun.n}}"`, 1, `"3"`}, {`"{\u007Brun.n}}"`, 1, `"3"`}, {`"{{{{run.n}}"`, 2, `"{{run.n}}"`}, {`["{{foo}}"]`, 1, `["{{foo}}"]`}, {`{"b":"{{run.n}}","a":9007199254740993}`, 1, `{"b":"3","a":9007199254740993}`},
	}
	for _, tt := range tests {
		got, err := expr.Interpolate(json.RawMessage(tt.in), tt.level, words())
		if err != nil || string(got) != tt.want {
			t.Errorf("Interpolate(%s, %d)\n got %s, %v\nwant %s", tt.in, tt.level, got, err, tt.want)
		}
	}
}

func TestInterpolateRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in      string
		level   int
		pointer string
		code    string
	}{
		{`{"a":["x",{"b/c":"{{run.none}}"}]}`, 1, "/a/1/b~1c", expr.CodeMissing}, {`["{{foo}}"]`, 2, "/0", expr.CodeInterpolation}, {`"{{run.}}"`, 1, "", expr.CodeInterpolation},
		{`{"a":"{{run.n}}"`, 1, "", ""}, {`"{{run.n}}" 1`, 1, "", ""}, {strings.Repeat("[", 300) + `"{{run.n}}"` + strings.Repeat("]", 300), 1, "", ""}, {`{"a" "{{run.n}}"}`, 1, "", ""},
	}
	for _, tt := range tests {
		got, err := expr.Interpolate(json.RawMessage(tt.in), tt.level, words())
		var e *expr.Error
		if err == nil || errors.As(err, &e) != (tt.code != "") || e != nil && (e.Code != tt.code || e.Pointer != tt.pointer) {
			t.Errorf("Interpolate(%.60s) = %s, %v; want %s at %q", tt.in, got, err, tt.code, tt.pointer)
		}
	}
	long := expr.Values{"vars": map[string]any{"long": strings.Repeat("x", expr.MaxResult/2)}}
	if _, err := expr.Interpolate(json.RawMessage(`"{{run.long}} {{run.long}}"`), 1, long); err == nil || !strings.Contains(err.Error(), "more than 2097152 bytes") {
		t.Errorf("a text that is too long: %v", err)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"commandLine":"é {{run.n}} {{outputs.a.b}}","l":["{{foo}}","{{run.}}"],"{{run.key}}":1}`)
	tokens, wrong := expr.Tokens(raw, 1)
	want := []expr.Token{{"run.n", "vars", []string{"n"}, 3, "/commandLine"}, {"outputs.a.b", "outputs", []string{"a", "b"}, 13, "/commandLine"}}
	if !reflect.DeepEqual(tokens, want) || len(wrong) != 1 || wrong[0].Pointer != "/l/1" {
		t.Errorf("level 1: %v, %v", tokens, wrong)
	}
	tokens, wrong = expr.Tokens(raw, 2)
	if !reflect.DeepEqual(tokens, want) || len(wrong) != 2 || wrong[0].Pointer != "/l/0" {
		t.Errorf("level 2: %v, %v", tokens, wrong)
	}
	if tokens, wrong := expr.Tokens(json.RawMessage(`{"a":"b"}`), 2); tokens != nil || wrong != nil {
		t.Errorf("nothing: %v, %v", tokens, wrong)
	}
	if _, wrong := expr.Tokens(json.RawMessage(`{"a":"{{run.x}}"`), 2); len(wrong) != 1 {
		t.Errorf("cut JSON: %v", wrong)
	}
}

// TestTextWithoutTokensStays: doubling every {{ gives the text back.
func TestTextWithoutTokensStays(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{"{{", "}}", "{", "}", "run.", "n", "é", " ", "vars.x", "\n"})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), "")
		for _, level := range []int{1, 2} {
			tmpl, err := expr.ParseTemplate(strings.ReplaceAll(s, "{{", "{{{{"), level)
			if err != nil {
				t.Fatalf("%q: %v", s, err)
			}
			if got, err := tmpl.Text(words()); err != nil || got != s {
				t.Fatalf("%q became %q, %v", s, got, err)
			}
		}
	})
}

// TestLargeTexts would take hours if any step were quadratic.
func TestLargeTexts(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{
		strings.Repeat("{{", 1<<19):        1 << 19,
		strings.Repeat("{{ ", 1<<19):       3 << 19,
		strings.Repeat("{{run.n}}", 1<<17): 1 << 17,
		strings.Repeat("{", 1<<20+1):       1<<19 + 1,
	} {
		tmpl, err := expr.ParseTemplate(s, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tmpl.Text(words()); err != nil || len(got) != want {
			t.Errorf("%.20q…: %d bytes, %v; want %d", s, len(got), err, want)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"a {{run.n}} {{{{ {{outputs.a.b}}", "{{{run.n}}}", "{{item.value}}", "{{", "{{run.}}", "\xff{{history.text}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, level := range []int{1, 2} {
			tmpl, err := expr.ParseTemplate(s, level)
			if err == nil {
				tmpl.Tokens()
				_, err = tmpl.Text(words())
			}
			if err != nil && err.Error() == "" {
				t.Fatal("an error without text")
			}
			raw, err := json.Marshal([]string{s})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := expr.Interpolate(raw, level, words()); err == nil && !json.Valid(got) {
				t.Fatalf("%s became %s", raw, got)
			}
		}
	})
}

func BenchmarkInterpolateNothing(b *testing.B) {
	raw := json.RawMessage(`{"text":"` + strings.Repeat("nothing here ", 200) + `"}`)
	s := words()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := expr.Interpolate(raw, 1, s); err != nil {
			b.Fatal(err)
		}
	}
}
