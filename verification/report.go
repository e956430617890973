package verification

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/text"
)

// Bounds of a report, in code points.
const (
	maxReport  = 64_000 // as JSON
	maxOutputs = 32_000 // of all outputs together
	maxOutput  = 8_000  // of one check, maxAnchors of it for anchors
	maxArgs    = 16
	maxArg     = 128
	maxHistory = 4_000 // of the failing output in Summary
)

const (
	cutFront = "[truncated]\n"
	cutLines = "[...]\n"
)

// Diagnostic is a check as a report shows it.
type Diagnostic struct {
	RepositoryID string   `json:"repositoryId,omitempty"`
	Key          string   `json:"key,omitempty"`
	Label        string   `json:"label,omitempty"`
	Check        string   `json:"check"`
	Command      string   `json:"command,omitempty"`
	Args         []string `json:"args,omitempty"`
	Cwd          string   `json:"cwd,omitempty"`
	State        string   `json:"state"`
	ExitCode     int      `json:"exitCode"`
	Reason       string   `json:"reason,omitempty"`
	Suspect      string   `json:"suspect,omitempty"`
	DurationMs   int64    `json:"durationMs"`
	Output       string   `json:"output"`
	Truncated    bool     `json:"truncated,omitempty"`
	Reused       bool     `json:"reused,omitempty"`
	Proposed     bool     `json:"proposed,omitempty"`
	EvidenceID   string   `json:"evidenceId,omitempty"`
}

// Report tells what every check did, those that did not pass first, within 64,000
// code points of JSON. omitted is the number of checks that did not fit.
func Report(checks []Evidence) (shown []Diagnostic, omitted int) {
	order := slices.Clone(checks)
	slices.SortStableFunc(order, func(a, b Evidence) int { return rank(a) - rank(b) })
	outputs, size := maxOutputs, 0
	shown = []Diagnostic{}
	for _, e := range order {
		d := diagnose(e, min(maxOutput, outputs))
		outputs -= utf8.RuneCountInString(d.Output)
		raw, err := json.Marshal(d)
		if err != nil || size+utf8.RuneCount(raw) > maxReport {
			break
		}
		size += utf8.RuneCount(raw)
		shown = append(shown, d)
	}
	return shown, len(checks) - len(shown)
}

func rank(e Evidence) int {
	switch e.State {
	case StatePassed:
		return 1
	case StateNotRun:
		return 2
	}
	return 0
}

func diagnose(e Evidence, room int) Diagnostic {
	c := e.Check
	d := Diagnostic{
		RepositoryID: c.Repository(), Key: c.Key, Label: c.Label, Check: text.Head(c.Name(), 512, "…"),
		Command: text.Head(c.Command, 512, "…"), Args: boundArgs(c.Args, maxArg), Cwd: text.Head(c.Cwd, 512, "…"),
		State: e.State, ExitCode: e.ExitCode, Reason: text.Head(e.Reason, 2000, "…"), Suspect: e.Suspect,
		DurationMs: e.DurationMs, Reused: e.Reused, Proposed: c.Proposed, EvidenceID: e.ID,
	}
	d.Output, d.Truncated = excerpt(e, max(0, room))
	return d
}

// excerpt shows an output within room code points: all of it, or the anchors of
// the failure before its end.
func excerpt(e Evidence, room int) (shown string, cut bool) {
	all := Plain(e.Output)
	if !e.Truncated && utf8.RuneCountInString(all) <= room {
		return all, false
	}
	anchors := ""
	if e.Failed() {
		anchors = missing(e.Anchors, text.Tail(all, room/4, ""))
		anchors = text.Head(anchors, room*3/4-len(cutLines), "\n")
	}
	if anchors == "" {
		return text.Tail(all, room, cutFront), true
	}
	anchors += cutLines
	return anchors + text.Tail(all, room-utf8.RuneCountInString(anchors), ""), true
}

// missing returns the lines of anchors that the end of the output does not show.
func missing(anchors, tail string) string {
	var out strings.Builder
	for line := range strings.Lines(anchors) {
		if !strings.Contains(tail, strings.TrimRight(line, "\n")) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// Summary is the receipt for a reader of text: how many checks passed, or the end
// of the output of the one that did not.
func (r Receipt) Summary() string {
	bad := r.Bad()
	if bad == nil {
		s := fmt.Sprintf("%d checks passed", r.Passed())
		if r.Reason != "" {
			s += ", and the receipt is invalid: " + r.Reason
		}
		return s
	}
	s := fmt.Sprintf("check %q: %s, %s", text.Head(bad.Check.Name(), 512, "…"), bad.State, bad.Reason)
	if out, _ := excerpt(*bad, maxHistory); strings.TrimSpace(out) != "" {
		s += "\n" + strings.TrimSpace(out)
	}
	return s
}
