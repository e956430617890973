package workflow

import (
	"encoding/json"
	"fmt"
)

// InlineLimit is the largest JSON text, in bytes, that an event carries inside
// itself. A longer value is stored once under its digest.
const InlineLimit = 4096

// Value is a JSON value that is either inline or stored under its digest. The
// zero Value is absent (undefined, which is not null).
type Value struct {
	JSON   json.RawMessage // the text, when it is inline
	Digest Digest          // else the digest of the text
	Size   int             // bytes of the text, when it is stored
}

// Inline returns a Value that holds raw itself. The caller must not change raw
// afterwards.
func Inline(raw json.RawMessage) Value { return Value{JSON: raw} }

// Text returns a Value that holds s as a JSON string.
func Text(s string) Value {
	raw, err := json.Marshal(s)
	if err != nil { // a string always encodes
		raw = json.RawMessage(`""`)
	}
	return Value{JSON: raw}
}

// Absent reports whether there is no value at all.
func (v Value) Absent() bool { return v.JSON == nil && v.Digest == "" }

// Load returns the JSON text, reading it through values when it is stored. An
// absent value gives nil.
func (v Value) Load(values Values) (json.RawMessage, error) {
	if v.Digest == "" {
		return v.JSON, nil
	}
	if values == nil {
		return nil, fmt.Errorf("loading value %s: no values to read from", v.Digest)
	}
	raw, err := values.Load(v.Digest)
	if err != nil {
		return nil, fmt.Errorf("loading value %s: %w", v.Digest, err)
	}
	return raw, nil
}

type storedValue struct {
	JSON   json.RawMessage `json:"json,omitempty"`
	Digest Digest          `json:"blob,omitempty"`
	Size   int             `json:"size,omitempty"`
}

// MarshalJSON writes {"json": value}, {"blob": digest, "size": bytes} or null.
func (v Value) MarshalJSON() ([]byte, error) {
	switch {
	case v.Digest != "":
		return json.Marshal(storedValue{Digest: v.Digest, Size: v.Size})
	case v.JSON == nil:
		return []byte("null"), nil
	}
	out := make([]byte, 0, len(v.JSON)+9)
	out = append(out, `{"json":`...)
	out = append(out, v.JSON...)
	return append(out, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Value) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*v = Value{}
		return nil
	}
	var s storedValue
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("decoding value: %w", err)
	}
	if s.Digest == "" && s.JSON == nil {
		s.JSON = json.RawMessage("null") // {"json":null} loses its null in RawMessage
	}
	*v = Value(s)
	return nil
}

// Values is a content-addressed, immutable store of JSON texts.
type Values interface {
	// Load returns the text whose digest is d, or an error with code
	// CodeNotFound.
	Load(d Digest) ([]byte, error)
}
