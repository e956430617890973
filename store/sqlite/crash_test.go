package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
)

// childEnv tells the test binary to be a process that writes until it is killed.
const childEnv = "TENON_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := writeForever(dir, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// writeForever owns the runs and appends to each, and says what was
// acknowledged: "run seq".
func writeForever(dir string, runs []string) error {
	s, err := sqlite.Open(context.Background(), sqlite.Config{Dir: dir})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	errs := make(chan error, len(runs))
	for _, name := range runs {
		go func() { errs <- writeRun(s, &mu, workflow.RunID(name)) }()
	}
	return <-errs
}

func writeRun(s *sqlite.Store, out *sync.Mutex, run workflow.RunID) error {
	ctx := context.Background()
	o, err := s.Own(ctx, run)
	if err != nil {
		return err
	}
	heads, err := s.Runs(ctx, store.Query{Run: run})
	if err != nil {
		return err
	}
	var a store.Append
	if len(heads) == 0 {
		a.Create = &store.Create{}
	} else {
		a.After = heads[0].Last
	}
	for {
		a.Run, a.Epoch = run, o.Epoch()
		text := fmt.Sprintf("%s %d", run, a.After+1)
		if a.After%17 == 0 {
			big := strings.Repeat(text, 10_000)
			a.Blobs = []store.Blob{text2blob(text), text2blob(big)}
		}
		a.Events = []workflow.Event{
			{Seq: a.After + 1, Epoch: a.Epoch, Payload: &workflow.Progress{Message: text}},
			{Seq: a.After + 2, Epoch: a.Epoch, Payload: &workflow.Progress{Message: "second"}},
		}
		if err := s.Append(ctx, a); err != nil {
			return err
		}
		a = store.Append{After: a.After + 2}
		out.Lock()
		fmt.Println(run, a.After)
		out.Unlock()
	}
}

// writer is a child process that writes.
type writer struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startWriter(t *testing.T, dir string, runs ...string) *writer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], runs...)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return &writer{cmd: cmd, lines: bufio.NewScanner(out)}
}

// ack reads acknowledgements until n were read or the process is dead.
func (w *writer) ack(last map[string]int64, n int) {
	for i := 0; n < 0 || i < n; i++ {
		if !w.lines.Scan() {
			return
		}
		var run string
		var seq int64
		if _, err := fmt.Sscan(w.lines.Text(), &run, &seq); err == nil {
			last[run] = seq
		}
	}
}

func (w *writer) kill(t *testing.T, last map[string]int64) {
	t.Helper()
	must(t, w.cmd.Process.Kill())
	w.ack(last, -1)
	if err := w.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) && !errors.Is(err, io.ErrClosedPipe) {
		t.Fatal(err)
	}
}

// TestKill kills a writing process at random points. Whatever it acknowledged is
// there, the chains hold, and its runs are free at once.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 50
	if testing.Short() {
		rounds = 10
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 6))
	last := make(map[string]int64)
	var slowest time.Duration
	for round := range rounds {
		w := startWriter(t, dir, "a", "b", "c", "d")
		w.ack(last, 1+rng.IntN(60))
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond) // anywhere inside a transaction
		w.kill(t, last)
		start := time.Now()
		s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
		must(t, err)
		for run, acked := range last {
			o, err := s.Own(t.Context(), workflow.RunID(run))
			must(t, err)
			if run == "a" {
				slowest = max(slowest, time.Since(start))
			}
			checkKilled(t, s, round, workflow.RunID(run), acked)
			must(t, o.Release())
		}
		must(t, s.Close())
	}
	t.Logf("slowest takeover: %v, acknowledged: %v", slowest, last)
	s := opened(t, dir)
	rep, err := s.Check(t.Context())
	must(t, err)
	if len(rep.Problems) > 0 || rep.Runs != 4 {
		t.Errorf("the check reports %+v", rep)
	}
}

func checkKilled(t *testing.T, s *sqlite.Store, round int, run workflow.RunID, acked int64) {
	t.Helper()
	n := int64(0)
	must(t, s.Events(t.Context(), run, 0, func(e workflow.Event) error {
		n++
		if want := fmt.Sprintf("%s %d", run, e.Seq); e.Seq%2 == 1 && e.Payload.(*workflow.Progress).Message != want {
			t.Errorf("round %d: event %d of %s is %+v", round, e.Seq, run, e.Payload)
		}
		return nil
	}))
	if n < acked || n%2 != 0 {
		t.Fatalf("round %d: %s has %d events, %d were acknowledged", round, run, n, acked)
	}
	if first := text2blob(string(run) + " 1"); n > 0 {
		if _, err := s.Blob(t.Context(), first.Digest); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
}

// TestProcesses lets processes write side by side; none waits for long, and none
// takes the run of another.
func TestProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all []*writer
	last := make(map[string]int64)
	for _, run := range []string{"x", "y", "z"} {
		all = append(all, startWriter(t, dir, run))
	}
	for range 20 {
		for _, w := range all {
			w.ack(last, 10)
		}
	}
	s := opened(t, dir)
	var held *store.Held
	if _, err := s.Own(t.Context(), "y"); !errors.As(err, &held) || held.Holder.PID != all[1].cmd.Process.Pid || held.Holder.Here {
		t.Errorf("owning the run of another process gives %v", err)
	}
	heads, err := s.Runs(t.Context(), store.Query{Run: "y"})
	must(t, err)
	if len(heads) != 1 || heads[0].Owner == nil || heads[0].Owner.PID != all[1].cmd.Process.Pid {
		t.Errorf("the head of the run of another process is %+v", heads)
	}
	for _, w := range all {
		w.kill(t, last)
	}
	for run, acked := range last {
		checkKilled(t, s, 0, workflow.RunID(run), acked)
	}
	o, err := s.Own(t.Context(), "y")
	must(t, err)
	must(t, o.Release())
}
