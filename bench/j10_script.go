package main

import (
	"fmt"

	"github.com/tenonrun/tenon/bench/contender"
)

// Metrics of J10.
const (
	chainStep = iota
	sequentialAgent
	parallelAgent
	pipelineAgent
	replayed
	held
)

// scriptJob: what an agent of a script costs beside its model, against a step of
// J1 in the same turn.
func scriptJob() job {
	return job{
		id: "J10", title: "1,000 agents of a script that are answered at once, each call durable",
		metrics: []string{"µs a step of a chain", "µs an agent, one after the other", "µs an agent, 16 at a time", "µs an agent, in a pipeline",
			"ms to replay the 1,000", "MB at most with 10,000 results of 1 KiB"},
		entrants: []string{tenon}, measure: measureScript,
		bars: func(r *results) []bar {
			return []bar{
				r.rate(sequentialAgent, "agents one after the other", 0.8),
				r.rate(parallelAgent, "agents 16 at a time", 1.6),
				r.rate(pipelineAgent, "agents in a pipeline", 1.6),
				r.below("J10", replayed, "replaying 1,000 calls", 75, "ms"),
				r.below("J10", held, "10,000 results of 1 KiB", 100, "MB"),
			}
		},
	}
}

// rate is a bar for the rate of agents as a part of the rate of a chain: the
// median over turns.
func (r *results) rate(metric int, what string, least float64) bar {
	steps, agents := r.values[key{"J10", chainStep, tenon}], r.values[key{"J10", metric, tenon}]
	ratios := make([]float64, len(agents))
	for i := range ratios {
		ratios[i] = steps[i] / agents[i]
	}
	x := median(ratios)
	return bar{text: fmt.Sprintf("J10: %s at least %g of the rate of a chain", what, least), found: fmt.Sprintf("%.2f", x), ok: x >= least}
}

func measureScript(a *arena, e entrant) ([]float64, error) {
	figures := make([]float64, held+1)
	chain, err := a.alone(e, contender.Task{Do: contender.Chain, Steps: 1000})
	if err != nil {
		return nil, err
	}
	figures[chainStep] = perAgent(chain)
	for i, kind := range []string{"sequential", "parallel", "pipeline"} {
		r, err := a.alone(scripted(kind), contender.Task{Do: contender.Chain, Steps: 1000})
		if err != nil {
			return nil, err
		}
		figures[sequentialAgent+i] = perAgent(r)
	}
	if figures[replayed], err = a.replay(); err != nil {
		return nil, err
	}
	r, err := a.alone(scripted("held"), contender.Task{Do: contender.Chain, Steps: 10_000, Grow: 1024})
	figures[held] = float64(r.Peak) / mega
	return figures, err
}

// scripted is the entrant that runs scripts of a kind.
func scripted(kind string) entrant {
	return entrant{name: tenon, program: "script", env: []string{"BENCH_SCRIPT=" + kind}}
}

func perAgent(r contender.Report) float64 { return float64(r.Wall) / 1e3 / float64(r.Steps) }

// replay makes a run, and reads it back in another process.
func (a *arena) replay() (float64, error) {
	dir, err := a.fresh()
	if err != nil {
		return 0, err
	}
	e := scripted("parallel")
	if _, _, err := a.do(e, contender.Task{Do: contender.Chain, Dir: dir, Steps: 1000}); err != nil {
		return 0, err
	}
	r, _, err := a.do(e, contender.Task{Do: contender.Resume, Dir: dir})
	return millis(r.Wall), err
}
