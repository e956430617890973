package main

import "github.com/tenonrun/tenon/bench/contender"

// manyJob: what group commit gives to runs that have nothing to do with each
// other.
func manyJob() job {
	return job{
		id: "J2", title: "1,000 runs of 10 steps at once", metrics: []string{"µs a step"},
		entrants: []string{tenon, dbos},
		measure:  perStep(contender.Task{Do: contender.Many, Runs: 1000, Steps: 10}),
		bars:     func(r *results) []bar { return []bar{r.faster("J2", 0, dbos, 10)} },
	}
}
