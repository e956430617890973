package load

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed format1.schema.json
var format1 []byte

//go:embed format2.schema.json
var format2 []byte

// Schema returns the JSON Schema of the documents of a format, 1 or 2; nil for
// any other. Params are checked by the schemas of the pieces.
func Schema(level int) []byte {
	switch level {
	case 1:
		return slices.Clone(format1)
	case 2:
		return slices.Clone(format2)
	}
	return nil
}

// formats are the schemas of roots, and of a body of format 2, each compiled when
// it is first needed.
var formats = map[string]func() (*schema.Schema, error){
	"1": sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(format1) }),
	"2": sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(format2) }),
	"body": sync.OnceValues(func() (*schema.Schema, error) {
		raw, err := json.Marshal(map[string]any{"$ref": "#/$defs/body", "$defs": object(format2)["$defs"]})
		if err != nil {
			return nil, fmt.Errorf("making the schema of a body: %w", err)
		}
		return schema.Compile(raw)
	}),
}

// checkShape checks the document against the schema of its format.
func (c *checker) checkShape() { c.checkFormat(strconv.Itoa(c.level), c.doc.JSON(), "") }

// checkBodyShape checks a body that is written inside params.
func (c *checker) checkBodyShape(raw json.RawMessage, pointer string) {
	if c.doc != nil {
		c.checkFormat("body", raw, pointer)
	}
}

func (c *checker) checkFormat(name string, raw []byte, pointer string) {
	compiled, err := formats[name]()
	if err != nil {
		c.fail(workflow.CodeInternal, pointer, fmt.Sprintf("compiling the schema of format %s: %v", name, err), "this is a defect of tenon")
		return
	}
	for _, p := range compiled.Validate(json.RawMessage(raw)) {
		c.addShape(workflow.CodeInvalidDefinition, pointer, p)
	}
}

// newer are the keys that only format 2 has.
var newer = []string{"inputs", "onExhausted", "dimensions", "group"}

// addShape reports what a schema found.
func (c *checker) addShape(code workflow.Code, pointer string, p schema.Problem) {
	at := pointer + p.Pointer
	switch p.Keyword {
	case "additionalProperties", "unevaluatedProperties", "propertyNames":
		switch form := named(code, at); {
		case c.level == 1 && code == workflow.CodeInvalidDefinition && slices.Contains(newer, p.Key):
			c.failKey(code, at, fmt.Sprintf("%s in format 1", p.Message), "it belongs to format 2: schemaVersion: 2")
		case form != "":
			c.failKey(code, at, fmt.Sprintf("%q is not a name for %s", p.Key, form), "")
		default:
			c.failKey(code, at, p.Message, keyHint(p))
		}
	case "enum", "const":
		c.fail(code, at, subject(at)+p.Message, near(c.textAt(at), p.Allowed))
	default:
		c.fail(code, at, subject(at)+p.Message, "")
	}
}

// named says what a key at a pointer names, and how such names look; "" where
// keys are fixed words.
func named(code workflow.Code, pointer string) string {
	keys := segments(pointer)
	if code != workflow.CodeInvalidDefinition || len(keys) < 2 {
		return ""
	}
	switch keys[len(keys)-2] {
	case "nodes":
		return "a node: letters, digits, _ and -, at most 120"
	case "components":
		return "a component: small letters, digits and -, at most 64"
	case "ends":
		return "an outcome: small letters, digits and -, at most 32"
	}
	return ""
}

// subject names the value at a pointer, to begin a message with.
func subject(pointer string) string {
	keys := segments(pointer)
	if len(keys) == 0 {
		return ""
	}
	last := keys[len(keys)-1]
	if _, err := strconv.Atoi(last); err == nil && len(keys) > 1 {
		last = keys[len(keys)-2] + "/" + last
	}
	return last + ": "
}

func keyHint(p schema.Problem) string {
	if hint := near(p.Key, p.Allowed); hint != "" {
		return hint
	}
	if len(p.Allowed) > 0 && p.Keyword != "propertyNames" {
		return "known: " + strings.Join(p.Allowed, ", ")
	}
	return ""
}

