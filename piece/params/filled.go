package params

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// Filled is Read for params whose tokens are filled in: where a text is wanted
// and a token gave another value, its JSON is the text, as it is inside a longer
// text.
func Filled[T any](raw json.RawMessage) (T, error) {
	var p T
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &p); errors.As(err, &mismatch) && mismatch.Type.Kind() == reflect.String {
		raw = asTexts(raw, reflect.TypeFor[T]())
	}
	return Read[T](raw)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// asTexts rewrites what stands in the place of a string of t.
func asTexts(raw json.RawMessage, t reflect.Type) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || reflect.PointerTo(t).Implements(unmarshaler) {
		return raw
	}
	switch t.Kind() {
	case reflect.String:
		if raw[0] == '"' || string(raw) == "null" {
			return raw
		}
		return encode(string(raw))
	case reflect.Pointer:
		return asTexts(raw, t.Elem())
	case reflect.Slice:
		return rewrite(raw, func(items []json.RawMessage) {
			for i := range items {
				items[i] = asTexts(items[i], t.Elem())
			}
		})
	case reflect.Map:
		return rewrite(raw, func(members map[string]json.RawMessage) {
			for k := range members {
				members[k] = asTexts(members[k], t.Elem())
			}
		})
	case reflect.Struct:
		return rewrite(raw, func(members map[string]json.RawMessage) { fields(members, t) })
	}
	return raw
}

func fields(members map[string]json.RawMessage, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if value, ok := members[name]; ok && name != "" {
			members[name] = asTexts(value, f.Type)
		} else if f.Anonymous && f.Type.Kind() == reflect.Struct {
			fields(members, f.Type)
		}
	}
}

// rewrite changes the parts of a value; a value of another shape stays.
func rewrite[P any](raw json.RawMessage, change func(P)) json.RawMessage {
	var parts P
	if json.Unmarshal(raw, &parts) != nil {
		return raw
	}
	change(parts)
	return encode(parts)
}

func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil // strings and raw JSON always encode
	}
	return bytes.TrimSpace(b.Bytes())
}
