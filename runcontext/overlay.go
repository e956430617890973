package runcontext

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/workflow"
)

// Section is a part of the guidance of a deliverable.
type Section struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
	// Replace says that the section stands for the base's of the same id.
	Replace bool `json:"replace,omitempty"`
}

// Range is a numeric rule of a deliverable; nil is no limit.
type Range struct {
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
}

// Overlay extends a deliverable's contract where its tag applies. It can only add
// and tighten.
type Overlay struct {
	ID            string           `json:"id"`
	Tag           string           `json:"tag"`                     // "stack:go", "concern:security", category:value
	Replaces      []string         `json:"replaces,omitempty"`      // ids of overlays that this one stands for
	ConflictsWith []string         `json:"conflictsWith,omitempty"` // ids or tags that cannot apply beside it
	Sections      []Section        `json:"sections,omitempty"`
	Bounds        map[string]Range `json:"bounds,omitempty"`
	Schema        json.RawMessage  `json:"schema,omitempty"` // JSON Schema, added by allOf
}

// Contract is what a deliverable has to be: the base, and after Apply with its
// overlays.
type Contract struct {
	Ref      string           `json:"ref"` // slug@version; empty when nothing is to be delivered
	Title    string           `json:"title,omitempty"`
	Sections []Section        `json:"sections,omitempty"`
	Bounds   map[string]Range `json:"bounds,omitempty"`
	Schema   json.RawMessage  `json:"schema,omitempty"`
}

// Applied names an overlay that was applied, and its content.
type Applied struct {
	ID     string `json:"id"`
	Tag    string `json:"tag"`
	SHA256 string `json:"sha256"` // of the canonical form of the overlay
}

// Conflict is the error of overlays that contradict each other.
type Conflict struct {
	Subject string // what they both claim
	A, B    string // ids; A may be "the base"
	Why     string
}

// Error tells the conflict.
func (c Conflict) Error() string {
	return fmt.Sprintf("overlays %s and %s conflict at %s: %s", c.A, c.B, c.Subject, c.Why)
}

// Conflicts are all conflicts of one Apply.
type Conflicts []Conflict

// Error gives one line for each conflict.
func (cs Conflicts) Error() string {
	lines := make([]string, len(cs))
	for i, c := range cs {
		lines[i] = c.Error()
	}
	return strings.Join(lines, "\n")
}

// Select returns the overlays that apply to a context with tags, in their order:
// stack by tag, concern by tag, other categories by tag, then the explicit ones
// (ids or tags) as they were written. Of one tag, they stand by id. An explicit
// name without an overlay is an error; a tag without one is not.
func Select(all []Overlay, tags, explicit []string) ([]Overlay, error) {
	all = slices.SortedFunc(slices.Values(all), func(a, b Overlay) int {
		return cmp.Or(cmp.Compare(category(a.Tag), category(b.Tag)), strings.Compare(a.Tag, b.Tag), strings.Compare(a.ID, b.ID))
	})
	for i, o := range all {
		if o.ID == "" || !strings.Contains(o.Tag, ":") {
			return nil, workflow.Errorf(workflow.CodeInvalidWorkspace, "overlay %q with tag %q: it needs an id and a tag", o.ID, o.Tag).WithHint("a tag is category:value, as concern:security")
		}
		if slices.ContainsFunc(all[:i], func(p Overlay) bool { return p.ID == o.ID }) {
			return nil, workflow.Errorf(workflow.CodeOverlayConflict, "there are two overlays with the id %q", o.ID).WithHint("rename one of them")
		}
	}
	named := func(o Overlay, name string) bool { return o.ID == name || o.Tag == name }
	forced := func(o Overlay) bool {
		return slices.ContainsFunc(explicit, func(name string) bool { return named(o, name) })
	}
	var out []Overlay
	for _, o := range all {
		if slices.Contains(tags, o.Tag) && !forced(o) {
			out = append(out, o)
		}
	}
	for _, name := range explicit {
		hit := false
		for _, o := range all {
			if named(o, name) {
				hit = true
				if !slices.ContainsFunc(out, func(p Overlay) bool { return p.ID == o.ID }) {
					out = append(out, o)
				}
			}
		}
		if !hit {
			return nil, workflow.Errorf(workflow.CodeInvalidWorkspace, "there is no overlay %q%s", name, didYouMean(name, ids(all))).WithHint("overlays are named by id or tag")
		}
	}
	return withoutReplaced(out)
}

// category is the rank of a tag's category.
func category(tag string) int {
	switch name, _, _ := strings.Cut(tag, ":"); name {
	case "stack":
		return 0
	case "concern":
		return 1
	}
	return 2
}

func ids(all []Overlay) []string {
	var out []string
	for _, o := range all {
		out = append(out, o.ID, o.Tag)
	}
	return out
}