// near is the hint for a word that is close to one of a list.
func near(word string, words []string) string {
	if word == "" {
		return ""
	}
	if n := text.Nearest(word, words); n != "" && n != word {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return ""
}

// shape is the compiled params schema of a kind.
type shape struct {
	compiled *schema.Schema
	err      error
}

func (c *checker) shapeOf(p piece.Piece) *shape {
	if s := c.shapes[p.Kind]; s != nil {
		return s
	}
	s := &shape{}
	s.compiled, s.err = schema.Compile(p.Schema(c.level))
	if c.shapes == nil {
		c.shapes = map[string]*shape{}
	}
	c.shapes[p.Kind] = s
	return s
}

// checkParams checks params against the schema of their piece. It returns the
// params that the piece may judge: a value that is one token, and gets its type
// only when the node is admitted, is left out.
func (c *checker) checkParams(n *node, p piece.Piece) (json.RawMessage, bool) {
	s := c.shapeOf(p)
	if s.err != nil {
		c.fail(workflow.CodeInvalidPiece, n.pointer+"/kind", fmt.Sprintf("piece %s has no usable schema: %v", p.Kind, s.err), "this is a defect of the piece")
		return nil, false
	}
	var value any
	if err := json.Unmarshal(n.params, &value); err != nil {
		return nil, false
	}
	problems := s.compiled.Validate(value)
	params, ok := n.params, true
	var open []string
	for _, problem := range problems {
		if problem.Keyword == "type" && c.level > 1 && isToken(lookup(value, problem.Pointer)) {
			open = append(open, problem.Pointer)
			continue
		}
		ok = false
		c.addShape(workflow.CodeInvalidPieceParams, n.pointer+"/params", problem)
	}
	if len(open) > 0 {
		for _, pointer := range open {
			remove(value, pointer)
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, false
		}
		params = raw
	}
	return params, ok
}

// isToken reports whether a value is nothing but one token.
func isToken(value any) bool {
	s, ok := value.(string)
	return ok && strings.HasPrefix(s, "{{") && strings.HasSuffix(s, "}}") && strings.Count(s, "{{") == 1
}

// lookup follows a pointer through a decoded value; nil when it leads nowhere.
func lookup(value any, pointer string) any {
	for _, key := range segments(pointer) {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// remove drops the member that a pointer ends in; an item of a list stays.
func remove(value any, pointer string) {
	keys := segments(pointer)
	if len(keys) == 0 {
		return
	}
	parent := value
	for _, key := range keys[:len(keys)-1] {
		parent = lookup(parent, "/"+escape(key))
	}
	if m, ok := parent.(map[string]any); ok {
		delete(m, keys[len(keys)-1])
	}
}

var unescaper = strings.NewReplacer("~1", "/", "~0", "~")

func segments(pointer string) []string {
	if pointer == "" {
		return nil
	}
	keys := strings.Split(pointer[1:], "/")
	for i, key := range keys {
		keys[i] = unescaper.Replace(key)
	}
	return keys
}

// textAt returns the text of the document at a pointer, or "".
func (c *checker) textAt(pointer string) string {
	if c.tree == nil {
		if err := json.Unmarshal(c.doc.JSON(), &c.tree); err != nil {
			return ""
		}
	}
	s, _ := lookup(c.tree, pointer).(string)
	return s
}

// checkInputs checks the schema of the launch inputs.
func (c *checker) checkInputs() {
	raw, ok := c.fields["inputs"]
	if !ok || c.level < 2 {
		return
	}
	if object(raw) == nil {
		return // true and false accept everything and nothing
	}
	_, err := schema.Compile(raw)
	if err == nil {
		return
	}
	var problems schema.Problems
	if !errors.As(err, &problems) {
		c.fail(workflow.CodeInvalidDefinition, "/inputs", err.Error(), "")
	}
	for _, p := range problems {
		c.addShape(workflow.CodeInvalidDefinition, "/inputs", p)
	}
}
