package implementation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// TestOutcome is the whole table: what each phase says when it wants another.
func TestOutcome(t *testing.T) {
	t.Parallel()
	wanted := []string{phaseArchitect, phaseDeveloper, phaseFixer, phaseVerify, phaseReviewer, phaseArchive, done, ""}
	for phase, want := range map[string]string{
		phaseArchitect: "replan next rejected reverify rereview failed failed failed",
		phaseDeveloper: "replan incomplete rejected next rereview failed failed failed",
		phaseFixer:     "replan incomplete rejected next rereview failed failed failed",
		phaseVerify:    "replan incomplete rejected reverify next failed failed failed",
		phaseReviewer:  "replan incomplete rejected reverify rereview next failed failed",
		phaseApproval:  "replan incomplete rejected reverify rereview next failed failed",
		phaseArchive:   "replan incomplete rejected reverify rereview failed next failed",
	} {
		var got []string
		for _, w := range wanted {
			got = append(got, outcome(phase, w))
		}
		if line := strings.Join(got, " "); line != want {
			t.Errorf("%s: %s, want %s", phase, line, want)
		}
	}
	if len(phases) != len(successors) {
		t.Errorf("%d phases, %d successors", len(phases), len(successors))
	}
}

func failing(output string) verification.Receipt {
	return verification.Receipt{Commands: []verification.Evidence{
		{Check: verification.Check{RepositoryID: "repo", Command: "test"}, State: verification.StateFailed, Output: output},
	}}
}

func TestSignature(t *testing.T) {
	t.Parallel()
	base := signature(failing("--- FAIL: TestA (0.01s)\n/home/a/x_test.go:14: got 3, want 4 at 0xc0001234\ncommit deadbeef01"))
	for name, tc := range map[string]struct {
		output string
		same   bool
	}{
		"numbers and places": {"--- FAIL: TestA (2.50s)\n/tmp/b/c/x_test.go:99: got 7, want 4 at 0xc0ffee\ncommit 0123abcd99", true},
		"colours and space":  {"\x1b[31m--- FAIL:\x1b[0m TestA (0.01s)\n\n  /home/a/x_test.go:14: got 3,  want 4 at 0xc0001234\ncommit deadbeef01\n", true},
		"another test":       {"--- FAIL: TestB (0.01s)\n/home/a/x_test.go:14: got 3, want 4 at 0xc0001234\ncommit deadbeef01", false},
		"another end":        {"--- FAIL: TestA (0.01s)\n/home/a/x_test.go:14: lost 3, want 4 at 0xc0001234\ncommit deadbeef01", false},
	} {
		if got := signature(failing(tc.output)) == base; got != tc.same {
			t.Errorf("%s: the same is %t", name, got)
		}
	}
	long := strings.Repeat("line\n", maxTail)
	if signature(failing("one start\n"+long)) != signature(failing("two starts\n"+long)) {
		t.Error("more than the end counts")
	}
	other := failing("x")
	other.Commands[0].Check.Command = "lint"
	if signature(failing("x")) == signature(other) || signature(verification.Receipt{Reason: "a"}) == signature(verification.Receipt{Reason: "b"}) {
		t.Error("different failures have one signature")
	}
}

// TestFailureCount: what is known of how much failed.
func TestFailureCount(t *testing.T) {
	t.Parallel()
	r := failing("ERROR in a.ts\nFound 120 errors in 5 files.")
	r.Commands = append(r.Commands, failing("9 failed, 3 passed in 1.2s").Commands...)
	r.Commands = append(r.Commands, verification.Evidence{State: verification.StatePassed, Output: "7 failed"})
	if f := failureOf(r); f.count != 129 || f.signature != signature(r) {
		t.Errorf("%+v", f)
	}
}

// TestWindow has each rule end a series of corrections.
func TestWindow(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		events string // fails, each MARK:SIGNATURE[=COUNT], of a review with a star; + is a pass
		why    string // of the last one
	}{
		"survives two":             {"1:a 2:a 3:a", "same failure"},
		"survives one":             {"1:a 2:a", ""},
		"fewer each time":          {"1:a=200 2:a=120 3:a=60 4:a=59", ""},
		"as many three times":      {"1:a=9 2:a=5 3:a=5 4:a=5", "same failure"},
		"more is no progress":      {"1:a=5 2:a=9 3:a=8", "same failure"},
		"to and fro":               {"1:a=9 2:a=5 3:a=9 4:a=5", "same failure"},
		"fewer after a pass":       {"1:a=1 2:a=1 + 3:a=5 4:a=5", ""},
		"another between":          {"1:a 2:a 3:b 4:a 5:a", ""},
		"fixed between":            {"1:a 2:a + 3:a 4:a", ""},
		"brought back by a review": {"1:a + *2:a", "brought back"},
		"brought back otherwise":   {"1:a + 2:a", ""},
		"a new one of a review":    {"1:a + *2:b", ""},
		"open is not fixed":        {"1:a 2:b *3:a", ""},
	} {
		var w window
		why := ""
		for _, e := range strings.Fields(tc.events) {
			if e == "+" {
				w.pass()
				continue
			}
			origin := fromChecks
			if strings.HasPrefix(e, "*") {
				origin = fromReview
			}
			m, sig, _ := strings.Cut(strings.TrimPrefix(e, "*"), ":")
			sig, count, _ := strings.Cut(sig, "=")
			n, _ := strconv.Atoi(count)
			why = w.fail(m, failure{signature: sig, count: n}, origin)
			if w.same(m) == "" || w.same("never") != "" {
				t.Errorf("%s: failed files are not known again", name)
			}
		}
		if (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s: %q, want %q", name, why, tc.why)
		}
	}
}

