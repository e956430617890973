package plain

import (
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// Log tells an event of a history in one line, also those that progress leaves
// out; "" when there is nothing to tell. It has to see every event.
func (l *Lines) Log(run workflow.RunID, e workflow.Event) string {
	v := l.fold(run, e)
	if s := say(run, e, v); s != "" {
		return s
	}
	switch p := e.Payload.(type) {
	case *workflow.Admitted:
		if p.Continued {
			return "> " + e.ID + " goes on after the answer"
		}
		return "> " + e.ID + " starts (" + p.Kind + ")"
	case *workflow.Settled:
		v.routes = false
		return settledLine(p, v)
	case *workflow.InvocationReserved:
		why := ""
		if p.RouteReason != "" {
			why = " (" + p.RouteReason + ")"
		}
		return fmt.Sprintf("  %s call %d to %s/%s, at most %d tokens%s", e.ID, e.Invocation, p.Provider, p.Model, p.Tokens, why)
	case *workflow.InvocationSettled:
		n, known := p.Usage.Tokens()
		if !known {
			return fmt.Sprintf("  %s call %d %s, usage unknown", e.ID, e.Invocation, coded(p.Status, p.Code))
		}
		return fmt.Sprintf("  %s call %d %s, %d tokens, %d ms", e.ID, e.Invocation, coded(p.Status, p.Code), n, p.DurationMs)
	case *workflow.StepIntended:
		return fmt.Sprintf("  %s begins %s", e.ID, p.Tool)
	case *workflow.EvidenceKept:
		return "  " + e.ID + " begins receipt " + p.Receipt
	case *workflow.Ended:
		return "= ended " + string(p.Status)
	}
	return "  " + string(e.Type()) + " " + e.ID
}

// Receipt tells a receipt in one line.
func Receipt(e workflow.EvidenceKept) string {
	s := fmt.Sprintf("receipt %s: %s, %s", e.Receipt, e.State, e.Scope)
	if e.Commands > 0 {
		s += fmt.Sprintf(", %s", Count(e.Commands, "check")+" passed")
	}
	if e.Candidate != "" {
		s += ", candidate " + e.Candidate[:min(len(e.Candidate), 15)]
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Count counts things: "1 check", "2 checks".
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Reasons tells reasons behind a status, "" when there are none.
func Reasons(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

// Indent moves the lines of a text after the first to the right.
func Indent(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ") }
