package tenon

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// checkInputs validates launch inputs and fills in their defaults.
func checkInputs(def *workflow.Definition, raw []byte) (workflow.Value, error) {
	given := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return workflow.Value{}, workflow.Errorf(workflow.CodeInvalidInputs, "reading the inputs: %w", err)
		}
	}
	if def.Inputs == nil {
		if len(given) > 0 {
			return workflow.Value{}, workflow.Errorf(workflow.CodeInvalidInputs, "workflow %s takes no inputs", def.ID).
				WithHint("declare them under inputs: in a schemaVersion 2 definition, or leave -i out")
		}
		return workflow.Value{}, nil
	}
	if given == nil {
		given = map[string]json.RawMessage{}
	}
	if err := strayInputs(def, given); err != nil {
		return workflow.Value{}, err
	}
	full, err := json.Marshal(given)
	if err != nil {
		return workflow.Value{}, err
	}
	s, err := schema.Compile(def.Inputs)
	if err != nil {
		return workflow.Value{}, workflow.Errorf(workflow.CodeInvalidInputs, "the inputs schema of %s: %w", def.ID, err)
	}
	if full, err = s.Fill(full); err != nil {
		return workflow.Value{}, workflow.Errorf(workflow.CodeInvalidInputs, "the inputs of %s: %w", def.ID, err)
	}
	if problems := s.Validate(json.RawMessage(full)); len(problems) > 0 {
		return workflow.Value{}, workflow.Errorf(workflow.CodeInvalidInputs, "the inputs of %s do not fit: %w", def.ID, problems).
			WithHint("give them with -i NAME=VALUE or --inputs FILE")
	}
	return workflow.Inline(full), nil
}

// strayInputs refuses names that the workflow does not list, unless its schema
// says that others are welcome: a name that nothing reads is a mistyped one.
func strayInputs(def *workflow.Definition, given map[string]json.RawMessage) error {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Patterns   json.RawMessage            `json:"patternProperties"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	if json.Unmarshal(def.Inputs, &s) != nil || s.Properties == nil || s.Patterns != nil || s.Additional != nil && string(s.Additional) != "false" {
		return nil //nolint:nilerr // a schema that is no object lists no names
	}
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if s.Properties[name] != nil {
			continue
		}
		err := workflow.Errorf(workflow.CodeInvalidInputs, "workflow %s has no input %q", def.ID, name)
		if near := text.Nearest(name, names); near != "" {
			return err.WithHint("did you mean %q?", near)
		}
		return err.WithHint("there are %q", names)
	}
	return nil
}
