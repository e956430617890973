package store

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// DefaultStringArgKey is the member that a bare string becomes when the script
// names no other.
const DefaultStringArgKey = "topic"

// Merge returns the arguments of a call over the defaults of the script. No call
// (nil) gives the defaults as they are, nil included; of two objects the members
// of the call win whole; anything else is the call as it is, null too. Members of
// the defaults come first, in their order. The result shares no bytes with what
// was given. The error is that of a text that is not JSON.
func Merge(call, defaults json.RawMessage) (json.RawMessage, error) {
	if call == nil {
		return bytes.Clone(defaults), nil
	}
	if !isObject(call) || !isObject(defaults) {
		return bytes.Clone(call), nil
	}
	var all members
	for _, object := range []json.RawMessage{defaults, call} {
		if err := all.add(object); err != nil {
			return nil, fmt.Errorf("merging the arguments of a workflow: %w", err)
		}
	}
	return all.object(), nil
}

// Normalize returns the arguments of a call as the script takes them: a string
// becomes an object with the one member key (nil means DefaultStringArgKey) when
// the defaults are an object. Everything else, and every string without such
// defaults, is returned as it is; a string is never read as JSON.
func Normalize(call, defaults json.RawMessage, key *string) json.RawMessage {
	if !isObject(defaults) || first(call) != '"' {
		return bytes.Clone(call)
	}
	name := DefaultStringArgKey
	if key != nil {
		name = *key
	}
	return (&members{order: []string{name}, values: map[string]json.RawMessage{name: bytes.TrimSpace(call)}}).object()
}

func isObject(raw json.RawMessage) bool { return first(raw) == '{' }

// first is the byte that tells the type of a JSON text.
func first(raw json.RawMessage) byte {
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) > 0 {
		return raw[0]
	}
	return 0
}

// members are those of an object, in the order of their first appearance.
type members struct {
	order  []string
	values map[string]json.RawMessage
}

func (m *members) add(object json.RawMessage) error {
	if m.values == nil {
		m.values = map[string]json.RawMessage{}
	}
	if !json.Valid(object) { // also refuses what follows the value
		return json.Unmarshal(object, &struct{}{})
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if _, there := m.values[name]; !there {
			m.order = append(m.order, name)
		}
		m.values[name] = value
	}
	return nil
}

func (m *members) object() json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, name := range m.order {
		if i > 0 {
			out.WriteByte(',')
		}
		_ = enc.Encode(name) // a string always encodes
		out.Truncate(out.Len() - 1)
		out.WriteByte(':')
		out.Write(m.values[name])
	}
	out.WriteByte('}')
	return out.Bytes()
}
