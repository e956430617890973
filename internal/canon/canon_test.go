package canon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/internal/canon"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"space":              {" { \"b\" : [ 1 , 2 ] ,\n\"a\":\ttrue } ", `{"a":true,"b":[1,2]}`},
		"empty":              {` {"a":[ ],"b":{ }} `, `{"a":[],"b":{}}`},
		"nested order":       {`{"z":{"b":1,"a":2},"a":[{"d":1,"c":2}]}`, `{"a":[{"c":2,"d":1}],"z":{"a":2,"b":1}}`},
		"UTF-16 order":       {`{"\ufb33":1,"\ud83d\ude00":2,"é":3,"\r":4,"1":5}`, `{"\r":4,"1":5,"é":3,"😀":2,"` + "\ufb33" + `":1}`},
		"prefix order":       {`{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		"escapes":            {`"\u0000\u001f\b\t\n\f\r\"\\\/\u20ac\u00e9\u2028<>&"`, `"\u0000\u001f\b\t\n\f\r\"\\/€é` + "\u2028" + `<>&"`},
		"surrogate pair":     {`"\uD83D\uDE00"`, `"😀"`},
		"numbers":            {`[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]`, `[333333333.3333333,1e+30,4.5,0.002,1e-27]`},
		"zeros":              {`[0,-0,0.0,-0.0e5,0e999999999999999999999]`, `[0,0,0,0,0]`},
		"whole forms":        {`[10.0,1e2,-1E+2,100e-2]`, `[10,100,-100,1]`},
		"largest safe":       {`[9007199254740991,-9007199254740991,9007199254740992]`, `[9007199254740991,-9007199254740991,9007199254740992]`},
		"exact beyond safe":  {`[9007199254740994,100000000000000000000,1e21,1000000000000000000000]`, `[9007199254740994,100000000000000000000,1e+21,1e+21]`},
		"largest double":     {`1.7976931348623157e308`, `1.7976931348623157e+308`},
		"scalars":            {` null `, `null`},
		"escaped key order":  {`{"b":1,"\u0061":2}`, `{"a":2,"b":1}`},
		"replacement stays":  {`"\ufffd"`, "\"\ufffd\""},
		"deep but permitted": {strings.Repeat("[", canon.MaxDepth) + strings.Repeat("]", canon.MaxDepth), strings.Repeat("[", canon.MaxDepth) + strings.Repeat("]", canon.MaxDepth)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Canonical([]byte(tt.in))
			if err != nil || string(got) != tt.want {
				t.Errorf("Canonical(%s)\n got %s, %v\nwant %s", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, message string }{
		"nothing":             {``, "end of text"},
		"only space":          {` `, "end of text"},
		"two values":          {`1 2`, "after the value"},
		"duplicate key":       {`{"a":1,"b":2,"a":3}`, `duplicate key "a"`},
		"duplicate by escape": {`{"a":1,"\u0061":3}`, `duplicate key "a"`},
		"lone high":           {`"\ud83dx"`, "half of a surrogate pair"},
		"lone low":            {`"\ude00"`, "half of a surrogate pair"},
		"two highs":           {`"\ud83d\ud83d"`, "half of a surrogate pair"},
		"invalid UTF-8":       {"\"\xff\"", "not UTF-8"},
		"invalid in escaped":  {"\"\\n\xc3\"", "not UTF-8"},
		"encoded surrogate":   {"\"\xed\xa0\xbd\"", "not UTF-8"},
		"raw control":         {"\"a\nb\"", "control character"},
		"open string":         {`"a`, "closing quote"},
		"open escape":         {`"\`, "unknown escape"},
		"short unit":          {`"\u12"`, "unknown escape"},
		"bad unit":            {`"\u12g4"`, "unknown escape"},
		"trailing comma":      {`[1,]`, "where a value should be"},
		"trailing comma 2":    {`{"a":1,}`, "where a key should be"},
		"open array":          {`[1`, "in an array"},
		"open object":         {`{"a":1`, "in an object"},
		"no colon":            {`{"a" 1}`, "want ':'"},
		"not a number":        {`NaN`, "where a value should be"},
		"infinity":            {`1e400`, "out of range"},
		"leading zero":        {`01`, "after the value"},
		"plus":                {`+1`, "where a value should be"},
		"bare point":          {`1.`, "in a number"},
		"bare exponent":       {`1e`, "in a number"},
		"minus only":          {`-`, "in a number"},
		"rounded integer":     {`9007199254740993`, "would become 9007199254740992"},
		"rounded negative":    {`-9007199254740993`, "would become"},
		"rounded spelled":     {`9007199254740993.0`, "would become"},
		"rounded big":         {`123456789012345678901234567890`, "would become"},
		"rounded to zero":     {`1e-400`, "too small"},
		"byte order mark":     {"\ufeff1", "byte 0xef"},
		"too deep":            {strings.Repeat("[", canon.MaxDepth+1), "nested"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Canonical([]byte(tt.in))
			var e *canon.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.message) {
				t.Fatalf("Canonical(%.60s) = %s, %v; want an error with %q", tt.in, got, err, tt.message)
			}
			if e.Offset < 0 || e.Offset > len(tt.in) {
				t.Errorf("offset %d is outside the text", e.Offset)
			}
		})
	}
}

// TestPublishedDigests checks documents that carry their own digest.
func TestPublishedDigests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	published := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var want string
		if doc["version"] == nil {
			continue
		}
		if err := json.Unmarshal(doc["version"], &want); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		delete(doc, "version")
		got, err := canon.Digest(doc)
		if err != nil || got != want {
			t.Errorf("%s: digest %s, %v; published as %s", file, got, err, want)
		}
		published++
	}
	if published != 7 {
		t.Errorf("%d published documents, want 7", published)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	const empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" // of {}
	for name, v := range map[string]any{
		"map":    map[string]any{},
		"struct": struct{}{},
		"raw":    json.RawMessage(" { } "),
	} {
		if got, err := canon.Digest(v); err != nil || got != empty {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for name, v := range map[string]any{
		"not finite": math.Inf(1),
		"rounded":    int64(9007199254740993),
		"no JSON":    func() {},
		"bad raw":    json.RawMessage("{"),
		"nil raw":    json.RawMessage(nil),
	} {
		if got, err := canon.Digest(v); err == nil {
			t.Errorf("%s: digest %s, want an error", name, got)
		}
	}
}

// TestAgreesWithReference compares with another implementation on random values.
func TestAgreesWithReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(values(4).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Transform(raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := canon.Canonical(raw)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s\n got %s, %v\nwant %s", raw, got, err, want)
		}
	})
}

// values generates JSON values whose numbers are doubles, so nothing is rounded.
func values(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.String().AsAny(),
		rapid.Int32().AsAny(),
		rapid.Float64().Filter(func(f float64) bool { return math.Abs(f) < 1e15 }).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return values(depth - 1) })
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(inner, 0, 4).AsAny(),
		rapid.MapOfN(rapid.String(), inner, 0, 6).AsAny())...)
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.5e3,-0],"a":"\u0061\ud83d\ude00"}`, `"\ud800"`, `[[[]]]`, `{"a":1,"a":2}`,
		`9007199254740993`, `1e-400`, "\"\xff\"", `{"\ufb33":1,"😀":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		form, err := canon.Canonical(raw)
		reference, refErr := jcs.Transform(raw)
		if err != nil {
			return
		}
		if refErr != nil || !bytes.Equal(form, reference) {
			t.Fatalf("%q\n got %s\nwant %s, %v", raw, form, reference, refErr)
		}
		again, err := canon.Canonical(form)
		if err != nil || !bytes.Equal(again, form) {
			t.Fatalf("the form %s has another form %s, %v", form, again, err)
		}
	})
}

func BenchmarkCanonical64K(b *testing.B) {
	item := map[string]any{"id": "visit-000123", "title": "a title with \"quotes\" and é", "n": 12345, "f": 0.25,
		"tags": []string{"alpha", "beta"}, "nested": map[string]any{"z": true, "a": nil, "text": strings.Repeat("word ", 40)}}
	var doc []any
	for range 150 {
		doc = append(doc, item)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canon.Canonical(raw); err != nil {
			b.Fatal(err)
		}
	}
}
