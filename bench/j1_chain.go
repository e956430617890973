package main

import "github.com/tenonrun/tenon/bench/contender"

// chainJob: the price of a step that must be durable before the next begins.
func chainJob() job {
	return job{
		id: "J1", title: "one run, 1,000 steps, each durable before the next", metrics: []string{"µs a step"},
		entrants: []string{tenon, autocommit, begin, dbos, goworkflows},
		measure:  perStep(contender.Task{Do: contender.Chain, Steps: 1000}),
		turns:    3,
		bars: func(r *results) []bar {
			bars := []bar{r.faster("J1", 0, autocommit, 0.9)}
			for _, peer := range []string{dbos, goworkflows} {
				if r.syncs == nil || r.reallySyncs(peer) {
					bars = append(bars, r.faster("J1", 0, peer, 1))
				}
			}
			return bars
		},
	}
}
