package composition

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/composition/version"
	"github.com/tenonrun/tenon/internal/text"
)

// Kind says what a name stands for.
type Kind string

// Kinds.
const (
	KindAgent       Kind = "agent"
	KindSkill       Kind = "skill"
	KindComposition Kind = "composition"
)

// Kinds lists the kinds.
func Kinds() []Kind { return []Kind{KindAgent, KindComposition, KindSkill} }

var (
	slugPattern  = text.MustPattern(`^[a-z][a-z0-9_-]*$`)
	skillPattern = text.MustPattern(`^[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)*$`)
)

// maxSlug bounds the name of an agent, a skill, a composition, an alias.
const maxSlug = 128

// Ref names an agent, a skill or a composition: [ORG/]SLUG[@VERSION]. The slug of a
// skill may have several parts, PARENT/CHILD, and no organisation.
type Ref struct {
	Org, Slug string
	// Version is empty or "latest" for the latest published one, a revision (3), a
	// version (1.2.0), or for skills a range (^1, ~1.2).
	Version string
}

// ParseRef reads a reference. A prefix "KIND:" is allowed if it is that kind.
func ParseRef(kind Kind, s string) (Ref, error) {
	if s == "" {
		return Ref{}, errors.New("the reference is empty: write SLUG or SLUG@VERSION")
	}
	if strings.ContainsAny(s, " \t\r\n") {
		return Ref{}, fmt.Errorf("the reference %q holds a space: write SLUG or SLUG@VERSION", s)
	}
	rest := strings.TrimPrefix(s, string(kind)+":")
	if before, _, ok := strings.Cut(rest, ":"); ok {
		return Ref{}, fmt.Errorf("the reference %q is not of the kind %s: %q stands before the colon", s, kind, before)
	}
	name, version, versioned := strings.Cut(rest, "@")
	if strings.Contains(version, "@") {
		return Ref{}, fmt.Errorf("the reference %q has more than one @: write SLUG@VERSION", s)
	}
	if versioned && version == "" {
		return Ref{}, fmt.Errorf("the reference %q has no version after its @: write one, or leave the @ out", s)
	}
	r := Ref{Slug: name, Version: version}
	if org, slug, ok := strings.Cut(name, "/"); ok && kind != KindSkill {
		r.Org, r.Slug = org, slug
	}
	return r, r.check(kind)
}

// check says what is wrong with a reference.
func (r Ref) check(kind Kind) error {
	if r.Org != "" && (kind == KindSkill || !slugPattern().MatchString(r.Org)) {
		return fmt.Errorf("%q is not the name of an organisation: use lower-case letters, digits, - and _", r.Org)
	}
	if err := CheckSlug(kind, r.Slug); err != nil {
		return err
	}
	q, err := version.ParseRequest(r.Version)
	if err != nil {
		return err
	}
	if q.Range() && kind != KindSkill {
		return fmt.Errorf("the range %q cannot be the version of %s %s: name one version, or none for the latest; the lock keeps it", r.Version, article(kind), kind)
	}
	return nil
}

// CheckSlug says what is wrong with a name of this kind, or nil.
func CheckSlug(kind Kind, slug string) error {
	pattern := slugPattern
	if kind == KindSkill {
		pattern = skillPattern
	}
	if len(slug) > maxSlug || !pattern().MatchString(slug) {
		return fmt.Errorf("%q cannot be the name of %s %s: use lower-case letters, digits, - and _, at most %d, a letter first", text.Head(slug, maxSlug, "…"), article(kind), kind, maxSlug)
	}
	return nil
}

func article(kind Kind) string {
	if kind == KindAgent {
		return "an"
	}
	return "a"
}

// Name is the reference without its version.
func (r Ref) Name() string {
	if r.Org != "" {
		return r.Org + "/" + r.Slug
	}
	return r.Slug
}

// String gives the reference; the latest version is not written.
func (r Ref) String() string {
	if r.Version == "" || r.Version == "latest" {
		return r.Name()
	}
	return r.Name() + "@" + r.Version
}

// MarshalJSON gives {slug, version?, org?}.
func (r Ref) MarshalJSON() ([]byte, error) {
	version := r.Version
	if version == "latest" {
		version = ""
	}
	return json.Marshal(struct {
		Org     string `json:"org,omitempty"`
		Slug    string `json:"slug"`
		Version string `json:"version,omitempty"`
	}{r.Org, r.Slug, version})
}

// UnmarshalJSON reads {slug, version?, org?} or a string. It does not judge: the
// reader of the document does, and knows the place.
func (r *Ref) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), `"`) {
		*r = Ref{}
		return json.Unmarshal(raw, &r.Slug)
	}
	var o struct {
		Org     string `json:"org"`
		Slug    string `json:"slug"`
		Version any    `json:"version"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	*r = Ref{Org: o.Org, Slug: o.Slug}
	if o.Version != nil {
		r.Version = fmt.Sprint(o.Version)
	}
	return nil
}

// settle turns a reference that was decoded from a string into its parts.
func (r *Ref) settle(kind Kind) error {
	if r.Org != "" || r.Version != "" {
		return r.check(kind)
	}
	parsed, err := ParseRef(kind, r.Slug)
	if err == nil {
		*r = parsed
	}
	return err
}
