package verify_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	proposal := func(items string) map[string]any {
		var v any
		if err := json.Unmarshal([]byte(items), &v); err != nil {
			t.Fatal(err)
		}
		return map[string]any{"$outputs": map[string]any{"plan": map[string]any{"structured": map[string]any{"verification": v}}}}
	}
	own := `[{"repositoryId":"repo","command":"go","args":["test"]}]`
	many := "[" + strings.Repeat(`{"repositoryId":"lib","command":"x"},`, 20) + `{"repositoryId":"lib","command":"x"}]`
	for name, tc := range map[string]struct {
		params string
		state  map[string]any
		checks bool
		ran    string
		kind   string
		err    string
	}{
		"scoped":           {`{"commands":` + own + `}`, nil, true, "go test", "scoped", ""},
		"waived":           {`{"commands":` + own + `,"unverified":true}`, nil, true, "go test", "full", ""},
		"nothing waived":   {`{"commands":[],"unverified":true}`, nil, true, "", "full", ""},
		"nothing":          {`{"commands":[]}`, nil, true, "", "", "list of commands is empty"},
		"not configured":   {`{"commands":"configured"}`, nil, false, "", "", "verification.commands to .tenon/config.yaml, or name one with --verify"},
		"no repository":    {`{"commands":[{"repositoryId":"zzz","command":"a","args":[]}]}`, nil, true, "", "", `no repository "zzz"`},
		"proposed":         {`{"commands":` + own + `,"additionalCommandsFrom":"plan"}`, proposal(`[{"repositoryId":"lib","command":"make","args":["x"]},{"repositoryId":"repo","command":"evil"}]`), true, "go test, make x", "scoped", ""},
		"proposed unknown": {`{"commands":` + own + `,"additionalCommandsFrom":"plan"}`, proposal(`[{"repositoryId":"zzz","command":"make"}]`), true, "", "", `no repository "zzz"`},
		"no proposal":      {`{"commands":` + own + `,"additionalCommandsFrom":"plan"}`, nil, true, "", "", "plan proposed no commands"},
		"no list":          {`{"commands":` + own + `,"additionalCommandsFrom":"plan"}`, proposal(`{"a":1}`), true, "", "", "list of at most 20"},
		"too many":         {`{"commands":` + own + `,"additionalCommandsFrom":"plan"}`, proposal(many), true, "", "", "list of at most 20"},
		"extra member":     {`{"commands":` + own + `,"additionalCommandsFrom":"plan"}`, proposal(`[{"repositoryId":"lib","command":"x","env":{"A":"b"}}]`), true, "", "", `"env"`},
		"bad args":         {`{"commands":` + own + `,"additionalCommandsFrom":"plan"}`, proposal(`[{"repositoryId":"lib","command":"x","args":"y"}]`), true, "", "", "args"},
		"incomplete":       {`{"commands":` + own + `,"additionalCommandsFrom":"plan"}`, proposal(`[{"repositoryId":"lib"}]`), true, "", "", "needs repositoryId and command"},
	} {
		s := play(t, 1, tc.params)
		s.State = tc.state
		if !tc.checks {
			s.F.Checks = nil
		}
		got, out := s.settled(t)
		switch {
		case tc.err != "" && (got.Outcome != "failed" || got.Error.Code != workflow.CodeVerifyFailed || !strings.Contains(got.Error.Message, tc.err) || len(s.ran) > 0):
			t.Errorf("%s: %+v, %+v; ran %q", name, got, got.Error, s.ran)
		case strings.HasPrefix(name, "proposed") && tc.err == "" && (got.Verified != nil || strings.Join(out.UnverifiedRepositories, " ") != "lib" || !out.Commands[1].Proposed || s.Receipts()[1].Certifies()):
			t.Errorf("%s: what a model proposed proves its work: %+v, %s", name, got.Verified, out.raw)
		case tc.err == "" && (got.Outcome != "pass" || out.Kind != tc.kind || strings.Join(s.ran, ", ") != tc.ran):
			t.Errorf("%s: %+v, %s; ran %q", name, got, out.raw, s.ran)
		}
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	params := `{"commands":"configured","setup":[{"repositoryId":"repo","command":"install","args":[]}]}`
	s := play(t, 1, params)
	if got, _ := s.settled(t); got.Outcome != "pass" || strings.Join(s.ran, ", ") != "install, go test, make" {
		t.Errorf("%+v; ran %q", got, s.ran)
	}
	s = play(t, 1, params)
	s.exits["install"] = workspace.Exit{Code: 1}
	got, _ := s.settled(t)
	if got.Outcome != "failed" || got.Error.Code != workflow.CodeVerifyFailed || len(s.ran) != 1 {
		t.Errorf("%+v; ran %q", got, s.ran)
	}
}

// TestProposedOnly: with no check of the host at all, what a model proposes
// runs and proves nothing.
func TestProposedOnly(t *testing.T) {
	t.Parallel()
	for _, unverified := range []string{"", `,"unverified":true`} {
		s := play(t, 1, `{"commands":[],"additionalCommandsFrom":"dev"`+unverified+`}`)
		s.F.Repositories = s.F.Repositories[:1]
		s.State = map[string]any{"$outputs": map[string]any{"dev": map[string]any{"structured": map[string]any{
			"verification": []any{map[string]any{"repositoryId": "repo", "command": "true"}},
		}}}}
		got, out := s.settled(t)
		if got.Outcome != "pass" || got.Verified != nil || !out.Valid || strings.Join(out.UnverifiedRepositories, " ") != "repo" || s.Receipts()[1].Scope != workflow.ReceiptScoped {
			t.Errorf("unverified %q: %+v, %s", unverified, got, out.raw)
		}
	}
}
