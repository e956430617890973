package main

import "github.com/tenonrun/tenon/bench/contender"

// waitJob: a run waits for a person, its process ends, and a new one answers.
func waitJob() job {
	return job{
		id: "J5", title: "answer in a new process: its start to next step", metrics: []string{"ms"},
		entrants: []string{tenon, dbos},
		measure: func(a *arena, e entrant) ([]float64, error) {
			_, d, err := a.after(e,
				contender.Task{Do: contender.Ask, Steps: 1},
				contender.Task{Do: contender.Answer})
			return []float64{millis(int64(d))}, err
		},
		turns: 3,
		bars:  func(r *results) []bar { return []bar{r.faster("J5", 0, dbos, 1)} },
	}
}
