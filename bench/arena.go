package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenonrun/tenon/bench/contender"
)

// Names of the entrants.
const (
	tenon       = "tenon"
	dbos        = "dbos"
	goworkflows = "go-workflows"
	autocommit  = "autocommit loop"
	begin       = "begin loop"
)

// entrant is a contender as it takes part.
type entrant struct {
	name    string
	program string   // below contender/
	env     []string // further environment
	share   int      // it makes one of share steps of a job that is measured per step
}

var entrants = []entrant{
	{name: tenon, program: "tenon", share: 1},
	{name: dbos, program: "dbos", share: 1},
	{name: goworkflows, program: "goworkflows", share: 5},
	{name: autocommit, program: "loop", share: 1},
	{name: begin, program: "loop", share: 1, env: []string{"BENCH_LOOP=begin"}},
}

func entrantOf(name string) entrant {
	for _, e := range entrants {
		if e.name == name {
			return e
		}
	}
	if slices.Contains(judges, name) {
		return entrant{name: name}
	}
	panic("no entrant " + name)
}

// arena is where contenders meet: their programs, and room for their files.
type arena struct {
	bin     string
	work    string
	profile string
	job     string // that runs now, for the names of profiles
}

// open makes an arena, with the contenders and Tenon's own command built.
func open(dir, profile string) (*arena, error) {
	root, err := os.MkdirTemp(dir, "tenon-bench-")
	if err != nil {
		return nil, err
	}
	a := &arena{bin: filepath.Join(root, "bin"), work: filepath.Join(root, "work"), profile: profile}
	for _, d := range []string{a.bin, a.work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	if err := a.build(); err != nil {
		a.close()
		return nil, fmt.Errorf("building the contenders (run it in bench/): %w", err)
	}
	return a, nil
}

func (a *arena) build() error {
	for _, args := range [][]string{
		{"build", "-o", a.bin + "/", "./contender/..."},
		{"-C", "..", "build", "-o", a.bin + "/command", "./cmd/tenon"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Stderr = os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as the released binary
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}

func (a *arena) close() {
	if err := os.RemoveAll(filepath.Dir(a.bin)); err != nil {
		fmt.Fprintln(os.Stderr, "bench: clearing up:", err)
	}
}

// fresh returns an empty directory. It stays until the arena is closed: a file
// system is slow to create files while it clears up removed ones.
func (a *arena) fresh() (dir string, err error) { return os.MkdirTemp(a.work, "") }

// command is the process of a task; before is a program that starts it.
func (a *arena) command(e entrant, t contender.Task, before ...string) (*exec.Cmd, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	argv := append(before, filepath.Join(a.bin, e.program), string(raw))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), e.env...)
	return cmd, nil
}

// errKilled is the end of a task that kills itself.
var errKilled = errors.New("killed")

// do gives a task to a new process. The time is when the process was started.
func (a *arena) do(e entrant, t contender.Task, before ...string) (contender.Report, time.Time, error) {
	var r contender.Report
	if a.profile != "" && e.name == tenon && t.Kill == 0 && len(before) == 0 {
		t.Profile = filepath.Join(a.profile, a.job+"-"+t.Do+".pprof")
	}
	cmd, err := a.command(e, t, before...)
	if err != nil {
		return r, time.Time{}, err
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	begin := time.Now()
	err = cmd.Run()
	if t.Kill > 0 && cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == -1 {
		return r, begin, errKilled
	}
	if err != nil {
		return r, begin, fmt.Errorf("%s: %w: %s", e.name, err, bytes.TrimSpace(errs.Bytes()))
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, begin, fmt.Errorf("%s: reading its report %q: %w", e.name, out.String(), err)
	}
	return r, begin, nil
}

// alone does one task in a directory of its own.
func (a *arena) alone(e entrant, t contender.Task, before ...string) (contender.Report, error) {
	dir, err := a.fresh()
	if err != nil {
		return contender.Report{}, err
	}
	t.Dir = dir
	r, _, err := a.do(e, t, before...)
	return r, err
}

// after does a task in a process, and goes on in another one: the figure is the
// time from the start of the second to its first step.
func (a *arena) after(e entrant, first, second contender.Task) (r contender.Report, _ time.Duration, err error) {
	dir, err := a.fresh()
	if err != nil {
		return r, 0, err
	}
	first.Dir, second.Dir = dir, dir
	if r, _, err = a.do(e, first); err != nil && !errors.Is(err, errKilled) {
		return r, 0, err
	}
	next, began, err := a.do(e, second)
	if err != nil {
		return r, 0, err
	}
	if next.Steps == 0 {
		return r, 0, fmt.Errorf("%s: the second process made no step", e.name)
	}
	return r, time.Duration(next.First - began.UnixNano()), nil
}
