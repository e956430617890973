//go:build unix

package crash_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/provider/providertest"
	"github.com/tenonrun/tenon/workflow"
)

// The turn of the agent: how many responses it takes, and how many calls of tools.
const (
	agentTurns = 20
	agentSteps = 49
)

// act is what the model does in its n-th response: files are read beside each
// other, written, and changed so that a change that is made twice can be seen.
func act(n int) providertest.Reply {
	call := func(name string, args map[string]any) providertest.Call {
		raw, err := json.Marshal(args)
		if err != nil {
			panic(err) // plain values always encode
		}
		return providertest.Call{Name: name, Args: string(raw)}
	}
	said := fmt.Sprintf("MARK:turn-%d", n)
	if n == agentTurns {
		return providertest.Reply{Text: said + ": done"}
	}
	add := map[string]any{"path": "list.md", "old_string": "END", "new_string": fmt.Sprintf("item %d\nEND", n)}
	r := providertest.Reply{Text: said}
	switch n % 5 {
	case 1:
		r.Calls = []providertest.Call{
			call("write", map[string]any{"path": fmt.Sprintf("made/%d.txt", n), "content": said + "\n"}),
			call("ls", map[string]any{"path": "made"}), call("glob", map[string]any{"pattern": "made/*.txt"}),
		}
	case 2:
		r.Calls = []providertest.Call{call("read", map[string]any{"path": "list.md"}), call("edit", add)}
	case 3:
		r.Calls = []providertest.Call{call("bash", map[string]any{"command": fmt.Sprintf("echo agent-%d >> effects.log", n)})}
	case 4:
		r.Calls = []providertest.Call{
			call("todo_write", map[string]any{"todos": []any{map[string]any{"id": "a", "content": said, "status": "in_progress"}}}),
			call("grep", map[string]any{"pattern": "item"}), call("read", map[string]any{"path": "list.md"}), call("edit", add),
		}
	default:
		r.Calls = []providertest.Call{call("read", map[string]any{"path": "list.md"}), call("read", map[string]any{"path": "nowhere.txt"}),
			call("artifact_write", map[string]any{"id": "report", "title": said, "mime": "text/markdown", "content": "# " + said + "\n"})}
	}
	return r
}

var agentLine = regexp.MustCompile(`agent-[0-9]+`)

// leftOpen answers the question what became of a command that a crash left open,
// as a person would who looks at the file. Other questions have no answer.
func leftOpen(dir string, q workflow.Question) (string, bool) {
	line := agentLine.FindString(q.Text)
	if !slices.Contains(q.Options, "redo") || line == "" {
		return "", false
	}
	raw, err := os.ReadFile(filepath.Join(dir, "effects.log"))
	if err != nil && !os.IsNotExist(err) {
		return "", false
	}
	if strings.Contains(string(raw), line+"\n") {
		return "keep", true
	}
	return "redo", true
}

// agentScene has the files that the agent works on.
func agentScene(t *testing.T, run string, sum *tally) *scene {
	t.Helper()
	s := newScene(t, run, sum)
	must(t, os.WriteFile(filepath.Join(s.dir, "list.md"), []byte("END\n"), 0o644))
	return s
}

// TestAgentKilled kills an agent at every durable step of its turn, and every
// second one again in its resume: no response is asked for twice that came, no
// write is made twice, and the files are those of an undisturbed turn.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	begin := func(s *scene, kill int64) order {
		if s.began {
			return order{Kill: kill}
		}
		return order{Kill: kill, Workflow: "agent"}
	}
	calm := agentScene(t, "r-agent-calm", new(tally))
	rep, killed := calm.do(begin(calm, 0))
	if killed || rep.Result.Status != workflow.StatusSucceeded || rep.Result.Usage.Calls != agentTurns {
		t.Fatalf("undisturbed, it is %s after %d calls: %+v", rep.Result.Status, rep.Result.Usage.Calls, rep.Result.Failures)
	}
	want, made := files(t, calm.dir), calm.artifacts()
	if len(made) != 3 {
		t.Fatalf("undisturbed, it made %v", made)
	}
	calm.agentSteps()
	names, numbers := numbered(len(rep.Steps), short(1, 29))
	sum := new(tally)
	t.Run("scenes", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := agentScene(t, "r-agent-"+name, sum)
				rep, killed := s.do(begin(s, int64(numbers[i])))
				if killed && i%2 == 1 {
					rep, killed = s.do(begin(s, 5))
				}
				if killed {
					rep, _ = s.do(begin(s, 0))
				}
				if rep.Result.Status != workflow.StatusSucceeded {
					t.Fatalf("the run is %s: %+v", rep.Result.Status, rep.Result.Failures)
				}
				s.check(s.history())
				differ(t, "file", files(t, s.dir), want)
				if got := s.artifacts(); !slices.Equal(got, made) {
					t.Errorf("it made %v, want %v", got, made)
				}
				s.agentSteps()
			})
		}
	})
	if sum.kills.Load() < int64(len(names)-1) {
		t.Errorf("%d of %d processes were killed", sum.kills.Load(), len(names))
	}
	t.Log(sum.kills.Load(), "kills")
}

// artifacts are the revisions that the run made, in their order.
func (s *scene) artifacts() []string {
	s.t.Helper()
	tn, err := tenon.Open(s.t.Context(), tenon.Config{Dir: s.dir, State: s.state})
	must(s.t, err)
	_, c, err := tn.Artifacts().Of(s.t.Context(), s.run)
	must(s.t, err)
	var list []string
	for r, err := range c.Export(s.t.Context()) {
		must(s.t, err)
		list = append(list, fmt.Sprintf("%s@%d %s %s", r.Artifact, r.Version, r.Title, r.Digest))
	}
	must(s.t, tn.Close())
	return list
}

// agentSteps looks at the history: every response and every result of a tool is
// there once, and the model got a request again only where one was lost.
func (s *scene) agentSteps() {
	s.t.Helper()
	steps, lost := map[string]int{}, 0
	for _, e := range s.history() {
		switch p := e.Payload.(type) {
		case *workflow.StepSettled:
			steps[p.Key]++
		case *workflow.InvocationSettled:
			if p.Status == workflow.InvocationLost {
				lost++
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(steps)) {
		if steps[key] != 1 {
			s.t.Errorf("step %s settled %d times", key, steps[key])
		}
	}
	if len(steps) != agentSteps {
		s.t.Errorf("%d steps settled", len(steps))
	}
	if n := len(s.server.Requests()); n < agentTurns || n > agentTurns+lost {
		s.t.Errorf("the model got %d requests for %d responses, and %d were lost", n, agentTurns, lost)
	}
}
