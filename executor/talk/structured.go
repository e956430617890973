package talk

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/answer"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// Bounds of the problems that are told to the model.
const (
	maxProblems     = 20
	maxProblemChars = 500
)

// Wish is the part of the prompt that asks for JSON.
func Wish(raw json.RawMessage) string {
	return "Answer with one JSON value that fits the JSON Schema below, and with nothing else: no words around it, no code fence.\n" + string(raw)
}

// Fit finds the value in the text of an answer that fits. Without one it returns
// the problems of the value that was most likely meant.
func Fit(s *schema.Schema, r provider.Response) (json.RawMessage, []string) {
	values := answer.Values(r.Text())
	var problems []string
	if r.Stop == provider.StopMaxTokens {
		problems = append(problems, "the answer was cut off at the output limit: be shorter")
	}
	if len(values) == 0 {
		return nil, append(problems, "there is no JSON value in the answer")
	}
	for i, v := range values {
		found := s.Validate(v)
		if len(found) == 0 {
			return Compact(v), nil
		}
		if i == 0 {
			problems = append(problems, Told(found)...)
		}
	}
	return nil, problems
}

// Told gives the problems of a value for the model, bounded.
func Told(found schema.Problems) []string {
	var out []string
	for i, p := range found {
		if i == maxProblems {
			return append(out, fmt.Sprintf("and %d more", len(found)-i))
		}
		at := p.Pointer
		if at == "" {
			at = "the value"
		}
		out = append(out, text.Head(at+": "+p.Message, maxProblemChars, "…"))
	}
	return out
}

// Compact takes the blanks out of JSON.
func Compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw // not reached: the text is valid JSON
	}
	return b.Bytes()
}

// Misfit is the error of a turn whose answers never fitted.
func (k *Talk) Misfit(text string, problems []string) error {
	cause := &executor.Misfit{Text: text, Problems: problems}
	e := workflow.Errorf(workflow.CodeStructuredOutput, "%s: the answer of %s does not fit its schema: %w", k.Where(), k.Named(), cause)
	return e.WithHint("simplify the schema, allow more repairs, or choose another model")
}
