package runcontext_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/workflow"
)

func report() runcontext.Contract {
	return runcontext.Contract{
		Ref: "close-report@1.2.0", Title: "Close report", Schema: json.RawMessage(`{"type":"object"}`),
		Sections: []runcontext.Section{{ID: "summary", Title: "Summary", Text: "Say whether the month is closed."}, {ID: "evidence", Text: "Cite entries."}},
		Bounds:   map[string]runcontext.Range{"findings": {Max: number(10)}},
	}
}

func number(f float64) *float64 { return &f }

// library has an overlay for sox that everybody shares and one that stands for it.
func library() []runcontext.Overlay {
	return []runcontext.Overlay{
		{ID: "shared-sox", Tag: "concern:sox", Sections: []runcontext.Section{{ID: "sox", Text: "Shared text."}}},
		{
			ID: "org-sox", Tag: "concern:sox", Replaces: []string{"shared-sox"}, Schema: json.RawMessage(`{"required":["controls"]}`),
			Sections: []runcontext.Section{{ID: "sox", Title: "Controls", Text: "Name the control and its owner."}}, Bounds: map[string]runcontext.Range{"findings": {Min: number(1)}},
		},
		{ID: "sap", Tag: "stack:sap", Sections: []runcontext.Section{{ID: "sap", Text: "Give document numbers."}, {ID: "evidence", Text: "Cite postings.", Replace: true}}, Bounds: map[string]runcontext.Range{"findings": {Max: number(5)}}},
		{ID: "odd", Tag: "region:eu", Sections: []runcontext.Section{{ID: "eu", Text: "Amounts in euro."}}},
	}
}

func TestOverlays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		tags, explicit []string
		want           []string
	}{
		{"none", nil, nil, nil},
		{"stack before concern, the organisation's for the shared", []string{"concern:sox", "stack:sap"}, nil, []string{"sap", "org-sox"}},
		{"other categories after, explicit last", []string{"region:eu", "concern:sox"}, []string{"stack:sap"}, []string{"org-sox", "odd", "sap"}},
		{"explicit in the order written", []string{"stack:sap"}, []string{"odd", "sap"}, []string{"odd", "sap"}},
		{"explicit by id leaves the rest of the tag out", nil, []string{"shared-sox"}, []string{"shared-sox"}},
		{"a tag without an overlay", []string{"concern:none"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := library()
			for range len(all) { // whatever order they come in
				all = append(all[1:], all[0])
				overlays, err := runcontext.Select(all, c.tags, c.explicit)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, o := range overlays {
					got = append(got, o.ID)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("selected %q, want %q", got, c.want)
				}
			}
		})
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	overlays, err := runcontext.Select(library(), []string{"concern:sox", "stack:sap"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	base := report()
	got, applied, err := runcontext.Apply(base, overlays)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, s := range got.Sections {
		texts = append(texts, s.Text)
	}
	if want := []string{"Say whether the month is closed.", "Cite postings.", "Give document numbers.", "Name the control and its owner."}; !slices.Equal(texts, want) {
		t.Errorf("sections %q, want %q", texts, want)
	}
	if r := got.Bounds["findings"]; *r.Min != 1 || *r.Max != 5 {
		t.Errorf("bound %v, want the tightest", r)
	}
	if want := `{"allOf":[{"type":"object"},{"required":["controls"]}]}`; string(got.Schema) != want {
		t.Errorf("schema %s, want %s", got.Schema, want)
	}
	if len(applied) != 2 || applied[0].Tag != "stack:sap" || applied[1].ID != "org-sox" || len(applied[1].SHA256) != 64 {
		t.Errorf("applied %+v", applied)
	}
	if !reflect.DeepEqual(base, report()) {
		t.Error("the base was changed")
	}
}

func TestOverlayConflicts(t *testing.T) {
	t.Parallel()
	section := func(id, tag, section string) runcontext.Overlay {
		return runcontext.Overlay{ID: id, Tag: tag, Sections: []runcontext.Section{{ID: section, Text: id, Replace: true}}}
	}
	for _, c := range []struct {
		name     string
		overlays []runcontext.Overlay
		want     []string
	}{
		{"two replace a section of the base", []runcontext.Overlay{section("a", "stack:x", "summary"), section("b", "concern:x", "summary")}, []string{"overlays a and b conflict at section summary"}},
		{"two have a section", []runcontext.Overlay{section("a", "stack:x", "new"), section("b", "concern:x", "new")}, []string{"overlays a and b conflict at section new"}},
		{"a section of the base without replace", []runcontext.Overlay{{ID: "a", Tag: "stack:x", Sections: []runcontext.Section{{ID: "summary"}}}}, []string{"the base and a"}},
		{"no number is left", []runcontext.Overlay{{ID: "a", Tag: "stack:x", Bounds: map[string]runcontext.Range{"findings": {Min: number(11)}}}}, []string{"overlays a and the base conflict at bound findings"}},
		{"declared", []runcontext.Overlay{{ID: "a", Tag: "stack:x", ConflictsWith: []string{"concern:x"}}, section("b", "concern:x", "n")}, []string{"a and b conflict at conflictsWith"}},
		{"two replace one", []runcontext.Overlay{{ID: "a", Tag: "stack:x", Replaces: []string{"c"}}, {ID: "b", Tag: "stack:x", Replaces: []string{"c"}}, {ID: "c", Tag: "stack:x"}}, []string{"a and b conflict at overlay c"}},
		{"each replaces the other", []runcontext.Overlay{{ID: "a", Tag: "stack:x", Replaces: []string{"b"}}, {ID: "b", Tag: "stack:x", Replaces: []string{"a"}}, {ID: "c", Tag: "stack:x"}}, []string{"in a circle"}},
		{"itself", []runcontext.Overlay{{ID: "a", Tag: "stack:x", Replaces: []string{"a"}}}, []string{"itself"}},
		{"an id twice", []runcontext.Overlay{{ID: "a", Tag: "stack:x"}, {ID: "a", Tag: "stack:y"}}, []string{`two overlays with the id "a"`}},
		{"several at once", []runcontext.Overlay{section("a", "stack:x", "n"), section("b", "concern:x", "n"), {ID: "c", Tag: "concern:x", ConflictsWith: []string{"a"}}}, []string{"section n", "conflictsWith"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			overlays, err := runcontext.Select(c.overlays, []string{"stack:x", "stack:y", "concern:x"}, nil)
			if err == nil {
				_, _, err = runcontext.Apply(report(), overlays)
			}
			if !errors.Is(err, &workflow.Error{Code: workflow.CodeOverlayConflict}) {
				t.Fatalf("error %v is no conflict", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
		})
	}
}

func TestOverlayUnknown(t *testing.T) {
	t.Parallel()
	if _, err := runcontext.Select(library(), nil, []string{"concern:soks"}); err == nil || !strings.Contains(err.Error(), `did you mean "concern:sox"?`) {
		t.Errorf("error %v", err)
	}
	if _, err := runcontext.Select([]runcontext.Overlay{{ID: "x", Tag: "x"}}, nil, nil); err == nil {
		t.Error("a tag without a category was accepted")
	}
}
