package tenon_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/scripted"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// opened opens Tenon over a new project with these files, away from the
// environment and the configuration of whoever runs the tests.
func opened(t *testing.T, files map[string]string, tune ...func(*tenon.Config)) *tenon.Tenon {
	t.Helper()
	cfg := config(t, files)
	for _, f := range tune {
		f(&cfg)
	}
	tn, err := tenon.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tn.Close(); err != nil {
			t.Error(err)
		}
	})
	return tn
}

func config(t *testing.T, files map[string]string) tenon.Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return tenon.Config{Dir: dir, State: t.TempDir(), Memory: true, Getenv: func(string) string { return "" }}
}

// started returns the first event of a run.
func started(t *testing.T, tn *tenon.Tenon, run workflow.RunID) *workflow.RunStarted {
	t.Helper()
	var start *workflow.RunStarted
	err := tn.Store.Events(t.Context(), run, 0, func(e workflow.Event) error {
		if p, ok := e.Payload.(*workflow.RunStarted); ok {
			start = p
		}
		return nil
	})
	if err != nil || start == nil {
		t.Fatalf("run %s does not start: %v", run, err)
	}
	return start
}

func document(t *testing.T, tn *tenon.Tenon, text string) *tenon.Workflow {
	t.Helper()
	w, err := tn.LoadDocument("doc", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return w
}

func launched(t *testing.T, tn *tenon.Tenon, q tenon.Request) *workflow.RunStarted {
	t.Helper()
	r, err := tn.Run(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return started(t, tn, r.Run)
}

// fails checks the code of an error, and that it names what it is about.
func fails(t *testing.T, err error, code workflow.Code, says string) {
	t.Helper()
	if workflow.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v (%s), want %s with %q", err, workflow.CodeOf(err), code, says)
	}
}

const head = "schemaVersion: 2\nid: doc\ndelivery: {requiresVerified: false}\n"

const trivial = head + "entry: done\nnodes: {done: {kind: end, params: {outcome: success}, ends: {}}}\n"

// asking is a workflow of one prompt to a provider.
func asking(provider string) string {
	return head + `entry: ask
nodes:
  ask: {kind: prompt, params: {engine: {provider: ` + provider + `}, text: Hello, access: read}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`
}

// one is a workflow of one node before its end.
func one(node string) string {
	return head + "entry: work\nnodes:\n  work: " + node + "\n  done: {kind: end, params: {outcome: success}, ends: {}}\n"
}

const ticketed = head + `entry: each
nodes:
  each: {kind: map, params: {over: tickets, body: item}, ends: {next: all}}
  all: {kind: join, params: {reduce: all-ok}, ends: {next: done, fail: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
components:
  item: {entry: set, nodes: {set: {kind: assign, params: {set: {seen: 1}}, ends: {next: null, failed: null}}}}
`

const changing = `{"schemaVersion":1,"id":"doc","title":"Doc","journal":"ledger-only","change":"new","entry":"done","maxTransitions":10,"roles":[],
"delivery":{"requiresVerified":false},"nodes":{"done":{"kind":"end","params":{"outcome":"success","requiresVerified":false},"ends":{}}}}`

func inComponent(node string) string {
	return head + `entry: part
nodes:
  part: {kind: component, params: {ref: part}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
components:
  part: {entry: work, nodes: {work: ` + node + `}}
`
}

// withLater adds a kind that can be validated but not run.
func withLater(c *tenon.Config) {
	c.Pieces = []piece.Piece{{
		Kind: "later", Missing: "it comes next year",
		Schema: func(int) json.RawMessage { return json.RawMessage(`{"type": "object"}`) },
		Describe: func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
			return piece.Traits{Outcomes: []string{"next"}}, nil
		},
	}}
}

func request(input, value string) tenon.Request {
	return tenon.Request{Inputs: map[string]json.RawMessage{input: json.RawMessage(value)}}
}

