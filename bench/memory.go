package main

import "github.com/tenonrun/tenon/bench/contender"

// memoryJob: a long run stays small, and comes back at once.
func memoryJob() job {
	return job{
		id: "memory", title: "one run of 100,000 visits", metrics: []string{"MB at most", "ms from a new process to its next step", "µs a step"},
		entrants: []string{tenon}, once: true,
		measure: func(a *arena, e entrant) ([]float64, error) {
			r, d, err := a.after(e,
				contender.Task{Do: contender.Ask, Steps: 100_000},
				contender.Task{Do: contender.Answer})
			if err != nil {
				return nil, err
			}
			return []float64{float64(r.Peak) / mega, millis(int64(d)), float64(r.Wall) / 1e3 / float64(r.Steps)}, nil
		},
		bars: func(r *results) []bar {
			return []bar{r.below("memory", 0, "the process", 100, "MB"), r.below("memory", 1, "a resume", 1000, "ms")}
		},
	}
}
