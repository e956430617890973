package main

import (
	"fmt"

	"github.com/tenonrun/tenon/bench/contender"
)

const growthWindow = 100

// growthJob: the price of a step must not grow with the state of the run.
func growthJob() job {
	return job{
		id: "J6", title: "as J1, each step adds 1 KiB to the state", entrants: []string{tenon, dbos},
		metrics: []string{"KB written a step, steps 101 to 500", "KB written a step, steps 501 to 1,000", "late to early", "with snapshots to without", "µs a step"},
		measure: measureGrowth,
		bars: func(r *results) []bar {
			drift, snaps := r.median("J6", 2, tenon), r.median("J6", 3, tenon)
			return []bar{
				{text: "J6: steps 501 to 1,000 write within 10 % of steps 101 to 500", found: fmt.Sprintf("%.3f", drift), ok: drift > 0.9 && drift < 1.1},
				{text: "J6: snapshots add at most half", found: fmt.Sprintf("%.3f", snaps), ok: snaps <= 1.5},
			}
		},
	}
}

func measureGrowth(a *arena, e entrant) ([]float64, error) {
	r, err := a.alone(e, contender.Task{Do: contender.Chain, Steps: 1001, Grow: 1024, Window: growthWindow})
	if err != nil {
		return nil, err
	}
	if len(r.Written) != 10 {
		return nil, fmt.Errorf("%s: %d windows, not 10", e.name, len(r.Written))
	}
	windows, total := make([]float64, len(r.Written)), 0.0
	for i, w := range r.Written {
		windows[i] = float64(w) / 1024 / growthWindow
		total += float64(w)
	}
	early, late := median(windows[1:5]), median(windows[5:])
	return []float64{early, late, late / early, total / (total - float64(r.Snapshots)), float64(r.Wall) / 1e3 / float64(r.Steps)}, nil
}
