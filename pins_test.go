package tenon_test

import (
	"slices"
	"testing"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/scripted"
	"github.com/tenonrun/tenon/workflow"
)

const askingLater = head + `entry: wait
nodes:
  wait: {kind: approval, params: {text: Go on?}, ends: {approved: ask, denied: done}}
  ask: {kind: prompt, params: {text: Hello, access: read}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`

// TestRunKeepsItsProvider: a run goes on with the provider and the model that it
// began with, although another program would begin it with others.
func TestRunKeepsItsProvider(t *testing.T) {
	t.Parallel()
	conf := config(t, nil)
	conf.Memory = false
	began := asked{scripted.New("mine", nil), make(chan string, 8)}
	conf.Providers = map[string]provider.Provider{"mine": began}
	conf.Models = map[string]string{"mine": "large"}
	tn, err := tenon.Open(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tn.Run(t.Context(), tenon.Request{Workflow: document(t, tn, askingLater)})
	if err != nil || r.Status != workflow.StatusWaiting {
		t.Fatalf("%s, %v", r.Status, err)
	}
	opts := started(t, tn, r.Run).Options
	if opts.Backends["mine"].Model != "large" || !slices.Equal(opts.Providers, []string{"mine"}) {
		t.Errorf("pinned are %+v, %v", opts.Backends, opts.Providers)
	}
	if err := tn.Close(); err != nil {
		t.Fatal(err)
	}

	conf.Models = map[string]string{"mine": "small"}
	conf.Providers["other"] = scripted.New("other", nil)
	if tn, err = tenon.Open(t.Context(), conf); err != nil {
		t.Fatal(err)
	}
	defer tn.Close()
	err = tn.Send(t.Context(), r.Run, engine.Control{Answer: &engine.AnswerControl{Question: r.Questions[0].ID}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = tn.Resume(t.Context(), r.Run, "tester"); err != nil || r.Status != workflow.StatusSucceeded {
		t.Fatalf("%s %+v, %v", r.Status, r.Failures, err)
	}
	if got := <-began.models; got != "large" {
		t.Errorf("the model is %q, want large", got)
	}
}
