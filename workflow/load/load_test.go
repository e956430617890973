package load_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/shell"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// open is a piece whose params are not looked at.
func open(kind string, traits piece.Traits) piece.Piece {
	return piece.Piece{
		Kind:   kind,
		Schema: func(int) json.RawMessage { return json.RawMessage(`{"type":"object"}`) },
		Describe: func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
			return traits, nil
		},
	}
}

func registry(t testing.TB) *piece.Registry {
	t.Helper()
	w, r := workflow.EffectWrite, workflow.EffectRead
	r3 := []string{"pass", "fail", "failed"}
	pieces := append(control.Pieces(),
		open("prompt", piece.Traits{Outcomes: []string{"next", "blocked", "failed"}, Effect: w, AI: true}),
		open("decider", piece.Traits{Outcomes: []string{"continue", "stop", "failed"}, Effect: r, AI: true}),
		open("verify", piece.Traits{Outcomes: r3, Effect: w}),
		open("broken", piece.Traits{Outcomes: []string{"a", "a"}}),
		open("openspec-validate", piece.Traits{Outcomes: r3, Effect: r}),
		open("openspec-archive", piece.Traits{Outcomes: []string{"next", "failed"}, Effect: w}),
		open("implementation", piece.Traits{Outcomes: []string{"next", "rejected", "failed"}, Effect: w, AI: true}),
		open("implementation-step", piece.Traits{Outcomes: []string{"next", "failed"}, Effect: w, AI: true}),
	)
	pieces = append(pieces, shell.Pieces(shell.Config{})...)
	reg, err := piece.NewRegistry(pieces...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func config(t testing.TB) load.Config {
	return load.Config{Pieces: registry(t), Draft: true, Env: piece.Env{
		Roles: map[string]workflow.Role{
			"architect": {Access: workflow.EffectRead}, "developer": {Access: workflow.EffectWrite},
			"reviewer": {Access: workflow.EffectRead}, "loop-decider": {Access: workflow.EffectRead},
		},
		Providers: []string{"fixture", "scripted"},
		Backend:   func(name string) (executor.Capabilities, bool) { return executor.Capabilities{}, name == "fixture" },
	}}
}

func TestPublishedDefinitions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/definitions/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no definitions", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			for _, p := range []string{"NODE", "MARKER", "MARKERS", "SLEEPER", "BIG"} {
				text = strings.ReplaceAll(text, "__"+p+"__", "/bin/true")
			}
			w, err := load.Load(file, []byte(text), config(t))
			if err != nil {
				t.Fatal(err)
			}
			if v := w.Definition.Version; v != "" && v != string(w.Digest) {
				t.Errorf("version %s, digest %s", v, w.Digest)
			}
			for _, i := range w.Warnings {
				t.Log(i)
			}
		})
	}
}

func TestLargeDocument(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"schemaVersion":1,"id":"large","title":"Large","journal":"ledger-only","change":"none","entry":"n0","maxTransitions":10000,"roles":[],"nodes":{`)
	n := 0
	for ; b.Len() < 2_000_000; n++ {
		b.WriteString(`"n` + itoa(n) + `":{"kind":"condition","params":{"expr":"$vars.a == ` + itoa(n) + `"},"ends":{"true":"n` + itoa(n+1) + `","false":"end"}},`)
	}
	b.WriteString(`"n` + itoa(n) + `":{"kind":"condition","params":{"expr":"true"},"ends":{"true":"end","false":"end"}},"end":{"kind":"end","params":{"outcome":"success"},"ends":{}}}}`)
	start := time.Now()
	if _, err := load.Load("large.json", []byte(b.String()), config(t)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes, %d bytes: %v", n, b.Len(), time.Since(start))
}

func itoa(n int) string {
	raw, _ := json.Marshal(n)
	return string(raw)
}
