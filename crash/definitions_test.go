//go:build unix

package crash_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece/openspec/openspectest"
	"github.com/tenonrun/tenon/workflow"
)

// definition is a published workflow in the project testdata/published, whose
// provider is a script that also writes files.
type definition struct {
	name, change string
	calls        []string // the nodes whose calls are answered, in order
	openspec     bool     // it runs the OpenSpec command line
	stride       int      // of the steps at which a process is killed, where tests are whole
}

// greets is what verifies the work of every definition.
const greets = "sh greet.sh | grep -q hello"

var published = []definition{
	{name: "freestyle", calls: []string{"implement", "fix", "decide"}, stride: 1},
	{name: "verify-fix", calls: []string{"fix"}, stride: 1},
	{name: "quick-sdd", change: "add-greeting", calls: []string{"work", "apply"}, openspec: true, stride: 6},
	{
		name: "implementation", change: "add-greeting", openspec: true, stride: 8,
		calls: []string{"implement/architect", "implement/developer", "implement/fixer", "implement/reviewer"},
	},
}

// TestPublished kills runs of published definitions at their durable steps, and
// every second of the resumes too. Whatever was cut, each ends as the run that
// nobody disturbed: the same visits, answers of models, and files, and one archive.
func TestPublished(t *testing.T) {
	t.Parallel()
	for _, d := range published {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			program := ""
			if d.openspec {
				program = openspectest.Command(t)[0]
			}
			calm := d.scene(t, "r-calm", program, new(tally))
			rep, _ := calm.do(d.begin(0))
			want := calm.end(rep)
			if !slices.Equal(want.calls, d.calls) || want.status != workflow.StatusSucceeded || !want.verified {
				t.Fatalf("undisturbed, it is %s (verified: %v) and calls %v: %+v", want.status, want.verified, want.calls, rep.Result.Failures)
			}
			names, numbers := numbered(len(rep.Steps), short(d.stride, (len(rep.Steps)+1)/2))
			sum := new(tally)
			t.Run("scenes", func(t *testing.T) {
				for i, name := range names {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						s := d.scene(t, "r-"+d.name+"-"+name, program, sum)
						got := s.end(s.through(d, int64(numbers[i]), i%2 == 1))
						got.same(t, want)
					})
				}
			})
			if t.Log(sum); sum.kills.Load() < int64(len(names)-1) {
				t.Errorf("%d of %d processes were killed", sum.kills.Load(), len(names))
			}
		})
	}
}

// scene is a new repository with the definition in it.
func (d definition) scene(t *testing.T, run, program string, sum *tally) *scene {
	t.Helper()
	s := newScene(t, run, sum)
	must(t, os.RemoveAll(s.dir))
	must(t, os.CopyFS(s.dir, os.DirFS("testdata/published")))
	raw, err := os.ReadFile(filepath.Join("..", "workflow", "load", "testdata", "definitions", d.name+".json"))
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(s.dir, ".tenon", "workflows"), 0o755))
	must(t, os.WriteFile(filepath.Join(s.dir, ".tenon", "workflows", d.name+".json"), raw, 0o644))
	if program != "" {
		bin := filepath.Join(s.dir, "node_modules", ".bin")
		program, err = filepath.Abs(program)
		must(t, err)
		must(t, os.MkdirAll(bin, 0o755))
		must(t, os.Symlink(program, filepath.Join(bin, "openspec")))
	}
	if out, err := exec.Command("git", "-C", s.dir, "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("it works on a git repository: %v: %s", err, out)
	}
	return s
}

// begin starts the run; kill is the number of the step that ends the process.
func (d definition) begin(kill int64) order {
	return order{Kill: kill, Workflow: d.name, Change: d.change, Verify: greets}
}

// through kills the run at a step, and its first resume too where it says so,
// and goes on to the end.
func (s *scene) through(d definition, kill int64, again bool) report {
	s.t.Helper()
	rep, killed := s.do(d.begin(kill))
	kill = 0
	if again {
		kill = 4
	}
	for range 20 {
		if !killed && rep.Result.Status.Terminal() {
			return rep
		}
		o := d.begin(kill)
		if s.began {
			o = order{Kill: kill}
		}
		kill = 0
		if !killed {
			o.Recover = s.rerun(rep)
		}
		rep, killed = s.do(o)
	}
	s.t.Fatal("the run does not end")
	return report{}
}

// rerun settles the writes that wait for a person. What these definitions write
// is the same when it is written again.
func (s *scene) rerun(rep report) map[workflow.VisitID]string {
	s.t.Helper()
	s.awaitOrphans()
	out := map[workflow.VisitID]string{}
	for _, u := range rep.Result.Uncertain {
		if !s.inside[u.Visit] {
			s.t.Errorf("%s waits for recover, but was not in flight at a kill", u.Visit)
		}
		out[u.Visit] = workflow.RecoverRerun
		s.sum.rerun.Add(1)
	}
	return out
}

// ending is what a run came to.
type ending struct {
	status   workflow.Status
	verified bool
	reasons  []string
	calls    []string          // the nodes of answered calls, in order
	keys     []string          // the calls themselves
	outcomes map[string]string // by visit
	words    map[string]string // outputs that a model gave
	files    map[string]string
}

// day stands in the name of an archive.
var day = regexp.MustCompile(`archive/[0-9]{4}-[0-9]{2}-[0-9]{2}-`)

// end looks at a run that has ended.
func (s *scene) end(rep report) ending {
	s.t.Helper()
	s.awaitOrphans()
	events := s.history()
	s.check(events)
	out := ending{
		status: rep.Result.Status, reasons: rep.Result.Reasons,
		verified: rep.Result.Result != nil && rep.Result.Result.Verified, outcomes: map[string]string{}, words: map[string]string{}, files: map[string]string{},
	}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *workflow.InvocationSettled:
			if p.Status != workflow.InvocationLost {
				out.calls, out.keys = append(out.calls, e.Node), append(out.keys, e.ID+" "+p.Key)
			}
		case *workflow.Settled:
			out.outcomes[e.ID] = p.Outcome + " " + p.Status
		}
	}
	for _, node := range []string{"implement", "fix", "decide", "work", "apply"} {
		if raw, ok := rep.Result.Outputs[node]; ok && slices.Contains(out.calls, node) {
			out.words[node] = string(raw)
		}
	}
	for path, content := range files(s.t, s.dir) {
		if !strings.HasPrefix(path, ".git/") && !strings.HasPrefix(path, "node_modules/") {
			out.files[day.ReplaceAllString(filepath.ToSlash(path), "archive/DAY-")] = content
		}
	}
	return out
}

// same compares what a run came to with what it comes to undisturbed.
func (e ending) same(t *testing.T, want ending) {
	t.Helper()
	if e.status != want.status || e.verified != want.verified || !slices.Equal(e.reasons, want.reasons) {
		t.Errorf("the run is %s %v (verified: %v), want %s %v", e.status, e.reasons, e.verified, want.status, want.reasons)
	}
	if !slices.Equal(e.keys, want.keys) {
		t.Errorf("answered calls %v, want %v", e.keys, want.keys)
	}
	if !maps.Equal(e.outcomes, want.outcomes) {
		t.Errorf("visits %s, want %s", listed(e.outcomes), listed(want.outcomes))
	}
	differ(t, "output", e.words, want.words)
	differ(t, "file", e.files, want.files)
}

func listed(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s: %s", k, m[k]))
	}
	return strings.Join(out, ", ")
}
