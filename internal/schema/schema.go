// Package schema checks JSON values against JSON Schema, draft 2020-12.
//
// Holds: compiling self-contained schemas, validation with problems in our own
// words, coercion of typed-in text, and filling in of defaults.
//
// Guarantees: every problem is reported, in a stable order, with a JSON pointer;
// nothing is loaded from anywhere; a keyword that the draft does not know is an
// error and never ignored.
//
// Does not: assert formats or content encodings, which are annotations here.
package schema

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
)

// Schema is a compiled schema. It may be used by any number of goroutines.
type Schema struct {
	root     *node
	document any
}

// Problem is one finding in a value, or for Compile in a schema.
type Problem struct {
	Pointer string   // JSON pointer of the value; for a key that is not allowed, of that key
	Keyword string   // the schema keyword that speaks; empty when the text is not JSON
	Message string   // short, without the pointer
	Key     string   // the missing key (required), or the key that is not allowed
	Allowed []string // the keys or values that are allowed, where that is a list
}

// Problems are all findings, ordered by pointer. As an error it has one line each.
type Problems []Problem

// Error gives one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Message
		if p.Pointer != "" {
			lines[i] = p.Pointer + ": " + p.Message
		}
	}
	return strings.Join(lines, "\n")
}

// Compile reads a schema: an object, or true or false. References must stay inside
// it ("#..."), patterns are RE2. The error is of type Problems, with pointers into
// the schema.
func Compile(raw []byte) (*Schema, error) {
	document, err := decode(raw)
	if err != nil {
		return nil, Problems{{Message: "the schema is not JSON: " + err.Error()}}
	}
	switch document.(type) {
	case map[string]any, bool:
	default:
		return nil, Problems{{Keyword: "type", Message: "a schema is an object, true or false"}}
	}
	meta, err := ofSchemas()
	if err != nil {
		return nil, err
	}
	return build(document, meta)
}

//go:embed draft.schema.json
var draftSchema []byte

// ofSchemas is the schema of schemas. It is compiled when it is first needed.
var ofSchemas = sync.OnceValues(func() (*Schema, error) {
	document, err := decode(draftSchema)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of schemas: %w", err)
	}
	return build(document, nil)
})

func build(document any, meta *Schema) (*Schema, error) {
	b := builder{
		survey:   &survey{schemas: map[string]bool{}, anchors: map[string]string{}, patterns: map[string]pattern{}},
		document: document, meta: meta, nodes: map[string]*node{},
	}
	b.visit(document, "")
	root := b.node("", document)
	if len(b.complaints) > 0 {
		return nil, b.complaints.inOrder()
	}
	return &Schema{root: root, document: document}, nil
}

// Validate returns every problem of a value, or nil. A json.RawMessage or []byte is
// JSON text; other values are taken as encoding/json decodes them, or marshalled
// first.
func (s *Schema) Validate(value any) Problems {
	var raw []byte
	switch v := value.(type) {
	case json.RawMessage:
		raw = v
	case []byte:
		raw = v
	default:
		if decoded(value) {
			break
		}
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return Problems{{Message: fmt.Sprintf("a %T has no JSON: %v", value, err)}}
		}
	}
	if raw != nil {
		var err error
		if value, err = decode(raw); err != nil {
			return Problems{{Message: "not JSON: " + err.Error()}}
		}
	}
	return s.validate(value)
}

func (s *Schema) validate(value any) Problems {
	c := check{node: s.root, value: value}
	c.run()
	if len(c.found) == 0 {
		return nil
	}
	return c.found.inOrder()
}

// decoded tells that a value is as decode gives it.
func decoded(value any) bool {
	switch v := value.(type) {
	case nil, bool, string:
		return true
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !decoded(item) })
	case map[string]any:
		for _, member := range v {
			if !decoded(member) {
				return false
			}
		}
		return true
	}
	return false
}

// decode reads one JSON value. Numbers become doubles, whose exponent is bounded:
// exact fractions of a longer one would blow up.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	var value any
	if err := d.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("the text ends too early")
		}
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the value")
	}
	return value, nil
}
