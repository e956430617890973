package load_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/artifact"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/implementation"
	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/openspec"
	"github.com/tenonrun/tenon/piece/shell"
	"github.com/tenonrun/tenon/piece/verify"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// broken is a piece that breaks its contract.
var broken = piece.Piece{
	Kind:   "broken",
	Schema: func(int) json.RawMessage { return json.RawMessage(`{"type":"object"}`) },
	Describe: func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
		return piece.Traits{Outcomes: []string{"a", "a"}}, nil
	},
}

// registry has every kind there is.
func registry(t testing.TB) *piece.Registry {
	t.Helper()
	reg, err := piece.NewRegistry(slices.Concat(control.Pieces(), shell.Pieces(shell.Config{}), model.Pieces(model.Config{}),
		verify.Pieces(verify.Config{}), openspec.Pieces(openspec.Config{}), implementation.Pieces(implementation.Config{}), artifact.Pieces(artifact.Config{}), []piece.Piece{broken})...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func config(t testing.TB) load.Config {
	return load.Config{Pieces: registry(t), Draft: true, Env: piece.Env{
		Roles: map[string]workflow.Role{
			"architect": {Access: workflow.EffectRead, Provider: "fixture"}, "developer": {Access: workflow.EffectWrite, Provider: "fixture"},
			"reviewer": {Access: workflow.EffectRead, Provider: "fixture"}, "idle": {Access: workflow.EffectRead}, "loop-decider": {Access: workflow.EffectRead, Provider: "fixture"},
		},
		Providers: []string{"fixture", "scripted"},
		Backend: func(name string) (executor.Capabilities, bool) {
			return executor.Capabilities{Model: "m"}, name == "fixture" || name == "scripted"
		},
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

// digests are those that the documents were published with.
var digests = map[string]string{
	"freestyle": "f209b867e47af660e14d57bf967d4d542ec5de8c3316f1ee5770314807a09cbb",
	"quick-sdd": "a6bd20e682ad6b47f8a9c09379512e26afe3dfdd78b3c40703e355de7e5eb804",
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for name, want := range digests {
		data, err := os.ReadFile("testdata/definitions/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		cfg := config(t)
		cfg.Draft = false
		w, err := load.Load(name, data, cfg)
		if err != nil || string(w.Digest) != want {
			t.Errorf("%s: digest %v, error %v", name, w, err)
		}
		draft := strings.Replace(string(data), want, "", 1)
		draft = strings.Replace(draft, ",\n  \"version\": \"\"", "", 1)
		_, err = load.Load(name, []byte(draft), cfg)
		if code := workflow.CodeOf(err); code != workflow.CodeVersionMissing {
			t.Errorf("%s without its version: %v", name, err)
		}
		changed := strings.Replace(string(data), `"entry"`, `"components": {}, "entry"`, 1)
		_, err = load.Load(name, []byte(changed), cfg)
		if err == nil || workflow.CodeOf(err) != workflow.CodeHashMismatch || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--write-version") {
			t.Errorf("%s changed: %v", name, err)
		}
	}
}

// TestSameDocument loads one document in several spellings.
func TestSameDocument(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"a.json": `{"schemaVersion":2,"id":"same","entry":"x","nodes":{"x":{"kind":"condition","params":{"expr":"$vars.item == 1.50"},"ends":{"true":null,"false":"y"}},"y":{"kind":"end","params":{"outcome":"success"},"ends":{}}},"budget":{"maxCostUsd":1e0}}`,
		"b.yaml": "id: same\nentry: x\nschemaVersion: 2\nbudget: {maxCostUsd: 1.0}\nnodes:\n  y: {ends: {}, kind: end, params: {outcome: success}}\n  x:\n    kind: condition\n    # a comment\n    params: {expr: '$vars.item == 1.50'}\n    ends:\n      false: y\n      true:\n",
	}
	seen := map[workflow.Digest]string{}
	for name, text := range texts {
		text = strings.ReplaceAll(text, "$vars.item", "$vars.changeId")
		w, err := load.Load(name, []byte(text), config(t))
		if err != nil {
			t.Fatal(err)
		}
		seen[w.Digest] = name
		again, err := load.Load("again.json", w.Document, config(t))
		if err != nil || again.Digest != w.Digest {
			t.Errorf("%s: the stored document loads as %v, %v", name, again, err)
		}
		if def, err := load.Decode(w.Document); err != nil || def.ID != "same" || len(def.Nodes) != 2 {
			t.Errorf("%s: decoding the stored document: %+v, %v", name, def, err)
		}
	}
	if len(seen) != 1 {
		t.Errorf("digests differ: %v", seen)
	}
}

// large is a valid document of at least so many bytes.
func large(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"schemaVersion":1,"id":"large","title":"Large","journal":"ledger-only","change":"none","entry":"n0","maxTransitions":10000,"roles":[],"nodes":{`)
	n := 0
	for ; b.Len() < size; n++ {
		fmt.Fprintf(&b, `"n%d":{"kind":"condition","params":{"expr":"$vars.a == %d"},"ends":{"true":"n%d","false":"end"}},`+"\n", n, n, n+1)
	}
	fmt.Fprintf(&b, `"n%d":{"kind":"assign","params":{"set":{"a":1}},"ends":{"next":"end","failed":"end"}},"end":{"kind":"end","params":{"outcome":"success"},"ends":{}}}}`, n)
	return []byte(b.String())
}

func TestLargeDocument(t *testing.T) {
	t.Parallel()
	if _, err := load.Load("large.json", large(100_000), config(t)); err != nil {
		t.Fatal(err)
	}
	_, err := load.Load("larger.json", large(2<<20), config(t))
	if err == nil || !strings.Contains(err.Error(), "2097152") {
		t.Errorf("more than 2 MiB: %v", err)
	}
}

func BenchmarkLoad(b *testing.B) {
	data, cfg := large(2_000_000), config(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := load.Load("large.json", data, cfg); err != nil {
			b.Fatal(err)
		}
	}
}

// refs is a body of so many nodes that run a component, one after the other.
func refs(name string, count int) string {
	var b strings.Builder
	b.WriteString(`"entry":"n0","nodes":{`)
	for i := range count {
		fmt.Fprintf(&b, `"n%d":{"kind":"component","params":{"ref":%q},"ends":{"next":"n%d","failed":null}},`, i, name, i+1)
	}
	fmt.Fprintf(&b, `"n%d":{"kind":"end","params":{"outcome":"success"},"ends":{}}}`, count)
	return b.String()
}

func TestComplexity(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]workflow.Code{40: "", 50: workflow.CodeComplexity} {
		doc := fmt.Sprintf(`{"schemaVersion":2,"id":"big",%s,"components":{"one":{%s},"two":{%s},"three":{%s}}}`,
			refs("one", count), refs("two", count), refs("three", count), `"entry":"x","nodes":{"x":{"kind":"end","params":{"outcome":"success"},"ends":{}}}`)
		if _, err := load.Load("big.json", []byte(doc), config(t)); workflow.CodeOf(err) != want {
			t.Errorf("%d references a body: %v", count, err)
		}
	}
}

// TestWrongEverywhere bounds what is told about a document.
func TestWrongEverywhere(t *testing.T) {
	t.Parallel()
	doc := strings.ReplaceAll(string(large(300_000)), `"condition"`, `"conditoin"`)
	_, err := load.Load("wrong.json", []byte(doc), config(t))
	var issues load.Issues
	if !errors.As(err, &issues) || len(issues) != 200 {
		t.Fatalf("%d issues", len(issues))
	}
	if issues[0].Excerpt == "" || issues[199].Line == 0 {
		t.Errorf("the first has no excerpt, or the last no place: %+v, %+v", issues[0], issues[199])
	}
}

func TestStructural(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/definitions/batch-implementation.json")
	if err != nil {
		t.Fatal(err)
	}
	cfg := load.Config{Pieces: registry(t)}
	if _, err := load.Load("batch", data, cfg); workflow.CodeOf(err) != workflow.CodeRoleNotFound {
		t.Errorf("without roles: %v", err)
	}
	cfg.Env.Structural = true
	if _, err := load.Load("batch", data, cfg); err != nil {
		t.Errorf("structural: %v", err)
	}
}
