package schema

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Coerce gives the value that a person meant who typed text where s is asked for:
// the JSON value, if text is JSON that s accepts, else the text as a string, if s
// accepts that. Otherwise the error is of type Problems. A nil schema accepts
// everything.
func Coerce(s *Schema, text string) (json.RawMessage, error) {
	value, err := decode([]byte(text))
	isJSON := err == nil
	var typed Problems
	if isJSON {
		if s != nil {
			typed = s.validate(value)
		}
		if typed == nil {
			var compact bytes.Buffer
			if err := json.Compact(&compact, []byte(text)); err != nil {
				return nil, Problems{{Message: err.Error()}}
			}
			return compact.Bytes(), nil
		}
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return nil, Problems{{Message: err.Error()}}
	}
	if s == nil {
		return raw, nil
	}
	plain := s.validate(text)
	switch {
	case plain == nil:
		return raw, nil
	case isJSON && !wantsString(typed):
		return nil, typed
	case strings.HasPrefix(strings.TrimSpace(text), "[") || strings.HasPrefix(strings.TrimSpace(text), "{"):
		plain[0].Message += "; the text is not JSON: " + errorText(text)
	}
	return nil, plain
}

func errorText(text string) string {
	if _, err := decode([]byte(text)); err != nil {
		return err.Error()
	}
	return ""
}

// wantsString tells that a string is what was asked for, so that the problems of
// the text as a string say more.
func wantsString(ps Problems) bool {
	return len(ps) == 1 && ps[0].Pointer == "" && ps[0].Keyword == "type" && len(ps[0].Allowed) == 1 && ps[0].Allowed[0] == "string"
}

// Fill returns raw with the defaults of properties that are absent, at any depth of
// objects that s describes directly by properties. It does not validate. Text that
// is not a JSON object comes back as it is.
func (s *Schema) Fill(raw json.RawMessage) (json.RawMessage, error) {
	return fill(s.document, raw)
}

func fill(schema any, raw json.RawMessage) (json.RawMessage, error) {
	node, _ := schema.(map[string]any)
	properties, _ := node["properties"].(map[string]any)
	var object map[string]json.RawMessage
	if len(properties) == 0 || json.Unmarshal(raw, &object) != nil || object == nil {
		return raw, nil //nolint:nilerr // only objects are filled
	}
	changed := false
	for name, property := range properties {
		value, there := object[name]
		if !there {
			description, _ := property.(map[string]any)
			def, has := description["default"]
			if !has {
				continue
			}
			var err error
			if value, err = json.Marshal(def); err != nil {
				return nil, err
			}
		}
		filled, err := fill(property, value)
		if err != nil {
			return nil, err
		}
		if !there || !bytes.Equal(filled, value) {
			object[name], changed = filled, true
		}
	}
	if !changed {
		return raw, nil
	}
	return json.Marshal(object)
}
