package runcontext

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
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

//go:embed manifest.schema.json
var manifestSchema []byte

//go:embed bases/*.yaml
var builtin embed.FS

var compiled = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(manifestSchema) })

// Schema returns the JSON Schema of manifests.
func Schema() []byte { return slices.Clone(manifestSchema) }

// Codes of findings in manifests.
const (
	FindingShape     = "shape"     // not as the schema says
	FindingValue     = "value"     // a value without a meaning
	FindingDuplicate = "duplicate" // a name twice
	FindingToken     = "token"     // interpolation that cannot be
	FindingUnknown   = "unknown"   // a name that leads nowhere
	FindingExtends   = "extends"   // a base that cannot be used
	FindingInput     = "input"     // an input that does not fit; when inputs are bound
)

// Manifest is an accepted manifest, with what it inherits.
type Manifest struct {
	Slug, Version string // empty for the workspace block of a composition
	Title         string
	Description   string
	Surfaces      []string // workflow, agent-session; empty is any
	Extends       string   // slug@version of the base; may be empty

	spec spec
	docs []*source.Document // the base, then the manifest
}

// Inputs returns the names of the declared inputs, in order.
func (m *Manifest) Inputs() []string { return sortedKeys(m.spec.Inputs) }

// Locate gives a finding about a value of the manifest its place in the file that
// says it.
func (m *Manifest) Locate(e source.Error) source.Error {
	for _, d := range slices.Backward(m.docs) {
		if _, ok := d.At(e.Pointer); ok {
			return d.Locate(e)
		}
	}
	return e
}

// Document is the manifest with what it inherits, as JSON that Compile takes.
func (m *Manifest) Document() (json.RawMessage, error) {
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "workspace/v1", "kind": "WorkspaceManifest", "spec": m.spec,
		"metadata": map[string]any{"slug": m.Slug, "version": m.Version, "title": m.Title, "description": m.Description, "surfaceCompat": m.Surfaces},
	})
	var v any
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		err = d.Decode(&v)
	}
	if err != nil {
		return nil, fmt.Errorf("writing manifest %s: %w", m.Slug, err)
	}
	return canon.Canonical(marshalled(said(v)))
}

// said leaves out what a JSON value says nothing about.
func said(v any) any {
	if m, ok := v.(map[string]any); ok {
		for name, value := range m {
			if m[name] = said(value); value == nil {
				delete(m, name)
			}
		}
	}
	if list, ok := v.([]any); ok {
		for i := range list {
			list[i] = said(list[i])
		}
	}
	return v
}

// place is where something stands.
type place struct {
	doc     *source.Document
	pointer string
}

// file is a manifest as it is written.
type file struct {
	Extends  string `json:"extends"`
	Metadata struct {
		Slug          string   `json:"slug"`
		Version       string   `json:"version"`
		Title         string   `json:"title"`
		Description   string   `json:"description"`
		SurfaceCompat []string `json:"surfaceCompat"`
	} `json:"metadata"`
	Spec spec `json:"spec"`
}

type spec struct {
	Inputs        map[string]declaration   `json:"inputs"`
	Mounts        map[Slot]json.RawMessage `json:"mounts"`
	Agent         *agentBlock              `json:"agent"`
	SeedFiles     []Seed                   `json:"seedFiles"`
	Env           []variable               `json:"env"`
	Skills        []SkillRef               `json:"skills"`
	ToolSelection []json.RawMessage        `json:"toolSelection"`
	Credentials   []Credential             `json:"credentials"`
	Permissions   *Permissions             `json:"permissions"`
	Persistence   *persistence             `json:"persistence"`
	OutputSurface *Surface                 `json:"outputSurface"`
}

type agentBlock struct {
	AgentBlock
	Phase string `json:"phase"` // another word for stage
}

type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type persistence struct {
	Paths []string `json:"paths"`
}

// UnmarshalJSON reads {slug, version} or "slug@version".
func (s *SkillRef) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), `"`) {
		var ref string
		if err := json.Unmarshal(raw, &ref); err != nil {
			return err
		}
		s.Slug, s.Version, _ = strings.Cut(ref, "@")
		return nil
	}
	type plain SkillRef
	return json.Unmarshal(raw, (*plain)(s))
}

