package bounds_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/composition/bounds"
)

func TestFloor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bash", "Bash", "TodoWrite", "todo_write", "memory", "task"} {
		if !bounds.IsFloorTool(name) {
			t.Errorf("%s is not of the floor", name)
		}
	}
	for _, name := range []string{"", "submit", "webfetch", "mcp__memory__read"} {
		if bounds.IsFloorTool(name) {
			t.Errorf("%q is of the floor", name)
		}
	}
	if n := len(bounds.FloorTools()); n != 10 {
		t.Errorf("%d floor tools", n)
	}
}

func TestCapabilityWithin(t *testing.T) {
	t.Parallel()
	above := bounds.Capability{Denies: []string{"exec"}, Reach: bounds.ReachOwner, MaxRisk: "high", Egress: []string{"a", "b"}}
	below := bounds.Capability{Denies: []string{"web", "exec"}, Reach: bounds.ReachFull, MaxRisk: "low", Egress: []string{"b", "c"}}
	got := below.Within(above)
	if got.Reach != bounds.ReachOwner || got.MaxRisk != "low" || !slices.Equal(got.Denies, []string{"exec", "web"}) || !slices.Equal(got.Egress, []string{"b"}) {
		t.Errorf("%+v", got)
	}
	if got := (bounds.Capability{}).Within(above); got.Reach != above.Reach || !slices.Equal(got.Egress, above.Egress) {
		t.Errorf("%+v", got)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, name, spelled, complaint string }{
		{`"Read"`, "Read", "Read", ""},
		{`"mcp__erp__post"`, "mcp__erp__post", "mcp_server erp.post", ""},
		{`"mcp__erp"`, "", "mcp_server erp", ""},
		{`"mcp__erp__*"`, "", "mcp_server erp", ""},
		{`"mcp-tool:erp.post@1"`, "mcp__erp__post", "mcp_server erp.post", ""},
		{`{"kind":"provider","providerKind":"catalog","resourceId":"x"}`, "", "catalog x", ""},
		{`{"kind":"tool","providerKind":"catalog","resourceId":"x"}`, "mcp__x__", "catalog x.", "names no tool"},
		{`{"kind":"provider","providerKind":"catalog","resourceId":"x","toolName":"y"}`, "", "catalog x", "a tool and all tools"},
		{`{"kind":"some","providerKind":"catalog","resourceId":"x"}`, "", "catalog x", "not a kind of selection"},
		{`{"kind":"tool","providerKind":"mcp","toolName":"y"}`, "mcp____y", "mcp .y", "not a kind of provider"},
		{`{"kind":"tool","providerKind":"catalog","toolName":"y"}`, "mcp____y", "catalog .y", "no resource"},
		{`"mcp__` + strings.Repeat("x", 257) + `"`, "", "mcp_server " + strings.Repeat("x", 257), "256"},
	}
	for _, tc := range tests {
		var s bounds.Selection
		if err := json.Unmarshal([]byte(tc.text), &s); err != nil {
			t.Fatal(err)
		}
		if s.Name() != tc.name || s.String() != tc.spelled {
			t.Errorf("%s is %q, %q", tc.text, s.Name(), s)
		}
		if m := s.Check(); (m == "") != (tc.complaint == "") || !strings.Contains(m, tc.complaint) {
			t.Errorf("%s: %q, want %q", tc.text, m, tc.complaint)
		}
	}
}

func drawLimits(t *rapid.T) *bounds.Limits {
	l := &bounds.Limits{}
	for _, p := range []**int{&l.MaxDepth, &l.MaxFanout, &l.MaxSpawns} {
		if rapid.Bool().Draw(t, "set") {
			n := rapid.IntRange(0, 3).Draw(t, "limit")
			*p = &n
		}
	}
	if rapid.Bool().Draw(t, "strict") {
		strict := rapid.Bool().Draw(t, "is")
		l.Strict = &strict
	}
	return l
}

// What holds inside is never more than what holds around it, and adds nothing to
// what it says itself.
func TestLimitsWithin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		child, above := drawLimits(t), drawLimits(t)
		got := child.Within(above)
		if p := append(got.Exceeds(above), got.Exceeds(child)...); len(p) > 0 {
			t.Fatalf("%+v", p)
		}
		if again := got.Within(above); len(again.Exceeds(got))+len(got.Exceeds(again)) > 0 {
			t.Fatal("taking the limits twice changes them")
		}
		for _, parts := range [][3]*int{{got.MaxDepth, child.MaxDepth, above.MaxDepth}, {got.MaxSpawns, child.MaxSpawns, above.MaxSpawns}} {
			if (parts[0] == nil) != (parts[1] == nil && parts[2] == nil) {
				t.Fatal("a limit came or went")
			}
		}
		if want := child.Agent().Strict || above.Agent().Strict; got.Agent().Strict != want {
			t.Fatalf("strict is %v, want %v", !want, want)
		}
	})
}

func TestLimitsOfNothing(t *testing.T) {
	t.Parallel()
	var none *bounds.Limits
	some := &bounds.Limits{}
	if none.Within(nil) != nil || none.Within(some) != some || some.Within(nil) != some || none.Agent() != nil || none.Check() != nil {
		t.Error("nil is not the absence of limits")
	}
}

func TestLimitsDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{`{"maxDuration":"90s"}`: 90_000, `{"maxDuration":"1h"}`: 3_600_000, `{"maxDurationMs":5}`: 5} {
		var l bounds.Limits
		if err := json.Unmarshal([]byte(text), &l); err != nil || *l.Agent().MaxDurationMs != want || len(l.Check()) > 0 {
			t.Errorf("%s is %+v, %v", text, l, err)
		}
	}
	for _, text := range []string{`{"maxDuration":"soon"}`, `{"maxDuration":"-1s"}`, `{"maxDurationMs":0}`} {
		var l bounds.Limits
		if err := json.Unmarshal([]byte(text), &l); err != nil || len(l.Check()) != 1 {
			t.Errorf("%s is %+v, %v", text, l.Check(), err)
		}
	}
}

// Marks are parts, a child cannot loosen them, and they reach the ledger.
func TestMarks(t *testing.T) {
	t.Parallel()
	half, over := 0.5, 1.5
	for _, p := range (&bounds.Limits{Soft: &over, Grace: &over}).Check() {
		if p.Field != "soft" && p.Field != "grace" || !strings.Contains(p.Message, "part between 0 and 1") {
			t.Errorf("%+v", p)
		}
	}
	l, above := &bounds.Limits{Soft: &half, Grace: &half}, &bounds.Limits{Soft: new(float64), Grace: new(float64)}
	if got := l.Exceeds(above); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	if a := l.Agent(); *a.Soft != half || *a.Grace != half {
		t.Errorf("%+v", a)
	}
	if a := l.Within(above).Agent(); *a.Soft != 0 || *a.Grace != 0 {
		t.Errorf("%+v", a)
	}
}
