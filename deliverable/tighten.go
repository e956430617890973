package deliverable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/workflow"
)

// Tighten returns the spec with what overlays add: schemas that the JSON has to
// meet as well, each by itself, and bounds of the number of files. Nothing is ever
// allowed by it that the spec refuses. The error is a *workflow.Error.
func (s *Spec) Tighten(schemas []json.RawMessage, bounds Rules) (*Spec, error) {
	out := *s
	out.Further, out.further = slices.Clone(s.Further), slices.Clone(s.further)
	for i, raw := range schemas {
		if !s.JSON() {
			return nil, conflict(s, "an overlay has a schema, but kind %s has none", s.Kind)
		}
		compiled, err := schema.Compile(raw)
		if err != nil {
			return nil, conflict(s, "schema %d of its overlays: %w", i+1, err)
		}
		out.Further, out.further = append(out.Further, raw), append(out.further, compiled)
	}
	out.Rules.Min, out.Rules.Max = tighter(s.Rules.Min, bounds.Min, 1), tighter(s.Rules.Max, bounds.Max, -1)
	if r := out.Rules; r.Min != nil && r.Max != nil && *r.Min > *r.Max {
		return nil, conflict(s, "at least %d and at most %d files leave nothing", *r.Min, *r.Max)
	}
	if found := out.together(); len(found) > 0 {
		return nil, conflict(s, "the schemas of its overlays and its own exclude each other: %s", found[0].message)
	}
	var err error
	out.Digest, err = canon.Digest(map[string]any{"base": s.Digest, "schemas": out.Further, "rules": out.Rules})
	if err != nil {
		return nil, fmt.Errorf("digest of deliverable %s: %w", s.Slug, err)
	}
	return &out, nil
}

func conflict(s *Spec, format string, args ...any) error {
	return workflow.Errorf(workflow.CodeOverlayConflict, "deliverable "+s.Slug+": "+format, args...).WithHint("leave out the tag of one of them, or change one")
}

// tighter takes the greater of two bounds, or with sign -1 the smaller.
func tighter(a, b *int, sign int) *int {
	if b == nil || a != nil && sign**a >= sign**b {
		return a
	}
	n := *b
	return &n
}

// together looks for contradictions between the schemas. References are of one
// schema each, so schemas with some are not put together.
func (s *Spec) together() []contradiction {
	all := slices.Clone(s.Further)
	if len(s.Schema) > 0 {
		all = append([]json.RawMessage{s.Schema}, all...)
	}
	if len(all) < 2 || slices.ContainsFunc(all, func(raw json.RawMessage) bool { return bytes.Contains(raw, []byte(`ef":`)) }) {
		return nil
	}
	raw, err := json.Marshal(map[string]any{"allOf": all})
	if err != nil {
		return nil
	}
	return contradictions(raw, nil)
}
