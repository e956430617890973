package runcontext_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/tenonrun/tenon/runcontext"
)

// FuzzCompile looks for manifests that are accepted and cannot be bound twice in
// the same way, and for panics.
func FuzzCompile(f *testing.F) {
	raw, err := os.ReadFile("testdata/close-audit.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(raw), `{"month":"2026-10"}`)
	f.Add(small, `{}`)
	f.Add(small+"  env: [{ name: A, value: \"${input.x | default: '}'}$${\" }]\n  inputs: { x: { type: string } }\n", `{"x":"${input.x}"}`)
	f.Fuzz(func(t *testing.T, text, inputs string) {
		m, err := runcontext.Compile("m.yaml", []byte(text), nil)
		if err != nil {
			return
		}
		w, err := m.Bind(json.RawMessage(inputs), "workflow")
		if err != nil {
			return
		}
		again, err := m.Bind(json.RawMessage(inputs), "workflow")
		if err != nil {
			t.Fatalf("bound once only: %v", err)
		}
		a, errA := json.Marshal(w)
		b, errB := json.Marshal(again)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("bound twice:\n%s\n%s", a, b)
		}
		if _, err := runcontext.NewPlan(w.Entries()); err != nil {
			t.Errorf("an accepted manifest has entries that are refused: %v", err)
		}
	})
}
