package runcontext

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/source"
)

// declaration declares an input.
type declaration struct {
	Type     string          `json:"type"`
	Required bool            `json:"required"`
	Default  json.RawMessage `json:"default"`
	limits
}

// limits are the keywords of JSON Schema that a declaration may have.
type limits struct {
	Enum             []json.RawMessage `json:"enum,omitempty"`
	Pattern          string            `json:"pattern,omitempty"`
	MinLength        *int              `json:"minLength,omitempty"`
	MaxLength        *int              `json:"maxLength,omitempty"`
	Minimum          *float64          `json:"minimum,omitempty"`
	Maximum          *float64          `json:"maximum,omitempty"`
	ExclusiveMinimum *float64          `json:"exclusiveMinimum,omitempty"`
	ExclusiveMaximum *float64          `json:"exclusiveMaximum,omitempty"`
}

// compile makes the schema of the values of an input.
func (d declaration) compile() (*schema.Schema, error) {
	typed := struct {
		Type  string         `json:"type"`
		Items map[string]any `json:"items,omitempty"`
		limits
	}{Type: d.Type, limits: d.limits}
	if d.Type == "string[]" {
		typed.Type, typed.Items = "array", map[string]any{"type": "string"}
	}
	raw, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	return schema.Compile(raw)
}

// problem says why a value is not one of the input, or "".
func (d declaration) problem(value json.RawMessage) string {
	s, err := d.compile()
	if err != nil {
		return err.Error()
	}
	if problems := s.Validate(value); len(problems) > 0 {
		return problems.Error()
	}
	return ""
}

// inputs checks the declarations of one document.
func (c *compiler) inputs(doc *source.Document, s spec) {
	for _, name := range sortedKeys(s.Inputs) {
		d := s.Inputs[name]
		at := func(parts ...any) place { return place{doc, pointer("spec", "inputs", name) + pointer(parts...)} }
		if d.Type == "" {
			continue // the schema has told it
		}
		if _, err := d.compile(); err != nil {
			c.say(at(), FindingValue, "patterns are RE2 regular expressions", "input %q cannot be checked: %s", name, err)
			continue
		}
		plain := declaration{Type: d.Type}
		for i, v := range d.Enum {
			if why := plain.problem(v); why != "" {
				c.say(at("enum", i), FindingValue, fmt.Sprintf("list values of type %s", d.Type), "a value of input %q: %s", name, why)
			}
		}
		if d.Default != nil {
			if why := d.problem(d.Default); why != "" {
				c.say(at("default"), FindingValue, fmt.Sprintf("write a default that the input takes, of type %s", d.Type), "the default of input %q: %s", name, why)
			}
		}
		for _, r := range []struct {
			word     string
			min, max *float64
		}{{"length", float(d.MinLength), float(d.MaxLength)}, {"value", d.Minimum, d.Maximum}} {
			if r.min != nil && r.max != nil && *r.min > *r.max {
				c.say(at(), FindingValue, "let one of the bounds go", "input %q: no %s is at least %v and at most %v", name, r.word, *r.min, *r.max)
			}
		}
	}
}

func float(n *int) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}
