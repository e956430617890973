package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
)

// print writes the figures and the bars; missed says that a ratio was not
// reached.
func (r *results) print(out io.Writer, jobs []job) (missed bool) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s/%s, %d cores, %s, %d rounds\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), r.rounds)
	r.printSyncs(w)
	fmt.Fprintln(w, "job\tcontender\tmedian\tleast\tmost\tto tenon\tof")
	for _, j := range jobs {
		r.printJob(w, j)
	}
	fmt.Fprintln(w)
	for _, j := range jobs {
		for _, b := range j.bars(r) {
			fmt.Fprintf(w, "%s\t%s\t%s\n", verdict(b), b.text, b.found)
			missed = missed || !b.ok && !b.absolute
		}
	}
	if err := w.Flush(); err != nil {
		panic(err) // standard output is gone
	}
	return missed
}

func verdict(b bar) string {
	switch {
	case b.ok:
		return "reached"
	case b.absolute:
		return "missed (not counted)"
	}
	return "MISSED"
}

func (r *results) printSyncs(w io.Writer) {
	if r.syncs == nil {
		fmt.Fprint(w, "syncs were not counted: there is no strace on this machine\n\n")
		return
	}
	fmt.Fprintln(w, "syncs a step")
	for _, e := range entrants {
		note := ""
		if !r.reallySyncs(e.name) {
			note = "does NOT sync each step"
		}
		fmt.Fprintf(w, "\t%s\t%.2f\t%s\n", e.name, r.syncs[e.name], note)
	}
	fmt.Fprintln(w)
}

func (r *results) printJob(w io.Writer, j job) {
	fmt.Fprintf(w, "%s: %s\n", j.id, j.title)
	for m, metric := range j.metrics {
		for _, name := range j.entrants {
			values := r.values[key{j.id, m, name}]
			if len(values) == 0 || slices.Max(values) == 0 {
				continue
			}
			ratio := ""
			if name != tenon {
				ratio = fmt.Sprintf("%.2f×", r.times(j.id, m, name))
			}
			fmt.Fprintf(w, "\t%s\t%s\t%s\t%s\t%s\t%s\n", name, figure(median(values)), figure(slices.Min(values)), figure(slices.Max(values)), ratio, metric)
		}
	}
}

func figure(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
