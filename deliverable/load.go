package deliverable

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed spec.schema.json
var fileSchema []byte

// Schema returns the JSON Schema of spec files.
func Schema() []byte { return slices.Clone(fileSchema) }

var compiledFile = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(fileSchema) })

// Codes of findings in a spec.
const (
	FindingShape         = "shape"         // not as the schema of specs says
	FindingValue         = "value"         // a value without a meaning
	FindingKind          = "kind"          // what does not go with the kind or mode
	FindingPath          = "path"          // a path that leaves its slot, or is there twice
	FindingContentSchema = "schema"        // contentSchema is no JSON Schema
	FindingContradiction = "contradiction" // nothing can meet it
)

// Load reads a spec, JSON or YAML, that came from the file called name. The error
// is a *workflow.Error that wraps source.Errors with every finding.
func Load(name string, data []byte) (*Spec, error) {
	doc, err := source.Parse(name, data, source.Limits{})
	if err != nil {
		return nil, invalid(err)
	}
	l := &loader{doc: doc}
	if err := l.read(); err != nil {
		return nil, err
	}
	if len(l.found) > 0 {
		slices.SortStableFunc(l.found, func(a, b source.Error) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
		})
		return nil, invalid(l.found)
	}
	if l.spec.Digest, err = canon.Digest(json.RawMessage(doc.JSON())); err != nil {
		return nil, invalid(err)
	}
	return &l.spec, nil
}

func invalid(err error) error {
	return &workflow.Error{Code: workflow.CodeInvalidArguments, Msg: err.Error(), Err: err}
}

// loader reads a spec and gathers what is wrong.
type loader struct {
	doc   *source.Document
	spec  Spec
	found source.Errors
}

func (l *loader) say(pointer, code, hint, format string, args ...any) {
	l.found = append(l.found, l.doc.Locate(source.Error{Pointer: pointer, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}))
}

func (l *loader) has(pointer string) bool {
	_, ok := l.doc.At(pointer)
	return ok
}

func (l *loader) read() error {
	s, err := compiledFile()
	if err != nil {
		return fmt.Errorf("compiling the schema of specs: %w", err)
	}
	l.shape(s.Validate(json.RawMessage(l.doc.JSON())))
	file := struct {
		*Spec
		Ref string `json:"ref"`
	}{Spec: &l.spec}
	if err := l.doc.Decode(&file); err != nil {
		if len(l.found) > 0 {
			return nil //nolint:nilerr // the schema has told it with its place
		}
		return invalid(err)
	}
	l.name(file.Ref)
	l.kind()
	l.contract()
	l.contentSchema()
	if r := l.spec.Rules; r.Min != nil && r.Max != nil && *r.Min > *r.Max {
		l.say("/rules", FindingContradiction, "", "minArtifactCount %d is more than maxArtifactCount %d", *r.Min, *r.Max)
	}
	return nil
}

func (l *loader) shape(problems schema.Problems) {
	for _, p := range problems {
		e := source.Error{Pointer: p.Pointer, Code: FindingShape, Message: p.Message}
		if near := text.Nearest(p.Key, p.Allowed); near != "" {
			e.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		if p.Keyword == "additionalProperties" {
			if e.Hint == "" {
				e.Hint = "known: " + strings.Join(p.Allowed, ", ")
			}
			l.found = append(l.found, l.doc.LocateKey(e))
			continue
		}
		l.found = append(l.found, l.doc.Locate(e))
	}
}

// name takes slug and version, or both from ref.
func (l *loader) name(ref string) {
	switch {
	case !l.has("/ref"):
		if !l.has("/slug") {
			l.say("", FindingShape, "a spec is named by slug, and version if you number it", "missing key \"slug\"")
		}
	case l.has("/slug") || l.has("/version"):
		l.say("/ref", FindingValue, "keep one of the two", "ref says the same as slug and version")
	default:
		r, err := ParseRef(ref)
		if err != nil {
			l.say("/ref", FindingValue, "write SLUG@VERSION", "%q does not name a spec", ref)
			return
		}
		l.spec.Slug, l.spec.Version = r.Slug, r.Version
	}
}

// kind takes the kind in any of its spellings.
func (l *loader) kind() {
	written := l.spec.Kind
	plain := strings.ReplaceAll(strings.ToLower(written), "_", "-")
	l.spec.Kind = spellings[plain]
	if l.spec.Kind != "" || written == "" {
		return
	}
	known := []string{KindJSON, KindStructured, KindDocument, KindResponse, KindCustom}
	hint := "kinds are: " + strings.Join(known, ", ")
	switch near := text.Nearest(plain, known); {
	case plain == "zod-schema":
		hint = "write the schema as JSON Schema, with kind json-schema"
	case plain == "endpoint-fetch":
		hint = "fetching endpoints is not built yet"
	case near != "":
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	l.say("/kind", FindingKind, hint, "%q is not a kind of deliverable", written)
}

// contentSchema compiles the schema, and looks for what nothing can meet.
func (l *loader) contentSchema() {
	const at = "/contentSchema"
	switch {
	case !l.has(at):
		if l.spec.Kind == KindJSON {
			l.say("", FindingKind, "write contentSchema, or kind structured-json for any JSON", "kind json-schema has no contentSchema")
		}
		return
	case l.spec.Kind != "" && !l.spec.JSON():
		l.say(at, FindingKind, "the kinds with a schema are json-schema and structured-json", "kind %s has no contentSchema", l.spec.Kind)
		return
	}
	compiled, err := schema.Compile(l.spec.Schema)
	var problems schema.Problems
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			hint := ""
			if near := text.Nearest(p.Key, p.Allowed); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			l.say(at+p.Pointer, FindingContentSchema, hint, "%s", p.Message)
		}
		return
	case err != nil:
		l.say(at, FindingContentSchema, "", "%v", err)
		return
	}
	l.spec.compiled = compiled
	for _, c := range contradictions(l.spec.Schema, compiled) {
		l.say(at+c.pointer, FindingContradiction, "nothing can meet this; change one of the two", "%s", c.message)
	}
}

// index gives the pointer of an item.
func index(at string, i int) string { return at + "/" + strconv.Itoa(i) }
