package tenon_test

import (
	"testing"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/scripted"
	"github.com/tenonrun/tenon/workflow"
)

// TestCallsThatCostTooMuchAreNotSent: what a scripted answer costs is reserved
// before it is asked for.
func TestCallsThatCostTooMuchAreNotSent(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load("replies.yaml", []byte("version: 1\nreplies:\n  - {text: hello, usage: {in: 10, out: 10, cost: 0.4}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := asked{scripted.New("mine", script), make(chan string, 8)}
	tn := opened(t, nil, func(c *tenon.Config) { c.Providers = map[string]provider.Provider{"mine": priced{p}} })
	w := document(t, tn, head+`entry: one
nodes:
  one: {kind: prompt, params: {text: Hello, access: read}, ends: {next: two, failed: null}}
  two: {kind: prompt, params: {text: Hello, access: read}, ends: {next: done, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`)
	for budget, calls := range map[float64]int{0.3: 0, 0.5: 1, 0.8: 2} {
		r, err := tn.Run(t.Context(), tenon.Request{Workflow: w, Budget: workflow.Budget{MaxCostUSD: budget}})
		if err != nil {
			t.Fatal(err)
		}
		want := workflow.StatusExhausted
		if calls == 2 {
			want = workflow.StatusSucceeded
		}
		if r.Status != want || len(p.models) != calls || r.Usage.CostUSD > budget+1e-9 {
			t.Errorf("$%g: %s after %d calls for $%g, %+v", budget, r.Status, len(p.models), r.Usage.CostUSD, r.Unfinished)
		}
		for range calls {
			<-p.models
		}
	}
}

// priced tells what the provider below tells.
type priced struct{ asked }

func (p priced) MaxCost(r provider.Request, bytes int) (provider.MaxCost, bool) {
	return p.Provider.(provider.Priced).MaxCost(r, bytes)
}
