package verify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece/result"
)

// Bounds of a report, in code points.
const (
	maxReport  = 64000 // as JSON
	maxOutputs = 32000 // of all outputs together
	maxOutput  = 8000  // of one check
	maxArgs    = 16
	maxArg     = 128
	maxHistory = 4000 // of the failing output in the history
)

const cutFront = "[truncated]\n"

// diagnostic is a check in the output of the node.
type diagnostic struct {
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
	DurationMs   int64    `json:"durationMs"`
	Output       string   `json:"output"`
	Truncated    bool     `json:"truncated,omitempty"`
}

// report is the part of the output that tells what every check did: those that
// did not pass first, each with the end of its output.
func report(verdicts []verdict) map[string]any {
	order := slices.Clone(verdicts)
	slices.SortStableFunc(order, func(a, b verdict) int { return rank(a) - rank(b) })
	outputs, size := maxOutputs, 0
	commands := []diagnostic{}
	for _, v := range order {
		d := diagnose(v, min(maxOutput, outputs))
		outputs -= utf8.RuneCountInString(d.Output)
		raw, err := json.Marshal(d)
		if err != nil || size+utf8.RuneCount(raw) > maxReport {
			break
		}
		size += utf8.RuneCount(raw)
		commands = append(commands, d)
	}
	out := map[string]any{"commands": commands}
	if left := len(verdicts) - len(commands); left > 0 {
		out["omittedCommands"] = left
	}
	return out
}

func rank(v verdict) int {
	switch v.state {
	case statePassed:
		return 1
	case stateNotRun:
		return 2
	}
	return 0
}

func diagnose(v verdict, room int) diagnostic {
	c := v.check
	d := diagnostic{
		RepositoryID: c.RepositoryID, Key: c.Key, Label: c.Label, Check: text.Head(c.name(), 512, "…"),
		Command: text.Head(c.Command, 512, "…"), Args: bound(c.Args), Cwd: text.Head(c.Cwd, 512, "…"),
		State: v.state, ExitCode: v.code, Reason: text.Head(v.reason, 2000, "…"), DurationMs: v.duration.Milliseconds(),
	}
	all := plain(v.output)
	d.Output = text.Tail(all, max(0, room), cutFront)
	d.Truncated = v.cut || len(d.Output) < len(all)
	return d
}

func bound(args []string) []string {
	var out []string
	for _, a := range args[:min(len(args), maxArgs)] {
		out = append(out, text.Head(a, maxArg, "…"))
	}
	return out
}

var control = text.MustPattern(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`)

// plain returns output without the codes that colour it.
func plain(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	return control().ReplaceAllString(s, "")
}

// history is what later prompts see: how many checks passed, or the end of the
// output of the one that did not.
func history(verdicts []verdict) string {
	bad := firstBad(verdicts)
	if bad == nil {
		return fmt.Sprintf("%d checks passed", len(verdicts))
	}
	s := fmt.Sprintf("check %q: %s, %s", text.Head(bad.check.name(), 512, "…"), bad.state, bad.reason)
	if out := strings.TrimSpace(plain(bad.output)); out != "" {
		s += "\n" + text.Tail(out, maxHistory, cutFront)
	}
	return result.Text(s)
}
