package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/tenonrun/tenon/bench/contender"
)

// smallJob: what it costs to be there.
func smallJob() job {
	return job{
		id: "J7", title: "`tenon version`, and an engine that idles", metrics: []string{"ms", "MB resident"},
		entrants: []string{tenon, dbos, goworkflows},
		measure: func(a *arena, e entrant) ([]float64, error) {
			r, err := a.alone(e, contender.Task{Do: contender.Idle})
			if err != nil || e.name != tenon {
				return []float64{0, float64(r.Now) / mega}, err
			}
			begin := time.Now()
			if out, err := exec.Command(filepath.Join(a.bin, "command"), "version").CombinedOutput(); err != nil {
				return nil, fmt.Errorf("tenon version: %w: %s", err, out)
			}
			return []float64{millis(int64(time.Since(begin))), float64(r.Now) / mega}, nil
		},
		bars: func(r *results) []bar {
			return []bar{r.below("J7", 0, "tenon version", 30, "ms"), r.below("J7", 1, "an idle engine", 30, "MB")}
		},
	}
}