// Compile reads a manifest that came from the file called name, YAML or JSON, and
// what it extends: one of bases, by slug@version, or a built-in base. The error is
// a *workflow.Error that wraps source.Errors with every finding.
func Compile(name string, data []byte, bases map[string][]byte) (*Manifest, error) {
	c := &compiler{}
	f, doc, err := c.read(name, data)
	if err != nil {
		return nil, err
	}
	if f != nil && f.Extends != "" && !c.about("/extends") {
		if err := c.inherit(f, doc, bases); err != nil {
			return nil, err
		}
	}
	if f != nil && !c.about("/extends") { // else what is inherited is not known
		if f.Spec.Agent == nil && !c.about("/spec") {
			c.say(place{doc, "/spec"}, FindingShape, "write spec.agent with the slug of the agent", "the manifest names no agent, and agents are not inherited in parts")
		}
		c.check(f.Spec)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	m := &Manifest{
		Slug: f.Metadata.Slug, Version: f.Metadata.Version, Title: f.Metadata.Title, Description: f.Metadata.Description,
		Surfaces: f.Metadata.SurfaceCompat, Extends: f.Extends, spec: f.Spec, docs: c.docs,
	}
	return m, nil
}

// CompileBlock reads the workspace block of a composition: what a manifest has
// under spec, without an agent. Findings have pointers into the block and no file,
// as the block stands in another document.
func CompileBlock(raw json.RawMessage) (*Manifest, error) {
	raw, err := canon.Canonical(raw)
	if err != nil {
		return nil, invalid(fmt.Errorf("workspace block: %w", err))
	}
	c := &compiler{}
	wrapped := slices.Concat([]byte(`{"apiVersion":"workspace/v1","kind":"WorkspaceManifest","metadata":{"slug":"block","version":"0.0.0"},"spec":`), raw, []byte("}"))
	f, doc, err := c.read("workspace.json", wrapped)
	if err != nil {
		return nil, err
	}
	if f != nil {
		if f.Spec.Agent != nil {
			c.say(place{doc, "/spec/agent"}, FindingShape, "the composition names its agents", "a workspace block has no agent")
		}
		c.check(f.Spec)
	}
	for i := range c.found {
		c.found[i] = source.Error{Pointer: strings.TrimPrefix(c.found[i].Pointer, "/spec"), Code: c.found[i].Code, Message: c.found[i].Message, Hint: c.found[i].Hint}
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return &Manifest{spec: f.Spec, docs: c.docs}, nil
}

// compiler gathers findings over a manifest and its base.
type compiler struct {
	found source.Errors
	docs  []*source.Document // the base, then the manifest
}

func (c *compiler) say(at place, code, hint, format string, args ...any) {
	c.found = append(c.found, at.doc.Locate(source.Error{Pointer: at.pointer, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}))
}

// about reports whether there is a finding at a place.
func (c *compiler) about(pointer string) bool {
	return slices.ContainsFunc(c.found, func(e source.Error) bool { return e.Pointer == pointer })
}

func (c *compiler) err() error {
	if len(c.found) == 0 {
		return nil
	}
	slices.SortStableFunc(c.found, func(a, b source.Error) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	return invalid(c.found)
}

func invalid(err error) error {
	return &workflow.Error{Code: workflow.CodeInvalidWorkspace, Msg: err.Error(), Err: err}
}

// read parses a document, compares it with the schema and checks what concerns it
// alone. Without a file there are findings.
func (c *compiler) read(name string, data []byte) (*file, *source.Document, error) {
	doc, err := source.Parse(name, data, source.Limits{})
	if err != nil {
		return nil, nil, invalid(err)
	}
	s, err := compiled()
	if err != nil {
		return nil, nil, fmt.Errorf("compiling the schema of manifests: %w", err)
	}
	if problems := s.Validate(json.RawMessage(doc.JSON())); len(problems) > 0 {
		written := map[string]string{} // strings by pointer
		walk(doc.JSON(), func(at, s string) { written[at] = s })
		for _, p := range problems {
			c.shape(doc, p, written[p.Pointer])
		}
	}
	var f file
	if err := doc.Decode(&f); err != nil {
		if len(c.found) > 0 {
			return nil, doc, nil // the schema has told it with its place
		}
		return nil, nil, invalid(err)
	}
	c.docs = append(c.docs, doc)
	if a := f.Spec.Agent; a != nil && a.Stage == "" {
		a.Stage = a.Phase
	}
	c.alone(doc, f.Spec)
	return &f, doc, nil
}

// hints tell what a pattern asks for.
var hints = map[string]string{
	"apiVersion": "write tenon.run/workspace/v1",
	"extends":    "write manifest/SLUG@1.0.0, with an exact version",
	"slug":       "lower-case letters, digits and single dashes, 64 at most",
	"version":    `write MAJOR.MINOR.PATCH, as "1.2.0"`,
	"name":       "write names in UPPER_SNAKE_CASE",
	"role":       "known: " + strings.Join(Roles(), ", "),
}

// shape tells a problem that the schema has with what is written.
func (c *compiler) shape(doc *source.Document, p schema.Problem, written string) {
	e := source.Error{Pointer: p.Pointer, Code: FindingShape, Message: p.Message}
	last := p.Pointer[strings.LastIndexByte(p.Pointer, '/')+1:]
	switch near := text.Nearest(cmp.Or(p.Key, written), p.Allowed); {
	case near != "":
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	case p.Keyword == "additionalProperties":
		e.Hint = "known: " + strings.Join(p.Allowed, ", ")
	case p.Keyword != "required":
		e.Hint = hints[last]
	}
	if p.Keyword == "additionalProperties" {
		c.found = append(c.found, doc.LocateKey(e))
		return
	}
	c.found = append(c.found, doc.Locate(e))
}

func pointer(parts ...any) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteByte('/')
		switch p := part.(type) {
		case int:
			b.WriteString(strconv.Itoa(p))
		case string:
			b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
		}
	}
	return b.String()
}
