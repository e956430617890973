package runcontext_test

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/workflow"
)

func closeAudit(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/close-audit.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func compile(t *testing.T, text string, bases map[string][]byte) *runcontext.Manifest {
	t.Helper()
	m, err := runcontext.Compile("m.yaml", []byte(text), bases)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifestBinds(t *testing.T) {
	t.Parallel()
	w, err := compile(t, closeAudit(t), nil).Bind(json.RawMessage(`{"month":"2026-10"}`), "workflow")
	if err != nil {
		t.Fatal(err)
	}
	wantMounts := []runcontext.Mount{
		{Slot: "inputs", Mode: "read-only"},
		{Slot: "uploads", Mode: "read-only"},
		{Slot: "references", Mode: "read-only", Spaces: []string{"gl-policy"}},
		{Slot: "deliverable-specs", Mode: "read-only"},
		{Slot: "deliverables", Mode: "read-write"},
	}
	if !reflect.DeepEqual(w.Mounts, wantMounts) {
		t.Errorf("mounts %+v, want %+v", w.Mounts, wantMounts)
	}
	if want := `{"month":"2026-10","spaces":["gl-policy"]}`; string(w.Inputs) != want {
		t.Errorf("inputs %s, want %s", w.Inputs, want)
	}
	if w.Agent.Slug != "ledger-auditor" || w.Agent.Stage != "audit" || w.Agent.Role != "gate-reviewer" {
		t.Errorf("agent %+v", w.Agent)
	}
	if !slices.Equal(w.Persist, []string{"deliverables"}) {
		t.Errorf("persist %q", w.Persist)
	}
	env, missing, err := w.Environ(map[string]string{"ERP_TOKEN": "s3cr3t-erp"})
	if err != nil || len(missing) > 0 || !slices.Equal(env, []string{"CLOSE_MONTH=2026-10", "ERP_TOKEN=s3cr3t-erp"}) {
		t.Errorf("environment %q, missing %q, %v", env, missing, err)
	}
	if _, _, err := w.Environ(nil); !errors.Is(err, &workflow.Error{Code: workflow.CodeInvalidWorkspace}) || !strings.Contains(err.Error(), "ERP_TOKEN") {
		t.Errorf("a missing required credential: %v", err)
	}
}

// refusals change one thing of the manifest each.
var refusals = []struct {
	name, old, new string
	pointer        string // where the finding is
	want           string // in its text
}{
	{"version of two parts", "version: 1.2.0", "version: 1.2", "/metadata/version", "1.2.0"},
	{"unknown role", "role: gate-reviewer", "role: reviewer", "/spec/agent/role", "gate-reviewer"},
	{"misspelled role", "role: gate-reviewer", "role: gate-reviewe", "/spec/agent/role", `did you mean "gate-reviewer"?`},
	{"name of a variable", "name: CLOSE_MONTH", "name: closeMonth", "/spec/env/0/name", "UPPER_SNAKE_CASE"},
	{"variable of the host", "${input.month}", "${env.HOME}", "/spec/env/0/value", `unsupported interpolation token "${env.HOME}"`},
	{"undeclared input", "${input.month}", "${input.nope}", "/spec/env/0/value", `there is no input "nope"`},
	{"misspelled input", "${input.month}", "${input.mont}", "/spec/env/0/value", `did you mean "month"?`},
	{"token without end", "${input.month}", "${input.month", "/spec/env/0/value", "has no end"},
	{"token in a token", "${input.month}", "${input.${input.month}}", "/spec/env/0/value", "inside another"},
	{"default null", "${input.month}", "${input.month | default: null}", "/spec/env/0/value", "null"},
	{"default of another type", "${input.month}", "${input.month | default: 3}", "/spec/env/0/value", "default 3"},
	{"undeclared credential", "${credential.ERP_TOKEN}", "${credential.ERP_TOKN}", "/spec/env/1/value", `did you mean "ERP_TOKEN"?`},
	{"credential in a mount", "${input.spaces}", "${credential.ERP_TOKEN}", "/spec/mounts/references/kb/spaces", "env only"},
	{"token where none is read", "sourceRef: wallet/erp", `sourceRef: "${input.month}"`, "/spec/credentials/0/sourceRef", "not replaced here"},
	{"persistence above", "[deliverables]", "[../x]", "/spec/persistence/paths/0", "leaves the workspace"},
	{"persistence absolute", "[deliverables]", "[/etc]", "/spec/persistence/paths/0", "relative"},
	{"write to a read-only slot", "mode: read-only", "mode: read-write", "/spec/mounts/references/mode", "always read-only"},
	{"unknown slot", "deliverable-specs: true", "deliverable-spec: true", "/spec/mounts/deliverable-spec", `did you mean "deliverable-specs"?`},
	{"unknown key", "persistence:", "persistences:", "/spec/persistences", `did you mean "persistence"?`},
	{"unknown kind of credential", "generic-secret", "secret", "/spec/credentials/0/kind", "generic-secret"},
	{"default that does not fit", "default: [gl-policy]", "default: gl-policy", "/spec/inputs/spaces/default", "default of input"},
	{"default null of an input", "default: [gl-policy]", "default: null", "/spec/inputs/spaces/default", "default of input"},
	{"pattern that is none", `"^20[0-9]{2}-[01][0-9]$"`, `"^20[0-9"`, "/spec/inputs/month", "pattern"},
	{"base that is not there", "primary-agent-base@1.0.0", "primary-agent-bse@1.0.0", "/extends", `did you mean "primary-agent-base@1.0.0"?`},
	{"base by range", "primary-agent-base@1.0.0", "primary-agent-base@latest", "/extends", "exact version"},
	{"no agent", "  agent: { slug: ledger-auditor, stage: audit, role: gate-reviewer }\n", "", "/spec", "names no agent"},
	{"two variables of a name", "name: ERP_TOKEN, value", "name: CLOSE_MONTH, value", "/spec/env/1/name", "there twice"},
	{"surface without a port", "persistence:", "outputSurface: { kind: web }\n  persistence:", "/spec/outputSurface", "port"},
	{"seed outside its slot", "persistence:", "seedFiles: [{ slot: inputs, path: ../x, content: a }]\n  persistence:", "/spec/seedFiles/0/path", "leaves"},
	{"seed with nothing", "persistence:", "seedFiles: [{ slot: inputs, path: x }]\n  persistence:", "/spec/seedFiles/0", "exactly one"},
	{"seed over the inputs", "persistence:", "seedFiles: [{ slot: inputs, path: inputs.json, content: a }]\n  persistence:", "/spec/seedFiles/0/path", "holds the inputs"},
	{"seed with a credential", "persistence:", "seedFiles: [{ slot: inputs, path: x, content: \"${credential.ERP_TOKEN}\" }]\n  persistence:", "/spec/seedFiles/0/content", "env only"},
	{"seed in a slot that is not mounted", "deliverable-specs: true", "uploads: false", "/spec/seedFiles/0/slot", "not mounted"},
}

func TestManifestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := closeAudit(t)
			if !strings.Contains(text, c.old) {
				t.Fatalf("the manifest does not hold %q", c.old)
			}
			text = strings.Replace(text, c.old, c.new, 1)
			if c.new == "uploads: false" {
				text = strings.Replace(text, "  persistence:", "  seedFiles: [{ slot: uploads, path: x, content: a }]\n  persistence:", 1)
			}
			_, err := runcontext.Compile("m.yaml", []byte(text), nil)
			found := findings(t, err)
			if len(found) != 1 {
				t.Fatalf("findings: %v", found)
			}
			if f := found[0]; f.Pointer != c.pointer || f.Line == 0 || !strings.Contains(f.Error(), c.want) {
				t.Errorf("finding at %s: %v; want %s at %s with its line", f.Pointer, f, c.want, c.pointer)
			}
		})
	}
}

