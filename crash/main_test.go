//go:build unix

package crash_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/tool/shell/confine"
	"github.com/tenonrun/tenon/workflow"
)

// Environment of the test binary as a child process.
const (
	orderEnv = "TENON_TEST_ORDER" // drive a run by the order
	cliEnv   = "TENON_TEST_CLI"   // be the command line, after a line on standard input
)

func TestMain(m *testing.M) {
	confine.Main()
	switch {
	case os.Getenv(orderEnv) != "":
		os.Exit(obey(os.Getenv(orderEnv)))
	case os.Getenv(cliEnv) != "":
		os.Exit(race(os.Args[1:]))
	}
	alone()
	os.Exit(m.Run())
}

// alone hides the configuration of whoever runs the tests, here and in children.
func alone() {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "TENON_") {
			_ = os.Unsetenv(name)
		}
	}
	_ = os.Setenv("XDG_CONFIG_HOME", "/nonexistent")
}

// order is what a child process does with a run.
type order struct {
	Dir, State, Server string
	Run                workflow.RunID
	Workflow           string            // start it; "" resumes
	Change, Verify     string            // of a workflow that is started: its change, and a command that verifies it
	Answers            map[string]string // by node: given when they are asked
	Recover            map[workflow.VisitID]string
	Kill               int64 // number of the durable step at which the process kills itself; 0 never
}

// report is what a child process says that was not killed.
type report struct {
	Result history.Result
	Steps  []string
	Code   workflow.Code
	Err    string
}

// obey carries out an order and reports on standard output.
func obey(text string) int {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var rep report
	steps := make(chan string, 100_000)
	var n atomic.Int64
	probe := func(point string) {
		if n.Add(1) == o.Kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is here
		}
		steps <- point
	}
	var err error
	if rep.Result, err = o.carryOut(context.Background(), probe); err != nil {
		rep.Err, rep.Code = err.Error(), workflow.CodeOf(err)
	}
	close(steps)
	for s := range steps {
		rep.Steps = append(rep.Steps, s)
	}
	if err := json.NewEncoder(os.Stdout).Encode(rep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

func (o order) carryOut(ctx context.Context, probe func(string)) (res history.Result, err error) {
	t, err := tenon.Open(ctx, tenon.Config{
		Dir: o.Dir, State: o.State, Flags: map[string]string{"providers.model.baseURL": o.Server + "/v1"}, Probe: probe, Checks: o.checks(),
		TrustProject: true, // the scripts write files
	})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if o.Workflow != "" {
		wf, err := t.Load(o.Workflow)
		if err != nil {
			return res, err
		}
		if res, err = t.Run(ctx, tenon.Request{Workflow: wf, ID: o.Run, By: "tester", Change: o.Change}); err != nil {
			return res, err
		}
	} else {
		for v, how := range o.Recover {
			if err := t.Send(ctx, o.Run, engine.Control{By: "tester", Recover: &engine.RecoverControl{Visit: v, How: how}}); err != nil {
				return res, err
			}
		}
		if res, err = t.Resume(ctx, o.Run, "tester"); err != nil {
			return res, err
		}
	}
	for len(res.Questions) > 0 && len(res.Uncertain) == 0 {
		if err := o.answer(ctx, t, res.Questions); err != nil {
			return res, err
		}
		if res, err = t.Resume(ctx, o.Run, "tester"); err != nil {
			return res, err
		}
	}
	return res, nil
}

func (o order) checks() []workflow.Check {
	if o.Verify == "" {
		return nil
	}
	return []workflow.Check{{Key: "check", Command: "sh", Args: []string{"-c", o.Verify}}}
}

func (o order) answer(ctx context.Context, t *tenon.Tenon, all []workflow.Question) error {
	for _, q := range all {
		text, ok := o.Answers[q.Node]
		if !ok {
			text, ok = leftOpen(o.Dir, q)
		}
		if !ok {
			return fmt.Errorf("nobody knows an answer to %s", q.Node)
		}
		a := &engine.AnswerControl{Question: q.ID}
		if q.Kind == workflow.AskQuestion {
			a.Text = &text
		}
		err := t.Send(ctx, q.Run, engine.Control{By: "tester", Answer: a})
		if err != nil && workflow.CodeOf(err) != workflow.CodeQuestionClosed { // closed: it was given before the kill
			return err
		}
	}
	return nil
}

// race runs the command line as soon as a line comes in, and says how long the
// command took.
func race(args []string) int {
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	start := time.Now()
	code := cli.Main(args, cli.Standard())
	fmt.Printf("took %d ms\n", time.Since(start).Milliseconds())
	return code
}
