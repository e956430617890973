package main

import (
	"fmt"
	"slices"

	"github.com/tenonrun/tenon/bench/contender"
)

// job is something that contenders do in turn.
type job struct {
	id       string
	title    string
	metrics  []string // what measure returns, with units; the smaller the better
	entrants []string
	once     bool // in the first round only: it takes long
	turns    int  // how often each entrant has its turn in a round; 0 is once
	measure  func(*arena, entrant) ([]float64, error)
	bars     func(*results) []bar
}

// bar is what Tenon must reach.
type bar struct {
	text     string
	found    string
	ok       bool
	absolute bool // it depends on the machine: it is printed and does not fail
}

type key struct {
	job     string
	metric  int
	entrant string
}

// results are the figures of all rounds.
type results struct {
	rounds int
	syncs  map[string]float64 // per step; nil when they were not counted
	values map[key][]float64
}

// round lets the entrants of a job take turns in measuring themselves. Who begins
// changes from round to round.
func (r *results) round(a *arena, j job, n int) error {
	a.job = j.id
	for range max(1, j.turns) {
		if err := r.turn(a, j, n); err != nil {
			return err
		}
	}
	return nil
}

func (r *results) turn(a *arena, j job, n int) error {
	for i := range j.entrants {
		name := j.entrants[(i+n)%len(j.entrants)]
		figures, err := j.measure(a, entrantOf(name))
		if err != nil {
			return fmt.Errorf("%s, round %d: %w", j.id, n+1, err)
		}
		for m, f := range figures {
			k := key{j.id, m, name}
			r.values[k] = append(r.values[k], f)
		}
	}
	return nil
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func (r *results) median(job string, metric int, entrant string) float64 {
	return median(r.values[key{job, metric, entrant}])
}

// times returns how many times faster Tenon is than another entrant: the median
// over the turns, each of which both had.
func (r *results) times(job string, metric int, other string) float64 {
	own, their := r.values[key{job, metric, tenon}], r.values[key{job, metric, other}]
	ratios := make([]float64, min(len(own), len(their)))
	for i := range ratios {
		ratios[i] = their[i] / own[i]
	}
	return median(ratios)
}

// reallySyncs reports whether an entrant made a sync for each step.
func (r *results) reallySyncs(name string) bool { return r.syncs != nil && r.syncs[name] >= 0.95 }

// faster is the bar of being at least so many times faster than another.
func (r *results) faster(job string, metric int, other string, least float64) bar {
	x := r.times(job, metric, other)
	return bar{
		text:  fmt.Sprintf("%s: at least %g times as fast as %s", job, least, other),
		found: fmt.Sprintf("%.2f", x), ok: x >= least,
	}
}

// below is a bar for a figure of Tenon's alone.
func (r *results) below(job string, metric int, what string, most float64, unit string) bar {
	x := r.median(job, metric, tenon)
	return bar{text: fmt.Sprintf("%s: %s at most %g %s", job, what, most, unit), found: fmt.Sprintf("%.2f %s", x, unit), ok: x <= most, absolute: true}
}

// perStep measures a task in microseconds per step.
func perStep(t contender.Task) func(*arena, entrant) ([]float64, error) {
	return func(a *arena, e entrant) ([]float64, error) {
		t := t
		if t.Runs > 0 {
			t.Runs /= e.share
		} else {
			t.Steps /= e.share
		}
		r, err := a.alone(e, t)
		if err != nil {
			return nil, err
		}
		return []float64{float64(r.Wall) / 1e3 / float64(r.Steps)}, nil
	}
}

func millis(ns int64) float64 { return float64(ns) / 1e6 }

const mega = 1 << 20
