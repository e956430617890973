package routing

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed models.schema.json
var fileSchema []byte

// Schema returns the JSON Schema of models.yaml.
func Schema() []byte { return slices.Clone(fileSchema) }

var compiled = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(fileSchema) })

// Codes of findings in models.yaml.
const (
	FindingShape     = "shape"         // not as the schema says
	FindingUnknown   = "model_unknown" // a name that leads nowhere
	FindingDuplicate = "duplicate"     // two things where one can be
	FindingValue     = "value"         // a value without a meaning
	FindingUnused    = "unused"        // a warning: it can never count
)

// maxFile bounds models.yaml.
const maxFile = 32 << 20

// Load makes the Matrix of one models.yaml, which came from the file called name,
// and the providers that there are. No data stands for no file. The error is a
// *workflow.Error that wraps source.Errors with every finding.
func Load(name string, data []byte, providers []Provider) (*Matrix, error) {
	m := &Matrix{names: names{models: map[string]Model{}, classes: map[string][]Model{}}}
	m.providers = slices.SortedFunc(slices.Values(providers), func(a, b Provider) int { return strings.Compare(a.Name, b.Name) })
	if len(data) == 0 {
		m.build()
		return m, nil
	}
	doc, err := source.Parse(name, data, source.Limits{MaxBytes: maxFile})
	if err != nil {
		return nil, invalid(err)
	}
	l := &loader{Matrix: m, doc: doc}
	if err := l.read(); err != nil {
		return nil, err
	}
	if len(l.found) > 0 {
		slices.SortStableFunc(l.found, byPlace)
		return nil, invalid(l.found)
	}
	slices.SortStableFunc(m.Warnings, byPlace)
	slices.SortFunc(m.rules, func(a, b rule) int { return strings.Compare(a.id, b.id) })
	m.build()
	return m, nil
}

func byPlace(a, b source.Error) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
}

func invalid(err error) error {
	return &workflow.Error{Code: workflow.CodeInvalidArguments, Msg: err.Error(), Err: err}
}

// file is models.yaml.
type file struct {
	Models  map[string]Model    `json:"models"`
	Classes map[string][]string `json:"classes"`
	Rules   []fileRule          `json:"rules"`
	Inherit bool                `json:"inherit"`
}

type fileRule struct {
	ID       string     `json:"id"`
	Selector Selector   `json:"selector"`
	Target   fileTarget `json:"target"`
	Priority int        `json:"priority"`
}

type fileTarget struct {
	Kind     string `json:"kind"`
	ModelID  string `json:"modelId"`
	Provider string `json:"providerSlug"`
	Class    string `json:"modelClass"`
}

// UnmarshalJSON reads a target, or a plain string, which is a modelId.
func (t *fileTarget) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &t.ModelID)
	}
	type plain fileTarget
	return json.Unmarshal(raw, (*plain)(t))
}

// loader reads a file into a Matrix and gathers what is wrong.
type loader struct {
	*Matrix
	doc   *source.Document
	found source.Errors
	file  file
}

func (l *loader) say(pointer, code, hint, format string, args ...any) {
	l.found = append(l.found, l.doc.Locate(source.Error{Pointer: pointer, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}))
}

// read reads all parts. Names are looked at only in a file of the right shape, as
// everything else would be a guess.
func (l *loader) read() error {
	if string(l.doc.JSON()) == "null" { // only comments
		return nil
	}
	s, err := compiled()
	if err != nil {
		return fmt.Errorf("compiling the schema of models.yaml: %w", err)
	}
	l.shape(s.Validate(json.RawMessage(l.doc.JSON())))
	if err := l.doc.Decode(&l.file); err != nil {
		if len(l.found) > 0 {
			return nil //nolint:nilerr // the schema has told it with its place
		}
		return invalid(err)
	}
	l.inherit = l.file.Inherit
	for _, key := range slices.Sorted(maps.Keys(l.file.Models)) {
		l.model(key, l.file.Models[key])
	}
	for _, name := range slices.Sorted(maps.Keys(l.file.Classes)) {
		l.class(name, l.file.Classes[name])
	}
	l.readRules()
	return nil
}

func (l *loader) shape(problems schema.Problems) {
	for _, p := range problems {
		if strings.Count(p.Pointer, "/") == 1 && p.Keyword == "type" && strings.HasSuffix(p.Message, "have null") {
			continue // a section whose lines are comments
		}
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

func (l *loader) model(key string, m Model) {
	at := pointer("models", key)
	m.Key = key
	l.models[key] = m
	if m.Provider != "" {
		if _, ok := l.names.provider(m.Provider); !ok {
			err := l.noProvider(m.Provider)
			l.say(at+"/provider", FindingUnknown, err.Hint, "%s", err.Msg)
		}
	}
	if m.Price != nil && m.Price.AsOf != "" {
		if _, err := time.Parse(time.DateOnly, m.Price.AsOf); err != nil {
			l.say(at+"/price/asOf", FindingValue, "write the day of the price as 2026-11-01", "%q is not a day", m.Price.AsOf)
		}
	}
	if m.Context > 0 && m.MaxOutput > m.Context {
		l.say(at+"/maxOutput", FindingValue, "an answer has to fit into the context", "maxOutput is more than the context of %d tokens", m.Context)
	}
}

func (l *loader) class(name string, members []string) {
	at := pointer("classes", name)
	if _, ok := l.models[name]; ok {
		l.found = append(l.found, l.doc.LocateKey(source.Error{
			Pointer: at, Code: FindingDuplicate, Message: fmt.Sprintf("%q is a model and a class", name), Hint: "rename one of them",
		}))
		return
	}
	models := make([]Model, 0, len(members))
	for i, member := range members {
		here := at + "/" + strconv.Itoa(i)
		if _, ok := l.file.Classes[member]; ok {
			l.say(here, FindingUnknown, "list its models", "%q is a class; a class holds models", member)
			continue
		}
		c, ok := l.resolve(here, member, "")
		if !ok {
			continue
		}
		if slices.ContainsFunc(models, func(m Model) bool { return m.String() == c.Models[0].String() }) {
			l.say(here, FindingDuplicate, "a model cannot be its own fallback", "%s is in the class twice", c.Models[0])
			continue
		}
		models = append(models, c.Models[0])
	}
	l.classes[name] = models
}

// resolve finds a model, or says why there is none.
func (l *loader) resolve(at, name, provider string) (Choice, bool) {
	if name == "" {
		return Choice{}, false // the schema has told it
	}
	c, err := l.Resolve(name, provider)
	if err != nil {
		var known *workflow.Error
		if !errors.As(err, &known) {
			known = &workflow.Error{Msg: err.Error()}
		}
		l.say(at, FindingUnknown, known.Hint, "%s", known.Msg)
		return Choice{}, false
	}
	return c, len(c.Models) > 0
}

// pointer makes a JSON pointer.
func pointer(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}
