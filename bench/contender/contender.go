// Package contender is what the engines under test have in common: the jobs
// they can do, and the process that carries one job out and reports.
//
// Holds: Contender, Task, Report, and Main, which is the main function of every
// contender's program.
//
// Guarantees: a job is timed inside the process that does it, from the first
// call to the last step; what a process took to start is in its first step's
// wall-clock time.
//
// Does not: compare. The command bench does.
package contender

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"time"
)

// Contender is an engine over one directory. A step does nothing but call the
// step function that the contender was opened with. A contender need not do jobs
// that it does not take part in.
type Contender interface {
	// Chain makes one run of n steps, each durable before the next begins and
	// each adding grow bytes to the state of the run. It begins under the name.
	Chain(name string, n, grow int) error
	// Many makes runs of n steps each, all at once.
	Many(runs, n int) error
	// Fan makes one run of n steps side by side, and then one that joins them.
	Fan(n int) error
	// Ask makes a run of n steps that then waits for a person, and returns when
	// it waits.
	Ask(name string, n int) error
	// Answer answers that run in another process and goes on with it: the next
	// step is its last.
	Answer(name string) error
	// Resume goes on with a run whose process died.
	Resume(name string) error
	// Fork makes a run that shares the first steps of a finished chain, and
	// begins with the given one (from 1). It returns after its first step.
	Fork(name string, step int) error
	// Close ends it.
	Close() error
}

// Snapshotter is a contender that stores the state of a run from time to time.
type Snapshotter interface {
	// Snapshots returns the bytes of all snapshots of a run.
	Snapshots(name string) (int64, error)
}

// Open opens a contender for a task, in the task's directory, and makes the
// workflows of the task known to it: that is not timed. Every step calls step,
// from many goroutines.
type Open func(t Task, step func()) (Contender, error)

// Jobs of a Task.
const (
	Chain  = "chain"
	Many   = "many"
	Fan    = "fan"
	Ask    = "ask"
	Answer = "answer"
	Resume = "resume"
	Fork   = "fork"
	Idle   = "idle"
)

// Task is one job for one process.
type Task struct {
	Do      string `json:"do"`
	Dir     string `json:"dir"`
	Steps   int    `json:"steps,omitempty"`
	Runs    int    `json:"runs,omitempty"`
	Grow    int    `json:"grow,omitempty"`    // bytes that each step adds to the state
	At      int    `json:"at,omitempty"`      // Fork: the step it begins with
	Times   int    `json:"times,omitempty"`   // Fork: how many forks, one after the other
	Kill    int    `json:"kill,omitempty"`    // SIGKILL itself inside this step
	Window  int    `json:"window,omitempty"`  // steps between two readings of the bytes written
	Profile string `json:"profile,omitempty"` // file for a CPU profile of the job
}

// Report is what a process says about its job. Times are nanoseconds.
type Report struct {
	Wall    int64   `json:"wall"`              // of the job, without opening and closing
	First   int64   `json:"first"`             // wall clock at the first step, since 1970
	Steps   int64   `json:"steps"`             // steps executed in this process
	Forks   []int64 `json:"forks,omitempty"`   // per fork: from the call to its first step
	Written []int64 `json:"written,omitempty"` // bytes written to disk, per window
	Peak    int64   `json:"peak"`              // peak resident memory, in bytes
	Now     int64   `json:"now"`               // resident memory after the job, in bytes

	Allocs int64 `json:"allocs"` // allocations of the heap during the job

	Snapshots int64 `json:"snapshots,omitempty"` // bytes of the snapshots of the run, if there are any
}

// name is the run's, the same in all processes of a job.
const name = "bench"

// process is a job at work.
type process struct {
	task    Task
	c       Contender
	steps   atomic.Int64
	first   atomic.Int64
	written int64
	report  Report
}

// Main carries out the Task in the first argument and prints the Report.
func Main(open Open) {
	var p process
	if len(os.Args) != 2 {
		fail(errors.New("this program is started by the command bench: go run . in bench/"))
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &p.task); err != nil {
		fail(fmt.Errorf("reading the task: %w", err))
	}
	err := p.run(open)
	if err != nil {
		fail(fmt.Errorf("job %s: %w", p.task.Do, err))
	}
	if err := json.NewEncoder(os.Stdout).Encode(p.report); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func (p *process) run(open Open) (err error) {
	if p.c, err = open(p.task, p.step); err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	stop, err := profile(p.task.Profile)
	if err != nil {
		return err
	}
	p.written, err = written()
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	if err := p.job(); err != nil {
		return err
	}
	p.report.Wall = int64(time.Since(begin))
	runtime.ReadMemStats(&after)
	p.report.Allocs = int64(after.Mallocs - before.Mallocs) //nolint:gosec // a count
	stop()
	p.report.Steps, p.report.First = p.steps.Load(), p.first.Load()
	if p.report.Peak, p.report.Now, err = memory(); err != nil {
		return err
	}
	if c, ok := p.c.(Snapshotter); ok && p.task.Window > 0 {
		if p.report.Snapshots, err = c.Snapshots(name); err != nil {
			return err
		}
	}
	if p.task.Do == Ask { // as a person's Ctrl-C, or a reboot: nothing is closed
		return nil
	}
	return p.c.Close()
}

func (p *process) job() error {
	t := p.task
	switch t.Do {
	case Chain:
		return p.c.Chain(name, t.Steps, t.Grow)
	case Many:
		return p.c.Many(t.Runs, t.Steps)
	case Fan:
		return p.c.Fan(t.Steps)
	case Ask:
		return p.c.Ask(name, t.Steps)
	case Answer:
		return p.c.Answer(name)
	case Resume:
		return p.c.Resume(name)
	case Fork:
		return p.forks()
	case Idle:
		time.Sleep(300 * time.Millisecond) // what a process needs to come to rest
		return nil
	}
	return fmt.Errorf("there is no job %q", t.Do)
}

// forks makes a chain and forks it again and again.
func (p *process) forks() error {
	if err := p.c.Chain(name, p.task.Steps, 0); err != nil {
		return err
	}
	for range p.task.Times {
		p.first.Store(0)
		begin := time.Now()
		if err := p.c.Fork(name, p.task.At); err != nil {
			return err
		}
		first := p.first.Load()
		if first == 0 {
			return errors.New("the fork made no step")
		}
		p.report.Forks = append(p.report.Forks, first-begin.UnixNano())
	}
	return nil
}

// step is called by every step.
func (p *process) step() {
	n := p.steps.Add(1)
	if p.first.Load() == 0 {
		p.first.CompareAndSwap(0, time.Now().UnixNano())
	}
	if int(n) == p.task.Kill {
		kill()
	}
	if w := p.task.Window; w > 0 && n > 1 && (n-1)%int64(w) == 0 {
		p.window()
	}
}

// window notes the bytes written since the last window. Steps are sequential
// where windows are asked for.
func (p *process) window() {
	now, err := written()
	if err != nil {
		fail(err)
	}
	p.report.Written = append(p.report.Written, now-p.written)
	p.written = now
}

func profile(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fail(err)
		}
	}, nil
}