func findings(t *testing.T, err error) source.Errors {
	t.Helper()
	var found source.Errors
	var coded *workflow.Error
	if !errors.As(err, &found) || !errors.As(err, &coded) {
		t.Fatalf("error %v is not one with a code and findings", err)
	}
	return found
}

func TestManifestTellsEverything(t *testing.T) {
	t.Parallel()
	text := closeAudit(t)
	for _, change := range [][2]string{{"version: 1.2.0", "version: one"}, {"role: gate-reviewer", "role: reviewer"}, {"[deliverables]", "[/etc]"}, {"${input.month}", "${env.HOME}"}} {
		text = strings.Replace(text, change[0], change[1], 1)
	}
	_, err := runcontext.Compile("m.yaml", []byte(text), nil)
	if found := findings(t, err); len(found) != 4 || found[0].Line > found[3].Line {
		t.Errorf("findings %v, want four in order of place", found)
	}
}

func TestManifestBindRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, inputs, surface, want string }{
		{"required input", `{}`, "workflow", `input "month" is required`},
		{"nothing", ``, "workflow", `input "month" is required`},
		{"input that does not fit", `{"month":"2026-20x"}`, "workflow", `input "month"`},
		{"null", `{"month":null}`, "workflow", `input "month"`},
		{"unknown input", `{"month":"2026-10","space":[]}`, "workflow", `did you mean "spaces"?`},
		{"no object", `[]`, "workflow", "no JSON object"},
		{"two values", `{"month":"2026-10","month":"2026-11"}`, "workflow", "inputs"},
		{"items of another type", `{"month":"2026-10","spaces":[1]}`, "workflow", "mount references takes strings"},
		{"another surface", `{"month":"2026-10"}`, "agent-session", "not for agent-session"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := compile(t, closeAudit(t), nil).Bind(json.RawMessage(c.inputs), c.surface)
			var coded *workflow.Error
			if !errors.As(err, &coded) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

const small = `
apiVersion: tenon.run/workspace/v1
kind: WorkspaceManifest
metadata: { slug: NAME, version: 1.0.0 }
spec:
  mounts: { inputs: true, uploads: true }
  agent: { slug: a }
`

func TestManifestExtends(t *testing.T) {
	t.Parallel()
	base := strings.Replace(small, "NAME", "base", 1)
	base = strings.Replace(base, "agent: { slug: a }", `agent: { slug: a, role: coordinator, deliverableSpecRef: report }
  env: [{ name: A, value: "1" }, { name: B, value: "2" }]
  seedFiles: [{ slot: inputs, path: x, content: base }, { slot: inputs, path: y, content: base }]
  permissions: { tools: { allow: [read, write], deny: [web] } }
  persistence: { paths: [inputs] }`, 1)
	child := strings.Replace(small, "NAME", "child", 1)
	child = strings.Replace(child, "kind:", "extends: manifest/base@1.0.0\nkind:", 1)
	child = strings.Replace(child, "agent: { slug: a }", `agent: { slug: a, role: engineer }
  env: [{ name: B, value: "3" }, { name: C, value: "4" }]
  seedFiles: [{ slot: inputs, path: y, content: child }]
  permissions: { tools: { allow: [read, exec], deny: [mcp] } }`, 1)
	w, err := compile(t, child, map[string][]byte{"base@1.0.0": []byte(base)}).Bind(nil, "workflow")
	if err != nil {
		t.Fatal(err)
	}
	if env, _, _ := w.Environ(nil); !slices.Equal(env, []string{"A=1", "B=3", "C=4"}) {
		t.Errorf("environment %q", env)
	}
	var seeds []string
	for _, s := range w.Seeds {
		seeds = append(seeds, s.Path+"="+*s.Content)
	}
	if !slices.Equal(seeds, []string{"x=base", "y=child"}) {
		t.Errorf("seeds %q", seeds)
	}
	if want := (runcontext.AgentBlock{Slug: "a", Role: "engineer"}); !reflect.DeepEqual(w.Agent, want) {
		t.Errorf("agent %+v, want exactly the child's %+v", w.Agent, want)
	}
	// Both documents narrow, so neither can open what the other closes.
	if want := (runcontext.ToolClasses{Allow: []string{"read"}, Deny: []string{"mcp", "web"}}); !reflect.DeepEqual(w.Permissions.Tools, want) {
		t.Errorf("permissions %+v, want %+v", w.Permissions.Tools, want)
	}
	if !slices.Equal(w.Persist, []string{"inputs"}) {
		t.Errorf("persist %q", w.Persist)
	}
	if !strings.Contains(strings.Join(entryNames(w.Entries()), " "), "inputs/inputs.json inputs/x inputs/y") {
		t.Errorf("entries %q", entryNames(w.Entries()))
	}
}

func entryNames(entries []runcontext.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}

func TestManifestBaseRefused(t *testing.T) {
	t.Parallel()
	child := strings.Replace(strings.Replace(small, "NAME", "child", 1), "kind:", "extends: manifest/base@1.0.0\nkind:", 1)
	plain := strings.Replace(small, "NAME", "base", 1)
	for _, c := range []struct{ name, base, want string }{
		{"extends another", strings.Replace(plain, "kind:", "extends: manifest/reviewer-base@1.0.0\nkind:", 1), "extends manifest/reviewer-base@1.0.0 itself"},
		{"has defects", strings.Replace(plain, "slug: a", "slug: A", 1), "has defects"},
		{"is no YAML", "{", "base@1.0.0.yaml"},
		{"has another name", strings.Replace(plain, "slug: base", "slug: other", 1), "calls itself other@1.0.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := runcontext.Compile("child.yaml", []byte(child), map[string][]byte{"base@1.0.0": []byte(c.base)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestBuiltinBases(t *testing.T) {
	t.Parallel()
	for _, ref := range runcontext.Bases() {
		text := strings.Replace(strings.Replace(small, "NAME", "child", 1), "kind:", "extends: manifest/"+ref+"\nkind:", 1)
		w, err := compile(t, text, nil).Bind(nil, "agent-session")
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		for _, m := range w.Mounts {
			if strings.HasPrefix(ref, "reviewer") && m.Mode != runcontext.ReadOnly {
				t.Errorf("%s: %s is %s", ref, m.Slot, m.Mode)
			}
		}
	}
}

// TestTokens binds one variable with tokens.
func TestTokens(t *testing.T) {
	t.Parallel()
	const inputs = `
  inputs:
    s: { type: string }
    n: { type: number, default: 1.50 }
    b: { type: boolean, default: false }
    l: { type: "string[]", default: [x, y] }
    o: { type: object, default: { z: 1, a: "<" } }
    none: { type: string }
  env: [{ name: V, value: VALUE }]`
	for _, c := range []struct{ value, want string }{
		{"plain", "plain"},
		{"", ""},
		{"a ${input.s} b", `a say "hi" b`},
		{"${ input.s }", `say "hi"`},
		{"${input.n}", "1.5"},
		{"${input.b}", "false"},
		{"${input.l}", `["x","y"]`},
		{"${input.o}", `{"a":"<","z":1}`},
		{`${input.none | default: "a}b"}`, "a}b"},
		{`${input.none | default: 'q'}`, "q"},
		{`${input.n | default: 7}`, "1.5"},
		{"$${input.s}", "${input.s}"},
		{"$5 and $$ and $", "$5 and $$ and $"},
		{"$$${input.s}", "$${input.s}"},
		{"${input.n}${input.b}", "1.5false"},
	} {
		t.Run(c.value, func(t *testing.T) {
			t.Parallel()
			quoted, _ := json.Marshal(c.value)
			text := strings.Replace(small, "NAME", "tokens", 1) + strings.Replace(inputs, "VALUE", string(quoted), 1)[1:]
			w, err := compile(t, text, nil).Bind(json.RawMessage(`{"s":"say \"hi\""}`), "workflow")
			if err != nil {
				t.Fatal(err)
			}
			if env, _, _ := w.Environ(nil); !slices.Equal(env, []string{"V=" + c.want}) {
				t.Errorf("environment %q, want %q", env, c.want)
			}
		})
	}
	text := strings.Replace(small, "NAME", "tokens", 1) + strings.Replace(inputs, "VALUE", `"${input.none}"`, 1)[1:]
	if _, err := compile(t, text, nil).Bind(nil, "workflow"); err == nil || !strings.Contains(err.Error(), `input "none" has no value`) {
		t.Errorf("a token without a value: %v", err)
	}
}

func TestOptionalCredential(t *testing.T) {
	t.Parallel()
	text := strings.Replace(small, "NAME", "c", 1) + `  env: [{ name: TOKEN, value: "Bearer ${credential.T}" }, { name: U, value: "u" }]
  credentials: [{ name: T, kind: oauth-bearer }]
`
	w, err := compile(t, text, nil).Bind(nil, "workflow")
	if err != nil {
		t.Fatal(err)
	}
	env, missing, err := w.Environ(nil)
	if err != nil || !slices.Equal(env, []string{"U=u"}) || !slices.Equal(missing, []string{"T"}) {
		t.Errorf("environment %q, missing %q, %v", env, missing, err)
	}
	if env, _, _ := w.Environ(map[string]string{"T": "x"}); !slices.Equal(env, []string{"TOKEN=Bearer x", "U=u"}) {
		t.Errorf("environment %q", env)
	}
}

func TestCompileBlock(t *testing.T) {
	t.Parallel()
	m, err := runcontext.CompileBlock(json.RawMessage(`{"inputs":{"m":{"type":"string"}},"env":[{"name":"M","value":"${input.m}"}],
		"persistence":{"paths":["b","a","b"]},"outputSurface":{"kind":"web","port":8080}}`))
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.Bind(json.RawMessage(`{"m":"x"}`), "workflow")
	if err != nil {
		t.Fatal(err)
	}
	if env, _, _ := w.Environ(nil); !slices.Equal(env, []string{"M=x"}) || !slices.Equal(w.Persist, []string{"a", "b"}) || w.Surface.Port != 8080 {
		t.Errorf("workspace %+v", w)
	}
	for _, c := range []struct{ raw, pointer string }{
		{`{"env":[{"name":"m","value":""}]}`, "/env/0/name"},
		{`{"persist":[]}`, "/persist"},
		{`{"agent":{"slug":"a"}}`, "/agent"},
	} {
		_, err := runcontext.CompileBlock(json.RawMessage(c.raw))
		if found := findings(t, err); len(found) != 1 || found[0].Pointer != c.pointer || found[0].File != "" {
			t.Errorf("%s: %v, want one finding at %s", c.raw, found, c.pointer)
		}
	}
	for _, raw := range []string{`{},"extends":"manifest/reviewer-base@1.0.0"`, `[`, ``} {
		if _, err := runcontext.CompileBlock(json.RawMessage(raw)); err == nil {
			t.Errorf("accepted %s", raw)
		}
	}
}

// What is written with everything that it inherits is the same manifest.
func TestDocument(t *testing.T) {
	t.Parallel()
	base := strings.Replace(strings.Replace(minimal, "slug: m", "slug: base", 1), "spec:", "spec:\n  env: [{name: A, value: \"1\"}]\n  permissions: {tools: {allow: []}}", 1)
	child := strings.Replace(strings.Replace(minimal, "kind:", "extends: manifest/base@1.0.0\nkind:", 1), "spec:",
		"spec:\n  inputs: {n: {type: number, default: 1}}\n  seedFiles: [{slot: inputs, path: x, content: \"${input.n}\"}]\n  mounts: {inputs: true}\n  persistence: {paths: []}", 1)
	m, err := runcontext.Compile("child.yaml", []byte(child), map[string][]byte{"base@1.0.0": []byte(base)})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := m.Document()
	if err != nil {
		t.Fatal(err)
	}
	again, err := runcontext.Compile("again.json", doc, nil)
	if err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	for _, m := range []*runcontext.Manifest{m, again} {
		w, err := m.Bind([]byte(`{"n":7}`), "workflow")
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Env) != 1 || w.Permissions.Tools.Allow == nil || *w.Seeds[0].Content != "7" || w.Slug != "m" || w.Agent.Slug != "a" {
			t.Errorf("%+v", w)
		}
	}
	if second, err := again.Document(); err != nil || string(second) != string(doc) {
		t.Errorf("%s, then %s, %v", doc, second, err)
	}
	if at := m.Locate(source.Error{Pointer: "/spec/env/0"}); at.File != "base@1.0.0.yaml" || at.Line == 0 {
		t.Errorf("what is inherited is at %+v", at)
	}
}

const minimal = `apiVersion: workspace/v1
kind: WorkspaceManifest
metadata: {slug: m, version: 1.0.0}
spec:
  agent: {slug: a}
`
