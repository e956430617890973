package verification_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// TestName: a check is told by its label, and where it has none by what it does.
func TestName(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]verification.Check{
		"make test | tee log": {Label: "make test | tee log", Command: "/usr/bin/bash", Args: []string{"-o", "pipefail", "-c", "--", "make test | tee log"}},
		"go vet ./...":        {Key: "vet", Command: "go", Args: []string{"vet", "./..."}},
		"a | b":               {CommandLine: "a | b"},
		"file x":              {File: &verification.FileCheck{Path: "x"}},
		"notes are there":     {Label: "notes are there", File: &verification.FileCheck{Path: "x"}},
		"json x":              {JSON: &verification.JSONCheck{Path: "x"}},
		"clean work tree":     {Clean: &verification.CleanCheck{}},
	} {
		if got := c.Name(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	labelled := verification.Check{Label: "unit", Command: "go", Args: []string{"test"}}
	if got := labelled.Text(); got != "go test" {
		t.Errorf("the text is %q", got)
	}
}

// TestLabelled: reasons and reports tell a check by its label.
func TestLabelled(t *testing.T) {
	t.Parallel()
	c := verification.Check{Label: "make test", Command: "/usr/bin/bash", Args: []string{"-c", "--", "make test"}}
	r := verification.Receipt{Commands: []verification.Evidence{{Check: c, State: verification.StateFailed, Reason: "exit code 2", ExitCode: 2}}}
	r.Judge("")
	shown, _ := verification.Report(r.Commands)
	if r.State != workflow.ReceiptInvalid || r.Reason != "make test: exit code 2" || shown[0].Check != "make test" || !strings.HasPrefix(r.Summary(), `check "make test"`) {
		t.Errorf("%q, %+v, %q", r.Reason, shown[0], r.Summary())
	}
}
