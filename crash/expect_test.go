//go:build unix

package crash_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
)

// undisturbed is what a run without any kill gives.
type undisturbed struct {
	steps   []string
	took    time.Duration // from the start of the process
	outputs map[string]string
	reasons []string
	files   map[string]string
	calls   map[string]int
}

var expected struct {
	sync.Once
	undisturbed
}

// expect runs the workflow undisturbed, once for all tests.
func expect(t *testing.T) *undisturbed {
	t.Helper()
	u := &expected.undisturbed
	expected.Do(func() {
		s := newScene(t, "r-undisturbed", new(tally))
		began := time.Now()
		rep, killed := s.do(order{Workflow: "thirty"})
		u.took = time.Since(began)
		if killed || rep.Result.Status != workflow.StatusSucceeded {
			t.Fatalf("the undisturbed run is %s: %+v", rep.Result.Status, rep.Result.Failures)
		}
		s.check(s.history())
		u.steps, u.outputs, u.reasons = rep.Steps, outputs(rep), rep.Result.Reasons
		u.files, u.calls = files(t, s.dir), s.calls()
		for mark, n := range u.calls {
			if n != 1 {
				t.Fatalf("undisturbed, %s was called %d times", mark, n)
			}
		}
		for visit, line := range lines {
			if visit != scriptShell && s.effects()[line] != 1 {
				t.Fatalf("undisturbed, %s is there %d times", line, s.effects()[line])
			}
		}
	})
	if u.steps == nil {
		t.Fatal("there is no undisturbed run to compare with")
	}
	return u
}

// varying is what differs between runs that went the same way.
var varying = regexp.MustCompile(`"(at|question|candidateHash)":"[^"]*"`)

func outputs(rep report) map[string]string {
	out := map[string]string{}
	for node, raw := range rep.Result.Outputs {
		out[node] = varying.ReplaceAllString(string(raw), `"$1":""`)
	}
	return out
}

// files reads a project; lines of effects.log have no order where branches run
// side by side.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(raw)
		if rel == "effects.log" {
			all := strings.Split(string(raw), "\n")
			slices.Sort(all)
			out[rel] = strings.Join(all, "\n")
		}
		return err
	})
	must(t, err)
	return out
}

// same compares the end of a run that was killed with the undisturbed one.
func (s *scene) same(rep report) {
	s.t.Helper()
	u := expect(s.t)
	s.check(s.history())
	if rep.Result.Status != workflow.StatusSucceeded || !slices.Equal(rep.Result.Reasons, u.reasons) {
		s.t.Errorf("the run is %s %v: %+v", rep.Result.Status, rep.Result.Reasons, rep.Result.Failures)
	}
	got := outputs(rep)
	for visit, how := range s.asked {
		node, _, _ := strings.Cut(string(visit), "#")
		if how == workflow.RecoverDone && got[node] == `{"by":"tester","recovered":"done"}` {
			got[node] = u.outputs[node]
		}
	}
	differ(s.t, "output", got, s.forgive(u.outputs, got))
	differ(s.t, "file", files(s.t, s.dir), u.files)
	s.sameCalls()
	if len(s.calls()) != len(u.calls) {
		s.t.Errorf("calls %v, want %v", s.calls(), u.calls)
	}
}

// sameCalls counts what reached the model: every call once, and again only when
// it was in flight at a kill. A request that a dead process had just sent may
// come to the server after it was looked at; the history still tells that it
// was on its way.
func (s *scene) sameCalls() {
	s.t.Helper()
	events := s.history()
	marks, cut := map[string]string{}, map[string]int{}
	for _, e := range events {
		if p, ok := e.Payload.(*workflow.InvocationSettled); ok && p.Status == workflow.InvocationOK {
			marks[e.ID] = markPattern.FindString(string(p.Memo.JSON))
		}
	}
	for _, e := range events {
		if p, ok := e.Payload.(*workflow.InvocationSettled); ok && p.Status == workflow.InvocationLost {
			cut[marks[e.ID]]++
		}
	}
	for mark, n := range s.calls() {
		if n < 1+s.lost[mark] || n > 1+cut[mark] {
			s.t.Errorf("%s was called %d times; at kills %d were seen in flight, %d may have been", mark, n, s.lost[mark], cut[mark])
		}
	}
}

// check compares what the store holds with what must hold for every history.
func (s *scene) check(events []workflow.Event) {
	s.t.Helper()
	st, err := sqlite.Open(context.Background(), sqlite.Config{Dir: s.home()})
	must(s.t, err)
	defer st.Close()
	var keeper store.Keeper = st
	rep, err := keeper.Check(context.Background())
	must(s.t, err)
	if len(rep.Problems) > 0 {
		s.t.Errorf("the check of the store reports %+v", rep.Problems)
	}
	var epoch int64
	var at workflow.Time
	for i, e := range events {
		if e.Seq != int64(i)+1 || e.Epoch < epoch || e.At < at {
			s.t.Fatalf("event %d stands at place %d, with epoch %d after %d and time %d after %d", e.Seq, i+1, e.Epoch, epoch, e.At, at)
		}
		epoch, at = e.Epoch, e.At
	}
	settled, done, asked := map[string]int{}, map[string]int{}, map[string]int{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *workflow.Settled:
			settled[e.ID]++
		case *workflow.InvocationSettled:
			if p.Status == workflow.InvocationOK {
				done[e.ID+" "+p.Key]++
			}
		case *workflow.QuestionOpened:
			asked[fmt.Sprint(e.ID, " ", p.Question.Round, p.Question.Key)]++
		}
	}
	for what, all := range map[string]map[string]int{"settled": settled, "called": done, "asked": asked} {
		for id, n := range all {
			if n != 1 {
				s.t.Errorf("%s was %s %d times", id, what, n)
			}
		}
	}
}

// forgive takes the outputs of maps as they are when a branch was recovered as
// done: its own output is then a person's word.
func (s *scene) forgive(want, got map[string]string) map[string]string {
	out := map[string]string{}
	for node, text := range want {
		out[node] = text
		for visit, how := range s.asked {
			inside := strings.HasPrefix(string(visit), node+"#") && strings.Contains(string(visit), "/")
			if how == workflow.RecoverDone && (inside || node == "all" && strings.HasPrefix(string(visit), "each#")) {
				out[node] = got[node]
			}
		}
	}
	return out
}

func differ(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s %s is\n%s\nwant\n%s", what, name, got[name], want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s %s is not there undisturbed: %s", what, name, got[name])
		}
	}
}
