package workflow_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// eventTypes reads the names of all types out of the source, so that a new one
// cannot be forgotten here.
func eventTypes(tb testing.TB) []workflow.EventType {
	tb.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "types.go", nil, parser.SkipObjectResolution)
	if err != nil {
		tb.Fatal(err)
	}
	var out []workflow.EventType
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "Type") {
			return true
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok {
			name, err := strconv.Unquote(lit.Value)
			if err != nil {
				tb.Fatal(err)
			}
			out = append(out, workflow.EventType(name))
		}
		return true
	})
	if len(out) < 20 {
		tb.Fatalf("only %d event types were found", len(out))
	}
	return out
}

func TestEveryTypeDecodes(t *testing.T) {
	t.Parallel()
	for _, typ := range eventTypes(t) {
		p, err := workflow.DecodePayload(typ, []byte(`{"of a newer tenon":[1]}`))
		if err != nil || p.EventType() != typ {
			t.Errorf("%s decodes to %T (%v)", typ, p, err)
		}
		if _, err := workflow.DecodePayload(typ, []byte(`[]`)); err == nil {
			t.Errorf("%s takes a list", typ)
		}
	}
	if _, err := workflow.DecodePayload("from_the_future", []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "newer tenon") {
		t.Errorf("an unknown type gives %v", err)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]workflow.Time{
		`null`:                             0,
		`"2026-11-30T20:00:00.000001Z"`:    workflow.TimeOf(time.Date(2026, 11, 30, 20, 0, 0, 1000, time.UTC)),
		`"2026-11-30T21:00:00+01:00"`:      workflow.TimeOf(time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)),
		`"2026-11-30T20:00:00.123456789Z"`: workflow.TimeOf(time.Date(2026, 11, 30, 20, 0, 0, 123456000, time.UTC)),
		`"1969-12-31T23:59:59.999999Z"`:    -1,
	} {
		var got workflow.Time
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
		raw, err := json.Marshal(got)
		var again workflow.Time
		if err := json.Unmarshal(raw, &again); err != nil || again != want {
			t.Errorf("%s comes back as %d from %s (%v)", text, again, raw, err)
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{`"yesterday"`, `1`, `{}`, `""`} {
		var got workflow.Time
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is taken as %d", text, got)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]workflow.Value{
		`null`:                       {},
		`{"json":null}`:              workflow.Inline(json.RawMessage("null")),
		`{"json":{"a":[1,"x"]}}`:     workflow.Inline(json.RawMessage(`{"a":[1,"x"]}`)),
		`{"blob":"d1","size":70000}`: {Digest: "d1", Size: 70000},
	} {
		var got workflow.Value
		if err := json.Unmarshal([]byte(text), &got); err != nil || !bytes.Equal(got.JSON, want.JSON) || got.Digest != want.Digest || got.Size != want.Size {
			t.Errorf("%s is %+v (%v)", text, got, err)
		}
		if got.Absent() != (text == "null") {
			t.Errorf("%s: absent is %v", text, got.Absent())
		}
		raw, err := json.Marshal(got)
		if err != nil || string(raw) != text {
			t.Errorf("%s comes back as %s (%v)", text, raw, err)
		}
	}
	if _, err := (workflow.Value{Digest: "d"}).Load(nil); err == nil {
		t.Error("a stored value loads from nothing")
	}
}

// FuzzDecodePayload: decoding never panics, and what was read is written and
// read again as the same.
func FuzzDecodePayload(f *testing.F) {
	types := eventTypes(f)
	for i := range types {
		f.Add(i, []byte(`{}`))
	}
	for typ, seed := range map[workflow.EventType]string{
		workflow.TypeRunStarted:        `{"workflow":{"name":"w","digest":"d"},"kind":"graph","level":2,"inputs":{"json":{"a":1}},"options":{"roles":{"r":{"access":"read"}},"budget":{"maxCostUsd":0.5},"requiresVerified":false,"checks":[{"repositoryId":"repo","command":"go","policy":{"x":[]}}]},"children":{"c":{"name":"c","digest":"e"}},"parent":{"run":"p","visit":"v#1","depth":1}}`,
		workflow.TypeAdmitted:          `{"kind":"map","effect":"write","limits":[{"id":"m","max":2}],"steered":[3,4]}`,
		workflow.TypeInvocationSettled: `{"key":"k/1","status":"ok","usage":{"input":1,"output":null,"costUsd":1e-7},"memo":{"json":"<text>"},"retryAt":"2026-11-30T20:00:00.000001Z"}`,
		workflow.TypeSettled:           `{"outcome":"next","output":{"blob":"d","size":5000},"vars":{"n":{"json":1},"m":null},"answers":[{"question":"q","node":"n","value":{"json":true},"at":null}],"completion":{"ok":true},"error":{"code":"timeout","message":"m"}}`,
		workflow.TypeQuestionOpened:    `{"question":{"id":"q","run":"r","visit":"v#1","node":"n","kind":"question","text":"?","schema":{"enum":[1]},"round":1,"asked":"2026-11-30T20:00:00Z"}}`,
		workflow.TypeForked:            `{"parent":"p","cut":7,"patch":{"vars":{"a":{"json":[]}}}}`,
		workflow.TypeEnded:             `{"status":"succeeded","outputs":{"a":{"json":null}},"failures":[{"code":"x","message":"y","node":"z"}]}`,
	} {
		for i, t := range types {
			if t == typ {
				f.Add(i, []byte(seed))
			}
		}
	}
	f.Fuzz(func(t *testing.T, i int, raw []byte) {
		if i < 0 {
			i = -(i + 1)
		}
		typ := types[i%len(types)]
		p, err := workflow.DecodePayload(typ, raw)
		if err != nil {
			return
		}
		first, err := workflow.EncodePayload(p)
		if err != nil {
			t.Fatalf("%s was read from %s and cannot be written: %v", typ, raw, err)
		}
		again, err := workflow.DecodePayload(typ, first)
		if err != nil {
			t.Fatalf("%s was written as %s and cannot be read: %v", typ, first, err)
		}
		second, err := workflow.EncodePayload(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s is first %s, then %s (%v)", typ, first, second, err)
		}
	})
}
