// Package result makes the results of pieces.
//
// Holds: values, bounded texts and failures in the form in which a visit
// settles.
//
// Guarantees: texts are valid UTF-8 and bounded in code points, and what was
// cut says so.
//
// Does not: choose outcomes.
package result

import (
	"encoding/json"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// Bounds of texts in outputs, in code points.
const (
	MaxText     = 32000 // text of an answer or a history entry
	MaxQuestion = 4000  // question that a model asks
)

// Cut ends a text that was cut.
const Cut = "\n[truncated]"

// Value returns v as a JSON value. v must be plain data that always encodes.
func Value(v any) workflow.Value {
	raw, err := json.Marshal(v)
	if err != nil { // not reached with plain data
		return workflow.Text(err.Error())
	}
	return workflow.Inline(raw)
}

// Text returns s within MaxText.
func Text(s string) string { return text.Head(s, MaxText, Cut) }

// Failed returns the result of a visit that failed: the outcome may be empty
// when no edge is meant.
func Failed(outcome string, code workflow.Code, message string) workflow.Settled {
	return workflow.Settled{
		Outcome: outcome, Status: workflow.VisitFailed,
		Error: &workflow.Failure{Code: code, Message: message},
	}
}

// Vars returns captured texts as variables; nil when there are none.
func Vars(texts map[string]string) map[string]workflow.Value {
	if len(texts) == 0 {
		return nil
	}
	vars := make(map[string]workflow.Value, len(texts))
	for name, s := range texts {
		vars[name] = workflow.Text(s)
	}
	return vars
}
