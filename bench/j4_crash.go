package main

import "github.com/tenonrun/tenon/bench/contender"

// crashJob: a process kills itself in the middle of a run; how long until the
// next step after a new process is started.
func crashJob() job {
	return job{
		id: "J4", title: "kill -9 in step 50 of 100: new process to next step", metrics: []string{"ms"},
		entrants: []string{tenon, dbos},
		measure: func(a *arena, e entrant) ([]float64, error) {
			_, d, err := a.after(e,
				contender.Task{Do: contender.Chain, Steps: 100, Kill: 50},
				contender.Task{Do: contender.Resume})
			return []float64{millis(int64(d))}, err
		},
		turns: 3,
		bars:  func(r *results) []bar { return []bar{r.faster("J4", 0, dbos, 1)} },
	}
}
