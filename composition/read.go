package composition

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/composition/head"
	"github.com/tenonrun/tenon/composition/version"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
)

//go:embed documents.schema.json
var documents []byte

// Codes of findings.
const (
	FindingShape        = "shape"         // not as the schema says
	FindingValue        = "value"         // a value without a meaning
	FindingFrontMatter  = head.Finding    // a text without its head
	FindingField        = "field"         // a warning: a field that is not known or has no effect
	FindingReference    = "reference"     // a reference that cannot be read
	FindingMissing      = "missing"       // a reference that leads nowhere
	FindingNotPublished = "not_published" // only drafts, or archived
	FindingBroken       = "broken"        // what is referred to cannot be used
	FindingAmbiguous    = "ambiguous"     // two things of one name, version and place
	FindingDuplicate    = "duplicate"     // a name twice
	FindingCycle        = "cycle"         // an agent below itself
	FindingLimit        = "limit"         // a limit that cannot be, or is looser than one above
	FindingFloorGrant   = "floor_grant"   // an agent allows itself a tool that all have
	FindingTool         = "tool"          // a selection that selects nothing
	FindingShadow       = "shadow"        // a warning: hidden by one that is more specific
	FindingLock         = "lock"          // not as the lock says
	FindingVersion      = "version"       // a published version with other content
	FindingTooLarge     = "too_large"     // more than is read or resolved
)

// schemaOf compiles the schema of one kind of document.
func schemaOf(name string) func() (*schema.Schema, error) {
	return sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(Schema(Kind(name))) })
}

var schemas = map[Kind]func() (*schema.Schema, error){
	KindAgent: schemaOf("agent"), KindSkill: schemaOf("skill"), KindComposition: schemaOf("composition"),
}

// Schema returns the JSON Schema of compositions, or of the front matter of agents
// or skills, where further fields are allowed and warned about.
func Schema(kind Kind) []byte {
	return fmt.Appendf(nil, `{"$schema":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/%s","$defs":%s}`, kind, documents)
}

// fieldsOf are the fields that front matter may have.
var fieldsOf = sync.OnceValue(func() map[Kind][]string {
	var defs map[Kind]struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(documents, &defs) != nil {
		return nil // not reached: the text is our own
	}
	out := map[Kind][]string{}
	for _, kind := range Kinds() {
		out[kind] = slices.Sorted(maps.Keys(defs[kind].Properties))
	}
	return out
})

// reader gathers what is wrong with a document.
type reader struct {
	doc    *source.Document
	found  source.Errors
	warned source.Errors
}

func (r *reader) say(pointer, code, hint, format string, args ...any) {
	r.found = append(r.found, r.doc.Locate(source.Error{Pointer: pointer, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}))
}

func (r *reader) warn(pointer, hint, format string, args ...any) {
	r.warned = append(r.warned, r.doc.LocateKey(source.Error{Pointer: pointer, Code: FindingField, Message: fmt.Sprintf(format, args...), Hint: hint}))
}

// shape checks the document against the schema of its kind.
func (r *reader) shape(kind Kind) {
	s, err := schemas[kind]()
	if err != nil {
		r.say("", FindingShape, "", "the schema of %s cannot be used: %v", kind, err)
		return
	}
	for _, p := range s.Validate(json.RawMessage(r.doc.JSON())) {
		e := source.Error{Pointer: p.Pointer, Code: FindingShape, Message: p.Message, Hint: meant(p.Key, p.Allowed)}
		if p.Keyword == "additionalProperties" {
			if e.Hint == "" {
				e.Hint = "known: " + strings.Join(p.Allowed, ", ")
			}
			r.found = append(r.found, r.doc.LocateKey(e))
			continue
		}
		r.found = append(r.found, r.doc.Locate(e))
	}
}

// unknown warns about fields of front matter that nobody knows.
func (r *reader) unknown(kind Kind) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(r.doc.JSON(), &fields) != nil {
		return // the schema has told it
	}
	names := fieldsOf()[kind]
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, key) {
			r.warn(pointer(key), cmp.Or(meant(key, names), "it has no effect: remove it"), "the field %q is not known", key)
		}
	}
}

// meant is the hint with the nearest name, or "".
func meant(name string, names []string) string {
	if near := text.Nearest(name, names); near != "" && name != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// ref settles a reference at its place.
func (r *reader) ref(at string, kind Kind, ref *Ref) {
	if err := ref.settle(kind); err != nil {
		r.say(at, FindingReference, "", "%v", err)
	}
}

// version checks a version that a document says, and gives it back.
func (r *reader) version(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		r.say("/version", FindingValue, "write it as MAJOR.MINOR.PATCH, such as 1.0.0", "the version %s is a number", raw)
		return ""
	}
	if _, err := version.Parse(s); err != nil {
		r.say("/version", FindingValue, "", "%v", err)
	}
	return s
}

func (r *reader) limits(at string, l *bounds.Limits) {
	for _, p := range l.Check() {
		r.say(at+"/"+p.Field, FindingLimit, "", "%s %s", p.Field, p.Message)
	}
}

// capability checks the names in a capability.
func (r *reader) capability(at string, c *bounds.Capability) {
	if c == nil {
		return
	}
	for _, list := range []struct {
		key   string
		names []string
	}{{"requires", c.Requires}, {"denies", c.Denies}} {
		for i, name := range list.names {
			if m := bounds.CheckName(name); m != "" {
				tool, _, _ := strings.Cut(name, "(")
				r.say(at+pointer(list.key, i), FindingTool, meant(tool, append(bounds.BuiltinTools(), bounds.Classes()...)), "%s", m)
			}
		}
	}
	if c.MaxRisk != "" {
		r.warn(at+"/maxRisk", "deny the tools that are too much of a risk", "maxRisk has no effect here")
	}
	*c = c.Normal()
}

// sorted gives the findings in order of place, as the error that they are.
func (r *reader) sorted() error {
	byPlace(r.found)
	byPlace(r.warned)
	if len(r.found) == 0 {
		return nil
	}
	return r.found
}

func byPlace(es source.Errors) {
	slices.SortStableFunc(es, func(a, b source.Error) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// pointer makes a JSON pointer of keys and indices.
func pointer(parts ...any) string {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case int:
			b.WriteString("/" + strconv.Itoa(p))
		case string:
			b.WriteString("/" + escaper.Replace(p))
		}
	}
	return b.String()
}

// unix writes a text as it is on every machine: with LF, without a byte order mark.
func unix(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}