func TestRunIsRefusedBeforeItExists(t *testing.T) {
	t.Parallel()
	paid := map[string]string{".tenon/config.yaml": "version: 1\nproviders:\n  paid: {type: chat, model: m, baseURL: \"http://127.0.0.1:1/v1\"}\n"}
	proven := map[string]string{".tenon/config.yaml": "version: 1\nverification:\n  commands: [{key: test, command: \"true\"}]\n"}
	inputs := head + "inputs: {type: object, required: [port], properties: {port: {type: integer}}}\n" + strings.TrimPrefix(trivial, head)
	verify := one(`{kind: verify, params: {commands: configured}, ends: {pass: done, fail: null, failed: null}}`)
	tests := map[string]struct {
		files map[string]string
		text  string
		q     tenon.Request
		tune  func(*tenon.Config)
		code  workflow.Code
		says  string
	}{
		"no change":         {text: changing, code: workflow.CodeInvalidArguments, says: "--change"},
		"change":            {text: changing, q: tenon.Request{Change: "Not A Name"}, code: workflow.CodeInvalidArguments, says: "Not A Name"},
		"inputs of none":    {text: trivial, q: request("port", `1`), code: workflow.CodeInvalidInputs, says: "no inputs"},
		"inputs misspelt":   {text: inputs, q: request("prt", `1`), code: workflow.CodeInvalidInputs, says: `"port"`},
		"inputs mistyped":   {text: inputs, q: request("port", `"a"`), code: workflow.CodeInvalidInputs, says: "port"},
		"inputs missing":    {text: inputs, code: workflow.CodeInvalidInputs, says: "port"},
		"no tickets":        {text: ticketed, code: workflow.CodeMapInputMissing, says: "--tickets"},
		"a kind to come":    {text: one(`{kind: later, params: {}, ends: {next: done}}`), tune: withLater, code: workflow.CodePieceNotAvailable, says: "next year"},
		"unpriced":          {files: paid, text: asking("paid"), q: tenon.Request{Budget: workflow.Budget{MaxCostUSD: 1}}, code: workflow.CodeCostUnknown, says: "maxTokens"},
		"plan not trusted":  {files: proven, text: verify, code: workflow.CodeNotTrusted, says: "tenon trust"},
		"below a component": {text: inComponent(`{kind: later, params: {}, ends: {next: null}}`), tune: withLater, code: workflow.CodePieceNotAvailable, says: "next year"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tune := []func(*tenon.Config){}
			if tt.tune != nil {
				tune = append(tune, tt.tune)
			}
			tn := opened(t, tt.files, tune...)
			tt.q.Workflow = document(t, tn, tt.text)
			_, err := tn.Run(t.Context(), tt.q)
			fails(t, err, tt.code, tt.says)
			plan, planErr := tn.Plan(t.Context(), tt.q)
			if planErr != nil || plan.Problem != err.Error() {
				t.Errorf("the plan says %q (%v), the run %v", plan.Problem, planErr, err)
			}
			if heads, err := tn.Store.Runs(t.Context(), store.Query{}); err != nil || len(heads) > 0 {
				t.Errorf("the refused run exists: %v, %v", heads, err)
			}
		})
	}
	t.Run("no workflow", func(t *testing.T) {
		t.Parallel()
		_, err := opened(t, nil).Run(t.Context(), tenon.Request{})
		fails(t, err, workflow.CodeInvalidArguments, "no workflow")
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	fake := map[string]provider.Provider{"fake": scripted.New("fake", nil)}
	tests := map[string]struct {
		conf string
		tune func(*tenon.Config)
		says string
	}{
		"a provider twice":      {"version: 1\nproviders: {fake: {type: scripted}}\n", func(c *tenon.Config) { c.Providers = fake }, "rename one"},
		"a model of no one":     {"version: 1\n", func(c *tenon.Config) { c.Models = map[string]string{"fake": "m"} }, `"fake"`},
		"a kind twice":          {"version: 1\n", func(c *tenon.Config) { withLater(c); c.Pieces = append(c.Pieces, c.Pieces[0]) }, "registered already"},
		"a broken config":       {"version: 1\nlimits: {maxTokens: many}\n", func(*tenon.Config) {}, "config.yaml:2:21: want integer"},
		"no directory":          {"version: 1\n", func(c *tenon.Config) { c.Dir = filepath.Join(c.Dir, "none") }, "none"},
		"no place for the runs": {"version: 1\n", func(c *tenon.Config) { c.Memory, c.State = false, filepath.Join(c.Dir, ".tenon/config.yaml") }, "state"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, map[string]string{".tenon/config.yaml": tt.conf})
			tt.tune(&cfg)
			tn, err := tenon.Open(t.Context(), cfg)
			if err == nil {
				tn.Close()
				t.Fatal("it opens")
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v does not say %q", err, tt.says)
			}
		})
	}
}

func TestInputDefaults(t *testing.T) {
	t.Parallel()
	tn := opened(t, nil)
	w := document(t, tn, head+`inputs:
  type: object
  properties:
    port: {type: integer, default: 80}
    host: {type: object, properties: {name: {type: string, default: here}}, default: {}}
`+strings.TrimPrefix(trivial, head))
	for given, want := range map[string]string{
		`{}`:                       `{"host":{"name":"here"},"port":80}`,
		`{"port":1}`:               `{"host":{"name":"here"},"port":1}`,
		`{"host":{"name":"away"}}`: `{"host":{"name":"away"},"port":80}`,
	} {
		var inputs map[string]json.RawMessage
		if err := json.Unmarshal([]byte(given), &inputs); err != nil {
			t.Fatal(err)
		}
		start := launched(t, tn, tenon.Request{Workflow: w, Inputs: inputs})
		var got map[string]any
		if err := json.Unmarshal(start.Inputs.JSON, &got); err != nil {
			t.Fatal(err)
		}
		if raw, _ := json.Marshal(got); string(raw) != want {
			t.Errorf("%s became %s, want %s", given, raw, want)
		}
	}
}

