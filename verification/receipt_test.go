package verification_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// receipt is one that Judge finds valid.
func receipt() verification.Receipt {
	return verification.Receipt{
		ID: verification.ReceiptID("run", "check#1", 1, 1), Run: "run", Visit: "check#1", Node: "check", Attempt: 1, Scope: workflow.ReceiptFull,
		State: workflow.ReceiptPending, Candidate: "c1:a", After: "c1:a", Environment: verification.Environment{Digest: "sha256:e", Keys: []string{"HOME", "PATH"}},
		Commands: []verification.Evidence{
			{ID: "1", Check: verification.Check{Command: "a"}, State: verification.StatePassed, EnvDigest: "sha256:e"},
			{ID: "2", Check: verification.Check{Command: "b", Env: map[string]string{"X": "y"}}, State: verification.StatePassed, EnvDigest: "sha256:other", EnvKeys: []string{"X"}},
		},
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(*verification.Receipt)
		stopped string
		reason  string // "" is valid
	}{
		"valid": {func(*verification.Receipt) {}, "", ""},
		"failed": {func(r *verification.Receipt) {
			r.Commands[1].State, r.Commands[1].Reason = verification.StateFailed, "exit code 1"
		}, "", "b: exit code 1"},
		"not run": {func(r *verification.Receipt) { r.Commands[1].State = verification.StateNotRun }, "", "not every check"},
		"setup": {func(r *verification.Receipt) {
			r.Setup = []verification.Evidence{{State: verification.StateBroken, Reason: "gone", Check: verification.Check{Command: "i"}}}
		}, "", "setup i: gone"},
		"moved":    {func(r *verification.Receipt) { r.After = "c1:b" }, "", "changed while"},
		"unknown":  {func(r *verification.Receipt) { r.After = "" }, "", "could not be hashed"},
		"deadline": {func(*verification.Receipt) {}, "time was up", "time was up"},
		"environment": {func(r *verification.Receipt) {
			r.Commands[0].EnvDigest, r.Commands[0].EnvKeys = "sha256:f", []string{"PATH", "NEW"}
		}, "", "added NEW; removed HOME"},
		"value":       {func(r *verification.Receipt) { r.Commands[0].EnvDigest = "sha256:f" }, "", "a value changed"},
		"no commands": {func(r *verification.Receipt) { r.Commands = nil }, "", ""},
	} {
		r := receipt()
		tc.change(&r)
		r.Judge(tc.stopped)
		if (r.State == workflow.ReceiptValid) != (tc.reason == "") || !strings.Contains(r.Reason, tc.reason) {
			t.Errorf("%s: %s, %q", name, r.State, r.Reason)
		}
	}
}

func TestCertifies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*verification.Receipt)
		want   bool
		scope  string
	}{
		"full":       {func(*verification.Receipt) {}, true, workflow.ReceiptFull},
		"scoped":     {func(r *verification.Receipt) { r.Scope = workflow.ReceiptScoped }, false, workflow.ReceiptScoped},
		"unverified": {func(r *verification.Receipt) { r.Unverified = []string{"lib"} }, false, workflow.ReceiptScoped},
		"empty":      {func(r *verification.Receipt) { r.Commands = nil }, false, workflow.ReceiptFull},
		"invalid":    {func(r *verification.Receipt) { r.After = "c1:b" }, false, workflow.ReceiptFull},
	} {
		r := receipt()
		tc.change(&r)
		if r.Certifies() {
			t.Errorf("%s: a pending receipt certifies", name)
		}
		r.Judge("")
		kept := r.Kept()
		if r.Certifies() != tc.want || kept.Certifies() != tc.want || kept.Scope != tc.scope || kept.Receipt != r.ID || kept.Commands != r.Passed() {
			t.Errorf("%s: %+v", name, kept)
		}
		back, err := verification.Parse(kept.Data.JSON)
		if err != nil || back.Digest() != r.Digest() || !json.Valid(kept.Data.JSON) {
			t.Errorf("%s: came back as %+v, %v", name, back, err)
		}
	}
	if _, err := verification.Parse(json.RawMessage(`[]`)); err == nil {
		t.Error("a list is a receipt")
	}
}

func TestReceiptID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, id := range []string{
		verification.ReceiptID("r", "a#1", 1, 1), verification.ReceiptID("r", "a#1", 1, 2), verification.ReceiptID("r", "a#1", 2, 1),
		verification.ReceiptID("r", "a#2", 1, 1), verification.ReceiptID("s", "a#1", 1, 1),
	} {
		if seen[id] || !strings.HasPrefix(id, "rc-") {
			t.Errorf("id %q", id)
		}
		seen[id] = true
	}
	if got := verification.ReceiptID("r", "a#1", 1, 1); got != "rc-d7b2ace19e257f27" { // kept in histories
		t.Errorf("the id is now %s", got)
	}
}
