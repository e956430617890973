package openspec_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/openspec"
	"github.com/tenonrun/tenon/workflow"
)

func TestParams(t *testing.T) {
	t.Parallel()
	r, err := piece.NewRegistry(openspec.Pieces(openspec.Config{})...)
	if err != nil {
		t.Fatal(err)
	}
	for level := 1; level <= 2; level++ {
		if got := strings.Join(r.Kinds(level), " "); got != "artifact-contract openspec-validate openspec-archive" {
			t.Errorf("level %d: %q", level, got)
		}
	}
	for _, tc := range []struct{ kind, params, traits, problem string }{
		{"artifact-contract", `{"change":"add-x","contractId":"c","action":"freeze","requireCompletedTasks":true}`, "pass fail failed; read artifact-contract:c", ""},
		{"artifact-contract", `{"change":"add-x","contractId":"c"}`, "", "action"},
		{"artifact-contract", `{"change":"add-x","contractId":"{{run.x}}","action":"check"}`, "", "contractId"},
		{"openspec-validate", `{"change":"{{run.changeId}}","allowArchived":true,"repositoryId":"r"}`, "pass fail failed; read", ""},
		{"openspec-validate", `{"change":"Add X"}`, "pass fail failed; read", "/change"},
		{"openspec-validate", `{"change":"` + strings.Repeat("a", 65) + `"}`, "pass fail failed; read", "/change"},
		{"openspec-archive", `{"change":"add-x","requiresVerified":true,"reviewedCandidate":"{{outputs.r.candidateHash}}","approvedCandidate":"x"}`, "next failed; write", ""},
		{"openspec-archive", `{"change":"add-x","force":true}`, "", "/force"},
	} {
		p, _ := r.Get(tc.kind)
		s, err := schema.Compile(p.Schema(1))
		if err != nil {
			t.Fatal(err)
		}
		traits, problems := p.Describe(json.RawMessage(tc.params), piece.Env{Level: 1})
		var told []string
		for _, v := range s.Validate(json.RawMessage(tc.params)) {
			told = append(told, v.Pointer+" "+v.Message)
		}
		for _, pr := range problems {
			told = append(told, pr.Pointer)
		}
		if all := strings.Join(told, "; "); (all != "") != (tc.problem != "") || !strings.Contains(all, tc.problem) {
			t.Errorf("%s %s: %q, want %q", tc.kind, tc.params, all, tc.problem)
		}
		got := strings.TrimSpace(strings.Join(traits.Outcomes, " ") + "; " + string(traits.Effect) + " " + traits.Shares)
		if traits.Uncertain || traits.AI || tc.traits != "" && got != tc.traits {
			t.Errorf("%s %s: %q %+v, want %q", tc.kind, tc.params, got, traits, tc.traits)
		}
	}
}

// TestChangeName gives names that came out of interpolation.
func TestChangeName(t *testing.T) {
	t.Parallel()
	dir := repository(t, nil)
	for _, tc := range []struct {
		change, launch string
		code           workflow.Code
	}{
		{`"dim-lamp"`, "", ""},
		{`""`, "dim-lamp", ""},
		{`""`, "", workflow.CodeInvalidArguments},
		{`"{{run.changeId}}"`, "dim-lamp", workflow.CodeInvalidArguments}, // the launch had none
		{`"../dim-lamp"`, "", workflow.CodeInvalidArguments},
		{`"--all"`, "", workflow.CodeInvalidArguments},
		{`"` + strings.Repeat("a", 65) + `"`, "", workflow.CodeInvalidArguments},
	} {
		n := visit(t, dir, "artifact-contract", `{"change":`+tc.change+`,"contractId":"c","action":"freeze"}`, openspec.Config{})
		n.F.Launch.Change = tc.launch
		s, err := n.run(context.Background())
		if workflow.CodeOf(err) != tc.code || tc.code == "" && s.Outcome != "pass" {
			t.Errorf("%s, launch %q: %+v, %v", tc.change, tc.launch, s, err)
		}
	}
}

func TestRepository(t *testing.T) {
	t.Parallel()
	none, one, two := t.TempDir(), repository(t, map[string]string{"openspec/changes/dim-lamp": ""}), repository(t, nil)
	all := []workflow.RepositoryInfo{{ID: "none", Path: none}, {ID: "one", Path: one}, {ID: "two", Path: two}}
	for _, tc := range []struct {
		repos    []workflow.RepositoryInfo
		id, want string
		code     workflow.Code
		hint     string
	}{
		{all, "", "two", "", ""},
		{all, "two", "two", "", ""},
		{all[:2], "", "one", "", ""},
		{all, "none", "", workflow.CodeArtifactScope, "openspec init"},
		{all, "tow", "", workflow.CodeArtifactScope, `did you mean "two"`},
		{all[:1], "", "", workflow.CodeArtifactScope, "has no folder openspec/"},
		{nil, "", "", workflow.CodeArtifactScope, "no repository"},
	} {
		params, _ := json.Marshal(map[string]string{"change": "dim-lamp", "contractId": "c", "action": "freeze", "repositoryId": tc.id})
		n := visit(t, two, "artifact-contract", string(params), openspec.Config{})
		n.F.Repositories = tc.repos
		s, err := n.run(context.Background())
		switch {
		case workflow.CodeOf(err) != tc.code || err != nil && !strings.Contains(err.Error(), tc.hint):
			t.Errorf("%q of %d: %+v, %v", tc.id, len(tc.repos), s, err)
		case err == nil && output(t, s)["repositoryId"] != tc.want:
			t.Errorf("%q of %d: %v, want %s", tc.id, len(tc.repos), output(t, s), tc.want)
		}
	}
}
