package runcontext_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/runcontext"
)

var update = flag.Bool("update", false, "write testdata anew")

// whole is an input that has everything.
func whole(t testing.TB) runcontext.Input {
	t.Helper()
	raw, err := os.ReadFile("testdata/close-audit.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := runcontext.Compile("m.yaml", raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.Bind(json.RawMessage(`{"month":"2026-10"}`), "workflow")
	if err != nil {
		t.Fatal(err)
	}
	overlays, err := runcontext.Select(library(), []string{"concern:sox", "stack:sap"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	contract, applied, err := runcontext.Apply(report(), overlays)
	if err != nil {
		t.Fatal(err)
	}
	return runcontext.Input{
		Project: "ledger", Workflow: "close", Job: "audit",
		Agent:     runcontext.Agent{Slug: "ledger-auditor", Version: "2.1.0", Role: "gate-reviewer", Stage: "audit", Alias: "auditor-eu", Depth: 1, Prompt: "Compare the ledgers.\r\nBe <exact> & brief.\n"},
		SubAgents: []string{"tracer", "counter"},
		Model:     json.RawMessage(`{"modelId":"m-c","kind":"concrete"}`),
		Limits:    json.RawMessage(`{"maxDepth":2,"maxSpawns":5}`),
		Rules:     json.RawMessage(`{"deny":["bash"]}`),
		Skills: []runcontext.Skill{
			{Slug: "reconcile", Version: "1.0.3", Description: "How accounts\n are compared."},
			{Slug: "cite", Version: "1.1.0", SHA256: strings.Repeat("ab", 32)},
		},
		Selections: []json.RawMessage{json.RawMessage(`{"kind":"tool","toolName":"post_entry","resourceId":"erp"}`), json.RawMessage(`{"kind":"provider","resourceId":"erp"}`)},
		Tools:      []string{"read", "grep", "bash", "write"}, Denied: []string{"bash"},
		Contract: &contract, Overlays: applied, Workspace: w,
		Plan: runcontext.Plan{Entries: append(w.Entries(),
			runcontext.Literal(runcontext.SlotAgent, "skills/reconcile/SKILL.md", []byte("reconcile")),
			runcontext.Literal(runcontext.SlotAgent, "skills/cite/SKILL.md", []byte("cite")),
			runcontext.Literal(runcontext.SlotDeliverableSpecs, "close-report.json", []byte("{}")),
			runcontext.Entry{Path: "repos/main", Slot: runcontext.SlotRepos, Mode: runcontext.ReadOnly, Source: &runcontext.Source{Kind: "work-tree", Ref: "main"}},
		)},
		Vars:         json.RawMessage(`{"b":[1,2],"a":"x"}`),
		Instructions: "Run make check.\n", Feedback: "Name the account.",
	}
}

// TestRenderGolden compares with testdata; -update writes it.
func TestRenderGolden(t *testing.T) {
	t.Parallel()
	r := render(t, whole(t))
	plan, err := json.MarshalIndent(r.Plan, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	hashes := fmt.Sprintf("%s\n%s\n", r.SnapshotHash, r.ContextHash)
	for name, got := range map[string]string{
		"AGENTS.md": r.AgentsMD, "context.json": string(r.ContextFileText()), "plan.json": string(plan) + "\n", "hashes.txt": hashes,
	} {
		name = "testdata/rendered/" + name
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(name); err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if want := []string{"grep", "read", "write"}; !slices.Equal(r.Tools, want) {
		t.Errorf("tools %q, want %q", r.Tools, want)
	}
	if want := []string{"stack:sap", "concern:sox"}; !slices.Equal(r.AppliedOverlays, want) {
		t.Errorf("overlays %q, want %q", r.AppliedOverlays, want)
	}
}

// TestRenderOrder shuffles everything that has no order.
func TestRenderOrder(t *testing.T) {
	t.Parallel()
	want := render(t, whole(t))
	rapid.Check(t, func(rt *rapid.T) {
		in := whole(t)
		shuffle := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)).Shuffle
		for _, list := range []any{in.SubAgents, in.Skills, in.Selections, in.Tools, in.Plan.Entries} {
			shuffle(reflect.ValueOf(list).Len(), reflect.Swapper(list))
		}
		in.Model, in.Vars = json.RawMessage(`{ "kind": "concrete", "modelId": "m-c" }`), json.RawMessage("{\"a\":\"x\",\n\"b\":[1,2.0]}")
		in.Tools = append(in.Tools, in.Tools[0])
		got, err := runcontext.Render(in)
		if err != nil {
			rt.Fatal(err)
		}
		if got.AgentsMD != want.AgentsMD || got.SnapshotHash != want.SnapshotHash || got.ContextHash != want.ContextHash {
			rt.Errorf("another order gives another context:\n%s\n%s", got.AgentsMD, got.Context)
		}
	})
}

// TestRenderElsewhere renders in processes of another user, place and language.
func TestRenderElsewhere(t *testing.T) {
	if os.Getenv("TENON_RENDER_ELSEWHERE") != "" {
		r := render(t, whole(t))
		fmt.Printf("<%s %s>\n", r.SnapshotHash, r.ContextHash)
		return
	}
	t.Parallel()
	r := render(t, whole(t))
	want := fmt.Sprintf("<%s %s>", r.SnapshotHash, r.ContextHash)
	for _, env := range [][]string{
		{"LC_ALL=tr_TR.UTF-8", "TZ=Pacific/Kiritimati", "USER=one", "HOME=/home/one"},
		{"LC_ALL=C", "TZ=America/St_Johns", "USER=two", "HOME=/nonexistent", "LANG=de_DE"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRenderElsewhere$") //nolint:gosec // this very binary
		cmd.Env = slices.Concat(env, []string{"TENON_RENDER_ELSEWHERE=1"})
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("with %q: %v, %s; want %s", env, err, out, want)
		}
	}
}

// TestHashesMove changes one thing at a time: what is of the definition moves both
// hashes, what is of this turn only that of the context.
func TestHashesMove(t *testing.T) {
	t.Parallel()
	before := render(t, whole(t))
	for _, c := range []struct {
		name       string
		change     func(*runcontext.Input)
		definition bool
	}{
		{"version", func(in *runcontext.Input) { in.Agent.Version = "2.1.1" }, true},
		{"prompt", func(in *runcontext.Input) { in.Agent.Prompt += "Hurry." }, true},
		{"model", func(in *runcontext.Input) { in.Model = json.RawMessage(`{"kind":"concrete","modelId":"m-d"}`) }, true},
		{"limits", func(in *runcontext.Input) { in.Limits = nil }, true},
		{"tools", func(in *runcontext.Input) { in.Denied = nil }, true},
		{"skill", func(in *runcontext.Input) { in.Skills[0].Version = "1.0.4" }, true},
		{"overlay", func(in *runcontext.Input) { in.Overlays = in.Overlays[1:] }, true},
		{"contract", func(in *runcontext.Input) { in.Contract.Sections[0].Text += "!" }, true},
		{"feedback", func(in *runcontext.Input) { in.Feedback = "" }, false},
		{"instructions", func(in *runcontext.Input) { in.Instructions = "" }, false},
		{"vars", func(in *runcontext.Input) { in.Vars = nil }, false},
		{"reference", func(in *runcontext.Input) { in.Plan.Entries = append(in.Plan.Entries, policy()) }, false},
		{"source", func(in *runcontext.Input) { in.Plan.Entries[len(in.Plan.Entries)-1].Source.Version = "v2" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := whole(t)
			c.change(&in)
			after := render(t, in)
			if moved := after.SnapshotHash != before.SnapshotHash; moved != c.definition {
				t.Errorf("snapshot hash moved: %v, want %v", moved, c.definition)
			}
			if after.ContextHash == before.ContextHash && c.name != "overlay" && c.name != "contract" && !c.definition {
				t.Error("context hash did not move")
			}
		})
	}
}

func TestRenderRefused(t *testing.T) {
	t.Parallel()
	const secret = `s3"cr3t`
	for _, c := range []struct {
		name   string
		change func(*runcontext.Input)
		want   string
	}{
		{"skill twice", func(in *runcontext.Input) { in.Skills[1].Slug = "reconcile" }, `skill "reconcile" twice`},
		{"limits that are no JSON", func(in *runcontext.Input) { in.Limits = json.RawMessage(`{`) }, "rendering limits"},
		{"a plan that is none", func(in *runcontext.Input) { in.Plan.Entries[0].Path = "/etc/passwd" }, "/etc/passwd"},
		{"secret in the prompt", func(in *runcontext.Input) { in.Agent.Prompt = "use " + secret }, "AGENTS.md"},
		{"secret in vars", func(in *runcontext.Input) { in.Vars, _ = json.Marshal(map[string]string{"k": "x" + secret}) }, "context.json"},
		{"secret in a seed", func(in *runcontext.Input) {
			in.Plan.Entries = append(in.Plan.Entries, runcontext.Literal(runcontext.SlotInputs, "seed", []byte(secret)))
		}, "inputs/seed"},
		{"path of this machine", func(in *runcontext.Input) { in.Vars = json.RawMessage(`{"at":"/home/me/ledger/x"}`) }, "/home/me/ledger"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := whole(t)
			in.Secrets, in.Private = []string{secret}, []string{"/home/me/ledger"}
			c.change(&in)
			_, err := runcontext.Render(in)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "cr3t") {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

// TestCredentialsStayOut renders a workspace whose environment has a credential.
func TestCredentialsStayOut(t *testing.T) {
	t.Parallel()
	in := whole(t)
	before := render(t, in)
	env, _, err := in.Workspace.Environ(map[string]string{"ERP_TOKEN": "first-value"})
	if err != nil || !slices.Contains(env, "ERP_TOKEN=first-value") {
		t.Fatalf("environment %q, %v", env, err)
	}
	if _, _, err := in.Workspace.Environ(map[string]string{"ERP_TOKEN": "second-value"}); err != nil {
		t.Fatal(err)
	}
	in.Secrets = []string{"first-value", "second-value"}
	after := render(t, in)
	all, err := json.Marshal(after)
	if err != nil || strings.Contains(string(all), "-value") {
		t.Errorf("a credential is rendered: %s, %v", all, err)
	}
	if after.SnapshotHash != before.SnapshotHash || after.ContextHash != before.ContextHash {
		t.Error("a credential moved a hash")
	}
}

func TestRenderSmallest(t *testing.T) {
	t.Parallel()
	r := render(t, runcontext.Input{Agent: runcontext.Agent{Slug: "a", Version: "1"}})
	if !strings.HasPrefix(r.AgentsMD, "# Role: generic-agent\n") || strings.Contains(r.AgentsMD, "Deliverable") {
		t.Errorf("instructions:\n%s", r.AgentsMD)
	}
	if want := `{"agent":{"slug":"a","version":"1"},"deliverableSpecRef":null,"overlays":[],"schemaVersion":1,"slots":{},"tools":[]}`; string(r.Context) != want {
		t.Errorf("context %s, want %s", r.Context, want)
	}
}
