package scripted

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/provider"
)

// submitTool is the tool with which an agent gives an answer that has a schema.
const submitTool = "submit"

// fitting returns the smallest answer that fits what a request wants; nil when it
// wants no schema, or none is found.
func fitting(req provider.Request) json.RawMessage {
	if len(req.Schema) > 0 {
		return smallest(req.Schema)
	}
	for _, t := range req.Tools {
		if t.Name != submitTool {
			continue
		}
		var out struct {
			Answer json.RawMessage `json:"answer"`
		}
		if json.Unmarshal(smallest(t.Schema), &out) == nil {
			return out.Answer
		}
	}
	return nil
}

// smallest returns a small instance of a JSON Schema, the same one each time; nil
// when none is found. With it a workflow can be rehearsed although nobody wrote
// what its agents answer.
func smallest(raw json.RawMessage) json.RawMessage {
	s, err := schema.Compile(raw)
	if err != nil {
		return nil
	}
	var root any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&root) != nil {
		return nil
	}
	v, ok := maker{root}.make(root, 0)
	if !ok {
		return nil
	}
	out, err := json.Marshal(v)
	if err != nil || len(s.Validate(out)) > 0 {
		return nil
	}
	return out
}

// maker makes instances of the parts of a schema.
type maker struct{ root any }

const (
	makeDepth = 32   // schemas within each other
	makeMost  = 1000 // items, and letters
)

func (m maker) make(node any, depth int) (any, bool) {
	s, ok := node.(map[string]any)
	if !ok || depth > makeDepth {
		return nil, node == true && depth <= makeDepth
	}
	if ref, ok := s["$ref"].(string); ok {
		return m.make(m.resolve(ref), depth+1)
	}
	if v, ok := s["const"]; ok {
		return v, true
	}
	if all, ok := s["enum"].([]any); ok {
		return first(all)
	}
	if all, ok := s["allOf"].([]any); ok {
		merged := without(s, "allOf")
		for _, part := range all {
			merged = merge(merged, m.inlined(part))
		}
		return m.make(merged, depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if all, ok := s[key].([]any); ok {
			for _, part := range all {
				if part == false {
					continue
				}
				if v, ok := m.make(merge(without(s, key), m.inlined(part)), depth+1); ok {
					return v, true
				}
			}
			return nil, false
		}
	}
	return m.typed(s, depth)
}

func first(all []any) (any, bool) {
	if len(all) == 0 {
		return nil, false
	}
	return all[0], true
}

func (m maker) typed(s map[string]any, depth int) (any, bool) {
	switch kind(s) {
	case "object":
		return m.object(s, depth)
	case "array":
		return m.array(s, depth)
	case "string":
		return strings.Repeat("x", min(count(s, "minLength"), makeMost)), true
	case "integer", "number":
		return number(s), true
	case "boolean":
		return false, true
	}
	return nil, true
}

// kind is the type that an instance gets.
func kind(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		if v, ok := first(t); ok {
			name, _ := v.(string)
			return name
		}
	}
	for _, hint := range []struct{ key, kind string }{
		{"properties", "object"}, {"required", "object"}, {"items", "array"}, {"minItems", "array"}, {"minLength", "string"}, {"minimum", "number"},
	} {
		if _, ok := s[hint.key]; ok {
			return hint.kind
		}
	}
	return "null"
}

func (m maker) object(s map[string]any, depth int) (any, bool) {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, r := range required {
		name, _ := r.(string)
		part, ok := properties[name]
		if !ok {
			part = true
		}
		v, ok := m.make(part, depth+1)
		if !ok {
			return nil, false
		}
		out[name] = v
	}
	return out, true
}

func (m maker) array(s map[string]any, depth int) (any, bool) {
	out := []any{}
	parts, _ := s["prefixItems"].([]any)
	for i := range min(count(s, "minItems"), makeMost) {
		part, ok := s["items"]
		if i < len(parts) {
			part = parts[i]
		} else if !ok {
			part = true
		}
		v, ok := m.make(part, depth+1)
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// number is the least that a schema allows, or 0.
func number(s map[string]any) any {
	if low, ok := s["minimum"].(json.Number); ok {
		return low
	}
	if count(s, "exclusiveMinimum") > 0 || s["exclusiveMinimum"] == json.Number("0") {
		return count(s, "exclusiveMinimum") + 1
	}
	if high, ok := s["maximum"].(json.Number); ok && strings.HasPrefix(high.String(), "-") {
		return high
	}
	return 0
}

// count reads a whole number; 0 when there is none.
func count(s map[string]any, key string) int {
	n, ok := s[key].(json.Number)
	if !ok {
		return 0
	}
	i, err := n.Int64()
	if err != nil || i < 0 {
		return 0
	}
	return int(i)
}

// resolve follows a reference within the schema; nil when it leads nowhere.
func (m maker) resolve(ref string) any {
	at := m.root
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		object, ok := at.(map[string]any)
		if pointer == "" {
			break
		}
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

// inlined is a part of a schema with its reference followed once.
func (m maker) inlined(part any) map[string]any {
	s, _ := part.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		s, _ = m.resolve(ref).(map[string]any)
	}
	return s
}

func without(s map[string]any, key string) map[string]any {
	out := maps.Clone(s)
	delete(out, key)
	return out
}

// merge is what both schemas ask for, as far as it shapes an instance.
func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for key, v := range b {
		switch old := out[key].(type) {
		case map[string]any:
			if more, ok := v.(map[string]any); ok && key == "properties" {
				old = maps.Clone(old)
				maps.Copy(old, more)
				v = old
			}
		case []any:
			if more, ok := v.([]any); ok && key == "required" {
				v = slices.Concat(old, more)
			}
		}
		out[key] = v
	}
	return out
}
