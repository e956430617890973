package deliverable_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/deliverable"
	"github.com/tenonrun/tenon/workflow"
)

func raw(texts ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, text := range texts {
		out = append(out, json.RawMessage(text))
	}
	return out
}

func TestTighten(t *testing.T) {
	t.Parallel()
	s := load(t, "close-report.json")
	const sox = `{"type":"object","required":["approver"],"properties":{"approver":{"$ref":"#/$defs/name"}},"$defs":{"name":{"type":"string","minLength":2}}}`
	two := 2
	tight, err := s.Tighten(raw(sox), deliverable.Rules{Max: &two})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"entity":"IT01","balanced":true,"approver":"Ann"}`: "",
		`{"entity":"IT01","balanced":true}`:                  "SCHEMA_VIOLATION close.json",
		`{"entity":"IT01","balanced":true,"approver":"A"}`:   "SCHEMA_VIOLATION close.json#/approver",
		`{"balanced":true,"approver":"Ann"}`:                 "SCHEMA_VIOLATION close.json",
	} {
		if got := reasons(tight.Judge(harvestOf("close.json", text)).Faults); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if tight.Digest == s.Digest || len(s.Further) != 0 || s.Rules.Max != nil || *tight.Rules.Max != 2 {
		t.Errorf("the base changed, or the tight one did not: %+v", tight)
	}
	if text := tight.Instructions(); !strings.Contains(text, "as well:\n"+sox) {
		t.Errorf("instructions %s", text)
	}
	again, err := s.Tighten(raw(sox), deliverable.Rules{Max: &two})
	if err != nil || again.Digest != tight.Digest {
		t.Errorf("the same overlays have the digests %s and %s: %v", again.Digest, tight.Digest, err)
	}
}

func TestTightenConflicts(t *testing.T) {
	t.Parallel()
	s := load(t, "close-report.json")
	one, three := 1, 3
	for name, c := range map[string]struct {
		spec    *deliverable.Spec
		schemas []json.RawMessage
		bounds  deliverable.Rules
		want    string
	}{
		"other type":    {s, raw(`{"type":"array"}`), deliverable.Rules{}, "exclude each other"},
		"no schema":     {s, raw(`{"typo":"array"}`), deliverable.Rules{}, "unknown keyword"},
		"no JSON":       {parse(t, any), raw(`{}`), deliverable.Rules{}, "kind custom has none"},
		"crossed":       {s, nil, deliverable.Rules{Min: &three, Max: &one}, "leave nothing"},
		"crossed later": {parse(t, any), nil, deliverable.Rules{Min: &three}, "at least 3 and at most 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.spec.Tighten(c.schemas, c.bounds)
			if codeOf(err) != workflow.CodeOverlayConflict || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	make := func(version string) *deliverable.Spec {
		return parse(t, "{slug: report, version: \""+version+"\", kind: custom, outputContract: {mode: workspace-files}}")
	}
	specs := []*deliverable.Spec{make("1.10.0"), make("1.9.0"), make("2.0.0-rc.1"), make("1.10.0"), load(t, "close-report.json")}
	for ref, want := range map[string]string{
		"report": "2.0.0-rc.1", "report@1.9.0": "1.9.0", "close-report": "1.2.0",
		"report@3": "!versions are: 1.9.0, 1.10.0, 1.10.0, 2.0.0-rc.1", "reprot": `!did you mean "report"`, "zzz": "!specs are: close-report, report",
	} {
		r, err := deliverable.ParseRef(ref)
		if err != nil {
			t.Fatal(err)
		}
		got, err := deliverable.Pick(specs, r)
		switch {
		case strings.HasPrefix(want, "!"):
			if codeOf(err) != workflow.CodeDeliverableUnknown || !strings.Contains(err.Error(), want[1:]) {
				t.Errorf("%s: error %v, want %s", ref, err, want)
			}
		case err != nil || got.Version != want:
			t.Errorf("%s: %+v, %v", ref, got, err)
		}
	}
	twin := parse(t, "{slug: report, version: 2.0.0-rc.1, title: other, kind: custom, outputContract: {mode: workspace-files}}")
	if _, err := deliverable.Pick(append(specs, twin), deliverable.Ref{Slug: "report"}); codeOf(err) != workflow.CodeInvalidArguments {
		t.Errorf("two contents of one version: %v", err)
	}
	newest, err := deliverable.Pick([]*deliverable.Spec{make("1.0.0-rc"), make("1.0.0"), make("0.9")}, deliverable.Ref{Slug: "report"})
	if err != nil || newest.Version != "1.0.0" {
		t.Errorf("newest %+v, %v", newest, err)
	}
}

// What is read and written again is the same contract.
func TestWrittenAgain(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{slug: a, kind: response-only, outputContract: {mode: response-only}}", twoFiles, pages, repo, any,
	} {
		first := parse(t, text)
		once, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		second := parse(t, string(once))
		twice, err := json.Marshal(second)
		if err != nil || string(once) != string(twice) {
			t.Errorf("%s\n%s\n%v", once, twice, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, text := range []string{twoFiles, pages, repo, any, `{"slug":"a","kind":"json-schema","outputContract":{"mode":"response-only"},"contentSchema":{"$ref":"#"}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := deliverable.Load("spec.yaml", []byte(text))
		if err != nil {
			if codeOf(err) == "" {
				t.Errorf("an error without a code: %v", err)
			}
			return
		}
		if v := s.Judge(deliverable.Harvest{}); v.Accepted() && s.Contract.Mode == deliverable.ModeResponse {
			t.Error("nothing was accepted as an answer")
		}
		s.Instructions()
	})
}
