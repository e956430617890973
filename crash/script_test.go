//go:build unix

package crash_test

import (
	"maps"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

// TestScriptKilled kills a run of a workflow script at its durable steps, and
// every second one again in its resume: the script is replayed, no answer is asked
// for twice that came, and the result and the files are the same.
func TestScriptKilled(t *testing.T) {
	t.Parallel()
	begin := func(s *scene, kill int64) order {
		if s.began {
			return order{Kill: kill}
		}
		return order{Kill: kill, Workflow: "team"}
	}
	const calls = 4 + 2*4
	calm := newScene(t, "r-script-calm", new(tally))
	rep, killed := calm.do(begin(calm, 0))
	if killed || rep.Result.Status != workflow.StatusSucceeded || rep.Result.Usage.Calls != calls {
		t.Fatalf("undisturbed, it is %s after %d calls: %+v", rep.Result.Status, rep.Result.Usage.Calls, rep.Result.Failures)
	}
	want, wantFiles := outputs(rep), files(t, calm.dir)
	names, numbers := numbered(len(rep.Steps), short(2, 17))
	sum := new(tally)
	t.Run("scenes", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, "r-script-"+name, sum)
				rep, killed := s.do(begin(s, int64(numbers[i])))
				if killed && i%2 == 1 {
					rep, killed = s.do(begin(s, 7))
				}
				if killed {
					rep, _ = s.do(begin(s, 0))
				}
				rep = s.settle(rep)
				if rep.Result.Status != workflow.StatusSucceeded {
					t.Fatalf("the run is %s: %+v", rep.Result.Status, rep.Result.Failures)
				}
				s.check(s.history())
				got := outputs(rep)
				if how := s.asked["shell#1"]; how != workflow.RecoverDone && !maps.Equal(got, want) {
					t.Errorf("the outputs are %v, want %v", got, want)
				}
				differ(t, "file", files(t, s.dir), wantFiles)
				lost := 0
				for _, e := range s.history() {
					if p, ok := e.Payload.(*workflow.InvocationSettled); ok && p.Status == workflow.InvocationLost {
						lost++
					}
				}
				if n := len(s.server.Requests()); n < calls || n > calls+lost {
					t.Errorf("the model got %d requests for %d answers, and %d were lost", n, calls, lost)
				}
			})
		}
	})
	if t.Log(sum); sum.kills.Load() < int64(len(names)*3/4) {
		t.Errorf("%d of %d processes were killed", sum.kills.Load(), len(names))
	}
}
