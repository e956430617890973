package expr_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/workflow/expr"
)

// scope holds the values that most tests read.
func scope() expr.Values {
	return expr.Values{
		"vars": map[string]any{
			"n": 3, "f": 2.5, "zero": 0.0, "s": "héllo", "empty": "", "t": true, "nil": nil, "list": []any{1.0, "b", []any{7.0}}, "obj": map[string]any{"k": "v", "0": "zero"},
			"raw": json.RawMessage(`{"deep":[{"x":9007199254740991}]}`), "big": int64(9007199254740991), "a-1": "dash", "num": json.Number("12"),
		},
		"outputs":   json.RawMessage(`{"node_1":{"exitCode":0,"stdout":"ok"}}`),
		"verified":  nil,
		"inputs":    map[string]any{"n": 7.0},
		"candidate": map[string]any{"hash": "c1:ab"},
		"item":      map[string]any{"index": 0, "value": "x"},
	}
}

func TestEval(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src   string
		level int
		want  any
	}{
		{"true", 1, true}, {" null ", 1, nil}, {"-1.5e2", 1, -150.0}, {`"a\"\u00e9"`, 1, `a"é`},
		{"$vars.n", 1, 3.0}, {"$vars.none", 1, expr.Undefined}, {"$vars.none.deeper", 1, expr.Undefined}, {"$vars.nil.x", 1, expr.Undefined}, {"$vars.s.length", 1, expr.Undefined},
		{"$vars.list.1", 1, "b"}, {"$vars.list.2.0", 1, 7.0}, {"$vars.list.3", 1, expr.Undefined}, {"$vars.list.01", 1, expr.Undefined}, {"$vars.list.-1", 1, expr.Undefined}, {"$vars.obj.0", 1, "zero"},
		{"$vars.raw.deep.0.x", 1, 9007199254740991.0}, {"$vars.a-1", 1, "dash"}, {"$vars.num", 1, 12.0},
		{"$outputs.node_1.exitCode == 0 && exists($outputs.node_1.stdout)", 1, true},
		{"$vars.stop != true", 1, true}, {"$vars.n < 2", 1, false}, {"$vars.repairs < 2", 1, false}, {"$vars.repairs >= 2", 1, false},
		{"$verified == null", 1, true}, {"$attempts == null", 1, false}, {"$attempts == $vars.none", 1, true}, {"$verified", 1, nil},
		{`"1" == 1`, 1, false}, {"0 == false", 1, false}, {"null == false", 1, false}, {"-0 == 0", 1, true}, {"$vars.big == 9007199254740991", 1, true},
		{"$vars.obj == $vars.obj", 1, false}, {"$vars.obj != $vars.obj", 1, true}, {"$vars.list == 1", 1, false}, {"1 == $vars.list", 1, false},
		{"exists($vars.nil)", 1, false}, {"exists($vars.empty)", 1, true}, {"exists($vars.zero)", 1, true}, {"exists($verified)", 1, false},
		{`"a" < "b"`, 1, true}, {`"a" < 1`, 1, false}, {"true < 2", 1, false}, {"null <= null", 1, false}, {"2 >= 2", 1, true}, {"1 < 2 == true", 1, true}, {"3 > 2 > 1", 1, false},
		{"1 || false", 1, true}, {`"" || null`, 1, false}, {"$vars.obj && 1", 1, true}, {"true && 0", 1, false}, {"!$vars.none", 1, true}, {"!!$vars.list", 1, true}, {"!1 == false", 1, true},
		{"false && true || true", 1, true}, {"true || true && false", 1, true}, {"(true || true) && false", 1, false}, {"1 == 1 && 2 == 2", 1, true}, {"!(1 == 2)", 1, true},
		{`matches($vars.s, /^h.l/)`, 1, true}, {`matches($vars.n, /3/)`, 1, false}, {`matches($vars.none, /.*/)`, 1, false}, {`matches("a/b", /a\/[/]?b/)`, 1, true}, {`matches("x", /(a|x)+/)`, 1, true},
		{"1 + 2 * 3", 2, 7.0}, {"(1 + 2) * 3", 2, 9.0}, {"7 - 2 - 1", 2, 4.0}, {"8 / 4 / 2", 2, 1.0}, {"-7 % 3", 2, -1.0}, {"2 - -2", 2, 4.0}, {"2 -2", 2, 0.0}, {"(2)-2", 2, 0.0}, {"$vars.n -2", 2, 1.0}, {"-2 - -2", 2, 0.0}, {"!-1", 1, false}, {"-$vars.n", 2, -3.0}, {"-(1 + 1)", 2, -2.0}, {"1 + 1 == 2 && 3 - 1 < 3", 2, true}, {"1 / 4", 2, 0.25}, {"$inputs.n % 2 == 1", 2, true}, {"9007199254740990 + 1", 2, 9007199254740991.0},
		{"length($vars.s)", 2, 5.0}, {"length($vars.list) == 3", 2, true}, {"length($vars.obj)", 2, 2.0}, {"length($vars.none) > 0", 2, false}, {"length($vars.n)", 2, expr.Undefined},
		{`contains($vars.s, "éll")`, 2, true}, {`contains($vars.list, "b")`, 2, true}, {`contains($vars.list, $vars.list.2)`, 2, false}, {`contains($vars.obj, "k")`, 2, true}, {`contains($vars.obj, 0)`, 2, false}, {`contains($vars.none, "x")`, 2, false}, {`contains($vars.s, 1)`, 2, false},
		{"$candidate.hash", 2, "c1:ab"}, {"exists($candidate) && !exists($answers.q) && !exists($usage.tokens) && !exists($history)", 2, true}, {"$item.index", 1, 0.0},
		{`matches("a", /a/) && 4 / 2 == 2`, 2, true},
	}
	for _, tt := range tests {
		e, err := expr.Parse(tt.src, tt.level)
		if err != nil {
			t.Errorf("Parse(%s, %d): %v", tt.src, tt.level, err)
			continue
		}
		if got, err := e.Eval(scope()); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s = %v, %v; want %v", tt.src, got, err, tt.want)
		}
		if e.String() != tt.src {
			t.Errorf("%q reads as %q", tt.src, e)
		}
		if tt.level == expr.Level1 {
			above, err := expr.Parse(tt.src, expr.Level2)
			if err != nil {
				t.Errorf("Parse(%s, 2): %v", tt.src, err)
			} else if got, err := above.Eval(scope()); err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("at level 2 %s = %v, %v; want %v", tt.src, got, err, tt.want)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src     string
		level   int
		column  int
		message string
	}{
		{"", 1, 1, "ends where a value should be"}, {"1 +", 2, 4, "ends where a value"}, {"(1", 1, 3, "ends where ) should be"}, {"1 2", 1, 3, "unexpected 2 where an operator"}, {`"é" = 1`, 1, 5, `unexpected '=' (compare with ==)`},
		{"true & false", 1, 6, "(write &&)"}, {"'a'", 1, 1, "strings have double quotes"}, {"vars.n", 1, 1, "unknown word vars"}, {"foo(1)", 1, 1, "unknown word foo"}, {"TRUE", 1, 1, "unknown word"},
		{"$env.x", 1, 1, "unknown value $env"}, {"$inputs.x", 1, 1, "unknown value $inputs"}, {"$lastOutcome.x", 2, 1, "unknown value"}, {"$vars.", 1, 1, "is not a path"}, {"$vars..x", 1, 1, "is not a path"}, {"$", 1, 1, "is not a path"},
		{"$vars.__proto__", 1, 1, "is not a path"}, {"$vars.x.constructor.y", 1, 1, "is not a path"}, {"$vars.prototype", 2, 1, "is not a path"},
		{"1 + 1", 1, 3, "unexpected + where an operator"}, {"$vars.n -1", 1, 9, "unexpected -1"}, {"- 1", 1, 1, "unexpected -"}, {"length($vars.s)", 1, 1, "unknown word length"}, {"4 / 2", 1, 3, "unexpected /"},
		{"01", 1, 1, "01 is not a number"}, {"1.", 1, 1, "is not a number"}, {"1e999", 1, 1, "is not a number"}, {".5", 1, 1, "unexpected '.'"}, {`"a`, 1, 1, "closing quote"}, {`"\x"`, 1, 1, "wrong escape"},
		{"exists()", 1, 8, "unexpected ) where a value"}, {"exists(1, 2)", 1, 9, "unexpected , where )"}, {"exists $vars.x", 1, 8, "where ( should be"}, {"contains(1)", 2, 11, "where , should be"},
		{`matches($vars.s, "a")`, 1, 18, "a pattern is missing"}, {`matches($vars.s, /a/i)`, 1, 21, "no flags"}, {`matches($vars.s, /a)`, 1, 18, "closing /"}, {`matches($vars.s, /(?=a)/)`, 1, 18, "RE2"}, {`matches($vars.s)`, 1, 16, "where , should be"},
		{`matches($vars.s, /` + strings.Repeat("a", 201) + `/)`, 1, 18, "more than 200"},
		{strings.Repeat("!", 33) + "true", 1, 33, "32 levels"}, {strings.Repeat("(", 33) + "1" + strings.Repeat(")", 33), 2, 33, "32 levels"}, {strings.Repeat("-", 34) + "1", 2, 33, "32 levels"},
		{"1" + strings.Repeat(" || 1", 256), 1, 1281, "512"}, {strings.Repeat(" ", 4096) + "1", 1, 0, "4096 characters"}, {"\"\xff\"", 1, 0, "not UTF-8"},
	}
	for _, tt := range tests {
		_, err := expr.Parse(tt.src, tt.level)
		var e *expr.Error
		if !errors.As(err, &e) || e.Code != expr.CodeExpression || e.Column != tt.column || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("Parse(%.60q, %d): %v; want column %d and %q", tt.src, tt.level, err, tt.column, tt.message)
		}
	}
	if _, err := expr.Parse(`"`+strings.Repeat("é", 4094)+`"`, 1); err != nil {
		t.Errorf("4096 characters: %v", err)
	}
	if _, err := expr.Parse("1"+strings.Repeat(" || 1", 255), 1); err != nil {
		t.Errorf("511 tokens: %v", err)
	}
}

