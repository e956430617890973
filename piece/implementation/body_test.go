package implementation_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/implementation"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

var update = flag.Bool("update", false, "write the bodies that the golden test compares with")

var variants = map[string]string{
	"plain":    `{}`,
	"approved": `{"approvalBeforeArchive":true,"attempts":5}`,
	"policy":   `{"reviewPolicy":{"minScore":80,"aspects":{"security":90}}}`,
}

// TestBodies compares the bodies that params stand for with those on disk.
func TestBodies(t *testing.T) {
	t.Parallel()
	for name, params := range variants {
		var now []byte
		for range 3 { // the same for the same params
			body, err := implementation.Body(json.RawMessage(params), 0)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.MarshalIndent(body, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if raw = append(raw, '\n'); now != nil && !bytes.Equal(now, raw) {
				t.Fatalf("%s: two bodies for the same params", name)
			}
			now = raw
		}
		path := filepath.Join("testdata", "body-"+name+".json")
		if *update {
			if err := os.WriteFile(path, now, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(now, want) {
			t.Errorf("%s: the body is\n%s\nrun the test with -update if that is meant", name, now)
		}
	}
	if _, err := implementation.Body(json.RawMessage(`{"attempts":"many"}`), 0); workflow.CodeOf(err) != workflow.CodeInvalidPieceParams {
		t.Errorf("bad params: %v", err)
	}
}

// TestBodiesAreValid has the loader judge each body as a component, in both
// formats.
func TestBodiesAreValid(t *testing.T) {
	t.Parallel()
	registry, err := piece.NewRegistry(slices.Concat(control.Pieces(), implementation.Pieces(implementation.Config{}))...)
	if err != nil {
		t.Fatal(err)
	}
	for name, params := range variants {
		body, err := implementation.Body(json.RawMessage(params), 0)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(map[string]any{"entry": body.Entry, "nodes": plain(body), "outputs": body.Outputs})
		if err != nil {
			t.Fatal(err)
		}
		for level, head := range map[string]string{
			"1": `"schemaVersion":1,"title":"t","journal":"implementation","change":"new","maxTransitions":50,"roles":[],"delivery":{"requiresVerified":false}`,
			"2": `"schemaVersion":2,"delivery":{"requiresVerified":false}`,
		} {
			doc := `{` + head + `,"id":"whole","entry":"work","components":{"body":` + string(raw) + `},"nodes":{
				"work":{"kind":"component","params":{"ref":"body"},"ends":{"next":null,"rejected":null,"failed":null}}}}`
			w, err := load.Load("body.json", []byte(doc), load.Config{Pieces: registry, Draft: true, Env: piece.Env{Roles: everyRole}})
			if err != nil {
				t.Errorf("%s, format %s: %v", name, level, err)
			} else if len(w.Warnings) > 0 {
				t.Errorf("%s, format %s: %v", name, level, w.Warnings)
			}
		}
	}
}

// plain are the nodes of a body as a document writes them.
func plain(b workflow.Body) map[string]any {
	out := map[string]any{}
	for name, n := range b.Nodes {
		out[name] = map[string]any{"kind": n.Kind, "params": n.Params, "ends": n.Ends}
	}
	return out
}

// TestDescribe has the traits of each kind, or the place of its first problem.
func TestDescribe(t *testing.T) {
	t.Parallel()
	registry, err := piece.NewRegistry(implementation.Pieces(implementation.Config{})...)
	if err != nil {
		t.Fatal(err)
	}
	all := "next incomplete rejected replan reverify rereview failed; "
	backend := func(name string) (executor.Capabilities, bool) {
		return executor.Capabilities{Model: map[string]string{"fake": "m", "cli": "m"}[name], Uncertain: name == "cli"}, name != "none"
	}
	roles := func(change func(map[string]workflow.Role)) map[string]workflow.Role {
		out := map[string]workflow.Role{}
		for id, r := range everyRole {
			out[id] = r
		}
		change(out)
		return out
	}
	same := roles(func(map[string]workflow.Role) {})
	set := func(id string, r workflow.Role) map[string]workflow.Role {
		return roles(func(m map[string]workflow.Role) { m[id] = r })
	}
	for _, tc := range []struct {
		kind, params string
		roles        map[string]workflow.Role
		traits       string
		problem      string
	}{
		{"implementation-step", `{"phase":"architect"}`, same, all + "read ai fake m", ""},
		{"implementation-step", `{"phase":"architect"}`, set("architect", workflow.Role{Access: workflow.EffectWrite, Provider: "cli"}), all + "write uncertain ai cli m", ""},
		{"implementation-step", `{"phase":"developer"}`, same, all + "write ai fake m", ""},
		{"implementation-step", `{"phase":"developer"}`, set("developer", workflow.Role{Access: workflow.EffectRead, Provider: "fake"}), "", "invalid_role_access /phase"},
		{"implementation-step", `{"phase":"fixer"}`, set("fixer", workflow.Role{Provider: "cli", Model: "own"}), all + "write uncertain ai cli own", ""},
		{"implementation-step", `{"phase":"verify"}`, same, all + "write", ""},
		{"implementation-step", `{"phase":"reviewer"}`, same, all + "read ai fake m", ""},
		{"implementation-step", `{"phase":"reviewer"}`, set("reviewer", workflow.Role{Access: workflow.EffectWrite, Provider: "fake"}), "", "invalid_role_access /phase"},
		{"implementation-step", `{"phase":"reviewer"}`, set("reviewer", workflow.Role{Provider: "none"}), "", "provider_not_found /phase"},
		{"implementation-step", `{"phase":"reviewer"}`, set("reviewer", workflow.Role{Provider: "bare"}), "", "model_missing /phase"},
		{"implementation-step", `{"phase":"reviewer"}`, nil, "", "role_not_found /phase"},
		{"implementation-step", `{"phase":"approval"}`, same, all + "read", ""},
		{"implementation-step", `{"phase":"archive","approvalBeforeArchive":true,"attempts":2}`, same, all + "write", ""},
		{"implementation-step", `{"phase":"deploy"}`, same, "", "schema /phase"},
		{"implementation-step", `{"phase":"verify","within":"x"}`, same, "", "schema /within"},
		{"implementation", `{}`, same, "next rejected failed; write ai fake m", ""},
		{"implementation", `{"attempts":3,"approvalBeforeArchive":true,"reviewPolicy":{"minScore":80,"aspects":{"security":90}}}`, same, "next rejected failed; write ai fake m", ""},
		{"implementation", `{"attempts":101}`, same, "", "schema /attempts"},
		{"implementation", `{"reviewPolicy":{"minScore":101}}`, same, "", "schema /reviewPolicy/minScore"},
		{"implementation", `{"reviewPolicy":{"minScore":50}}`, same, "", "warning /reviewPolicy/minScore"},
		{"implementation", `{"reviewPolicy":{"aspects":{"security":60}}}`, same, "", "warning /reviewPolicy/aspects/security"},
		{"implementation", `{"reviewPolicy":{"aspects":{"securty":90}}}`, same, "", "invalid_piece_params /reviewPolicy/aspects/securty"},
		{"implementation", `{}`, set("developer", workflow.Role{Access: workflow.EffectRead, Provider: "fake"}), "", "invalid_role_access "},
	} {
		p, _ := registry.Get(tc.kind)
		for level := 1; level <= 2; level++ {
			if got, problem := examine(t, p, level, tc.params, piece.Env{Level: level, Roles: tc.roles, Backend: backend}); problem != tc.problem || problem == "" && got != tc.traits {
				t.Errorf("%s %s, level %d: %q, problem %q; want %q, %q", tc.kind, tc.params, level, got, problem, tc.traits, tc.problem)
			}
		}
	}
	p, _ := registry.Get(implementation.Kind)
	if _, problems := p.Describe(json.RawMessage(`{}`), piece.Env{Structural: true}); len(problems) > 0 {
		t.Errorf("without configuration: %+v", problems)
	}
	if p.Run != nil || p.Body == nil || p.Missing != "" {
		t.Error("an implementation is not a body")
	}
}

// examine returns the traits of params in words, and their first problem.
func examine(t *testing.T, p piece.Piece, level int, params string, env piece.Env) (traits, problem string) {
	t.Helper()
	shape, err := schema.Compile(p.Schema(level))
	if err != nil {
		t.Fatal(err)
	}
	if found := shape.Validate(json.RawMessage(params)); found != nil {
		return "", "schema " + found[0].Pointer
	}
	tr, problems := p.Describe(json.RawMessage(params), env)
	if len(problems) > 0 {
		problem = string(problems[0].Code) + " " + problems[0].Pointer
		if problems[0].Warning {
			problem = "warning " + problems[0].Pointer
		}
		if problems[0].Message == "" || problems[0].Hint == "" {
			t.Errorf("%s: the problem says too little: %+v", params, problems[0])
		}
	}
	words := []string{strings.Join(tr.Outcomes, " ") + ";", string(tr.Effect)}
	if tr.Uncertain {
		words = append(words, "uncertain")
	}
	if tr.AI {
		words = append(words, "ai", tr.Provider, tr.Model)
	}
	if shared := tr.Shares == "implementation"; shared != (p.Kind == implementation.KindStep) {
		t.Errorf("%s: shares %q", params, tr.Shares)
	}
	return strings.Join(words, " "), problem
}
