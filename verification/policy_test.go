package verification_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	reuse := `"reuse":"snapshot-local","deterministic":true,"readOnly":true,"inputs":["a"],"toolchainInputs":["/bin/x"]`
	for policy, want := range map[string]string{
		``:     "",
		`null`: "",
		`{}`:   "",
		`{"independentGroup":"g","resources":[],"trustExit":true,"reuse":"never"}`: "",
		`{` + reuse + `}`:                   "",
		`[]`:                                "object",
		`{"independantGroup":"g"}`:          `did you mean "independentGroup"?`,
		`{"zzz":1}`:                         "allowed are deterministic, independentGroup, inputs, readOnly, resources, reuse, toolchainInputs, trustExit",
		`{"resources":"db"}`:                "policy.resources",
		`{"resources":[""]}`:                "empty text",
		`{"reuse":"always"}`:                "never or snapshot-local",
		`{"reuse":"snapshot-local"}`:        "deterministic: true",
		`{` + reuse + `,"resources":["x"]}`: "excludes resources",
		`{"reuse":"snapshot-local","deterministic":true,"readOnly":true,"inputs":["a"]}`: "toolchainInputs",
	} {
		_, err := verification.ParsePolicy(json.RawMessage(policy))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", policy, err, want)
		}
	}
	for command, want := range map[string]string{"/bin/x": "", "x": "absolute", "/bin/y": "listed in toolchainInputs"} {
		_, err := verification.PolicyOf(verification.Check{Command: command, Policy: json.RawMessage(`{` + reuse + `}`)})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
}

func in(repository, policy string) verification.Check {
	return verification.Check{RepositoryID: repository, Command: "x", Policy: json.RawMessage(policy)}
}

func TestWaves(t *testing.T) {
	t.Parallel()
	const g, h = `{"independentGroup":"g","resources":[]}`, `{"independentGroup":"h","resources":[]}`
	db := func(group, resource string) string {
		return fmt.Sprintf(`{"independentGroup":%q,"resources":[%q]}`, group, resource)
	}
	for name, tc := range map[string]struct {
		checks []verification.Check
		most   int
		want   string
	}{
		"none":              {nil, 4, "[]"},
		"serial by default": {[]verification.Check{in("a", ""), in("b", "")}, 4, "[[0] [1]]"},
		"together":          {[]verification.Check{in("a", g), in("b", g), in("c", g)}, 4, "[[0 1 2]]"},
		"at most":           {[]verification.Check{in("a", g), in("b", g), in("c", g)}, 2, "[[0 1] [2]]"},
		"one":               {[]verification.Check{in("a", g), in("b", g)}, 0, "[[0] [1]]"},
		"never more than 4": {[]verification.Check{in("a", g), in("b", g), in("c", g), in("d", g), in("e", g)}, 9, "[[0 1 2 3] [4]]"},
		"same repository":   {[]verification.Check{in("a", g), in("a", g)}, 4, "[[0] [1]]"},
		"other groups":      {[]verification.Check{in("a", g), in("b", h)}, 4, "[[0] [1]]"},
		"not contiguous":    {[]verification.Check{in("a", g), in("b", ""), in("c", g)}, 4, "[[0] [1] [2]]"},
		"unknown resources": {[]verification.Check{in("a", g), in("b", `{"independentGroup":"g"}`), in("c", g)}, 4, "[[0] [1] [2]]"},
		"same resource":     {[]verification.Check{in("a", db("g", "db")), in("b", db("g", "db"))}, 4, "[[0] [1]]"},
		"other resources":   {[]verification.Check{in("a", db("g", "db")), in("b", db("g", "port")), in("c", db("g", "db"))}, 4, "[[0 1] [2]]"},
		"bad policy":        {[]verification.Check{in("a", g), in("b", `{"zzz":1}`)}, 4, "[[0] [1]]"},
	} {
		waves := verification.Waves(tc.checks, tc.most)
		if waves == nil {
			waves = [][]int{}
		}
		if got := fmt.Sprint(waves); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestWavesHoldAll: every check is in one wave, in order, and no wave has two
// checks of a repository or more than is allowed.
func TestWavesHoldAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var checks []verification.Check
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			policy := rapid.SampledFrom([]string{``, `{}`, `{"independentGroup":"g","resources":[]}`, `{"independentGroup":"g","resources":["r"]}`, `{"independentGroup":"h","resources":[]}`}).Draw(t, "policy")
			checks = append(checks, in(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "repository"), policy))
		}
		most := rapid.IntRange(-1, 6).Draw(t, "most")
		next := 0
		for _, wave := range verification.Waves(checks, most) {
			if len(wave) == 0 || len(wave) > max(1, min(most, verification.MaxConcurrency)) {
				t.Fatalf("a wave of %d", len(wave))
			}
			var repositories []string
			for _, i := range wave {
				if i != next || slices.Contains(repositories, checks[i].RepositoryID) {
					t.Fatalf("wave %v after %d", wave, next)
				}
				repositories = append(repositories, checks[i].RepositoryID)
				next++
			}
		}
		if next != len(checks) {
			t.Fatalf("%d of %d checks", next, len(checks))
		}
	})
}

func TestChecks(t *testing.T) {
	t.Parallel()
	var checks []verification.Check
	raw := `[{"command":"go","args":["test"],"key":"k","timeoutMs":5},{"commandLine":"a | b"},{"file":{"path":"f","exists":true,"repositoryId":"r"}},
		{"json":{"path":"j","schema":{"type":"object"}}},{"clean":true},{"clean":{"repositoryId":"r"}}]`
	if err := json.Unmarshal([]byte(raw), &checks); err != nil {
		t.Fatal(err)
	}
	var names, repositories []string
	for _, c := range checks {
		names, repositories = append(names, c.Name()), append(repositories, c.Repository())
		again, err := json.Marshal(c)
		var back verification.Check
		if err := json.Unmarshal(again, &back); err != nil || back.Name() != c.Name() || back.Repository() != c.Repository() {
			t.Errorf("%s came back as %+v", again, back)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(names, ", "); got != "go test, a | b, file f, json j, clean work tree, clean work tree" {
		t.Errorf("names %s", got)
	}
	if got := strings.Join(repositories, ","); got != ",,r,,,r" {
		t.Errorf("repositories %s", got)
	}
	plan := func(change func(*verification.Check)) workflow.Digest {
		list := slices.Clone(checks)
		change(&list[0])
		d, err := verification.PlanDigest(list)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	base := plan(func(*verification.Check) {})
	for name, change := range map[string]func(*verification.Check){
		"key": func(c *verification.Check) { c.Key = "z" }, "label": func(c *verification.Check) { c.Label = "z" }, "timeout": func(c *verification.Check) { c.TimeoutMs = 9 },
	} {
		if plan(change) != base {
			t.Errorf("the %s is part of the plan", name)
		}
	}
	for name, change := range map[string]func(*verification.Check){
		"args": func(c *verification.Check) { c.Args = []string{"vet"} }, "env": func(c *verification.Check) { c.Env = map[string]string{"A": "b"} },
		"cwd": func(c *verification.Check) { c.Cwd = "x" }, "policy": func(c *verification.Check) { c.Policy = json.RawMessage(`{"trustExit":true}`) },
	} {
		if plan(change) == base {
			t.Errorf("the %s is not part of the plan", name)
		}
	}
}
