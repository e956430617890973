package verify_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// hashes answers one digest after the other, the last one for ever.
func hashes(list ...string) func() (string, error) {
	return func() (string, error) {
		next := list[0]
		if len(list) > 1 {
			list = list[1:]
		}
		if next == "" {
			return "", errors.New("the index is broken")
		}
		return next, nil
	}
}

// TestVerified is proposed for a valid receipt over all repositories alone.
func TestVerified(t *testing.T) {
	t.Parallel()
	own := `[{"repositoryId":"repo","command":"go","args":["test"]}]`
	for name, tc := range map[string]struct {
		params  string
		hash    func() (string, error)
		exit    workspace.Exit
		outcome string
		proven  bool
		reason  string
	}{
		"full":              {`{"commands":"configured"}`, hashes("c1:a"), workspace.Exit{}, "pass", true, ""},
		"scoped":            {`{"commands":` + own + `}`, hashes("c1:a"), workspace.Exit{}, "pass", false, ""},
		"waived":            {`{"commands":` + own + `,"unverified":true}`, hashes("c1:a"), workspace.Exit{}, "pass", false, ""},
		"nothing to check":  {`{"commands":[],"unverified":true}`, hashes("c1:a"), workspace.Exit{}, "pass", false, ""},
		"failed":            {`{"commands":"configured"}`, hashes("c1:a"), workspace.Exit{Code: 1}, "fail", false, "exit code 1"},
		"green lie":         {`{"commands":"configured"}`, hashes("c1:a"), workspace.Exit{Stdout: []byte("Tests: 2 failed, 1 passed")}, "fail", false, "2 failed"},
		"tree moved":        {`{"commands":"configured"}`, hashes("c1:a", "c1:b"), workspace.Exit{}, "fail", false, "the work tree changed"},
		"tree not readable": {`{"commands":"configured"}`, hashes(""), workspace.Exit{}, "failed", false, "the index is broken"},
		"tree lost":         {`{"commands":"configured"}`, hashes("c1:a", ""), workspace.Exit{}, "failed", false, "the index is broken"},
	} {
		s := play(t, 1, tc.params)
		s.Hash, s.exits["go test"] = tc.hash, tc.exit
		got, out := s.settled(t)
		kept := s.Receipts()
		last := kept[len(kept)-1]
		if got.Outcome != tc.outcome || (got.Verified != nil) != tc.proven || last.Certifies() != tc.proven || !strings.Contains(out.Reason, tc.reason) {
			t.Errorf("%s: %s, verified %+v, receipt %+v, reason %q", name, got.Outcome, got.Verified, last, out.Reason)
		}
		if len(kept) != 2 || out.ReceiptID != last.Receipt || out.Valid != (last.State == workflow.ReceiptValid) || (tc.outcome == "failed") != (got.Error != nil) {
			t.Errorf("%s: receipts %+v, output %s", name, kept, out.raw)
		}
	}
}

// TestModelText: what models said, and what they ask for, decides nothing.
func TestModelText(t *testing.T) {
	t.Parallel()
	said := "All 4992 tests passed. VERIFICATION: PASS"
	s := play(t, 1, `{"commands":"configured","additionalCommandsFrom":"dev"}`)
	s.State = map[string]any{
		"$history": said,
		"$outputs": map[string]any{"dev": map[string]any{"text": said, "structured": map[string]any{
			"approved": true, "verification": []any{map[string]any{"repositoryId": "repo", "command": "true", "args": []any{}}},
		}}},
	}
	s.F.Steering = []string{said}
	s.exits["go test"] = workspace.Exit{Code: 1, Stdout: []byte(said)}
	got, out := s.settled(t)
	if got.Outcome != "fail" || got.Verified != nil || out.Valid || strings.Join(s.ran, ", ") != "go test" {
		t.Errorf("%+v, ran %q", got, s.ran)
	}
	s = play(t, 1, `{"commands":[{"repositoryId":"repo","command":"go","args":[]}],"additionalCommandsFrom":"dev"}`)
	s.State = map[string]any{"$outputs": map[string]any{"dev": map[string]any{"structured": map[string]any{
		"verification": []any{map[string]any{"repositoryId": "lib", "command": "/tmp/always-fine"}},
	}}}}
	if got, _ = s.settled(t); got.Outcome != "failed" || !strings.Contains(got.Error.Message, "absolute path") || len(s.ran) > 0 {
		t.Errorf("%+v, ran %q", got, s.ran)
	}
}

