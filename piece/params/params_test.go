package params_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
)

func TestSchemas(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"schema/both.json": {Data: []byte("b")}, "schema/two.2.json": {Data: []byte("2")},
		"schema/own.json": {Data: []byte("o")}, "schema/own.1.json": {Data: []byte("o1")},
	}
	for _, tc := range []struct {
		kind  string
		level int
		want  string
	}{{"both", 1, "b"}, {"both", 2, "b"}, {"two", 1, ""}, {"two", 2, "2"}, {"own", 1, "o1"}, {"own", 2, "o"}, {"none", 1, ""}} {
		if got := params.Schemas(files, tc.kind)(tc.level); string(got) != tc.want || (got == nil) != (tc.want == "") {
			t.Errorf("%s, level %d: %q, want %q", tc.kind, tc.level, got, tc.want)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := params.Read[workflow.JoinParams](json.RawMessage(`{"reduce":"collect"}`))
	if err != nil || got.Reduce != "collect" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := params.Read[workflow.JoinParams](json.RawMessage(`{"reduce":1}`)); workflow.CodeOf(err) != workflow.CodeInvalidPieceParams {
		t.Errorf("got %v", err)
	}
}

func TestFilled(t *testing.T) {
	t.Parallel()
	type inner struct {
		Args []string `json:"args"`
	}
	type outer struct {
		inner
		Text  string            `json:"text"`
		Env   map[string]string `json:"env"`
		List  []inner           `json:"list"`
		Maybe *string           `json:"maybe"`
		Any   json.RawMessage   `json:"any"`
		N     int               `json:"n"`
	}
	got, err := params.Filled[outer](json.RawMessage(`{
		"args": [1, "two", {"three": [3, "<"]}, null], "text": 4.50, "env": {"A": [1,2], "B": "b", "C": true},
		"list": [{"args": [5]}], "maybe": {"x": 1}, "any": {"y": 2}, "n": 6}`))
	if err != nil {
		t.Fatal(err)
	}
	maybe := `{"x": 1}`
	want := outer{
		inner: inner{Args: []string{"1", "two", `{"three": [3, "<"]}`, ""}}, Text: "4.50", Env: map[string]string{"A": "[1,2]", "B": "b", "C": "true"},
		List: []inner{{Args: []string{"5"}}}, Maybe: &maybe, Any: json.RawMessage(`{"y":2}`), N: 6,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, raw := range []string{`{"n": "six"}`, `{"text": 1, "n": "six"}`, `{"args": 3}`, `{`} {
		if _, err := params.Filled[outer](json.RawMessage(raw)); workflow.CodeOf(err) != workflow.CodeInvalidPieceParams {
			t.Errorf("%s gives %v", raw, err)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	if d, err := params.Duration("36h"); err != nil || d != 36*time.Hour {
		t.Errorf("%v, %v", d, err)
	}
	for _, s := range []string{"", "0s", "-1s", "1 day"} {
		if _, err := params.Duration(s); err == nil {
			t.Errorf("%q is a duration", s)
		}
	}
	if !params.Open("a {{run.x}}") || params.Open("a {run.x}") {
		t.Error("tokens are not seen")
	}
}

func TestCaptureAll(t *testing.T) {
	t.Parallel()
	zero := 0
	got, err := params.CaptureAll([]params.Capture{
		{Name: "a", Pattern: `a=(\d)`}, {Name: "whole", Pattern: `b=\d`, Group: &zero}, {Name: "none", Pattern: `c=(\d)`}, {Name: "plain", Pattern: `b=\d`},
	}, "a=1 a=2 b=3")
	if want := map[string]string{"a": "1", "whole": "b=3"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	bad := params.Capture{Name: "x", Pattern: "("}
	if _, err := params.CaptureAll([]params.Capture{bad}, ""); workflow.CodeOf(err) != workflow.CodeInvalidExpression || bad.Check() == nil {
		t.Errorf("a bad pattern: %v", err)
	}
}