// TestBudgetIsTheSmallest: a cap of the request can narrow what definition and
// configuration say, never widen it; no cap is no number.
func TestBudgetIsTheSmallest(t *testing.T) {
	t.Parallel()
	conf := map[string]string{".tenon/config.yaml": "version: 1\nlimits: {maxTokens: 500, maxDuration: 2s}\n"}
	tn := opened(t, conf)
	w := document(t, tn, head+"budget: {maxTokens: 300, maxCostUsd: 2}\n"+strings.TrimPrefix(trivial, head))
	for asked, want := range map[workflow.Budget]workflow.Budget{
		{}:                                   {MaxTokens: 300, MaxCostUSD: 2, MaxDurationMs: 2000},
		{MaxTokens: 400, MaxCostUSD: 3}:      {MaxTokens: 300, MaxCostUSD: 2, MaxDurationMs: 2000},
		{MaxTokens: 200, MaxDurationMs: 10}:  {MaxTokens: 200, MaxCostUSD: 2, MaxDurationMs: 10},
		{MaxCostUSD: 1, MaxDurationMs: 5000}: {MaxTokens: 300, MaxCostUSD: 1, MaxDurationMs: 2000},
	} {
		if got := launched(t, tn, tenon.Request{Workflow: w, Budget: asked}).Options.Budget; got != want {
			t.Errorf("%+v became %+v, want %+v", asked, got, want)
		}
	}
}

func calling(file string) string {
	return one(`{kind: workflow, params: {file: ` + file + `}, ends: {next: done, failed: null}}`)
}

