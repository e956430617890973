package runcontext_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/runcontext"
)

func TestPlanRefused(t *testing.T) {
	t.Parallel()
	ro := func(path string) runcontext.Entry { return literal(path, runcontext.SlotReferences, path) }
	for _, c := range []struct {
		name    string
		entries []runcontext.Entry
		want    string
	}{
		{"absolute", []runcontext.Entry{ro("/references/x")}, "relative to the workspace"},
		{"drive", []runcontext.Entry{ro("C:/x")}, "relative"},
		{"above", []runcontext.Entry{ro("references/../x")}, "leaves the workspace"},
		{"backslash", []runcontext.Entry{ro(`references\x`)}, "written with /"},
		{"not shortest", []runcontext.Entry{ro("references//x")}, `"references/x"`},
		{"control character", []runcontext.Entry{ro("references/\x01")}, "control characters"},
		{"long", []runcontext.Entry{ro("references/" + strings.Repeat("a", 1100))}, "1,024"},
		{"empty", []runcontext.Entry{ro("")}, "missing"},
		{"another slot", []runcontext.Entry{ro("inputs/x")}, "below references/"},
		{"prefix of the slot", []runcontext.Entry{ro("references2/x")}, "below references/"},
		{"unknown slot", []runcontext.Entry{{Path: "input/x", Slot: "input", Mode: runcontext.ReadOnly}}, `did you mean "inputs"?`},
		{"unknown mode", []runcontext.Entry{{Path: "inputs/x", Slot: "inputs", Mode: "rw"}}, `no mode "rw"`},
		{"write to inputs", []runcontext.Entry{{Path: "inputs/x", Slot: "inputs", Mode: runcontext.ReadWrite}}, "always read-only"},
		{"twice", []runcontext.Entry{ro("references/x"), ro("references/x")}, "there twice"},
		{"case", []runcontext.Entry{ro("references/x"), ro("references/X")}, "differ in case only"},
		{"below a file", []runcontext.Entry{ro("references/x"), ro("references/x/y")}, "no directory"},
		{"below a link", []runcontext.Entry{{Path: "repos/a", Slot: "repos", Mode: runcontext.ReadWrite}, {Path: "repos/a/b", Slot: "repos", Mode: runcontext.ReadWrite}}, "no directory"},
		{"content in a repository", []runcontext.Entry{runcontext.Literal("repos", "a", []byte("x"))}, "linked"},
		{"digest of another content", []runcontext.Entry{{Path: "inputs/x", Slot: "inputs", Mode: runcontext.ReadOnly, Content: []byte("x"), SHA256: "y"}}, "not that of its content"},
		{"content and origin", []runcontext.Entry{{Path: "inputs/x", Slot: "inputs", Mode: runcontext.ReadOnly, Content: []byte("x"), Origin: "/x"}}, "both"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := runcontext.NewPlan(c.entries); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if _, err := runcontext.NewPlan([]runcontext.Entry{ro("/a"), ro("../b")}); err == nil || !strings.Contains(err.Error(), "/a") || !strings.Contains(err.Error(), "../b") {
		t.Errorf("error %v does not tell both", err)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	plan, err := runcontext.NewPlan(append(closing(), policy(), runcontext.Literal(runcontext.SlotInputs, "empty", nil),
		runcontext.Entry{Path: "deliverables/done.json", Slot: runcontext.SlotDeliverables, Mode: runcontext.ReadOnly, SHA256: strings.Repeat("0", 64)}))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{".agent", "AGENTS.md", "context.json", "deliverables/done.json", "inputs", "references"}; !slices.Equal(plan.ReadOnly(), want) {
		t.Errorf("read-only %q, want %q", plan.ReadOnly(), want)
	}
	raw, err := json.Marshal(plan)
	if err != nil || !strings.Contains(string(raw), `"sha256":null`) {
		t.Fatalf("plan %s, %v", raw, err)
	}
	var back runcontext.Plan
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	for i := range plan.Entries {
		plan.Entries[i].Content = nil
	}
	if !reflect.DeepEqual(plan, back) {
		t.Errorf("plan came back as %+v, want %+v", back, plan)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	plan := func(entries ...runcontext.Entry) runcontext.Plan {
		p, err := runcontext.NewPlan(entries)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := []runcontext.Entry{literal("inputs/a", "inputs", "1"), literal("inputs/b", "inputs", "1")}
	before, same := plan(first...), plan(first...)
	after := plan(literal("inputs/b", "inputs", "2"), literal("inputs/c", "inputs", "1"))
	var got []string
	for _, d := range before.Compare(after) {
		got = append(got, d.String())
	}
	if len(got) != 3 || got[0] != "inputs/a is gone" || !strings.HasPrefix(got[1], "inputs/b changed: it was sha256 6b86b273ff34 and is d4735e3a265e") || got[2] != "inputs/c is new" {
		t.Errorf("drifts %q", got)
	}
	if d := before.Compare(same); len(d) != 0 {
		t.Errorf("drifts of the same %v", d)
	}
}
