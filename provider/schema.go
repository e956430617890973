package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Object decodes a JSON Schema for the vendors' SDKs, which want a map. Numbers
// keep their digits. Nil is the schema of an object without members.
func Object(schema json.RawMessage) (map[string]any, error) {
	if len(schema) == 0 {
		return map[string]any{"type": "object", "properties": map[string]any{}}, nil
	}
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("reading a JSON Schema: %w", err)
	}
	return m, nil
}

// Strict reports whether a schema meets what vendors ask of schemas that they
// enforce: every object is closed and requires all of its members.
func Strict(schema map[string]any) bool {
	if props, ok := schema["properties"].(map[string]any); ok || schema["type"] == "object" {
		if closed, ok := schema["additionalProperties"].(bool); !ok || closed {
			return false
		}
		required, _ := schema["required"].([]any)
		names := map[any]bool{}
		for _, r := range required {
			names[r] = true
		}
		for name := range props {
			if !names[name] {
				return false
			}
		}
	}
	for _, v := range schema {
		if !strictIn(v) {
			return false
		}
	}
	return true
}

func strictIn(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return Strict(v)
	case []any:
		for _, e := range v {
			if !strictIn(e) {
				return false
			}
		}
	}
	return true
}