func TestEvalErrors(t *testing.T) {
	t.Parallel()
	for src, message := range map[string]string{
		"1 + $vars.none":        "column 3: + needs numbers, not a value that is missing",
		`"a" + 1`:               "+ needs numbers, not a string",
		"-$vars.list":           "column 1: - needs numbers, not an array",
		"1 * null":              "not null",
		"true - 1":              "not a boolean",
		"1 % $vars.obj":         "not an object",
		"1 / $vars.zero":        "division by zero",
		"1 % 0":                 "division by zero",
		"9007199254740992 + 1":  "",
		"9007199254740991 * 3":  "too large to be exact",
		"1e308 * 10":            "too large",
		"1.5e308 + 1.5e308 < 2": "too large",
		"true && (1 / 0 == 1)":  "division by zero",
	} {
		e, err := expr.Parse(src, expr.Level2)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Eval(scope())
		var problem *expr.Error
		if message == "" {
			if err != nil {
				t.Errorf("%s: %v", src, err)
			}
			continue
		}
		if !errors.As(err, &problem) || !strings.Contains(err.Error(), message) {
			t.Errorf("%s = %v, %v; want %q", src, got, err, message)
		}
	}
}

// brokenScope fails for one root and counts what is read.
type brokenScope struct{ read []string }

