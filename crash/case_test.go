//go:build unix

package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tenonrun/tenon/provider/providertest"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// patience is how long a child may take before the test gives up.
const patience = 60 * time.Second

// scene is one run in a project, a state directory and with a model of its own.
type scene struct {
	t      *testing.T
	dir    string // the project
	state  string
	run    workflow.RunID
	server *providertest.Server
	began  bool                        // the run is known to exist
	inside map[workflow.VisitID]bool   // writes that were in flight at a kill
	asked  map[workflow.VisitID]string // uncertain writes that were settled, and how
	lost   map[string]int              // calls that were sent and not settled at a kill, by mark
	hung   chan struct{}               // has a value when a call hangs
	kills  int
	sum    *tally
}

// tally is what happened in all scenes of a test.
type tally struct{ kills, done, rerun, resent atomic.Int64 }

func (y *tally) String() string {
	return fmt.Sprintf("%d kills; uncertain writes: %d had happened, %d had not; %d calls were in flight",
		y.kills.Load(), y.done.Load(), y.rerun.Load(), y.resent.Load())
}

// complete fails when some way through a crash was not taken by any scene.
func (y *tally) complete(t *testing.T) {
	t.Helper()
	t.Log(y)
	if testing.Short() || raced { // a sample is too small for that
		return
	}
	if y.kills.Load() == 0 || y.done.Load() == 0 || y.rerun.Load() == 0 || y.resent.Load() == 0 {
		t.Error("the kills do not reach every way through a crash")
	}
}

// answers are given to the questions of the workflow thirty.
var answers = map[string]string{"tone": "casual", "publish": "", "both/left/sure": "yes"}

func newScene(t *testing.T, run string, sum *tally) *scene {
	t.Helper()
	root, err := os.MkdirTemp(memoryDir(), "tenon-crash-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	s := &scene{
		t: t, dir: filepath.Join(root, "project"), state: filepath.Join(root, "state"), run: workflow.RunID(run),
		hung: make(chan struct{}, 100), sum: sum,
		inside: map[workflow.VisitID]bool{}, asked: map[workflow.VisitID]string{}, lost: map[string]int{},
	}
	s.server = providertest.NewServer(t, func(req providertest.Request) providertest.Reply {
		r := speak(req)
		if r.Hang {
			s.hung <- struct{}{}
		}
		return r
	})
	must(t, os.CopyFS(s.dir, os.DirFS("testdata/project")))
	return s
}

// memoryDir is a file system that syncs for free; SIGKILL loses nothing there
// either. "" is the usual place.
func memoryDir() string {
	const dir = "/dev/shm"
	if f, err := os.CreateTemp(dir, "tenon-crash-"); err == nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
		return dir
	}
	return ""
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var markPattern = regexp.MustCompile(`MARK:[a-z0-9-]+`)

// speak is the model: it repeats the mark, and decides to stop in the second
// round.
func speak(req providertest.Request) providertest.Reply {
	mark := markPattern.FindString(req.Prompt)
	switch mark {
	case "MARK:agent":
		return act(req.Turn)
	}
	if strings.HasPrefix(mark, "MARK:tree") {
		return branch(mark, req.Turn)
	}
	switch mark {
	case "MARK:hang":
		return providertest.Reply{Hang: true}
	case "MARK:judge-1":
		return providertest.Reply{Text: `{"verdict":"continue","reason":"` + mark + `"}`}
	case "MARK:judge-2":
		return providertest.Reply{Text: `{"verdict":"stop","reason":"` + mark + `"}`}
	}
	return providertest.Reply{Text: "This is said about " + mark + "."}
}

// calls returns how often each mark was asked.
func (s *scene) calls() map[string]int {
	out := map[string]int{}
	for _, r := range s.server.Requests() {
		out[markPattern.FindString(r.Prompt)]++
	}
	return out
}

// child is a process that carries out an order.
type child struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	err    bytes.Buffer
	cancel context.CancelFunc
}

func (s *scene) start(o order) *child {
	s.t.Helper()
	o.Dir, o.State, o.Server, o.Run, o.Answers = s.dir, s.state, s.server.URL, s.run, answers
	raw, err := json.Marshal(o)
	must(s.t, err)
	c := &child{}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c.cancel = cancel
	c.cmd = exec.CommandContext(ctx, os.Args[0])
	c.cmd.Env = append(os.Environ(), orderEnv+"="+string(raw))
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	must(s.t, c.cmd.Start())
	return c
}

// wait returns the report of a child, or killed when a signal ended it.
func (s *scene) wait(c *child) (rep report, killed bool) {
	s.t.Helper()
	err := c.cmd.Wait()
	c.cancel()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
			s.kills++
			s.sum.kills.Add(1)
			return rep, true
		}
	}
	if err != nil {
		s.t.Fatalf("a child ended with %v\n%s%s", err, c.out.String(), c.err.String())
	}
	if err := json.Unmarshal(c.out.Bytes(), &rep); err != nil {
		s.t.Fatalf("a child reports %q (%v)", c.out.String(), err)
	}
	return rep, false
}

// next is the order that goes on with the run as it is.
func (s *scene) next(kill int64) order {
	if s.began {
		return order{Kill: kill}
	}
	return order{Kill: kill, Workflow: "thirty"}
}

// do carries out an order to its end; after a kill the history is looked at.
func (s *scene) do(o order) (report, bool) {
	s.t.Helper()
	return s.finish(s.start(o))
}

