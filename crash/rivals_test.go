//go:build unix

package crash_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// rounds is how often rivals race; bar is what the fastest loser may take. A busy
// machine makes losers slow, a wait that is built in makes all of them slow.
const (
	rounds = 5
	bar    = 200 * time.Millisecond
)

// rival is the command line in a process of its own, ready to go.
type rival struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	err   bytes.Buffer
	ended chan struct{}
	rest  string // of standard output, after it ended
	code  int
}

// ready starts a command line that waits for go.
func (s *scene) ready(args ...string) *rival {
	s.t.Helper()
	r := &rival{ended: make(chan struct{})}
	r.cmd = exec.CommandContext(s.t.Context(), os.Args[0], append(s.flags(), args...)...)
	r.cmd.Env = append(os.Environ(), cliEnv+"=1")
	r.cmd.Stderr = &r.err
	out, err := r.cmd.StdoutPipe()
	must(s.t, err)
	r.in, err = r.cmd.StdinPipe()
	must(s.t, err)
	must(s.t, r.cmd.Start())
	r.out = bufio.NewReader(out)
	if line, err := r.out.ReadString('\n'); line != "ready\n" {
		s.t.Fatalf("a child begins with %q (%v)", line, err)
	}
	go func() {
		defer close(r.ended)
		rest, _ := io.ReadAll(r.out)
		r.rest = string(rest)
		var exit *exec.ExitError
		if err := r.cmd.Wait(); errors.As(err, &exit) {
			r.code = exit.ExitCode()
		}
	}()
	s.t.Cleanup(func() { _ = r.cmd.Process.Kill(); <-r.ended })
	return r
}

// flags put the command line into the scene.
func (s *scene) flags() []string {
	return []string{"-C", s.dir, "--state", s.state, "--set", "providers.model.baseURL=" + s.server.URL + "/v1", "--quiet"}
}

// race lets two rivals go at once, and returns the one that ended and the one
// that goes on.
func (s *scene) race(a, b *rival) (loser, winner *rival, took time.Duration) {
	s.t.Helper()
	for _, r := range []*rival{a, b} {
		_, err := io.WriteString(r.in, "\n")
		must(s.t, err)
	}
	late := time.After(patience)
	select {
	case <-a.ended:
		loser, winner = a, b
	case <-b.ended:
		loser, winner = b, a
	case <-late:
		s.t.Fatal("both rivals go on")
	}
	select {
	case <-s.hung:
	case <-winner.ended:
		s.t.Fatalf("both rivals ended:\n%s\n%s", loser.err.String(), winner.err.String())
	case <-late:
		s.t.Fatalf("the winner does not go on: %s", winner.err.String())
	}
	_, text, _ := strings.Cut(loser.rest, "took ")
	var ms int64
	if _, err := fmt.Sscanf(text, "%d ms", &ms); err != nil {
		s.t.Fatalf("the loser says %q (%v)", loser.rest, err)
	}
	return loser, winner, time.Duration(ms) * time.Millisecond
}

func inTime(t *testing.T, all []time.Duration) {
	t.Helper()
	slices.Sort(all)
	t.Logf("losers ended after %v", all)
	if all[0] > bar && !raced {
		t.Errorf("losers took %v, want at most %v", all, bar)
	}
}

// TestTwoResumes: two processes resume an interrupted run at the same moment.
// One goes on with it, the other ends at once and names it.
func TestTwoResumes(t *testing.T) {
	s := newScene(t, "r-rivals", new(tally))
	c := s.start(order{Workflow: "hang"})
	<-s.hung
	must(t, c.cmd.Process.Kill())
	s.wait(c)
	var all []time.Duration
	for range rounds {
		loser, winner, took := s.race(s.ready("resume", "r-rivals"), s.ready("resume", "r-rivals"))
		all = append(all, took)
		if loser.code == 0 {
			t.Errorf("the loser ends with 0: %s", loser.err.String())
		}
		if want := fmt.Sprintf("process %d on ", winner.cmd.Process.Pid); !strings.Contains(loser.err.String(), want) {
			t.Errorf("the loser does not name %q: %s", want, loser.err.String())
		}
		must(t, winner.cmd.Process.Kill())
		<-winner.ended
	}
	inTime(t, all)
	began := map[string]int{}
	for _, e := range s.history() {
		if p, ok := e.Payload.(*workflow.Resumed); ok {
			began[p.Process]++
		}
	}
	if len(began) != rounds {
		t.Errorf("%d processes drove the run, want %d: %v", len(began), rounds, began)
	}
	s.check(s.history())
}

// TestTwoAnswers: a question is answered twice at the same moment. One answer
// counts, and its process goes on.
func TestTwoAnswers(t *testing.T) {
	for _, second := range []string{"yes", "no"} {
		t.Run("yes and "+second, func(t *testing.T) {
			var all []time.Duration
			for i := range rounds {
				s := newScene(t, fmt.Sprintf("r-answers-%s-%d", second, i), new(tally))
				q := s.waiting("ask")
				values := map[*rival]string{s.ready("answer", q.ID, "yes"): "yes", s.ready("answer", q.ID, second): second}
				var both []*rival
				for r := range values {
					both = append(both, r)
				}
				loser, winner, took := s.race(both[0], both[1])
				all = append(all, took)
				// The same answer twice is one answer: its sender may be told that it
				// is taken up by the other process.
				if told := strings.Contains(loser.err.String(), "drives the run"); loser.code == 0 && (second == "no" || !told) {
					t.Errorf("the loser ends with 0: %s", loser.err.String())
				}
				must(t, winner.cmd.Process.Signal(syscall.SIGTERM))
				<-winner.ended
				if winner.code != workflow.StatusInterrupted.Exit() {
					t.Errorf("the stopped winner ends with %d", winner.code)
				}
				var given []string
				for _, e := range s.history() {
					if p, ok := e.Payload.(*workflow.QuestionAnswered); ok {
						given = append(given, string(p.Answer.Value.JSON))
					}
				}
				if len(given) != 1 || given[0] != `"`+values[winner]+`"` {
					t.Errorf("answers %v are recorded, the winner's is %q", given, values[winner])
				}
			}
			inTime(t, all)
		})
	}
}

// waiting starts a workflow that asks, and returns its question.
func (s *scene) waiting(name string) workflow.Question {
	s.t.Helper()
	out, code := s.cli("run", name, "--json")
	if code != workflow.StatusWaiting.Exit() {
		s.t.Fatalf("the run ends with %d: %s", code, out)
	}
	res := result(s.t, out)
	s.run, s.began = res.Run, true
	return res.Questions[0]
}
