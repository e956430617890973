package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/workflow"
)

// A cycle that is longer than a batch is appended in parts; a snapshot waits for
// its end.
func TestSnapshotOfWideMap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.reopen(func(c *engine.Config) { c.Snapshot = 600 })
	items, err := json.Marshal(make([]int, 300))
	if err != nil {
		t.Fatal(err)
	}
	go func() { // the first branches end together
		for range 256 {
			<-r.w.begun
		}
		close(r.w.block)
	}()
	res := r.run(def2("each", `"each":{"kind":"map","params":{"over":{"items":`+string(items)+`},"concurrency":256,"body":"one"},"ends":{"next":"join"}},`+
		`"join":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"ask","fail":"bad"}},`+
		`"ask":{"kind":"question","params":{"text":"Go on?"},"ends":{"next":"done"}},`+ends,
		`"components":{"one":{"entry":"w","nodes":{"w":{"kind":"step","params":{"name":"w","hang":true},"ends":{"next":"ok","failed":null}},"ok":{"kind":"end","params":{"outcome":"success"},"ends":{}}}}}`,
		`"maxTransitions":5000`))
	wantStatus(t, res, workflow.StatusWaiting)
	if got := r.w.count("w"); got != 300 {
		t.Errorf("%d branches ran, want 300", got)
	}
	r.answer(res.Questions[0], "yes")
	wantStatus(t, r.drive(res.Run), workflow.StatusSucceeded)
	if got := r.w.count("w"); got != 300 {
		t.Errorf("%d branches ran after the resume, want 300", got)
	}
}
