package implementation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/workflow"
)

// TestPublishedImplementation runs the published definition: green, repaired,
// never fixed, and never approved.
func TestPublishedImplementation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		passing func(int) bool
		score   func(int) int
		status  workflow.Status
		roles   string
	}{
		{"green", nil, nil, workflow.StatusSucceeded, "architect developer reviewer"},
		{"repaired", func(tree int) bool { return tree > 1 }, nil, workflow.StatusSucceeded, "architect developer developer reviewer"},
		{"never fixed", func(int) bool { return false }, nil, workflow.StatusFailed, "architect developer developer developer"},
		{"reviewed twice", nil, func(n int) int { return 60 + 20*n }, workflow.StatusSucceeded, "architect developer reviewer developer reviewer"},
		{"never approved", nil, func(int) int { return 10 }, workflow.StatusFailed, "architect developer reviewer developer reviewer developer reviewer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tm := assemble(t)
			if tc.passing != nil {
				tm.passing = tc.passing
			}
			if tc.score != nil {
				tm.score = tc.score
			}
			res := tm.run(tm.published("implementation", "", ""), "")
			want(t, res, tc.status)
			if got := tm.roles(); got != tc.roles {
				t.Errorf("asked %s, want %s", got, tc.roles)
			}
			done := slices.Contains(tm.visits, "implement/archive")
			if done != (tc.status == workflow.StatusSucceeded) || tc.status == workflow.StatusFailed && !slices.Contains(tm.visits, "implement/rejected") {
				t.Errorf("visited %v", tm.visits)
			}
		})
	}
}

// TestPublishedComponent proves the whole with its own verification: what is
// inside of the component certifies nothing.
func TestPublishedComponent(t *testing.T) {
	t.Parallel()
	tm := assemble(t)
	want(t, tm.run(tm.published("implementation-component", "", ""), ""), workflow.StatusSucceeded)
	if got := tm.roles(); got != "architect developer reviewer" {
		t.Errorf("asked %s", got)
	}
	for _, e := range tm.receipt {
		if inner := !strings.HasPrefix(e.Receipt, "rc-verify"); inner != (e.Scope == workflow.ReceiptScoped) {
			t.Errorf("receipt %+v", e)
		}
	}
	tm = assemble(t) // and without it nothing is proven
	w := tm.published("implementation-component", `"next": "verify"`, `"next": "done"`)
	want(t, tm.run(w, ""), workflow.StatusUnproven)
}

// TestPublishedBatch implements two tickets, each as a work of its own.
func TestPublishedBatch(t *testing.T) {
	t.Parallel()
	tm := assemble(t)
	w := tm.published("batch-implementation", `"concurrency": 2`, `"concurrency": 1`)
	want(t, tm.run(w, `[{"id":"T1","title":"one"},{"id":"T2","title":"two","criteria":["a","b"]}]`), workflow.StatusSucceeded)
	if got := tm.roles(); got != "architect developer reviewer architect developer reviewer" {
		t.Errorf("asked %s", got)
	}
	first, second := tm.turns[2].Prompt, tm.turns[5].Prompt
	contains(t, first, "- T1: one", "add-x-")
	contains(t, second, "- T2/1: a", "- T2/2: b", "add-x-")
	if strings.Contains(first, "T2") || strings.Contains(second, "T1") {
		t.Error("a work is told of the other's ticket")
	}
}

// TestBatchAtOnce implements tickets side by side in one work tree.
func TestBatchAtOnce(t *testing.T) {
	t.Parallel()
	tm := assemble(t)
	want(t, tm.run(tm.published("batch-implementation", "", ""), `[{"id":"T1","title":"one"},{"id":"T2","title":"two"}]`), workflow.StatusSucceeded)
	if d := tm.count("developer"); d != 2 {
		t.Errorf("%d developers' turns", d)
	}
}

// TestApprovedRun waits for the approval before the archive, and is denied it.
func TestApprovedRun(t *testing.T) {
	t.Parallel()
	for _, deny := range []bool{false, true} {
		tm := assemble(t)
		res := tm.run(tm.published("implementation", `"approvalBeforeArchive": false`, `"approvalBeforeArchive": true, "attempts": 5`), "")
		want(t, res, workflow.StatusWaiting)
		if len(res.Questions) != 1 || res.Questions[0].Node != "implement/approval" {
			t.Fatalf("questions %+v", res.Questions)
		}
		answer := &engine.AnswerControl{Question: res.Questions[0].ID, Denied: deny}
		if !deny {
			answer.Value = json.RawMessage("true")
		}
		if err := tm.engine.Send(t.Context(), res.Run, engine.Control{By: "eve", Answer: answer}); err != nil {
			t.Fatal(err)
		}
		res, err := tm.engine.Drive(t.Context(), res.Run, "eve")
		if err != nil {
			t.Fatal(err)
		}
		status := workflow.StatusSucceeded
		if deny {
			status = workflow.StatusFailed
		}
		want(t, res, status)
		if got := tm.roles(); got != "architect developer reviewer" {
			t.Errorf("asked %s", got)
		}
	}
}

// TestInterrupted stops the run while each role works, and goes on: nothing that
// was answered is asked again.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"architect", "developer", "reviewer"} {
		tm := assemble(t)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		tm.before = func(now string) {
			if now == role {
				stop()
			}
		}
		res, err := tm.engine.Start(ctx, tm.launch(tm.published("implementation", "", ""), ""))
		if err != nil {
			t.Fatal(err)
		}
		want(t, res, workflow.StatusInterrupted)
		tm.before = nil
		if res, err = tm.engine.Drive(t.Context(), res.Run, "eve"); err != nil {
			t.Fatal(err)
		}
		want(t, res, workflow.StatusSucceeded)
		if got := tm.roles(); got != "architect developer reviewer" {
			t.Errorf("stopped at the %s: asked %s", role, got)
		}
	}
}

// TestByHand wires the steps in a graph of its own.
func TestByHand(t *testing.T) {
	t.Parallel()
	node := func(name, next string) string {
		return fmt.Sprintf(`%q:{"kind":"implementation-step","params":{"phase":%q},"ends":{"next":%q,"incomplete":"developer","rejected":"fixer","replan":"architect","reverify":"verify","rereview":"reviewer","failed":"bad"}}`, name, name, next)
	}
	nodes := []string{
		node("architect", "developer"), node("developer", "verify"), node("fixer", "verify"), node("verify", "reviewer"), node("reviewer", "archive"), node("archive", "good"),
		`"good":{"kind":"end","params":{"outcome":"success","requiresVerified":true},"ends":{}}`, `"bad":{"kind":"end","params":{"outcome":"failure"},"ends":{}}`,
	}
	tm := assemble(t)
	tm.passing = func(tree int) bool { return tree > 1 }
	w := tm.load(`{"schemaVersion":1,"id":"by-hand","title":"By hand","journal":"implementation","change":"new","maxTransitions":50,"roles":["architect","developer","reviewer"],
		"entry":"verify","nodes":{` + strings.Join(nodes, ",") + `}}`)
	want(t, tm.run(w, ""), workflow.StatusSucceeded)
	if got := tm.roles(); got != "architect developer developer reviewer" {
		t.Errorf("asked %s", got)
	}
}
