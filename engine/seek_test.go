package engine_test

import (
	"testing"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// arrivals returns the seq of the first admission of each visit.
func (r *rig) arrivals(run workflow.RunID) map[workflow.VisitID]int64 {
	r.t.Helper()
	out := map[workflow.VisitID]int64{}
	err := r.store.Events(r.t.Context(), run, 0, func(e workflow.Event) error {
		if _, ok := e.Payload.(*workflow.Admitted); ok && out[e.VisitID()] == 0 {
			out[e.VisitID()] = e.Seq
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// A fork of any visit, whatever snapshots are on the way, is cut just before
// that visit and goes on from there.
func TestForkOfEveryVisit(t *testing.T) {
	t.Parallel()
	docs := map[string]string{
		"loop": def2("s", `"s":{"kind":"step","params":{"name":"s","repeat":60},"ends":{"again":"s","next":"done","failed":"bad"}},`+ends),
		"map": def2("a", step("a", "", "each")+`,"each":{"kind":"map","params":{"over":{"items":[1,2,3]},"concurrency":3,"body":"one"},"ends":{"next":"join"}},`+
			`"join":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"in","fail":"bad"}},`+
			`"in":{"kind":"component","params":{"ref":"one"},"ends":{"next":"done","failed":"bad"}},`+ends,
			`"components":{"one":{"entry":"w","nodes":{"w":{"kind":"step","params":{"name":"w","repeat":7},"ends":{"again":"w","next":null,"failed":null}}}}}`),
	}
	for name, doc := range docs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(c *engine.Config) { c.Snapshot = 10 })
			res := r.run(doc)
			wantStatus(t, res, workflow.StatusSucceeded)
			if snap, err := r.store.Snapshot(t.Context(), res.Run, 0); err != nil || snap.Seq == 0 {
				t.Fatalf("no snapshot was taken: %v", err)
			}
			n := 0
			for v, seq := range r.arrivals(res.Run) {
				fork, err := r.engine.Fork(t.Context(), engine.ForkRequest{Run: res.Run, Node: string(v)})
				if err != nil {
					t.Fatalf("fork at %s: %v", v, err)
				}
				heads, err := r.store.Runs(t.Context(), store.Query{Run: fork})
				if err != nil || len(heads) != 1 || heads[0].Cut != seq-1 {
					t.Fatalf("fork at %s: cut %+v, want %d (%v)", v, heads, seq-1, err)
				}
				if n++; n%8 == 0 {
					wantStatus(t, r.drive(fork), workflow.StatusSucceeded)
				}
			}
		})
	}
}
