package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

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

// wish is the part of the prompt that asks for JSON.
func wish(raw json.RawMessage) string {
	return "Answer with one JSON value that fits the JSON Schema below, and with nothing else: no words around it, no code fence.\n" + string(raw)
}

// fit finds the value of an answer that fits. Without one it returns the
// problems of the value that was most likely meant.
func fit(s *schema.Schema, r provider.Response) (json.RawMessage, []string) {
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
			return compact(v), nil
		}
		if i == 0 {
			problems = append(problems, told(found)...)
		}
	}
	return nil, problems
}

func told(found schema.Problems) []string {
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

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw // not reached: the text is valid JSON
	}
	return b.Bytes()
}

// repair asks for the answer again.
func (k *talk) repair(r provider.Response, problems []string) {
	k.messages = append(k.messages, r.Message(), provider.UserText(
		"This answer does not fit the schema:\n- "+strings.Join(problems, "\n- ")+
			"\nSend the whole answer again, mended, as one JSON value and nothing else."))
}

// misfit is the error of a turn whose answers never fitted.
func (k *talk) misfit(r provider.Response, problems []string) error {
	cause := &executor.Misfit{Text: r.Text(), Problems: problems}
	e := workflow.Errorf(workflow.CodeStructuredOutput, "%s: the answer of %s does not fit its schema: %w", k.where(), k.named(), cause)
	return e.WithHint("simplify the schema, allow more repairs, or choose another model")
}
