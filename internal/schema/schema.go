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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// address names the schema for the library; nothing is ever read from it.
const address = "schema:///root"

// Schema is a compiled schema. It may be used by any number of goroutines.
type Schema struct {
	compiled *jsonschema.Schema
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
	if ps := lint(document); len(ps) > 0 {
		return nil, ps
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(address, document); err != nil {
		return nil, fmt.Errorf("compiling a schema: %w", err)
	}
	compiled, err := c.Compile(address)
	if err != nil {
		return nil, compileProblems(err)
	}
	return &Schema{compiled: compiled, document: document}, nil
}

// noLoader refuses to load what a schema refers to.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema; put it under $defs", url)
}

func compileProblems(err error) Problems {
	var invalid *jsonschema.SchemaValidationError
	var verr *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &verr) {
		return report{}.problems(verr)
	}
	return Problems{{Message: strings.ReplaceAll(err.Error(), address, "")}}
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
	case nil, bool, string, float64, map[string]any, []any:
	default:
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
	var verr *jsonschema.ValidationError
	switch err := s.compiled.Validate(value); {
	case err == nil:
		return nil
	case !errors.As(err, &verr):
		return Problems{{Message: err.Error()}}
	}
	return report{document: s.document}.problems(verr)
}

// decode reads one JSON value. Numbers become doubles: the library computes with
// exact fractions, which a long exponent would blow up.
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
