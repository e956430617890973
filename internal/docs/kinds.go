package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/agent"
	"github.com/tenonrun/tenon/piece/artifact"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/implementation"
	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/openspec"
	"github.com/tenonrun/tenon/piece/shell"
	"github.com/tenonrun/tenon/piece/verify"
)

// kinds are the pieces that a program has without further ones.
type kinds struct{ *piece.Registry }

func readKinds() (kinds, error) {
	r, err := piece.NewRegistry(slices.Concat(
		control.Pieces(), model.Pieces(model.Config{}), shell.Pieces(shell.Config{}), verify.Pieces(verify.Config{}),
		openspec.Pieces(openspec.Config{}), implementation.Pieces(implementation.Config{}), agent.Pieces(agent.Config{}), artifact.Pieces(artifact.Config{}),
	)...)
	return kinds{r}, err
}

// all lists the kinds of both formats, sorted.
func (k kinds) all() []string {
	names := map[string]bool{}
	for _, level := range []int{1, 2} {
		for _, name := range k.Kinds(level) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// table lists every kind with its formats and whether it runs.
func (k kinds) table() string {
	var b strings.Builder
	b.WriteString("| kind | formats | runs |\n| --- | --- | --- |\n")
	for _, name := range k.all() {
		p, _ := k.Get(name)
		var levels []string
		for _, level := range []int{1, 2} {
			if p.Schema(level) != nil {
				levels = append(levels, fmt.Sprint(level))
			}
		}
		runs := "yes"
		if p.Missing != "" {
			runs = "not yet: " + strings.TrimPrefix(p.Missing, name+" ")
		}
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", name, name, strings.Join(levels, ", "), runs)
	}
	return b.String()
}

// property is the part of a schema that the tables show.
type property struct {
	Type       any                  `json:"type"`
	Enum       []any                `json:"enum"`
	Const      any                  `json:"const"`
	Minimum    *json.Number         `json:"minimum"`
	Maximum    *json.Number         `json:"maximum"`
	MinLength  *int                 `json:"minLength"`
	MaxLength  *int                 `json:"maxLength"`
	MaxItems   *int                 `json:"maxItems"`
	Pattern    string               `json:"pattern"`
	OneOf      []property           `json:"oneOf"`
	AnyOf      []property           `json:"anyOf"`
	Items      json.RawMessage      `json:"items"`
	Properties map[string]*property `json:"properties"`
	Required   []string             `json:"required"`
}

// UnmarshalJSON also reads the schemas true and false.
func (p *property) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	type plain property
	return json.Unmarshal(raw, (*plain)(p))
}

// params is the table of a kind's params, made of its schemas.
func (k kinds) params(kind string) (string, error) {
	p, ok := k.Get(kind)
	if !ok {
		return "", fmt.Errorf("there is no kind %q", kind)
	}
	var of [3]property
	names := map[string]bool{}
	for _, level := range []int{1, 2} {
		raw := p.Schema(level)
		if raw == nil {
			continue
		}
		d := json.NewDecoder(strings.NewReader(string(raw)))
		if err := d.Decode(&of[level]); err != nil {
			return "", fmt.Errorf("reading the schema of %s: %w", kind, err)
		}
		for name := range of[level].Properties {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return "", fmt.Errorf("kind %s has no params", kind)
	}
	var b strings.Builder
	b.WriteString("| param | format 1 | format 2 |\n| --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, of[1].cell(name), of[2].cell(name))
	}
	one, two := of[1].choice(), of[2].choice()
	switch {
	case one == two && one != "":
		fmt.Fprintf(&b, "\nNeeded: %s.\n", one)
	default:
		for level, choice := range []string{"", one, two} {
			if choice != "" {
				fmt.Fprintf(&b, "\nNeeded in format %d: %s.\n", level, choice)
			}
		}
	}
	return b.String(), nil
}

// choice tells which params exclude each other.
func (p property) choice() string {
	names := func(of []property) (all []string) {
		for _, o := range of {
			for _, r := range o.Required {
				all = append(all, "`"+r+"`")
			}
		}
		return all
	}
	switch {
	case len(p.OneOf) > 0:
		return "exactly one of " + strings.Join(names(p.OneOf), ", ")
	case len(p.AnyOf) > 0:
		return "at least one of " + strings.Join(names(p.AnyOf), ", ")
	}
	return ""
}

func (p property) cell(name string) string {
	q := p.Properties[name]
	if q == nil {
		return "–"
	}
	text := strings.ReplaceAll(q.describe(), "|", "\\|")
	if slices.Contains(p.Required, name) {
		text = "**required**, " + text
	}
	return text
}

// describe tells in words what a value has to be.
func (p *property) describe() string {
	switch {
	case len(p.Enum) > 0:
		return listed(p.Enum)
	case p.Const != nil:
		return listed([]any{p.Const})
	case len(p.OneOf) > 0 && p.Type == nil:
		var all []string
		for _, o := range p.OneOf {
			all = append(all, o.describe())
		}
		return strings.Join(all, " or ")
	}
	text := kindOf(p.Type)
	if len(p.Properties) > 0 {
		text = "object of " + quoted(slices.Sorted(maps.Keys(p.Properties)))
	}
	return text + p.bounds()
}

func (p *property) bounds() string {
	switch {
	case p.Minimum != nil && p.Maximum != nil:
		return fmt.Sprintf(", %s to %s", grouped(*p.Minimum), grouped(*p.Maximum))
	case p.Minimum != nil:
		return ", at least " + grouped(*p.Minimum)
	case p.MaxLength != nil:
		return fmt.Sprintf(", at most %s characters", grouped(json.Number(fmt.Sprint(*p.MaxLength))))
	case p.MaxItems != nil:
		return fmt.Sprintf(", at most %s", grouped(json.Number(fmt.Sprint(*p.MaxItems))))
	case p.Pattern != "":
		return fmt.Sprintf(", `%s`", p.Pattern)
	}
	return ""
}

func kindOf(t any) string {
	switch t := t.(type) {
	case string:
		if t == "array" {
			return "list"
		}
		return t
	case []any:
		var all []string
		for _, one := range t {
			all = append(all, fmt.Sprint(one))
		}
		return strings.Join(all, " or ")
	}
	return "anything"
}

func listed(values []any) string {
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprint(v))
	}
	return quoted(all)
}

func quoted(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// grouped writes large whole numbers with commas.
func grouped(n json.Number) string {
	s, sign := string(n), ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		s, sign = rest, "-"
	}
	if strings.Contains(s, ".") {
		return sign + s
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
