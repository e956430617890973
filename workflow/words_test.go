package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	e := workflow.Errorf(workflow.CodeTimeout, "running %s: %w", "a", fs.ErrNotExist)
	if e.Error() != "running a: file does not exist" || !errors.Is(e, fs.ErrNotExist) {
		t.Errorf("error %q", e)
	}
	hinted := e.WithHint("look for %s", "b")
	if hinted.Error() != "running a: file does not exist; look for b" || e.Hint != "" || hinted.Code != e.Code || !errors.Is(hinted, fs.ErrNotExist) {
		t.Errorf("with a hint %q, without %q", hinted, e)
	}
	wrapped := fmt.Errorf("outer: %w", hinted)
	for _, tt := range []struct {
		target error
		want   bool
	}{
		{&workflow.Error{Code: workflow.CodeTimeout}, true},
		{&workflow.Error{Code: workflow.CodeIdleTimeout}, false},
		{&workflow.Error{Code: workflow.CodeTimeout, Msg: "another"}, false},
		{hinted, true}, {e, false}, {fs.ErrExist, false},
	} {
		if got := errors.Is(wrapped, tt.target); got != tt.want {
			t.Errorf("errors.Is(…, %#v) is %v", tt.target, got)
		}
	}
}

// coded is an error of another room that tells its code.
type coded struct{}

func (coded) Error() string       { return "coded" }
func (coded) Code() workflow.Code { return workflow.CodeRateLimited }

