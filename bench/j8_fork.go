package main

import (
	"fmt"

	"github.com/tenonrun/tenon/bench/contender"
)

// forkJob: a fork refers to the history it shares, however long it is.
func forkJob() job {
	return job{
		id: "J8", title: "fork in the middle of 1,000 and of 10,000 steps: call to its first step", metrics: []string{"ms, of 1,000", "ms, of 10,000"},
		entrants: []string{tenon, dbos},
		measure: func(a *arena, e entrant) ([]float64, error) {
			short, err := forks(a, e, 1000)
			if err != nil || e.name != tenon {
				return []float64{short, 0}, err
			}
			long, err := forks(a, e, 10_000)
			return []float64{short, long}, err
		},
		bars: func(r *results) []bar {
			growth := r.median("J8", 1, tenon) / r.median("J8", 0, tenon)
			return []bar{
				r.below("J8", 0, "a fork at step 500", 5, "ms"),
				r.faster("J8", 0, dbos, 20),
				{text: "J8: a fork at step 5,000 costs at most 1.5 times one at step 500", found: fmt.Sprintf("%.2f", growth), ok: growth <= 1.5},
			}
		},
	}
}

// forks returns the median of some forks of one run.
func forks(a *arena, e entrant, steps int) (float64, error) {
	r, err := a.alone(e, contender.Task{Do: contender.Fork, Steps: steps, At: steps / 2, Times: 5})
	if err != nil {
		return 0, err
	}
	all := make([]float64, len(r.Forks))
	for i, ns := range r.Forks {
		all[i] = millis(ns)
	}
	return median(all), nil
}
