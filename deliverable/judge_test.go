package deliverable_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/deliverable"
)

func harvestOf(pairs ...string) deliverable.Harvest {
	h := deliverable.Harvest{}
	for i := 0; i < len(pairs); i += 2 {
		h.Files = append(h.Files, deliverable.File{Path: pairs[i], Data: []byte(pairs[i+1]), Size: int64(len(pairs[i+1]))})
	}
	return h
}

func reasons(faults []deliverable.Fault) string {
	var out []string
	for _, f := range faults {
		at := f.Path
		if f.Pointer != "" {
			at += "#" + f.Pointer
		}
		out = append(out, strings.TrimSpace(string(f.Reason)+" "+at))
	}
	return strings.Join(out, "\n")
}

const (
	twoFiles = `{slug: a, kind: json-schema, contentSchema: {type: object, required: [n]}, outputContract: {mode: workspace-files, files: [
  {canonicalPath: extra.json, required: false}, {canonicalPath: a.json, fallbackPaths: [b.json, c.json]}, {canonicalPath: n.md, required: false}]}}`
	pages = `{slug: p, kind: document, outputContract: {mode: workspace-files, multiPage: {manifestPath: pages.json, pagePathTemplate: "p/<slug>.md", pages: [{slug: one}, {slug: two}]}}}`
	repo  = `{slug: r, kind: custom, outputContract: {mode: workspace-files, targetSlot: {kind: repos, repoSlug: app}, files: [{canonicalPath: cmd/main.go}, {canonicalPath: empty.txt}]}}`
	any   = `{slug: c, kind: custom, outputContract: {mode: workspace-files}, rules: {maxArtifactCount: 2}}`
)

func TestJudge(t *testing.T) {
	t.Parallel()
	listed := func(h deliverable.Harvest, paths ...string) deliverable.Harvest {
		h.Indexed, h.Listed = true, paths
		return h
	}
	pipe := deliverable.Harvest{Refused: []deliverable.Refusal{{Path: "n.md", Reason: deliverable.MissingFile, Detail: "is a named pipe"}}}
	pipe.Files = harvestOf("a.json", `{"n": 1}`).Files
	astray := deliverable.Harvest{Elsewhere: map[string]string{"p/one.md": "repos/app/p/one.md"}}
	for name, c := range map[string]struct {
		spec    string
		harvest deliverable.Harvest
		want    string
		warns   string
	}{
		"right":                       {twoFiles, harvestOf("a.json", `{"n": 1}`), "", ""},
		"the fallback":                {twoFiles, harvestOf("a.json", `{}`, "c.json", `{"n": 1}`), "", "c.json was taken in place of a.json"},
		"the first of wrong ones":     {twoFiles, harvestOf("a.json", `{}`, "b.json", `[]`), "SCHEMA_VIOLATION a.json", ""},
		"nothing":                     {twoFiles, harvestOf(), "MISSING_FILE a.json", ""},
		"a wrong optional file":       {twoFiles, harvestOf("a.json", `{"n": 1}`, "extra.json", "{"), "MALFORMED_JSON extra.json", ""},
		"an optional pipe":            {twoFiles, pipe, "MISSING_FILE n.md", ""},
		"an empty optional text":      {twoFiles, harvestOf("a.json", `{"n": 1}`, "n.md", " \n"), "MISSING_FILE n.md", ""},
		"twice the same key":          {twoFiles, harvestOf("a.json", `{"n": 1, "n": 2}`), "MALFORMED_JSON a.json", ""},
		"words behind":                {twoFiles, harvestOf("a.json", `{"n": 1} done`), "MALFORMED_JSON a.json", ""},
		"cut off":                     {twoFiles, harvestOf("a.json", `{"n": [1`), "MALFORMED_JSON a.json", ""},
		"deep":                        {twoFiles, harvestOf("a.json", strings.Repeat("[", 600)+strings.Repeat("]", 600)), "MALFORMED_JSON a.json", ""},
		"not UTF-8":                   {twoFiles, harvestOf("a.json", "\"\xff\""), "MALFORMED_JSON a.json", ""},
		"listed and not there":        {twoFiles, listed(harvestOf("a.json", `{"n": 1}`), "a.json", "more.txt"), "MISSING_FILE more.txt", ""},
		"not listed":                  {twoFiles, listed(harvestOf("a.json", `{"n": 1}`)), "", "a.json is not in manifest.json"},
		"all pages":                   {pages, harvestOf("p/one.md", "x", "p/two.md", "y", "pages.json", "[]"), "", ""},
		"a page missing, one empty":   {pages, harvestOf("p/two.md", "\n", "pages.json", "[]"), "MISSING_PAGE p/one.md\nMISSING_PAGE p/two.md", ""},
		"a page elsewhere":            {pages, astray, "MISSING_FILE pages.json\nWRONG_TARGET_SLOT p/one.md\nMISSING_PAGE p/two.md", ""},
		"an empty file of a program":  {repo, harvestOf("cmd/main.go", "x", "empty.txt", ""), "", ""},
		"any file":                    {any, harvestOf("x", "y"), "", ""},
		"no file":                     {any, harvestOf(), "MISSING_FILE", ""},
		"too many":                    {any, harvestOf("x", "1", "y", "2", "z", "3"), "SCHEMA_VIOLATION", ""},
		"a fault of the harvest wins": {twoFiles, deliverable.Harvest{Faults: []deliverable.Fault{{Reason: deliverable.HarvestError}, {Reason: deliverable.MalformedJSON}}}, "HARVEST_ERROR", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := parse(t, c.spec).Judge(c.harvest)
			if got := reasons(v.Faults); got != c.want {
				t.Errorf("faults %q, want %q: %v", got, c.want, v.Faults)
			}
			if c.warns != "" && !strings.Contains(strings.Join(v.Warnings, "\n"), c.warns) {
				t.Errorf("warnings %q, want %q", v.Warnings, c.warns)
			}
		})
	}
}

