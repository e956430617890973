package graph_test

import (
	"encoding/json"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/graph"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

const writing = `{"schemaVersion":2,"id":"doc","entry":"w","maxTransitions":9,"nodes":{"w":{"kind":"writer","params":{},"ends":{"next":null}}}}`

type document struct{}

func (document) Load(workflow.Digest) ([]byte, error) { return []byte(writing), nil }

// writer is a kind whose traits depend on its provider: the only one that there
// is.
func writer(t *testing.T) *piece.Registry {
	t.Helper()
	r, err := piece.NewRegistry(piece.Piece{
		Kind: "writer", Schema: func(int) json.RawMessage { return json.RawMessage(`{"type":"object"}`) },
		Describe: func(_ json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
			traits := piece.Traits{Outcomes: []string{"next"}, Effect: workflow.EffectWrite, AI: true}
			if len(env.Providers) == 1 {
				traits.Provider = env.Providers[0]
			}
			caps, _ := env.Backend(traits.Provider)
			traits.Uncertain = caps.Uncertain
			return traits, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Traits come from what the run began with, and from the configuration where it
// does not say; runs of one document do not share what they do not have in common.
func TestTraitsArePinned(t *testing.T) {
	t.Parallel()
	f := graph.New(graph.Config{
		Pieces: writer(t), Providers: []string{"new", "newer"},
		Backend: func(name string) (executor.Capabilities, bool) {
			return executor.Capabilities{Uncertain: name == "unpinned"}, name != ""
		},
	})
	pin := func(uncertain bool) map[string]workflow.Capabilities {
		return map[string]workflow.Capabilities{"old": {Uncertain: uncertain}}
	}
	for _, tt := range []struct {
		opts      workflow.Options
		provider  string
		uncertain bool
	}{
		{workflow.Options{}, "", false},
		{workflow.Options{Backends: pin(true), Providers: []string{"old"}}, "old", true},
		{workflow.Options{Backends: pin(false), Providers: []string{"old"}}, "old", false},
		{workflow.Options{Backends: pin(false), Providers: []string{"unpinned"}}, "unpinned", true},
		{workflow.Options{Providers: []string{"unpinned"}}, "unpinned", true},
	} {
		start := workflow.RunStarted{Workflow: workflow.Ref{Name: "doc", Digest: "d"}, Kind: workflow.KindGraph, Level: 2, Options: tt.opts}
		p, err := f.New("r", start, document{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(workflow.Event{Seq: 1, At: 1, Payload: &start}); err != nil {
			t.Fatal(err)
		}
		wishes, err := p.Decide(nil)
		if err != nil || len(wishes) != 1 {
			t.Fatalf("%v, %v", wishes, err)
		}
		if got := wishes[0].(workflow.StartVisit); got.Provider != tt.provider || got.Uncertain != tt.uncertain {
			t.Errorf("%+v: provider %q, uncertain %v", tt.opts, got.Provider, got.Uncertain)
		}
	}
}
