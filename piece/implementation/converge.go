package implementation

import (
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/verification"
)

// Bounds of the window.
const (
	maxSurvived = 2  // corrections that a failure may survive
	maxTail     = 40 // lines of a failure that tell it from others
	maxRemember = 100
)

// What a correction is about.
const (
	fromReview = "review"
	fromChecks = "verification"
)

// window is what is known about the corrections so far. It tells when more of
// them make no sense.
type window struct {
	Failed []string `json:"failed,omitempty"` // files and plans that failed, oldest first
	Last   string   `json:"last,omitempty"`   // signature of the newest failure
	Least  int      `json:"least,omitempty"`  // how much of it failed at best
	Rounds int      `json:"rounds,omitempty"` // how often in a row it came, and no less of it
	Open   []string `json:"open,omitempty"`   // signatures since the checks last passed
	Fixed  []string `json:"fixed,omitempty"`  // signatures that were open when they did
}

// mark names a state of the files under a plan.
func mark(candidate, plan string) string { return canon.Sum([]byte(candidate + "\x00" + plan)) }

// same says why a plan need not be run over files that failed it; "" when they
// did not.
func (w *window) same(mark string) string {
	if slices.Contains(w.Failed, mark) {
		return "the files are the same as those that failed these checks before: the last correction changed nothing that counts"
	}
	return ""
}

// failure is what did not pass.
type failure struct {
	signature string
	count     int // how much of it failed; 0 is not known
}

// failureOf is the failure of an invalid receipt.
func failureOf(r verification.Receipt) failure {
	f := failure{signature: signature(r)}
	for _, list := range [][]verification.Evidence{r.Setup, r.Commands} {
		for _, e := range list {
			if e.Failed() {
				f.count += verification.Failures(e.Output)
			}
		}
	}
	return f
}

// fail takes in a failure and says why another correction would not help; ""
// when it may. The same failure with a smaller count than ever is a new one.
// origin is what the last correction was about.
func (w *window) fail(mark string, f failure, origin string) string {
	if f.signature == w.Last && (f.count == 0 || f.count >= w.Least) {
		w.Rounds++
	} else {
		w.Last, w.Least, w.Rounds = f.signature, f.count, 1
	}
	w.Failed, w.Open = remember(w.Failed, mark), remember(w.Open, f.signature)
	switch {
	case w.Rounds > maxSurvived:
		return "the same failure came again after two corrections"
	case origin == fromReview && slices.Contains(w.Fixed, f.signature):
		return "the correction that the review asked for brought back a failure that had been fixed"
	}
	return ""
}

// pass takes in that all checks passed.
func (w *window) pass() {
	for _, s := range w.Open {
		w.Fixed = remember(w.Fixed, s)
	}
	w.Open, w.Last, w.Least, w.Rounds = nil, "", 0, 0
}

func remember(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	list = append(list, s)
	return list[max(0, len(list)-maxRemember):]
}

var (
	paths  = text.MustPattern(`(?:[A-Za-z]:)?[\w.@~-]*(?:[/\\][\w.@+~-]+)+`)
	hexes  = text.MustPattern(`0[xX][0-9a-fA-F]+|\b[0-9a-fA-F]*[0-9][0-9a-fA-F]*[a-fA-F][0-9a-fA-F]*\b|\b[0-9a-fA-F]{8,}\b`)
	digits = text.MustPattern(`[0-9]+(?:[.,:][0-9]+)*`)
)

// signature names the failures of a receipt without what differs from run to
// run: places, addresses, numbers, and all but the end of the output.
func signature(r verification.Receipt) string {
	var parts []string
	for _, list := range [][]verification.Evidence{r.Setup, r.Commands} {
		for _, e := range list {
			if e.Failed() {
				parts = append(parts, e.Check.Repository(), e.Check.Cwd, e.Check.Text(), e.State, normal(e.Output))
			}
		}
	}
	if len(parts) == 0 {
		parts = append(parts, normal(r.Reason))
	}
	return canon.Sum([]byte(strings.Join(parts, "\x00")))
}

// normal is the end of an output as far as it is the same in every run.
func normal(output string) string {
	var lines []string
	for line := range strings.Lines(verification.Plain(output)) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	end := strings.Join(lines[max(0, len(lines)-maxTail):], "\n")
	end = paths().ReplaceAllString(end, "/")
	end = hexes().ReplaceAllString(end, "#")
	return digits().ReplaceAllString(end, "#")
}