func TestJudgeResponse(t *testing.T) {
	t.Parallel()
	text := "{slug: a, kind: response-only, outputContract: {mode: response-only}}"
	json := "{slug: a, kind: json-schema, contentSchema: {type: object, required: [n]}, outputContract: {mode: response-only}}"
	for _, c := range []struct{ spec, text, want, value string }{
		{text, "done", "", ""},
		{text, " \n", "EMPTY_RESPONSE", ""},
		{json, "", "EMPTY_RESPONSE", ""},
		{json, "Here it is:\n```json\n{\"n\": 1}\n```\n", "", `{"n": 1}`},
		{json, `{"m": 1}`, "SCHEMA_VIOLATION", ""},
		{json, "I could not do it.", "MALFORMED_JSON", ""},
	} {
		v := parse(t, c.spec).Judge(deliverable.Harvest{Text: c.text})
		if got := reasons(v.Faults); got != c.want || string(v.Content.Value) != c.value || v.Content.Text != c.text {
			t.Errorf("%q: %q, %+v", c.text, got, v.Content)
		}
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	s := load(t, "close-report.json")
	good := s.Judge(harvestOf("close.json", `{"entity":"IT01","balanced":true}`))
	bad := s.Judge(harvestOf("close.json", `{"entity":"IT01","balanced":"yes"}`))
	broken := s.Judge(deliverable.Harvest{Faults: []deliverable.Fault{{Reason: deliverable.HarvestError, Message: "reading it: input/output error"}}})
	for name, c := range map[string]struct {
		policy string
		seen   []deliverable.Verdict
		want   string
	}{
		"right at once":              {"", []deliverable.Verdict{good}, "accept"},
		"mended":                     {"", []deliverable.Verdict{bad, good}, "correct accept"},
		"not mended":                 {"", []deliverable.Verdict{bad, bad}, "correct fail"},
		"policy fail":                {deliverable.PolicyFail, []deliverable.Verdict{bad}, "fail"},
		"policy continue":            {deliverable.PolicyContinue, []deliverable.Verdict{bad}, "continue"},
		"harvest comes back":         {"", []deliverable.Verdict{broken, broken, good}, "retry-harvest retry-harvest accept"},
		"harvest costs no turn":      {"", []deliverable.Verdict{broken, bad, broken, good}, "retry-harvest correct retry-harvest accept"},
		"harvest never comes":        {"", []deliverable.Verdict{broken, broken, broken, broken}, "retry-harvest retry-harvest retry-harvest fail"},
		"never comes, goes on":       {deliverable.PolicyContinue, []deliverable.Verdict{broken, broken, broken, broken}, "retry-harvest retry-harvest retry-harvest continue"},
		"a turn has its own retries": {"", []deliverable.Verdict{broken, broken, broken, bad, broken, broken, broken, broken}, "retry-harvest retry-harvest retry-harvest correct retry-harvest retry-harvest retry-harvest fail"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var state deliverable.State
			var got []string
			for _, v := range c.seen {
				step := s.Next(state, c.policy, v)
				got, state = append(got, string(step.Action)), step.State
				if step.Proven != (step.Action == deliverable.Accept) {
					t.Errorf("%s says proven %v", step.Action, step.Proven)
				}
				if (step.Action == deliverable.RetryHarvest) != (step.Wait > 0) {
					t.Errorf("%s waits %v", step.Action, step.Wait)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("steps %q, want %q", got, c.want)
			}
		})
	}
}

// Whatever is seen, there is at most one correction, an end that is not accepted
// is unproven, and the machine ends.
func TestStepsEnd(t *testing.T) {
	t.Parallel()
	s := load(t, "close-report.json")
	kinds := []deliverable.Verdict{
		{}, {Faults: []deliverable.Fault{{Reason: deliverable.MissingFile}}}, {Faults: []deliverable.Fault{{Reason: deliverable.HarvestError}}},
	}
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]string{"", deliverable.PolicyCorrect, deliverable.PolicyFail, deliverable.PolicyContinue}).Draw(t, "policy")
		var state deliverable.State
		corrections := 0
		for range 2 * deliverable.MaxHarvests {
			v := rapid.SampledFrom(kinds).Draw(t, "verdict")
			step := s.Next(state, policy, v)
			switch step.Action {
			case deliverable.Correct:
				corrections++
			case deliverable.RetryHarvest:
				if !v.Mechanical() {
					t.Fatal("harvests again without a fault of the harvest")
				}
			case deliverable.Accept:
				if !v.Accepted() {
					t.Fatal("accepts faults")
				}
				return
			default:
				if step.Proven || step.Message == "" || step.Code == "" {
					t.Fatalf("ends with %+v", step)
				}
				return
			}
			if corrections > 1 {
				t.Fatal("corrects twice")
			}
			state = step.State
		}
		t.Fatal("does not end")
	})
}

