package runcontext_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/runcontext"
)

// auditor is an input whose snapshot is testdata/snapshot.json.
func auditor() runcontext.Input {
	return runcontext.Input{
		Agent:    runcontext.Agent{Slug: "ledger-auditor", Version: "2.1.0"},
		Model:    json.RawMessage(`{"modelId": "m-c", "kind": "concrete"}`),
		Skills:   []runcontext.Skill{{Slug: "reconcile", Version: "1.0.3"}},
		Contract: &runcontext.Contract{Ref: "close-report@1.2.0"},
		Overlays: []runcontext.Applied{{ID: "sox", Tag: "concern:sox"}},
		Plan:     runcontext.Plan{Entries: closing()},
	}
}

func closing() []runcontext.Entry {
	return []runcontext.Entry{
		{Path: "deliverables", Slot: runcontext.SlotDeliverables, Mode: runcontext.ReadWrite},
		literal("inputs/inputs.json", runcontext.SlotInputs, `{"month":"2026-10"}`),
	}
}

// literal is an entry without the parts that the published digests do not know.
func literal(path string, slot runcontext.Slot, content string) runcontext.Entry {
	return runcontext.Entry{Path: path, Slot: slot, Mode: runcontext.ReadOnly, SHA256: canon.Sum([]byte(content))}
}

func policy() runcontext.Entry {
	return literal("references/kb/policy.md", runcontext.SlotReferences, "policy v2\n")
}

func TestSnapshotHash(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/snapshot.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := canon.Digest(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	if want != "acc71294819a27427021834e10ff387104dac0bed633bfd8d547bab337cec1d4" {
		t.Fatalf("testdata/snapshot.json has digest %s", want)
	}
	in := auditor()
	before := render(t, in)
	if before.SnapshotHash != "sha256:"+want {
		t.Errorf("snapshot hash %s, want sha256:%s", before.SnapshotHash, want)
	}
	in.Plan.Entries = append(in.Plan.Entries, policy())
	after := render(t, in)
	if after.SnapshotHash != before.SnapshotHash {
		t.Error("a mount changed the snapshot hash")
	}
	if after.ContextHash == before.ContextHash {
		t.Error("a mount did not change the context hash")
	}
}

func TestContextHash(t *testing.T) {
	t.Parallel()
	const agents = "# Role: gate-reviewer\nWrite deliverables/close.json, then stop.\n"
	context := json.RawMessage(`{"schemaVersion":1,"run":{"id":"run-7","attempt":1},"job":{"key":"audit","matrixIndex":0}}`)
	for _, c := range []struct {
		name    string
		entries []runcontext.Entry
		want    string
	}{
		{"two entries", closing(), "sha256:9ce1bfde0828e023021592ea3ce7e6e300c7de650109a0119648c053885fe6b5"},
		{"three entries, out of order", append([]runcontext.Entry{policy()}, closing()...), "sha256:79221d62c48b3c98b247064b0989447f3cd858db982fe151f9b64ccefe01185e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan, err := runcontext.NewPlan(c.entries)
			if err != nil {
				t.Fatal(err)
			}
			got, err := runcontext.ContextHash(agents, context, plan)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("context hash %s, want %s", got, c.want)
			}
		})
	}
}

func render(t *testing.T, in runcontext.Input) runcontext.Rendered {
	t.Helper()
	r, err := runcontext.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
