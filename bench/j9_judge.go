package main

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/tenonrun/tenon/bench/contender"
)

// Names of the entrants that only judge.
const (
	globLoop = "doublestar loop"
	ignores  = "go-git matcher"
)

// judges are the entrants of J9; "tenon" is there the fence and no engine.
var judges = []string{tenon, globLoop, ignores}

// Metrics of J9.
const (
	plainCall = iota
	linkedCall
	deniedCall
	allocations
	plainSyscalls
	linkedSyscalls
	deniedSyscalls
)

// judgeJob: what it costs to judge a call by 200 rules. The peers look at the
// text of a path; Tenon asks the disk where it leads.
func judgeJob() job {
	return job{
		id: "J9", title: "one call judged by 200 rules, on a path six levels deep",
		metrics: []string{"µs a call", "µs a call, through a link", "µs a call, denied by its text", "allocations a call",
			"system calls a call", "system calls a call, through a link", "system calls a call, denied by its text"},
		entrants: judges, turns: 3,
		measure: measureJudge,
		bars: func(r *results) []bar {
			return []bar{
				r.below("J9", plainCall, "a call (50,000 a second)", 20, "µs"),
				r.faster("J9", plainCall, globLoop, 1),
				r.faster("J9", plainCall, ignores, 0.33),
				r.exact(allocations, "allocations of a call", 4),
				r.exact(plainSyscalls, "system calls of a call", 2),
				r.exact(linkedSyscalls, "system calls through a link", 4),
				r.exact(deniedSyscalls, "system calls of a call denied by its text", 0),
			}
		},
	}
}

// exact is a bar for a figure of Tenon's that does not depend on the machine. The
// few that only the first calls make are allowed for.
func (r *results) exact(metric int, what string, most float64) bar {
	x := r.median("J9", metric, tenon)
	return bar{text: fmt.Sprintf("J9: %s at most %g", what, most), found: fmt.Sprintf("%.2f", x), ok: x < most+0.05}
}

func measureJudge(a *arena, e entrant) ([]float64, error) {
	figures := make([]float64, deniedSyscalls+1)
	kinds := []string{"plain", "linked", "denied"}
	if e.name != tenon {
		kinds = kinds[:1]
	}
	for i, kind := range kinds {
		as := entrant{name: e.name, program: "judge", env: []string{"BENCH_JUDGE=" + e.name, "BENCH_PATH=" + kind}}
		r, err := a.alone(as, contender.Task{Do: contender.Chain, Steps: 50_000})
		if err != nil {
			return nil, err
		}
		figures[plainCall+i] = float64(r.Wall) / 1e3 / float64(r.Steps)
		if i == 0 {
			figures[allocations] = float64(r.Allocs) / float64(r.Steps)
		}
		if figures[plainSyscalls+i], err = a.countCalls(as); err != nil {
			return nil, err
		}
	}
	return figures, nil
}

// countCalls returns the system calls of one judgment: what a thousand more make.
// It is 0 where there is no strace.
func (a *arena) countCalls(e entrant) (float64, error) {
	if _, err := exec.LookPath("strace"); err != nil || e.name != tenon {
		return 0, nil
	}
	count := func(steps int) (int, error) {
		file := filepath.Join(a.work, "strace")
		if _, err := a.alone(e, contender.Task{Do: contender.Chain, Steps: steps}, "strace", "-f", "-c", "-e", "trace=file,desc", "-o", file); err != nil {
			return 0, fmt.Errorf("counting system calls: %w", err)
		}
		return traced(file, "")
	}
	few, err := count(100)
	if err != nil {
		return 0, err
	}
	many, err := count(1100)
	return float64(many-few) / 1000, err
}