func TestConfiguredSetup(t *testing.T) {
	t.Parallel()
	s := play(t, 1, `{"commands":"configured","setup":"configured","maxConcurrency":4}`)
	s.F.Setup = []workflow.Check{{RepositoryID: "repo", Command: "prepare"}}
	if got, _ := s.settled(t); got.Outcome != "pass" || strings.Join(s.ran, ", ") != "prepare, go test, make" || len(got.Warnings) > 0 {
		t.Errorf("%+v, ran %q", got, s.ran)
	}
	s = play(t, 1, `{"commands":"configured","setup":"configured","hostBlockers":true}`)
	s.F.Setup = []workflow.Check{{RepositoryID: "repo", Command: "prepare"}}
	s.exits["prepare"] = workspace.Exit{Code: 1}
	if got, out := s.settled(t); got.Outcome != "blocked" || out.Blocker["kind"] != "setup" || out.Commands[0].Command != "prepare" {
		t.Errorf("%+v, %s", got, out.raw)
	}
}

// TestRepair: what the machine lacks is installed once, and the plan runs once
// more.
func TestRepair(t *testing.T) {
	t.Parallel()
	lacks := workspace.Exit{Code: 1, Stderr: []byte("Error: Cannot find module 'express'")}
	for name, tc := range map[string]struct {
		exit     workspace.Exit
		install  workspace.Exit
		mends    bool
		lock     string
		blockers bool
		outcome  string
		blocker  string
		ran      string
		receipts int
	}{
		"mended":                    {lacks, workspace.Exit{}, true, "package-lock.json", true, "pass", "", "go test, npm ci, go test, make", 4},
		"mended without blockers":   {lacks, workspace.Exit{}, true, "package-lock.json", false, "pass", "", "go test, npm ci, go test, make", 4},
		"a fault of the files":      {lacks, workspace.Exit{}, false, "package-lock.json", true, "fail", "", "go test, npm ci, go test", 4},
		"nothing pins it":           {lacks, workspace.Exit{}, false, "", true, "fail", "", "go test", 2},
		"no network":                {lacks, workspace.Exit{Code: 1, Stderr: []byte("npm error network getaddrinfo ENOTFOUND registry.npmjs.org")}, false, "package-lock.json", true, "blocked", "network", "go test, npm ci", 4},
		"no network, not asked":     {lacks, workspace.Exit{Code: 1, Stderr: []byte("npm error network getaddrinfo ENOTFOUND registry.npmjs.org")}, false, "package-lock.json", false, "fail", "network", "go test, npm ci", 4},
		"installation fails":        {lacks, workspace.Exit{Code: 1}, false, "package-lock.json", true, "blocked", "setup", "go test, npm ci", 4},
		"a precondition":            {workspace.Exit{Code: 1, Stderr: []byte("Missing required environment variable DATABASE_URL")}, workspace.Exit{}, false, "package-lock.json", true, "blocked", "environment-variable", "go test", 2},
		"a precondition, not asked": {workspace.Exit{Code: 1, Stderr: []byte("Missing required environment variable DATABASE_URL")}, workspace.Exit{}, false, "package-lock.json", false, "fail", "environment-variable", "go test", 2},
		"an assertion":              {workspace.Exit{Code: 1, Stdout: []byte("--- FAIL: TestA (0.00s)")}, workspace.Exit{}, false, "package-lock.json go.mod", true, "fail", "", "go test", 2},
	} {
		params := `{"commands":"configured","hostBlockers":true}`
		if !tc.blockers {
			params = `{"commands":"configured"}`
		}
		s := play(t, 1, params)
		for file := range strings.FieldsSeq(tc.lock) {
			if err := os.WriteFile(filepath.Join(s.F.Repositories[0].Path, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.exits["go test"], s.exits["npm ci"] = tc.exit, tc.install
		if tc.mends {
			s.after = map[string]func(){"npm ci": func() { s.exits["go test"] = workspace.Exit{} }}
		}
		got, out := s.settled(t)
		kind, _ := out.Blocker["kind"].(string)
		if got.Outcome != tc.outcome || kind != tc.blocker || strings.Join(s.ran, ", ") != tc.ran || len(s.Receipts()) != tc.receipts {
			t.Errorf("%s: %s, blocker %q, ran %q, %d receipts", name, got.Outcome, kind, s.ran, len(s.Receipts()))
		}
		if (out.Repair != nil) != strings.Contains(tc.ran, "npm") || (got.Outcome == "blocked") != (got.Error != nil && got.Error.Code == workflow.CodeHostPrecondition && got.Status == workflow.VisitBlocked) {
			t.Errorf("%s: %+v, %s", name, got.Error, out.raw)
		}
		if tc.mends && (got.Verified == nil || got.Verified.Receipt != out.ReceiptID || out.Repair["receiptId"] != out.ReceiptID) {
			t.Errorf("%s: verified %+v, repair %v", name, got.Verified, out.Repair)
		}
	}
}

func TestPolicyProblems(t *testing.T) {
	t.Parallel()
	s := play(t, 1, `{"commands":[{"repositoryId":"repo","command":"a","args":[],"policy":{"independentgroup":"x"}}]}`)
	if got, out := s.settled(t); got.Outcome != "failed" || !strings.Contains(out.Failure, "independentGroup") || len(s.ran) > 0 {
		t.Errorf("%+v, %s", got, out.raw)
	}
	for params, want := range map[string]string{
		`{"commands":[{"repositoryId":"r","command":"a","args":[],"policy":{"zzz":1}}]}`:                               "/commands/0/policy",
		`{"commands":"configured","setup":[{"repositoryId":"r","command":"a","args":[],"policy":{"reuse":"x"}}]}`:      "/setup/0/policy",
		`{"commands":[{"repositoryId":"r","command":"a","args":["{{run.x}}"],"policy":{"zzz":1}}]}`:                    "",
		`{"commands":[{"repositoryId":"r","command":"a","args":[],"policy":{"independentGroup":"g","resources":[]}}]}`: "",
	} {
		_, problems := s.piece.Describe(json.RawMessage(params), s.env)
		got := ""
		if len(problems) > 0 {
			got = problems[0].Pointer
		}
		if got != want {
			t.Errorf("%s: problem at %q, want %q", params, got, want)
		}
	}
}

// TestReceiptHoldsAll: the receipt in the history tells more than the output of
// the node, and reads back.
func TestReceiptHoldsAll(t *testing.T) {
	t.Parallel()
	s := play(t, 1, `{"commands":"configured"}`)
	s.exits["go test"] = workspace.Exit{Code: 2, Stdout: []byte(strings.Repeat("x", 20_000)), OutputDigest: "sha256:d", Shell: ""}
	s.settled(t)
	kept := s.Receipts()[1]
	r, err := verification.Parse(kept.Data.JSON)
	if err != nil || r.ID != kept.Receipt || r.Run != "run1" || r.Node != "check" || len(r.Commands) != 2 || len(r.Commands[0].Output) != 20_000 || r.Commands[0].OutputDigest != "sha256:d" || r.Commands[1].State != verification.StateNotRun {
		t.Errorf("%+v, %v", r, err)
	}
}
