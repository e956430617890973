package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/workflow"
)

// summary prints a run for people.
func (a *app) summary(res history.Result) {
	w := a.std.Out
	fmt.Fprintf(w, "run %s  %s  %s%s\n", res.Run, res.Workflow.Name, res.Status, plain.Reasons(res.Reasons))
	if res.ForkOf != "" {
		fmt.Fprintf(w, "  fork of %s\n", res.ForkOf)
	}
	for _, q := range res.Questions {
		fmt.Fprintf(w, "  %s %s at %s: %s\n", q.Kind, q.ID, q.Node, plain.Indent(q.Text))
		if len(q.Options) > 0 {
			fmt.Fprintf(w, "    options: %s\n", strings.Join(q.Options, ", "))
		}
	}
	for _, u := range res.Uncertain {
		fmt.Fprintf(w, "  uncertain write at %s (%s): %s\n", u.Node, u.Visit, u.Message)
	}
	for _, wt := range res.Waits {
		fmt.Fprintf(w, "  waits at %s%s\n", wt.Node, waitText(wt))
	}
	if res.Paused {
		fmt.Fprintln(w, "  paused: nothing more is started until it is resumed")
	}
	for _, u := range res.Unfinished {
		fmt.Fprintf(w, "  unfinished %s (%s): %s %s\n", u.Node, u.Visit, u.Code, u.Message)
	}
	for _, f := range res.Failures {
		fmt.Fprintf(w, "  failed%s: %s (%s)\n", strings.TrimRight(" "+f.Node, " "), plain.Indent(strings.TrimPrefix(f.Message, f.Node+": ")), f.Code)
	}
	for _, e := range res.Evidence {
		fmt.Fprintf(w, "  %s  %s\n", e.Node, plain.Receipt(e.EvidenceKept))
	}
	for _, m := range res.Artifacts {
		from := ""
		if m.Run != "" {
			from = fmt.Sprintf("  (of %s)", m.Run)
		}
		fmt.Fprintf(w, "  artifact %s/%s@%d  %s%s\n", m.Collection, m.ID, m.Version, printable(m.Title), from)
	}
	if n := res.Denied - len(res.Denials); n > 0 {
		fmt.Fprintf(w, "  %s before these: tenon logs %s\n", plain.Count(n, "denied call"), res.Run)
	}
	for _, d := range res.Denials {
		fmt.Fprintf(w, "  denied at %s: %s\n", d.Node, d.Message)
	}
	for _, warn := range res.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", warn)
	}
	fmt.Fprintf(w, "  %s, %s, %s\n", plain.Count(res.Visits, "visit"), spent(res.Usage), took(res))
}

// reasons puts why in brackets; "" when nobody said.
// spent tells usage without turning unknown into zero.
func spent(u history.Usage) string {
	if u.Calls == 0 && u.Inherited == nil {
		return "no model calls"
	}
	s := fmt.Sprintf("%s, %d tokens in, %d out", plain.Count(u.Calls, "model call"), u.Input, u.Output)
	if u.UnknownTokens > 0 {
		s += fmt.Sprintf(" and %s of unknown usage", plain.Count(u.UnknownTokens, "call"))
	}
	if u.CostUSD > 0 {
		s += fmt.Sprintf(", $%.4f", u.CostUSD)
	}
	if u.Inherited != nil {
		s += fmt.Sprintf(" (the fork inherited %s, not counted)", plain.Count(u.Inherited.Calls, "call"))
	}
	return s
}

