package expr

import (
	"bytes"
	"encoding/json"
	"strconv"
)

type undefined struct{}

// Undefined is the value of a path that leads nowhere. It differs from null.
var Undefined any = undefined{}

// Truth tells whether a condition with this value holds: everything does but
// Undefined, null, false, 0, NaN and the empty string.
func Truth(v any) bool {
	switch v := normal(v).(type) {
	case undefined, nil:
		return false
	case bool:
		return v
	case float64:
		return v != 0 && v == v
	case string:
		return v != ""
	}
	return true
}

// Walk follows keys and array indexes into a value.
func Walk(v any, path []string) (any, bool) {
	for _, segment := range path {
		switch at := normal(v).(type) {
		case map[string]any:
			next, ok := at[segment]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(at) || strconv.Itoa(i) != segment {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, normal(v) != Undefined
}

// normal gives a value one of the types that encoding/json decodes into.
// What has no JSON is Undefined.
func normal(v any) any {
	switch v := v.(type) {
	case nil, bool, string, float64, map[string]any, []any, undefined:
		return v
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
		return Undefined
	case json.RawMessage:
		return decoded(v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return Undefined
	}
	return decoded(raw)
}

func decoded(raw []byte) any {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return Undefined
	}
	return v
}

// identical is strict identity: no conversion, and objects and arrays never are.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any, []any:
		return false
	case undefined, nil, bool, float64, string:
		switch b.(type) {
		case map[string]any, []any:
			return false
		}
		return a == b
	}
	return false
}

// encode gives a value as compact JSON text, strings without escapes for HTML.
func encode(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		var out bytes.Buffer
		if err := json.Compact(&out, raw); err != nil {
			return nil, err
		}
		return out.Bytes(), nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}

// plain gives a value as text: strings as they are, others as JSON.
func plain(v any) (string, error) {
	if _, ok := v.(json.RawMessage); ok {
		if s, ok := normal(v).(string); ok {
			return s, nil
		}
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	raw, err := encode(v)
	return string(raw), err
}
