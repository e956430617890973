//go:build unix

package crash_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/ledger"
	"github.com/tenonrun/tenon/provider/providertest"
	"github.com/tenonrun/tenon/workflow"
)

// branch is what an agent of the tree does: it starts two below it, writes a file,
// and says so. Its place in the tree stands in its mark.
func branch(mark string, turn int) providertest.Reply {
	r := providertest.Reply{Text: fmt.Sprintf("%s-turn-%d", mark, turn), Tokens: &providertest.Tokens{Input: 100, Output: 10}}
	call := func(name string, args map[string]any) {
		raw, err := json.Marshal(args)
		if err != nil {
			panic(err) // plain values always encode
		}
		r.Calls = append(r.Calls, providertest.Call{Name: name, Args: string(raw)})
	}
	place := strings.TrimPrefix(mark, "MARK:tree")
	switch {
	case turn == 1 && strings.Count(place, "-") < 2:
		for _, side := range []string{"a", "b"} {
			call("task", map[string]any{"prompt": mark + "-" + side, "description": side})
		}
	case turn == 1, turn == 2 && strings.Count(place, "-") < 2:
		call("write", map[string]any{"path": "tree" + place + ".txt", "content": mark + "\n"})
	}
	return r
}

// accounts are those of the run's agents, by label, without what differs from
// one process to the next.
func (s *scene) accounts() (out map[string]string, lost int) {
	s.t.Helper()
	tree, tasks := &ledger.Tree{}, map[string]string{}
	for _, e := range s.history() {
		switch p := e.Payload.(type) {
		case *workflow.AgentStarted:
			tasks[p.Key] = p.Label + " " + p.Task
		case *workflow.InvocationSettled:
			if p.Status == workflow.InvocationLost {
				lost++
			}
		}
		tree.Apply(e, 0)
	}
	out = map[string]string{}
	for _, a := range tree.List() {
		ended := a.Depth == 0
		if a.Ended != nil {
			ended = a.Ended.Status == workflow.AgentSucceeded
		}
		out[a.Key+" "+tasks[a.Key]] = fmt.Sprintf("%d spawns, %d in, %d out, %d at work, ended: %v", a.Spawns, a.Spent.Input, a.Spent.Output, a.Running, ended)
	}
	return out, lost
}

// TestTreeKilled kills a tree of agents at three levels, with two beside each
// other at each, at moments all over its run: no answer is asked for twice that
// came, each agent is started and accounted for once, and the files are the same.
func TestTreeKilled(t *testing.T) {
	t.Parallel()
	begin := func(s *scene, kill int64) order {
		if s.began {
			return order{Kill: kill}
		}
		return order{Kill: kill, Workflow: "tree"}
	}
	const calls = 3 + 2*3 + 4*2
	calm := newScene(t, "r-tree-calm", new(tally))
	rep, killed := calm.do(begin(calm, 0))
	if killed || rep.Result.Status != workflow.StatusSucceeded || rep.Result.Usage.Calls != calls {
		t.Fatalf("undisturbed, it is %s after %d calls: %+v", rep.Result.Status, rep.Result.Usage.Calls, rep.Result.Failures)
	}
	wantFiles := files(t, calm.dir)
	want, _ := calm.accounts()
	if len(want) != 7 {
		t.Fatalf("undisturbed, there are %d agents: %v", len(want), want)
	}
	names, numbers := numbered(short(50, 6), 1)
	random := rand.New(rand.NewPCG(5, 50))
	for i := range numbers {
		numbers[i] = 1 + random.IntN(len(rep.Steps))
	}
	sum := new(tally)
	t.Run("scenes", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, "r-tree-"+name, sum)
				rep, killed := s.do(begin(s, int64(numbers[i])))
				if killed && i%2 == 1 {
					rep, killed = s.do(begin(s, 9))
				}
				if killed {
					rep, _ = s.do(begin(s, 0))
				}
				if rep.Result.Status != workflow.StatusSucceeded {
					t.Fatalf("the run is %s: %+v", rep.Result.Status, rep.Result.Failures)
				}
				s.check(s.history())
				differ(t, "file", files(t, s.dir), wantFiles)
				got, lost := s.accounts()
				if !maps.Equal(got, want) {
					for _, key := range slices.Sorted(maps.Keys(want)) {
						t.Errorf("%s: %s, want %s", key, got[key], want[key])
					}
				}
				if n := len(s.server.Requests()); n < calls || n > calls+lost {
					t.Errorf("the model got %d requests for %d answers, and %d were lost", n, calls, lost)
				}
			})
		}
	})
	if t.Log(sum.kills.Load(), "kills"); sum.kills.Load() < int64(len(names)*3/4) {
		t.Errorf("%d of %d processes were killed", sum.kills.Load(), len(names))
	}
}