func TestMessages(t *testing.T) {
	t.Parallel()
	s := load(t, "close-report.json")
	first := s.Judge(harvestOf("close.json", `{"balanced":"yes"}`))
	second := s.Judge(harvestOf("close.json", "# Report"))
	step := s.Next(deliverable.State{}, "", first)
	golden(t, "correction.txt", step.Message)
	golden(t, "violation.txt", s.Next(step.State, "", second).Message+"\n")
	if got := parse(t, pages).Instructions(); !strings.Contains(got, "- p/one.md\n") {
		t.Errorf("instructions %s", got)
	}
	many := deliverable.Verdict{}
	for range 1000 {
		many.Faults = append(many.Faults, deliverable.Fault{Reason: deliverable.MissingFile, Path: "x", Message: strings.Repeat("long\n", 1000)})
	}
	if m := s.Correction(many); len(m) > 30_000 || !strings.Contains(m, "and 970 more") {
		t.Errorf("%d bytes for 1000 faults", len(m))
	}
}

func TestReview(t *testing.T) {
	t.Parallel()
	s := load(t, "close-report.json")
	wrong := harvestOf("close.json", `{}`)
	for _, c := range []struct {
		h                         deliverable.Harvest
		strictness, verdict, code string
	}{
		{harvestOf(), "", deliverable.Failed, deliverable.InsufficientArtifacts},
		{harvestOf(), deliverable.Standard, deliverable.Failed, deliverable.InsufficientArtifacts},
		{harvestOf(), deliverable.Lenient, deliverable.Warn, deliverable.InsufficientArtifacts},
		{harvestOf(), deliverable.Strict, deliverable.Failed, deliverable.InsufficientArtifacts},
		{wrong, "", deliverable.Failed, "SCHEMA_VIOLATION"},
		{wrong, deliverable.Lenient, deliverable.Warn, "SCHEMA_VIOLATION"},
		{harvestOf("close.json", `{"entity":"IT01","balanced":true}`), "", deliverable.Pass, ""},
	} {
		r := s.Review(c.h, c.strictness)
		code := ""
		if len(r.Issues) > 0 {
			code = r.Issues[0].Code
		}
		if r.Verdict != c.verdict || code != c.code {
			t.Errorf("%s: %+v", c.strictness, r)
		}
	}
	noted := harvestOf("close.json", `{"entity":"IT01","balanced":true}`)
	noted.Warnings = []string{"odd"}
	if got := s.Review(noted, "").Verdict + s.Review(noted, deliverable.Strict).Verdict; got != "warnfail" {
		t.Errorf("a warning gives %s", got)
	}
	if r := parse(t, any).Review(harvestOf("1", "", "2", "", "3", ""), ""); r.Issues[0].Code != deliverable.ExcessArtifacts {
		t.Errorf("report %+v", r)
	}
}

func FuzzJudge(f *testing.F) {
	s := load(f, "close-report.json")
	for _, seed := range []string{`{"entity":"a","balanced":true}`, `{"a":{"b":[1,2,{}]},"a":1}`, "[", "", "null x", `"\ud800"`} {
		f.Add(seed)
	}
	loose := parse(f, "{slug: a, kind: structured-json, outputContract: {mode: workspace-files, files: [{canonicalPath: a.json}]}}")
	f.Fuzz(func(t *testing.T, text string) {
		if loose.Judge(harvestOf("a.json", text)).Accepted() && !json.Valid([]byte(text)) {
			t.Errorf("%q was taken for JSON", text)
		}
		v := s.Judge(harvestOf("close.json", text))
		if !v.Accepted() {
			return
		}
		var report struct{ Balanced *bool }
		if err := json.Unmarshal([]byte(text), &report); err != nil || report.Balanced == nil {
			t.Errorf("accepted %q: %v", text, err)
		}
	})
}