// withoutReplaced leaves out what another overlay of the list stands for. Two that
// replace the same one, or each other, conflict.
func withoutReplaced(in []Overlay) ([]Overlay, error) {
	by := map[string]string{}
	var found Conflicts
	for _, o := range in {
		for _, id := range o.Replaces {
			switch other, taken := by[id]; {
			case id == o.ID:
				found = append(found, Conflict{Subject: id, A: o.ID, B: o.ID, Why: "it says that it replaces itself"})
			case taken && other != o.ID:
				found = append(found, Conflict{Subject: "overlay " + id, A: other, B: o.ID, Why: "both say that they replace it"})
			default:
				by[id] = o.ID
			}
		}
	}
	var out []Overlay
	for _, o := range in {
		last, steps := o.ID, 0
		for next, ok := by[last]; ok && steps <= len(by); next, ok = by[last] {
			last, steps = next, steps+1
		}
		switch {
		case steps > len(by) && len(found) == 0:
			found = append(found, Conflict{Subject: "overlay " + o.ID, A: o.ID, B: by[o.ID], Why: "they replace each other in a circle"})
		case steps == 0:
			out = append(out, o)
		}
	}
	if len(found) > 0 {
		return nil, conflicting(found)
	}
	return out, nil
}

func conflicting(found Conflicts) error {
	return &workflow.Error{
		Code: workflow.CodeOverlayConflict, Msg: found.Error(), Err: found,
		Hint: "let one of the two declare that it replaces the other, or leave out the tag of one",
	}
}

// Apply adds overlays, as Select returned them, to a base. Conflicts are an error
// with all of them: a section that two claim, bounds that leave no number, a
// declared conflict.
func Apply(base Contract, overlays []Overlay) (Contract, []Applied, error) {
	m := merger{out: base, owner: map[string]string{}, bounds: map[string]bounded{}}
	m.out.Sections = slices.Clone(base.Sections)
	for _, s := range base.Sections {
		m.owner[s.ID] = theBase
	}
	m.bound(theBase, base.Bounds)
	applied := make([]Applied, 0, len(overlays))
	for i, o := range overlays {
		for _, p := range overlays[:i] {
			m.declared(p, o)
		}
		m.sections(o)
		m.bound(o.ID, o.Bounds)
		digest, err := canon.Digest(o)
		if err != nil {
			return Contract{}, nil, fmt.Errorf("digest of overlay %s: %w", o.ID, err)
		}
		applied = append(applied, Applied{ID: o.ID, Tag: o.Tag, SHA256: digest})
	}
	if len(m.found) > 0 {
		return Contract{}, nil, conflicting(m.found)
	}
	m.out.Bounds = m.merged()
	schema, err := allOf(base.Schema, overlays)
	m.out.Schema = schema
	return m.out, applied, err
}

const theBase = "the base"

type bounded struct {
	Range
	minBy, maxBy string
}

type merger struct {
	out    Contract
	owner  map[string]string // section → who gave it
	bounds map[string]bounded
	found  Conflicts
}

func (m *merger) declared(a, b Overlay) {
	if slices.Contains(a.ConflictsWith, b.ID) || slices.Contains(a.ConflictsWith, b.Tag) ||
		slices.Contains(b.ConflictsWith, a.ID) || slices.Contains(b.ConflictsWith, a.Tag) {
		m.found = append(m.found, Conflict{Subject: "conflictsWith", A: a.ID, B: b.ID, Why: "they are declared not to go together"})
	}
}

func (m *merger) sections(o Overlay) {
	for _, s := range o.Sections {
		owner, taken := m.owner[s.ID]
		switch {
		case !taken:
			m.out.Sections = append(m.out.Sections, s)
		case owner == theBase && s.Replace:
			i := slices.IndexFunc(m.out.Sections, func(p Section) bool { return p.ID == s.ID })
			m.out.Sections[i] = s
		case owner == theBase:
			m.found = append(m.found, Conflict{Subject: "section " + s.ID, A: owner, B: o.ID, Why: "the base has it already, and the overlay does not say replace"})
			continue
		default:
			m.found = append(m.found, Conflict{Subject: "section " + s.ID, A: owner, B: o.ID, Why: "both have it"})
			continue
		}
		m.owner[s.ID] = o.ID
	}
}

// bound tightens the bounds, names in order.
func (m *merger) bound(by string, rules map[string]Range) {
	for _, name := range sortedKeys(rules) {
		r, b := rules[name], m.bounds[name]
		if r.Min != nil && (b.Min == nil || *r.Min > *b.Min) {
			b.Min, b.minBy = r.Min, by
		}
		if r.Max != nil && (b.Max == nil || *r.Max < *b.Max) {
			b.Max, b.maxBy = r.Max, by
		}
		m.bounds[name] = b
		if b.Min != nil && b.Max != nil && *b.Min > *b.Max {
			m.found = append(m.found, Conflict{Subject: "bound " + name, A: b.minBy, B: b.maxBy, Why: fmt.Sprintf("at least %v and at most %v leave nothing", *b.Min, *b.Max)})
		}
	}
}

func (m *merger) merged() map[string]Range {
	if len(m.bounds) == 0 {
		return nil
	}
	out := make(map[string]Range, len(m.bounds))
	for name, b := range m.bounds {
		out[name] = b.Range
	}
	return out
}

// allOf joins the schemas, so that an overlay can only tighten.
func allOf(base json.RawMessage, overlays []Overlay) (json.RawMessage, error) {
	var parts []json.RawMessage
	if base != nil {
		parts = append(parts, base)
	}
	for _, o := range overlays {
		if o.Schema != nil {
			parts = append(parts, o.Schema)
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	raw, err := json.Marshal(map[string]any{"allOf": parts})
	if err != nil {
		return nil, fmt.Errorf("joining the schemas of overlays: %w", err)
	}
	return raw, nil
}
