package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/bench/contender"
)

// syncSteps is the length of the chain whose syncs are counted.
const syncSteps = 300

// countSyncs returns the fsync and fdatasync calls per step of a chain, for each
// entrant; nil when there is no strace to count them with.
func (a *arena) countSyncs() (map[string]float64, error) {
	if _, err := exec.LookPath("strace"); err != nil {
		return nil, nil
	}
	out := map[string]float64{}
	for _, e := range entrants {
		file := filepath.Join(a.work, "strace")
		r, err := a.alone(e, contender.Task{Do: contender.Chain, Steps: syncSteps},
			"strace", "-f", "-c", "-e", "trace=fsync,fdatasync", "-o", file)
		if err != nil {
			return nil, fmt.Errorf("counting syncs: %w", err)
		}
		calls, err := traced(file, "sync")
		if err != nil {
			return nil, fmt.Errorf("counting syncs of %s: %w", e.name, err)
		}
		out[e.name] = float64(calls) / float64(r.Steps)
	}
	return out, nil
}

// traced adds up the calls of strace's summary whose names have an end. Its columns
// are: share of the time, seconds, µs a call, calls, errors if any, name.
func traced(file, end string) (calls int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 5 || !strings.HasSuffix(words[len(words)-1], end) || words[len(words)-1] == "total" {
			continue
		}
		n, err := strconv.Atoi(words[3])
		if err != nil {
			continue // the head of the table, and its rule
		}
		calls += n
	}
	return calls, lines.Err()
}