// TestWindowEnds has any series without a pass over few signatures be bounded.
func TestWindowEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var w window
		same := 0
		last := ""
		for i := range 50 {
			sig := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "signature")
			if sig == last {
				same++
			} else {
				last, same = sig, 1
			}
			if why := w.fail(fmt.Sprint(i), failure{signature: sig}, fromChecks); (why != "") != (same > maxSurvived) {
				rt.Fatalf("%d times the same: %q", same, why)
			}
		}
		if len(w.Failed) > maxRemember || len(w.Open) > 2 {
			rt.Fatalf("%d marks, %d signatures", len(w.Failed), len(w.Open))
		}
	})
}

// TestFloors has no policy lower a floor.
func TestFloors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		number := rapid.Float64Range(0, 100)
		p, r := policy{MinScore: number.Draw(rt, "least"), Aspects: map[string]float64{}}, reviewReply{Score: number.Draw(rt, "score"), Aspects: map[string]float64{}}
		below := r.Score < floorScore || r.Score < p.MinScore
		for name, floor := range floors {
			p.Aspects[name], r.Aspects[name] = number.Draw(rt, name), number.Draw(rt, name)
			below = below || r.Aspects[name] < floor || r.Aspects[name] < p.Aspects[name]
		}
		if got := len(p.short(r)) > 0; got != below {
			rt.Fatalf("below %t, found %t: %v", below, got, p.short(r))
		}
	})
	if short := (*policy)(nil).short(reviewReply{Score: 100}); len(short) != len(floors) {
		t.Errorf("missing aspects: %v", short)
	}
}

