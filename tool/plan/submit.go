package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// Submit returns the tool submit for answers that the JSON Schema answer
// describes. Its result carries the answer as Final.
func Submit(answer json.RawMessage) (tool.Tool, error) {
	if _, err := schema.Compile(answer); err != nil {
		return tool.Tool{}, fmt.Errorf("making submit for a schema: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	var inner any
	if err := dec.Decode(&inner); err != nil {
		return tool.Tool{}, fmt.Errorf("making submit for a schema: %w", err)
	}
	inner = lower(inner)
	if object, ok := inner.(map[string]any); ok {
		delete(object, "$schema") // only the outermost may name a draft
		delete(object, "$id")
	}
	outer, err := json.Marshal(map[string]any{"type": "object", "additionalProperties": false, "required": []string{"answer"},
		"properties": map[string]any{"answer": inner}})
	if err != nil {
		return tool.Tool{}, fmt.Errorf("making submit for a schema: %w", err)
	}
	return tool.Tool{Name: "submit", Description: embedded("submit.md"), Schema: outer, Effect: workflow.EffectRead,
		Reading: tool.Reading{Aliases: map[string]string{"result": "answer", "output": "answer"}}, Run: submit}, nil
}

// lower makes references of a schema lead to where it stands in the arguments.
func lower(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch ref, text := value.(string); {
			case text && (key == "$ref" || key == "$dynamicRef") && (ref == "#" || strings.HasPrefix(ref, "#/")):
				v[key] = "#/properties/answer" + strings.TrimPrefix(ref, "#")
			case key == "const" || key == "enum" || key == "default" || key == "examples":
			default:
				v[key] = lower(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = lower(v[i])
		}
	}
	return v
}

func submit(_ context.Context, c tool.Call) (tool.Result, error) {
	args, err := take[struct {
		Answer json.RawMessage `json:"answer"`
	}](c)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: "the answer is taken", Data: args.Answer, Final: args.Answer}, nil
}