func took(res history.Result) string {
	d := res.Updated.Std().Sub(res.Started.Std())
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// next says how to go on, in commands to type.
func (a *app) next(res history.Result) []string {
	tenon := a.self() + a.flagsOf() + " "
	out := []string{}
	for _, q := range res.Questions {
		out = append(out, strings.Join(a.reply(q), "   or: "))
	}
	for _, u := range res.Uncertain {
		out = append(out, a.recovery(res.Run, u.Visit))
	}
	switch res.Status {
	case workflow.StatusInterrupted:
		out = append(out, fmt.Sprintf(tenon+"resume %s", res.Run))
	case workflow.StatusExhausted:
		more := raiseHint(res)
		if more != "" {
			more = " --raise " + more
		}
		out = append(out, fmt.Sprintf(tenon+"resume %s%s", res.Run, more))
	case workflow.StatusUnavailable:
		when := "when the provider is back"
		if res.ResumeAfter != 0 {
			when = "after " + res.ResumeAfter.Std().Local().Format("2006-01-02 15:04:05")
		}
		out = append(out, fmt.Sprintf(tenon+"resume %s   (%s)", res.Run, when))
	case workflow.StatusWaiting:
		if len(out) == 0 {
			out = append(out, waitingHint(tenon, res))
		}
	case workflow.StatusFailed, workflow.StatusUnproven, workflow.StatusCancelled, workflow.StatusDenied:
		out = append(out, fmt.Sprintf(tenon+"show %s", res.Run))
		if res.Workflow.Kind == workflow.KindScript {
			return append(out, againScript(tenon, res)...)
		}
		out = append(out, fmt.Sprintf(tenon+"fork %s --from %s", res.Run, failedNode(res)))
	}
	return out
}

// againScript says how a run of a script goes on: what is settled is kept.
func againScript(tenon string, res history.Result) []string {
	file := res.Workflow.File
	if res.ScriptPath != "" && !strings.ContainsRune(file, '/') && strings.ContainsRune(file, ':') {
		file = res.ScriptPath // it came from no file
	}
	out := []string{fmt.Sprintf(tenon+"resume %s --accept-changes   (keeps what is settled; where the script is wrong, change %s first)", res.Run, file)}
	for _, f := range res.Failures {
		if strings.ContainsRune(f.Node, '#') {
			return append(out, fmt.Sprintf(tenon+"fork %s --from '%s'", res.Run, f.Node))
		}
	}
	return out
}

// failedNode is where a fork is likely to begin.
func failedNode(res history.Result) string {
	if len(res.Failures) > 0 && res.Failures[0].Node != "" && !strings.Contains(res.Failures[0].Node, "/") {
		return res.Failures[0].Node
	}
	if len(res.Failures) == 0 && len(res.Outputs) == 1 {
		for only := range res.Outputs {
			return only
		}
	}
	return "NODE"
}

func waitText(w workflow.Wait) string {
	out := ""
	if w.Signal != "" {
		out = " for the signal " + w.Signal
	}
	if w.Until != 0 {
		out += " until " + w.Until.Std().Local().Format("2006-01-02 15:04:05")
	}
	return out
}

func waitingHint(tenon string, res history.Result) string {
	for _, w := range res.Waits {
		if w.Signal != "" && !res.Paused {
			return fmt.Sprintf(tenon+"signal %s %s", res.Run, w.Signal)
		}
	}
	if res.Paused {
		return fmt.Sprintf(tenon+"resume %s", res.Run)
	}
	if res.ResumeAfter != 0 {
		return fmt.Sprintf(tenon+"resume %s   (a timer is due at %s)", res.Run, res.ResumeAfter.Std().Local().Format("2006-01-02 15:04:05"))
	}
	return fmt.Sprintf(tenon+"resume %s   (after: %ssignal %s NAME, or to end a pause)", res.Run, tenon, res.Run)
}

func raiseHint(res history.Result) string {
	for _, u := range res.Unfinished {
		if u.Code == workflow.CodeRecursionLimit {
			return fmt.Sprintf("transitions=%d", 2*max(res.Visits, 1))
		}
		if u.Code == workflow.CodeFailFast {
			return "" // a plain resume starts the count afresh
		}
	}
	b := res.Usage.Budget
	switch {
	case b.MaxTokens > 0:
		return fmt.Sprintf("tokens=%d", max(2*b.MaxTokens, 10_000))
	case b.MaxCostUSD > 0:
		return fmt.Sprintf("cost=%g", 2*b.MaxCostUSD)
	case b.MaxDurationMs > 0:
		return fmt.Sprintf("duration=%s", 2*time.Duration(b.MaxDurationMs)*time.Millisecond)
	}
	return "tokens=N"
}

// outputs prints what the nodes gave, for show.
func (a *app) outputs(res history.Result) {
	for _, name := range slices.Sorted(maps.Keys(res.Outputs)) {
		s := oneLine(res.Outputs[name])
		if r := []rune(s); len(r) > 300 {
			s = string(r[:300]) + "… (tenon show --json has all of it)"
		}
		fmt.Fprintf(a.std.Out, "  output %s: %s\n", name, s)
	}
}

// oneLine is JSON for people: short, and with the signs of HTML as they are.
func oneLine(raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return string(raw)
	}
	return strings.TrimSpace(b.String())
}