var errBroken = errors.New("disk gone")

func (b *brokenScope) Lookup(root string, path []string) (any, bool, error) {
	b.read = append(b.read, root+"."+strings.Join(path, "."))
	if root == "outputs" {
		return nil, false, errBroken
	}
	return true, true, nil
}

func TestEvalIsLazy(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"$vars.a || $outputs.b":  "vars.a",
		"!$vars.a && $outputs.b": "vars.a",
		"$vars.a && $vars.b.0":   "vars.a vars.b.0",
	} {
		e, err := expr.Parse(src, expr.Level1)
		if err != nil {
			t.Fatal(err)
		}
		var b brokenScope
		if _, err := e.Eval(&b); err != nil || strings.Join(b.read, " ") != want {
			t.Errorf("%s read %v, %v; want %s", src, b.read, err, want)
		}
	}
	for _, src := range []string{"$outputs.x", "!$outputs.x", "$outputs.x == 1", "1 == $outputs.x", "exists($outputs.x)", "-$outputs.x"} {
		e, err := expr.Parse(src, expr.Level2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Eval(&brokenScope{}); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", src, err)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	e, err := expr.Parse(`exists($outputs.é) || true`, 1)
	if err == nil {
		t.Fatalf("%v has no error", e)
	}
	e, err = expr.Parse(`"é" == $vars.a.0 && matches($outputs.n.text, /x/) || !$verified`, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []expr.Path{{"vars", []string{"a", "0"}, 8}, {"outputs", []string{"n", "text"}, 29}, {"verified", []string{}, 55}}
	if got := e.Paths(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if s := want[0].String(); s != "$vars.a.0" {
		t.Errorf("path reads %s", s)
	}
	if got := strings.Join(expr.Roots(1), " "); got != "outputs vars verified attempts item" {
		t.Errorf("roots %s", got)
	}
}

func TestTruthAndWalk(t *testing.T) {
	t.Parallel()
	for _, v := range []any{nil, expr.Undefined, false, 0.0, 0, math.NaN(), "", json.RawMessage("null"), json.RawMessage("{"), json.Number("x"), func() {}} {
		if expr.Truth(v) {
			t.Errorf("%#v holds", v)
		}
	}
	for _, v := range []any{true, -1.0, int64(1), "0", []any{}, map[string]any{}, json.RawMessage(`"x"`), struct{}{}} {
		if !expr.Truth(v) {
			t.Errorf("%#v does not hold", v)
		}
	}
	type pair struct {
		Key []int `json:"key"`
	}
	if v, ok := expr.Walk(pair{[]int{4, 5}}, []string{"key", "1"}); !ok || v != 5.0 {
		t.Errorf("into a struct: %v %t", v, ok)
	}
	if v, ok := expr.Walk("s", nil); !ok || v != "s" {
		t.Errorf("nowhere: %v %t", v, ok)
	}
}

func TestValidName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"a": true, "Z-_9": true, "": false, "1a": false, "_a": false, "a.b": false, "é": false, "constructor": false, "prototype": false, "__proto__": false, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false} {
		if expr.ValidName(name) != want {
			t.Errorf("%q: want %t", name, want)
		}
	}
}

func TestCapture(t *testing.T) {
	t.Parallel()
	group := func(n int) *int { return &n }
	tests := []struct {
		pattern string
		group   *int
		in      string
		want    string
		ok      bool
	}{
		{`PR #(\d+)`, nil, "PR #1, PR #2", "1", true}, {`PR #\d+`, nil, "PR #1", "", false}, {`PR #\d+`, group(0), "see PR #1", "PR #1", true},
		{`(a)|(b)`, nil, "b", "", false}, {`(a)|(b)`, group(2), "b", "b", true}, {`(a)`, group(5), "a", "", false}, {`(a*)`, nil, "b", "", true}, {`(é)`, nil, strings.Repeat("x", 31_999) + "é", "é", true}, {`(é)`, nil, strings.Repeat("é", 32_000), "é", true}, {`(y)`, nil, strings.Repeat("é", 32_000) + "y", "", false}, {`^(.*)$`, nil, "a\nb", "", false}, {`(?m)^(b.*)$`, nil, "a\nbc", "bc", true},
	}
	for _, tt := range tests {
		c, err := expr.CompileCapture(tt.pattern, tt.group)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		if got, ok := c.Find(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("%s in %.20q: %q %t", tt.pattern, tt.in, got, ok)
		}
	}
	for _, tt := range []struct {
		pattern string
		group   *int
	}{{"(", nil}, {`(a)\1`, nil}, {"(?=a)", nil}, {strings.Repeat("a", 201), nil}, {"a", group(-1)}, {"a", group(201)}} {
		if _, err := expr.CompileCapture(tt.pattern, tt.group); err == nil {
			t.Errorf("%.20q compiles", tt.pattern)
		}
	}
}

// expressions generates texts that parse at level 2.
func expressions(depth int) *rapid.Generator[string] {
	operands := rapid.SampledFrom([]string{"1", "-2", "0.5", `"a"`, "true", "null", "$vars.n", "$vars.s", "$vars.none", "$outputs.node_1", "$vars.list"})
	if depth == 0 {
		return operands
	}
	inner := rapid.Deferred(func() *rapid.Generator[string] { return expressions(depth - 1) })
	return rapid.Custom(func(t *rapid.T) string {
		x, y := inner.Draw(t, "x"), inner.Draw(t, "y")
		form := rapid.SampledFrom([]string{"X", "!X", "(X)", "exists(X)", "length(X)", "contains(X, Y)", "matches(X, /a/)", "X || Y", "X && Y", "X == Y", "X != Y", "X < Y", "X >= Y", "X + Y", "X - Y", "X * Y", "(X) % (Y)"}).Draw(t, "form")
		return strings.NewReplacer("X", x, "Y", y).Replace(form)
	})
}

func TestEvalIsDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := expressions(3).Draw(t, "src")
		e, err := expr.Parse(src, expr.Level2)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		first, firstErr := e.Eval(scope())
		again, err := expr.Parse(e.String(), expr.Level2)
		if err != nil {
			t.Fatal(err)
		}
		second, secondErr := again.Eval(scope())
		if !reflect.DeepEqual(first, second) || (firstErr == nil) != (secondErr == nil) || firstErr != nil && firstErr.Error() != secondErr.Error() {
			t.Fatalf("%s = %v, %v and then %v, %v", src, first, firstErr, second, secondErr)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"$vars.stop != true", `exists($a) || matches($vars.s, /a[/]b/) && !(1 < 2)`, "1 - -2 % $inputs.n", `contains("é", "\u00e9")`, "((((", "$vars.__proto__"} {
		f.Add(seed, 2)
		f.Add(seed, 1)
	}
	f.Fuzz(func(t *testing.T, src string, level int) {
		level = 1 + level&1
		e, err := expr.Parse(src, level)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without text")
			}
			return
		}
		v, err := e.Eval(scope())
		if level == expr.Level1 {
			above, aboveErr := expr.Parse(src, expr.Level2)
			if aboveErr != nil {
				t.Fatalf("%q is of level 1 only: %v", src, aboveErr)
			}
			if w, wErr := above.Eval(scope()); !reflect.DeepEqual(v, w) || err != nil || wErr != nil {
				t.Fatalf("%q = %v, %v at level 1 and %v, %v at level 2", src, v, err, w, wErr)
			}
		}
	})
}

func BenchmarkEval(b *testing.B) {
	e, err := expr.Parse("$vars.n < 2 || $vars.s == \"x\" && exists($vars.obj.k)", expr.Level1)
	if err != nil {
		b.Fatal(err)
	}
	s := scope()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Eval(s); err != nil {
			b.Fatal(err)
		}
	}
}