func TestCodeOf(t *testing.T) {
	t.Parallel()
	inner := workflow.Errorf(workflow.CodeTimeout, "inner")
	for _, tt := range []struct {
		err  error
		want workflow.Code
	}{
		{nil, ""}, {fs.ErrExist, workflow.CodeInternal}, {inner, workflow.CodeTimeout},
		{fmt.Errorf("x: %w", inner), workflow.CodeTimeout},
		{workflow.Errorf(workflow.CodeAborted, "outer: %w", inner), workflow.CodeAborted},
		{errors.Join(fs.ErrExist, inner), workflow.CodeTimeout},
		{fmt.Errorf("x: %w", coded{}), workflow.CodeRateLimited},
	} {
		if got := workflow.CodeOf(tt.err); got != tt.want {
			t.Errorf("the code of %v is %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestFaultsTellWhere(t *testing.T) {
	t.Parallel()
	d := &workflow.Divergence{Seq: 7, Want: "a", Got: "b"}
	if got := d.Error(); got != "event 7 does not follow from the workflow: expected a, found b" {
		t.Error(got)
	}
	m := &workflow.Damage{Run: "r1", Seq: 9, Err: fs.ErrInvalid}
	if got := m.Error(); got != "run r1 is damaged at event 9: invalid argument" || !errors.Is(m, fs.ErrInvalid) {
		t.Error(got)
	}
}

func TestExits(t *testing.T) {
	t.Parallel()
	want := map[workflow.Status]int{
		workflow.StatusSucceeded: 0, workflow.StatusFailed: 1, workflow.StatusInvalid: 2, workflow.StatusWaiting: 3, workflow.StatusExhausted: 4,
		workflow.StatusUnavailable: 5, workflow.StatusDenied: 6, workflow.StatusUnproven: 7, workflow.StatusCancelled: 8, workflow.StatusInterrupted: 130,
		workflow.StatusRunning: 1, "odd": 1,
	}
	for s, code := range want {
		if got := s.Exit(); got != code {
			t.Errorf("%s exits with %d, want %d", s, got, code)
		}
	}
	for _, s := range workflow.Statuses() {
		if _, known := want[s]; !known {
			t.Errorf("status %s is not in this test", s)
		}
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	terminal := "succeeded failed denied unproven cancelled"
	for _, s := range workflow.Statuses() {
		if got := s.Terminal(); got != strings.Contains(terminal, string(s)) {
			t.Errorf("%s is terminal: %v", s, got)
		}
	}
}

func TestWorst(t *testing.T) {
	t.Parallel()
	order := []workflow.Status{
		workflow.StatusInvalid, workflow.StatusInterrupted, workflow.StatusCancelled, workflow.StatusDenied, workflow.StatusWaiting,
		workflow.StatusExhausted, workflow.StatusUnavailable, workflow.StatusFailed, workflow.StatusUnproven, workflow.StatusSucceeded,
	}
	for i, worse := range order {
		for _, better := range order[i:] {
			if got := workflow.Worst(better, worse, better); got != worse {
				t.Errorf("of %s and %s the worst is %s", worse, better, got)
			}
		}
	}
	if got := workflow.Worst(); got != workflow.StatusSucceeded {
		t.Errorf("of nothing it is %s", got)
	}
}

func TestVisitIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ id, path, scope string }{
		{"a#1", "a", ""}, {"a#12/b#3", "a/b", "a#12"}, {"each#1[3]/do#1", "each/do", "each#1[3]"}, {"each#1[30]/in#2[4]/do#1", "each/in/do", "each#1[30]/in#2[4]"},
		{"fan#1[left]/x#2", "fan/left/x", "fan#1[left]"}, {"fan#1[2nd]/x#2", "fan/2nd/x", "fan#1[2nd]"}, {"", "", ""}, {"plain", "plain", ""}, {"a#1[", "a", ""}, {"a#1[b", "a/b", ""},
	} {
		v := workflow.VisitID(tt.id)
		if v.Path() != tt.path || v.Scope() != tt.scope {
			t.Errorf("%q has the path %q and the scope %q, want %q and %q", tt.id, v.Path(), v.Scope(), tt.path, tt.scope)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	n := func(v int64) *int64 { return &v }
	cost := 0.5
	for _, tt := range []struct {
		usage workflow.Usage
		n     int64
		known bool
	}{{workflow.Usage{}, 0, false}, {workflow.Usage{Input: n(5)}, 5, false}, {workflow.Usage{Output: n(7)}, 7, false}, {workflow.Usage{Input: n(5), Output: n(0)}, 5, true}} {
		if got, known := tt.usage.Tokens(); got != tt.n || known != tt.known {
			t.Errorf("%+v has %d tokens, known %v", tt.usage, got, known)
		}
	}
	var a, b workflow.Totals
	a.Add(workflow.Usage{Input: n(1), Cached: n(2), CacheWrite: n(3), Output: n(4), Reasoning: n(5), CostUSD: &cost})
	a.Add(workflow.Usage{Input: n(10)})
	if want := (workflow.Totals{Calls: 2, Input: 11, Cached: 2, CacheWrite: 3, Output: 4, Reasoning: 5, CostUSD: 0.5, UnknownTokens: 1, UnknownCost: 1}); a != want {
		t.Errorf("totals %+v, want %+v", a, want)
	}
	b.Plus(a)
	b.Plus(a)
	if want := (workflow.Totals{Calls: 4, Input: 22, Cached: 4, CacheWrite: 6, Output: 8, Reasoning: 10, CostUSD: 1, UnknownTokens: 2, UnknownCost: 2}); b != want {
		t.Errorf("totals %+v, want %+v", b, want)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "\"quoted\"\n", "é\u2028<&>", "a\xffb"} {
		raw, err := workflow.Text(s).Load(nil)
		var got string
		if err != nil || json.Unmarshal(raw, &got) != nil || got != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%q comes back as %q (%v)", s, got, err)
		}
	}
	if raw, err := (workflow.Value{}).Load(nil); raw != nil || err != nil {
		t.Errorf("nothing is %s (%v)", raw, err)
	}
}

func TestWire(t *testing.T) {
	t.Parallel()
	e := workflow.Event{Seq: 3, At: 1, Epoch: 2, ID: "a#1", Node: "a", Visit: 1, Attempt: 2, Invocation: 4, Payload: &workflow.Lost{Code: workflow.CodeTimeout}}
	raw, err := json.Marshal(workflow.Wire("r1", e))
	want := `{"v":1,"run":"r1","seq":3,"at":"1970-01-01T00:00:00.000001Z","epoch":2,"type":"lost","id":"a#1","node":"a","visit":1,"attempt":2,"invocation":4,"data":{"code":"timeout"}}`
	if err != nil || string(raw) != want {
		t.Errorf("it is printed as %s (%v)", raw, err)
	}
	if got := (workflow.Event{}).Type(); got != "" {
		t.Errorf("an event of nothing has the type %q", got)
	}
	odd := workflow.Wire("r1", workflow.Event{Payload: &workflow.Signal{Value: workflow.Inline(json.RawMessage("{"))}})
	if string(odd.Data) != "null" {
		t.Errorf("what does not encode is printed as %s", odd.Data)
	}
}
