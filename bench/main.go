package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	var (
		rounds  = flag.Int("rounds", 5, "rounds; a figure is the median of them")
		only    = flag.String("jobs", "", "jobs to run, such as J1,J8; all without it")
		dir     = flag.String("dir", "", "where the databases are written; the system's temporary directory without it")
		profile = flag.String("profile", "", "directory for CPU profiles of Tenon, one per job; rounds that are profiled are slower")
	)
	flag.Parse()
	missed, err := bench(*rounds, *only, *dir, *profile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if missed {
		os.Exit(1)
	}
}

// bench runs the jobs and prints what came out; missed says that a bar that is
// a ratio was not reached.
func bench(rounds int, only, dir, profile string) (missed bool, err error) {
	a, err := open(dir, profile)
	if err != nil {
		return false, err
	}
	defer a.close()
	jobs := slices.DeleteFunc(allJobs(), func(j job) bool {
		return only != "" && !slices.Contains(strings.Split(only, ","), j.id)
	})
	syncs, err := a.countSyncs()
	if err != nil {
		return false, err
	}
	r := results{rounds: rounds, syncs: syncs, values: map[key][]float64{}}
	for n := range rounds {
		for _, j := range jobs {
			if n > 0 && j.once {
				continue
			}
			if err := r.round(a, j, n); err != nil {
				return false, err
			}
		}
	}
	return r.print(os.Stdout, jobs), nil
}

func allJobs() []job {
	return []job{chainJob(), manyJob(), fanJob(), crashJob(), waitJob(), growthJob(), smallJob(), forkJob(), judgeJob(), scriptJob(), memoryJob()}
}