// TestUnfit accepts a list of certificates only with each criterion once.
func TestUnfit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-f]`), 1, 4, rapid.ID).Draw(rt, "criteria")
		var criteria []criterion
		for _, id := range ids {
			criteria = append(criteria, criterion{ID: id})
		}
		var given []certificate
		for _, id := range rapid.SliceOfN(rapid.StringMatching(`[a-f]`), 0, 6).Draw(rt, "given") {
			given = append(given, certificate{ID: id, Status: statusMet, Evidence: "e"})
		}
		fits := len(given) == len(ids)
		for _, id := range ids {
			fits = fits && slices.ContainsFunc(given, func(c certificate) bool { return c.ID == id })
		}
		if got := len(unfit(criteria, given)) == 0; got != fits {
			rt.Fatalf("%v for %v: fits %t", given, ids, got)
		}
	})
	if unfit([]criterion{{ID: "a"}}, []certificate{{ID: "a", Status: statusMet}}) == nil {
		t.Error("a certificate needs no evidence")
	}
}

// TestBond has every part of an acceptance change its digest.
func TestBond(t *testing.T) {
	t.Parallel()
	digest := func(change func(*bond)) string {
		b := bond{Change: "c", Scope: "s", Candidate: "x", Artifacts: "a", Plan: "p", Checks: "k", Confidence: "high",
			Criteria: []criterion{{ID: "1", Text: "t"}}, Given: []certificate{{ID: "1", Status: statusMet, Evidence: "e"}}}
		change(&b)
		d, err := b.digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	seen := map[string]bool{digest(func(*bond) {}): true}
	for i, change := range []func(*bond){
		func(b *bond) { b.Change += "." }, func(b *bond) { b.Scope += "." }, func(b *bond) { b.Candidate += "." }, func(b *bond) { b.Artifacts += "." },
		func(b *bond) { b.Plan += "." }, func(b *bond) { b.Checks += "." }, func(b *bond) { b.Confidence += "." }, func(b *bond) { b.Criteria[0].Text += "." },
		func(b *bond) { b.Given[0].Status = statusException }, func(b *bond) { b.Given[0].Evidence += "." }, func(b *bond) { b.Given[0].Accepted = "eve" },
	} {
		d := digest(change)
		if seen[d] {
			t.Errorf("change %d is not seen", i)
		}
		seen[d] = true
	}
}

func TestDerivedNames(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string]bool{"": true, "implement#1": false, "work#1/0": false, "work#1/0/implement#1": false} {
		if got := atRoot(scope, ""); got != want {
			t.Errorf("a step in %q by hand: at the root is %t", scope, got)
		}
	}
	if !atRoot("implement#1", Kind) || atRoot("work#1/implement#1", Kind) || atRoot("work#1/0/implement#1", Kind) {
		t.Error("the body of an implementation is at the root where the implementation is")
	}
	long := strings.Repeat("ab-", 21) + "c" // 64
	for _, change := range []string{"add-x", long} {
		a, b := derived(change, "work#1/0/implement#1"), derived(change, "work#1/1/implement#1")
		if a == b || len(a) > maxName || !strings.HasPrefix(a, change[:5]) || strings.Contains(a, "--") || derived(change, "work#1/0/implement#1") != a {
			t.Errorf("%q and %q", a, b)
		}
	}
}

func TestInstances(t *testing.T) {
	t.Parallel()
	launch := workflow.Launch{
		Change:  "add-x",
		Tickets: workflow.Inline(json.RawMessage(`[{"id":"T1","title":"one","criteria":["a","b"]},{"id":"T2","title":"two"}]`)),
		Specs:   workflow.Inline(json.RawMessage(`[{"path":"s.md","text":"spec"}]`)),
	}
	repositories := []workflow.RepositoryInfo{{ID: "repo"}, {ID: "lib"}}
	checks := []workflow.Check{{RepositoryID: "repo", Command: "a"}, {RepositoryID: "lib", Command: "b"}}
	for _, tc := range []struct{ name, scope, item, change, repos, criteria, code string }{
		{"root", "implement#1", "", "add-x", "repo lib", "T1/1 T1/2 T2", ""},
		{"component", "work#1/implement#1", "", "add-x-*", "repo lib", "T1/1 T1/2 T2", ""},
		{"ticket", "work#1/0/implement#1", `{"id":"T1","title":"one","criteria":["a","b"]}`, "add-x-*", "repo lib", "T1/1 T1/2", ""},
		{"ticket by its id", "work#1/0/implement#1", `"T2"`, "add-x-*", "repo lib", "T2", ""},
		{"repository", "work#1/0/implement#1", `{"id":"lib","path":"."}`, "add-x-*", "lib", "T1/1 T1/2 T2", ""},
		{"something else", "work#1/0/implement#1", `{"name":"T1"}`, "", "", "", "implementation_item_scope"},
		{"a number", "work#1/0/implement#1", `7`, "", "", "", "implementation_item_scope"},
	} {
		c := &piecetest.Context{F: piece.Frame{Scope: tc.scope, Launch: launch, Repositories: repositories, Checks: checks, Setup: checks}}
		if tc.item != "" {
			c.F.Context.Item = &workflow.Item{Value: workflow.Inline(json.RawMessage(tc.item))}
		}
		in, err := instanceOf(c, stepParams{Within: Kind})
		if string(workflow.CodeOf(err)) != tc.code && (err != nil || tc.code != "") {
			t.Errorf("%s: %v", tc.name, err)
		}
		if tc.code != "" {
			continue
		}
		criteria, err := in.criteria()
		if err != nil {
			t.Fatal(err)
		}
		var ids, repos []string
		for _, c := range criteria {
			ids = append(ids, c.ID)
		}
		for _, r := range in.repositories {
			repos = append(repos, r.ID)
		}
		prefix, isPrefix := strings.CutSuffix(tc.change, "*")
		if strings.Join(ids, " ") != tc.criteria || strings.Join(repos, " ") != tc.repos || !strings.HasPrefix(in.change, prefix) || !isPrefix && in.change != prefix {
			t.Errorf("%s: change %s, criteria %v, repositories %v", tc.name, in.change, ids, repos)
		}
		if len(in.checks) != len(repos) || len(in.setup) != len(repos) || in.root != (tc.name == "root") {
			t.Errorf("%s: %d checks, at the root %t", tc.name, len(in.checks), in.root)
		}
	}
}

func TestCriteria(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   instance
		want string
		code workflow.Code
	}{
		"nothing": {instance{change: "add-x"}, "add-x", ""},
		"specs":   {instance{specs: []spec{{Path: "a.md"}, {Path: "b.md"}}}, "a.md b.md", ""},
		"no id":   {instance{tickets: []ticket{{Title: "one"}, {Title: "two"}}}, "ticket-1 ticket-2", ""},
		"twice":   {instance{tickets: []ticket{{ID: "a"}, {ID: "a"}}}, "", workflow.CodeInvalidArguments},
		"many":    {instance{tickets: []ticket{{ID: "a", Criteria: make([]string, maxCriteria+1)}}}, "", workflow.CodeInvalidArguments},
	} {
		got, err := tc.in.criteria()
		if err != nil && workflow.CodeOf(err) != tc.code || err == nil && tc.code != "" {
			t.Errorf("%s: %v", name, err)
		}
		var ids []string
		for _, c := range got {
			ids = append(ids, c.ID)
		}
		if strings.Join(ids, " ") != tc.want {
			t.Errorf("%s: %v", name, ids)
		}
	}
}

// FuzzNormal has no number of an output survive, and only its end.
func FuzzNormal(f *testing.F) {
	for _, s := range []string{"", "ok 1.5s", "/a/b.go:12: 0xff\n\x1b[31mred\x1b[0m", "C:\\x\\y 7f3a9b", strings.Repeat("l\n", 50), "\xff\x00 9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := normal(s)
		if strings.ContainsAny(got, "0123456789") || strings.Count(got, "\n") >= maxTail || got != normal(s+"\n\n") {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}
