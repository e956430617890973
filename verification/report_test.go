package verification_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/verification"
)

func TestAnchors(t *testing.T) {
	t.Parallel()
	noise := strings.Repeat("downloading something of no interest\n", 5000)
	out := "src/app.ts(12,5): error TS2345: no\n" + noise + `--- FAIL: TestSum (0.00s)
    sum_test.go:9: got 4, want 5
` + noise + `Error: boom
    at run (/repo/src/app.js:10:3)
    at Module._compile (node:internal/modules/cjs/loader:1105:14)
    at x (/repo/node_modules/lib/index.js:1:1)
Expected: 5
Received: 4
error[E0308]: mismatched types
 --> src/main.rs:3:5
` + noise
	got := verification.Anchors(out)
	for _, want := range []string{"TS2345", "--- FAIL: TestSum", "got 4, want 5", "Error: boom", "/repo/src/app.js:10:3", "Expected: 5", "Received: 4", "E0308", "src/main.rs:3:5"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for _, bad := range []string{"downloading", "node:internal", "node_modules"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is in\n%s", bad, got)
		}
	}
	if strings.Index(got, "TS2345") > strings.Index(got, "TestSum") {
		t.Error("the order is lost")
	}
}

// TestAnchorsPreferFailures: when there is no room for all, names of failing tests
// stay.
func TestAnchorsPreferFailures(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&out, "    at f (/repo/src/app.js:%d:3)\n", i)
	}
	out.WriteString("--- FAIL: TestLast (0.00s)\n")
	got := verification.Anchors(out.String())
	if !strings.Contains(got, "TestLast") || utf8.RuneCountInString(got) > 6000 {
		t.Errorf("%d characters, ends in %q", utf8.RuneCountInString(got), got[max(0, len(got)-60):])
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 20_000)
	failing := verification.Evidence{ID: "f", Check: verification.Check{Command: "bad"}, State: verification.StateFailed, ExitCode: 1, Reason: "exit code 1",
		Anchors: "a.go:1:2: undefined: x\n" + strings.Repeat("b.go:1: again\n", 600), Output: long + "THE END", Truncated: true}
	passed := verification.Evidence{ID: "p", Check: verification.Check{Command: "good"}, State: verification.StatePassed, Output: "short"}
	shown, omitted := verification.Report([]verification.Evidence{passed, {State: verification.StateNotRun}, failing})
	if omitted != 0 || len(shown) != 3 || shown[0].Command != "bad" || shown[1].Command != "good" || shown[2].State != verification.StateNotRun {
		t.Fatalf("%d omitted, %+v", omitted, shown)
	}
	d := shown[0]
	if n := utf8.RuneCountInString(d.Output); n > 8000 || n < 7900 || !d.Truncated || !strings.HasPrefix(d.Output, "a.go:1:2: undefined") || !strings.HasSuffix(d.Output, "THE END") {
		t.Errorf("%d characters: %.80q … %q", n, d.Output, d.Output[len(d.Output)-20:])
	}
	if shown[1].Output != "short" || shown[1].Truncated {
		t.Errorf("%+v", shown[1])
	}
}

// TestReportBounds: whatever the evidence is, a report keeps its bounds.
func TestReportBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []verification.Evidence
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			unit := rapid.SampledFrom([]string{"x", "ä\n", "\"\\", "a.go:1: e\n", "\x1b[31m"}).Draw(t, "unit")
			all = append(all, verification.Evidence{
				State:   rapid.SampledFrom([]string{verification.StatePassed, verification.StateFailed, verification.StateNotRun}).Draw(t, "state"),
				Check:   verification.Check{Command: strings.Repeat("c", rapid.IntRange(0, 2000).Draw(t, "command"))},
				Output:  strings.Repeat(unit, rapid.IntRange(0, 32_000).Draw(t, "size")),
				Anchors: strings.Repeat(unit, rapid.IntRange(0, 6000).Draw(t, "anchors")),
			})
		}
		shown, omitted := verification.Report(all)
		raw, err := json.Marshal(shown)
		if err != nil || utf8.RuneCount(raw) > 64_000+2*len(all)+2 || omitted+len(shown) != len(all) {
			t.Fatalf("%d characters, %d shown, %d omitted, %v", utf8.RuneCount(raw), len(shown), omitted, err)
		}
		total := 0
		for _, d := range shown {
			n := utf8.RuneCountInString(d.Output)
			if total += n; n > 8000 {
				t.Fatalf("an output of %d characters", n)
			}
		}
		if total > 32_000 {
			t.Fatalf("%d characters of output", total)
		}
	})
}

func TestSummary(t *testing.T) {
	t.Parallel()
	r := receipt()
	r.Judge("")
	if got := r.Summary(); got != "2 checks passed" {
		t.Errorf("%q", got)
	}
	r.After = "c1:b"
	r.Judge("")
	if got := r.Summary(); !strings.Contains(got, "2 checks passed, and the receipt is invalid: the work tree changed") {
		t.Errorf("%q", got)
	}
	r.Commands[1].State, r.Commands[1].Reason, r.Commands[1].Output = verification.StateFailed, "exit code 1", "boom\n"
	if got := r.Summary(); got != "check \"b\": failed, exit code 1\nboom" {
		t.Errorf("%q", got)
	}
}
