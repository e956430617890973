package main

import "github.com/tenonrun/tenon/bench/contender"

// fanJob: branches of one run, 256 at a time in Tenon, which is its most.
func fanJob() job {
	return job{
		id: "J3", title: "1,000 steps side by side, then a join", metrics: []string{"µs a step"},
		entrants: []string{tenon, dbos, goworkflows},
		measure:  perStep(contender.Task{Do: contender.Fan, Steps: 1000}),
		bars:     func(r *results) []bar { return []bar{r.faster("J3", 0, dbos, 15)} },
	}
}