func (s *scene) finish(c *child) (report, bool) {
	s.t.Helper()
	rep, killed := s.wait(c)
	if killed {
		s.autopsy()
	} else if rep.Err != "" {
		s.t.Fatalf("a child reports %s (%s)", rep.Err, rep.Code)
	} else {
		s.began = true
	}
	return rep, killed
}

// home is the state of the project.
func (s *scene) home() string {
	all, err := filepath.Glob(filepath.Join(s.state, "projects", "*"))
	must(s.t, err)
	if len(all) != 1 {
		return ""
	}
	return all[0]
}

// history reads the run with its checks; nothing when it was never recorded.
func (s *scene) history() []workflow.Event {
	s.t.Helper()
	home := s.home()
	if home == "" {
		return nil
	}
	st, err := sqlite.Open(context.Background(), sqlite.Config{Dir: home})
	must(s.t, err)
	defer st.Close()
	var out []workflow.Event
	err = st.Events(context.Background(), s.run, 0, func(e workflow.Event) error {
		out = append(out, e)
		return nil
	})
	if err != nil && workflow.CodeOf(err) != workflow.CodeRunNotFound {
		s.t.Fatalf("reading the history after %d kills: %v", s.kills, err)
	}
	return out
}

// autopsy notes, after a kill, what was in flight: writes that were admitted and
// not settled, and calls that the model got and the history did not.
func (s *scene) autopsy() {
	s.t.Helper()
	events := s.history()
	s.began = len(events) > 0
	open := map[workflow.VisitID]bool{}
	settled := map[string]int{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *workflow.Admitted:
			if p.Uncertain && p.Effect == workflow.EffectWrite {
				open[e.VisitID()] = true
			}
		case *workflow.Settled, *workflow.Lost:
			delete(open, e.VisitID())
		case *workflow.InvocationSettled:
			if p.Status == workflow.InvocationOK {
				settled[markPattern.FindString(string(p.Memo.JSON))]++
			}
		}
	}
	for v := range open {
		s.inside[v] = true
	}
	for mark, n := range s.calls() {
		if settled[mark] > 1 {
			s.t.Errorf("call %s is settled %d times", mark, settled[mark])
		}
		s.sum.resent.Add(int64(n - settled[mark] - s.lost[mark]))
		s.lost[mark] = n - settled[mark]
	}
}

// toEnd goes on, without a kill, until the run has ended: as a person would,
// looking at the files before a write is settled.
func (s *scene) toEnd() report {
	s.t.Helper()
	for range 50 {
		rep, _ := s.do(s.next(0))
		rep = s.settle(rep)
		if rep.Result.Status.Terminal() {
			return rep
		}
	}
	s.t.Fatal("the run does not end")
	return report{}
}

// settle settles the uncertain writes of a run that rests, without a kill.
func (s *scene) settle(rep report) report {
	s.t.Helper()
	for len(rep.Result.Uncertain) > 0 {
		rep, _ = s.do(s.judge(rep, 0))
	}
	return rep
}

// judge settles uncertain writes by their lines in effects.log.
func (s *scene) judge(rep report, kill int64) order {
	s.t.Helper()
	s.awaitOrphans()
	o := order{Kill: kill, Recover: map[workflow.VisitID]string{}}
	effects := s.effects()
	for _, u := range rep.Result.Uncertain {
		if !s.inside[u.Visit] {
			s.t.Errorf("%s waits for recover, but was not in flight at a kill", u.Visit)
		}
		line, ok := lines[u.Visit]
		if !ok {
			s.t.Fatalf("%s waits for recover, and leaves no line", u.Visit)
		}
		how, counter := workflow.RecoverRerun, &s.sum.rerun
		if effects[line] > 0 {
			how, counter = workflow.RecoverDone, &s.sum.done
		}
		counter.Add(1)
		o.Recover[u.Visit], s.asked[u.Visit] = how, how
	}
	return o
}

// scriptShell is the command of the script; all other lines are of the workflow.
const scriptShell = "shell#1"

// lines are what writing visits leave in effects.log.
var lines = map[workflow.VisitID]string{
	"first#1": "first", "second#1": "second", "keep#1": "keep", "work#1/mark#1": "work", "tally#1": "tally",
	"each#1[0]/write#1": "item-a", "each#1[1]/write#1": "item-b", "each#1[2]/write#1": "item-c", "each#1[3]/write#1": "item-d",
	"both#1[left]/left#1": "left-yes", "both#1[right]/right#1": "right", "third#1": "third", "save#1": "save",
	scriptShell: "script", "step#1": "step-t1", "step#2": "step-t2", "last#1": "last",
}

func (s *scene) effects() map[string]int {
	raw, err := os.ReadFile(filepath.Join(s.dir, "effects.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		out[strings.TrimSpace(line)]++
	}
	return out
}

// awaitOrphans waits for the commands that a killed process left behind.
func (s *scene) awaitOrphans() {
	s.t.Helper()
	mark := []byte(workspace.EnvRun + "=" + string(s.run) + "\x00")
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		left := 0
		all, err := filepath.Glob("/proc/[0-9]*/environ")
		must(s.t, err)
		for _, name := range all {
			if raw, err := os.ReadFile(name); err == nil && bytes.Contains(append(raw, 0), mark) {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d commands of run %s do not end", left, s.run)
		}
	}
}
