package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
)

// MaxArgs is the size of the arguments of one call, in bytes of JSON.
const MaxArgs = 4 << 20

// Args are the arguments of a call. They are never changed: whoever rewrites
// arguments makes new ones and reads them again. Two pointers that are equal are
// the same arguments.
type Args struct {
	Raw    json.RawMessage // a JSON object
	Values map[string]any  // of Raw; numbers are json.Number
	From   *Args           // what these were read from; nil when nothing was changed
}

// Reading is how a tool reads arguments before anybody judges them.
type Reading struct {
	// Aliases gives the argument that another name stands for. The tool's own name
	// wins when both are there with the same value; with different values the call is
	// wrong.
	Aliases map[string]string
	// Words gives, for an argument, the word that another word stands for.
	Words map[string]map[string]string
	// Idle names arguments that models send and that say nothing; they are dropped.
	Idle []string
	// Wrap names the argument that a bare string stands for, when the arguments are a
	// JSON string and no object. Empty when there is none.
	Wrap string
	// TooLong says what to do instead of sending too long arguments. Empty: several
	// smaller calls.
	TooLong string
}

// ParseArgs reads what a model sent as arguments. Nothing, null and an empty text
// are an empty object.
func ParseArgs(tool string, raw []byte) (*Args, error) {
	return parseArgs(tool, raw, Reading{})
}

func parseArgs(tool string, raw []byte, r Reading) (*Args, error) {
	bad := func(next, format string, a ...any) error {
		return &BadArguments{Tool: tool, Problems: []string{fmt.Sprintf(format, a...)}, Next: next}
	}
	if len(raw) > MaxArgs {
		return nil, bad(cmp.Or(r.TooLong, "do it in several smaller calls"), "they have %d bytes, at most %d are taken", len(raw), MaxArgs)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		raw = []byte("{}")
	}
	value, err := decode(raw)
	if err != nil {
		return nil, bad("send one JSON object", "they are not JSON: %v", err)
	}
	switch v := value.(type) {
	case map[string]any:
		return &Args{Raw: raw, Values: v}, nil
	case string:
		return parseString(tool, raw, v, r)
	}
	return nil, bad("send one JSON object", "they are %s and not an object", kindOf(value))
}

// parseString takes an object that was sent as text, and a bare string where the
// tool has an argument for it.
func parseString(tool string, raw json.RawMessage, s string, r Reading) (*Args, error) {
	from := &Args{Raw: raw, Values: map[string]any{}}
	if value, err := decode([]byte(s)); err == nil {
		if object, ok := value.(map[string]any); ok {
			return &Args{Raw: json.RawMessage(s), Values: object, From: from}, nil
		}
	}
	if r.Wrap == "" {
		return nil, &BadArguments{Tool: tool, Problems: []string{"they are a string and not an object"}, Next: "send one JSON object"}
	}
	return rebuilt(map[string]any{r.Wrap: s}, from)
}

func decode(raw []byte) (any, error) {
	if _, err := canon.Canonical(raw); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	return value, nil
}

func rebuilt(values map[string]any, from *Args) (*Args, error) {
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("writing arguments: %w", err)
	}
	return &Args{Raw: raw, Values: values, From: from}, nil
}

// read gives arguments as a tool reads them, or a itself when nothing changes.
func (r Reading) read(tool string, shape object, a *Args) (*Args, error) {
	values := make(map[string]any, len(a.Values))
	changed := false
	for key, v := range a.Values {
		if slices.Contains(r.Idle, key) {
			changed = true
			continue
		}
		name := key
		if to, ok := r.Aliases[key]; ok {
			name, changed = to, true
		}
		if v == nil && shape.has(name) && !shape.nullable(name) {
			changed = true
			continue
		}
		fixed := r.word(name, shape.coerce(name, v))
		changed = changed || !same(fixed, v)
		if other, twice := values[name]; twice && !same(other, fixed) {
			return nil, &BadArguments{Tool: tool, Problems: []string{name + " is given twice, with different values"}, Next: "send only " + name}
		}
		values[name] = fixed
	}
	if !changed {
		return a, nil
	}
	from := a
	if a.From != nil {
		from = a.From
	}
	return rebuilt(values, from)
}

// word replaces a word that stands for another one.
func (r Reading) word(name string, v any) any {
	if s, ok := v.(string); ok {
		if w, ok := r.Words[name][s]; ok {
			return w
		}
	}
	return v
}

// object is the shape of an object in a schema, as far as reading needs it.
type object struct {
	Properties map[string]shape `json:"properties"`
	Additional any              `json:"additionalProperties"`
}

type shape struct {
	Type any `json:"type"`
}

// UnmarshalJSON takes true and false as schemas that say nothing about a type.
func (s *shape) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] != '{' {
		return nil
	}
	type plain shape
	return json.Unmarshal(raw, (*plain)(s))
}

func (o object) has(name string) bool { _, ok := o.Properties[name]; return ok }

func (o object) nullable(name string) bool { return o.Properties[name].is("null") }

func (o object) coerce(name string, v any) any {
	s, ok := o.Properties[name]
	if !ok {
		return v
	}
	return s.coerce(v)
}

// is reports whether a shape allows a type; one that says nothing allows all.
func (s shape) is(kind string) bool {
	switch t := s.Type.(type) {
	case string:
		return t == kind
	case []any:
		for _, one := range t {
			if one == kind {
				return true
			}
		}
		return false
	}
	return true
}

// coerce turns a value into the type that the shape asks for where only one
// meaning is possible.
func (s shape) coerce(v any) any {
	switch v := v.(type) {
	case string:
		if !s.is("string") {
			return s.fromText(v)
		}
	case json.Number:
		if s.is("integer") {
			return integer(v)
		}
		if s.is("string") && !s.is("number") {
			return v.String()
		}
	}
	return v
}

func (s shape) fromText(v string) any {
	trimmed := strings.TrimSpace(v)
	switch {
	case s.is("boolean") && (trimmed == "true" || trimmed == "false"):
		return trimmed == "true"
	case s.is("integer") || s.is("number"):
		if _, err := strconv.ParseFloat(trimmed, 64); err == nil && json.Valid([]byte(trimmed)) {
			return integer(json.Number(trimmed))
		}
	case s.is("array") || s.is("object"):
		value, err := decode([]byte(trimmed))
		if err != nil {
			break
		}
		if _, list := value.([]any); list && s.is("array") {
			return value
		}
		if _, obj := value.(map[string]any); obj && s.is("object") {
			return value
		}
	}
	return v
}

// integer spells a number without a fraction where it has none.
func integer(n json.Number) json.Number {
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return n
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}

// same compares two values of decoded JSON.
func same(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		x, errX := json.Marshal(a)
		y, errY := json.Marshal(b)
		return errX == nil && errY == nil && bytes.Equal(x, y)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