// TestChildrenArePinned: a run keeps the documents of its children, at every
// depth, as they were when it started.
func TestChildrenArePinned(t *testing.T) {
	t.Parallel()
	const dir = ".tenon/workflows/"
	tn := opened(t, map[string]string{
		dir + "top.yaml":          calling("parts/middle.yaml"),
		dir + "parts/middle.yaml": calling("low.yaml"),
		dir + "parts/low.yaml":    trivial,
	})
	w, err := tn.Load("top")
	if err != nil {
		t.Fatal(err)
	}
	low := filepath.Join(tn.Project.Root, dir, "parts/low.yaml")
	if err := os.WriteFile(low, []byte("no workflow any more"), 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := tn.Run(t.Context(), tenon.Request{Workflow: w})
	if err != nil || result.Status != workflow.StatusSucceeded {
		t.Fatalf("%s, %v: %+v", result.Status, err, result.Failures)
	}
	pinned := started(t, tn, result.Run).Children
	if names := slices.Sorted(maps.Keys(pinned)); !slices.Equal(names, []string{"low.yaml", "parts/middle.yaml"}) {
		t.Errorf("pinned are %q", names)
	}
	for name, ref := range pinned {
		if doc, err := tn.Store.Blob(t.Context(), ref.Digest); err != nil || len(doc) == 0 {
			t.Errorf("the document of %s: %v", name, err)
		}
	}
	if _, err := tn.Load("top"); err == nil {
		t.Error("a child that is no workflow any more is loaded")
	}
}

// TestChildrenOfOneName: two files that documents call by the same name cannot
// both be pinned under it.
func TestChildrenOfOneName(t *testing.T) {
	t.Parallel()
	failing := strings.Replace(trivial, "success", "failure", 1)
	files := map[string]string{
		"a/mid.yaml": calling("low.yaml"), "a/low.yaml": trivial, "b/low.yaml": failing,
		"b/top.yaml": head + `entry: first
nodes:
  first: {kind: workflow, params: {file: low.yaml}, ends: {next: second, failed: second}}
  second: {kind: workflow, params: {file: ../a/mid.yaml}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`,
	}
	tn := opened(t, files)
	w, err := tn.Load("b/top.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tn.Run(t.Context(), tenon.Request{Workflow: w})
	fails(t, err, workflow.CodeInvalidDefinition, "low.yaml")
}

func TestLoadDocument(t *testing.T) {
	t.Parallel()
	tn := opened(t, map[string]string{"parts/low.yaml": trivial})
	w := document(t, tn, calling("parts/low.yaml"))
	if w.Name != "doc" || w.File != "doc" || w.Path != "" {
		t.Errorf("it is %q of %q at %q", w.Name, w.File, w.Path)
	}
	result, err := tn.Run(t.Context(), tenon.Request{Workflow: w})
	if err != nil || result.Status != workflow.StatusSucceeded {
		t.Errorf("%s, %v", result.Status, err)
	}
	if len(started(t, tn, result.Run).Children) != 1 {
		t.Error("its child is not pinned")
	}
	_, err = tn.LoadDocument("mine", []byte("schemaVersion: 2\nid: x\nentri: a\n"))
	var issues load.Issues
	if !errors.As(err, &issues) || issues[0].File != "mine" || issues[0].Line == 0 {
		t.Errorf("got %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	tn := opened(t, map[string]string{
		"loop.yaml": calling("back.yaml"), "back.yaml": calling("loop.yaml"),
		"script.js": "export const meta = {}", ".tenon/workflows/build.yaml": trivial,
	})
	for name, want := range map[string]workflow.Code{
		"script.js": workflow.CodeInvalidDefinition,
		"none.yaml": workflow.CodeWorkflowNotFound,
		"buid":      workflow.CodeWorkflowNotFound,
	} {
		_, err := tn.Load(name)
		fails(t, err, want, name)
	}
	if _, err := tn.Load("loop.yaml"); err == nil || !strings.Contains(err.Error(), "starts itself") {
		t.Errorf("a workflow that starts itself gave %v", err)
	}
}

// asked is a provider that keeps what it was asked.
type asked struct {
	provider.Provider
	models chan string
}

func (a asked) Stream(ctx context.Context, q provider.Request, emit func(provider.Delta)) (provider.Response, error) {
	a.models <- q.Model
	return a.Provider.Stream(ctx, q, emit)
}

func TestModelsOfGivenProviders(t *testing.T) {
	t.Parallel()
	for want, models := range map[string]map[string]string{"default": nil, "large": {"mine": "large"}} {
		p := asked{scripted.New("mine", nil), make(chan string, 8)}
		tn := opened(t, nil, func(c *tenon.Config) {
			c.Providers, c.Models = map[string]provider.Provider{"mine": p}, models
		})
		r, err := tn.Run(t.Context(), tenon.Request{Workflow: document(t, tn, asking("mine"))})
		if err != nil || r.Status != workflow.StatusSucceeded {
			t.Fatalf("%s, %v", r.Status, err)
		}
		if got := <-p.models; got != want {
			t.Errorf("the model is %q, want %q", got, want)
		}
	}
}

// TestRolesAreTheProjects: what a run is pinned to is what the project says.
func TestRolesAreTheProjects(t *testing.T) {
	t.Parallel()
	tn := opened(t, map[string]string{".tenon/config.yaml": `version: 1
providers: {fake: {type: chat, model: m, baseURL: "http://127.0.0.1:1/v1"}}
roles: {finder: {prompt: Find it.}, developer: {access: read}}
`})
	roles := launched(t, tn, tenon.Request{Workflow: document(t, tn, trivial)}).Options.Roles
	if !maps.Equal(roles, tn.Project.Roles()) {
		t.Errorf("pinned are %+v, the project has %+v", roles, tn.Project.Roles())
	}
	want := workflow.Role{Access: workflow.EffectRead, Provider: "fake", Prompt: "Find it."}
	if roles["finder"] != want {
		t.Errorf("finder is %+v", roles["finder"])
	}
	if roles["developer"].Access != workflow.EffectRead || roles["architect"].Provider != "fake" {
		t.Errorf("roles are %+v", roles)
	}
}

// TestKeys: a workflow can be checked without the key of its provider; a run
// without it is refused, and says which variable is missing.
func TestKeys(t *testing.T) {
	t.Parallel()
	conf := map[string]string{".tenon/config.yaml": "version: 1\nproviders: {paid: {type: anthropic, model: m, keyEnv: SOME_KEY}}\n"}
	tn := opened(t, conf)
	q := tenon.Request{Workflow: document(t, tn, asking("paid"))}
	_, err := tn.Run(t.Context(), q)
	fails(t, err, workflow.CodeProviderAuth, "SOME_KEY")
	keyed := opened(t, conf, func(c *tenon.Config) {
		c.Getenv = func(name string) string { return map[string]string{"SOME_KEY": "k"}[name] }
	})
	q.Workflow = document(t, keyed, asking("paid"))
	if plan, err := keyed.Plan(t.Context(), q); err != nil || plan.Problem != "" {
		t.Errorf("with its key: %q, %v", plan.Problem, err)
	}
}
