package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// report turns the library's tree of errors into problems.
type report struct {
	document any // the schema, to look up which keys are allowed; may be nil
}

func (r report) problems(verr *jsonschema.ValidationError) Problems {
	ps := r.collect(verr)
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Keyword, b.Keyword), strings.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool { return a.Pointer == b.Pointer && a.Message == b.Message })
}

func (r report) collect(verr *jsonschema.ValidationError) Problems {
	at := pointerOf(verr.InstanceLocation)
	switch k := verr.ErrorKind.(type) {
	case *kind.AnyOf:
		return r.union(verr, at, "anyOf")
	case *kind.OneOf:
		if len(verr.Causes) > 0 {
			return r.union(verr, at, "oneOf")
		}
		return Problems{{Pointer: at, Keyword: "oneOf", Message: fmt.Sprintf("fits more than one of the alternatives: %v", k.Subschemas)}}
	case *kind.AdditionalProperties:
		return r.additional(verr, at, k.Properties)
	case *kind.FalseSchema:
		return r.forbidden(verr, at)
	case *kind.PropertyNames:
		ps := Problems{{Pointer: at + "/" + escape(k.Property), Keyword: "propertyNames", Key: k.Property, Message: fmt.Sprintf("the key %q is not allowed here", k.Property)}}
		if inner := r.causes(verr); len(inner) > 0 {
			ps[0].Message += ": " + inner[0].Message
			ps[0].Allowed = inner[0].Allowed
		}
		return ps
	case *kind.Required:
		return missing(at, "required", k.Missing, "")
	case *kind.DependentRequired:
		return missing(at, "dependentRequired", k.Missing, fmt.Sprintf(", which goes with %q", k.Prop))
	}
	if len(verr.Causes) > 0 && !counts(verr.ErrorKind) {
		return r.causes(verr)
	}
	p := leaf(verr.ErrorKind)
	p.Pointer = at
	return Problems{p}
}

// counts tells a problem whose causes, one an item, say less than it does.
func counts(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		return true
	}
	return false
}

func (r report) causes(verr *jsonschema.ValidationError) Problems {
	var ps Problems
	for _, cause := range verr.Causes {
		ps = append(ps, r.collect(cause)...)
	}
	return ps
}

func missing(at, keyword string, keys []string, why string) Problems {
	ps := make(Problems, len(keys))
	for i, key := range keys {
		ps[i] = Problem{Pointer: at, Keyword: keyword, Key: key, Message: fmt.Sprintf("the key %q is missing%s", key, why)}
	}
	return ps
}

func (r report) additional(verr *jsonschema.ValidationError, at string, keys []string) Problems {
	allowed := r.allowedKeys(fragment(verr.SchemaURL))
	ps := make(Problems, len(keys))
	for i, key := range keys {
		ps[i] = Problem{Pointer: at + "/" + escape(key), Keyword: "additionalProperties", Key: key, Allowed: allowed, Message: fmt.Sprintf("unknown key %q", key)}
	}
	return ps
}

// forbidden reports a value whose schema is false; mostly an unevaluated key.
func (r report) forbidden(verr *jsonschema.ValidationError, at string) Problems {
	pointer := fragment(verr.SchemaURL)
	if parent, ok := strings.CutSuffix(pointer, "/unevaluatedProperties"); ok && len(verr.InstanceLocation) > 0 {
		key := verr.InstanceLocation[len(verr.InstanceLocation)-1]
		return Problems{{Pointer: at, Keyword: "unevaluatedProperties", Key: key, Allowed: r.allowedKeys(parent), Message: fmt.Sprintf("unknown key %q", key)}}
	}
	return Problems{{Pointer: at, Keyword: "false", Message: "no value is allowed here"}}
}

// union reports a value that fits no alternative: the problems of the only
// alternative of the right type and constants, otherwise one problem in sum.
func (r report) union(verr *jsonschema.ValidationError, at, keyword string) Problems {
	var near []Problems
	var types []string
	for _, cause := range verr.Causes {
		ps := r.problems(cause)
		if !slices.ContainsFunc(ps, func(p Problem) bool { return mismatch(p, at) }) {
			near = append(near, ps)
		}
		for _, p := range ps {
			if p.Pointer == at && p.Keyword == "type" {
				types = append(types, p.Allowed...)
			}
		}
	}
	if len(near) == 1 {
		return near[0]
	}
	p := Problem{Pointer: at, Keyword: keyword, Message: fmt.Sprintf("fits none of the %d alternatives", len(verr.Causes))}
	if len(near) == 0 && len(types) >= len(verr.Causes) {
		slices.Sort(types)
		p.Allowed = slices.Compact(types)
		p.Message += ": want " + alternatives(p.Allowed)
	}
	return Problems{p}
}

// mismatch tells that a problem rules an alternative out: another type, or another
// constant one level below, which is how alternatives are told apart.
func mismatch(p Problem, at string) bool {
	switch p.Keyword {
	case "type":
		return p.Pointer == at
	case "const", "enum":
		return p.Pointer == at || strings.Count(p.Pointer, "/") == strings.Count(at, "/")+1
	}
	return false
}

// leaf words a problem that stands for itself.
func leaf(k jsonschema.ErrorKind) Problem {
	p := Problem{}
	if path := k.KeywordPath(); len(path) > 0 {
		p.Keyword = path[0]
	}
	switch k := k.(type) {
	case *kind.Type:
		p.Allowed = k.Want
		p.Message = fmt.Sprintf("want %s, have %s", alternatives(k.Want), k.Got)
	case *kind.Enum:
		for _, v := range k.Want {
			p.Allowed = append(p.Allowed, spell(v))
		}
		p.Message = fmt.Sprintf("want %s, have %s", alternatives(p.Allowed), quoted(k.Got))
	case *kind.Const:
		p.Allowed = []string{spell(k.Want)}
		p.Message = fmt.Sprintf("want %s, have %s", quoted(k.Want), quoted(k.Got))
	case *kind.Pattern:
		p.Message = fmt.Sprintf("%s does not match %s", quoted(k.Got), k.Want)
	case *kind.Format: // only of patterns in a schema: formats are not asserted
		p.Message = fmt.Sprintf("%s is not a valid %s: %v", quoted(k.Got), k.Want, k.Err)
	case *kind.RefCycle:
		p.Keyword, p.Message = "$ref", "the schema refers to itself without end"
	case *kind.UniqueItems:
		p.Message = fmt.Sprintf("the items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		p.Message = "no item is of the kind that is wanted"
	case *kind.Not:
		p.Keyword = "not"
		p.Message = "is of a kind that is not allowed"
	default:
		p.Message = measure(k)
	}
	return p
}

// measure words bounds of lengths, counts and numbers.
func measure(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("want at least %d characters, have %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("want at most %d characters, have %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("want at least %d items, have %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("want at most %d items, have %d", k.Want, k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("want at least %d keys, have %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("want at most %d keys, have %d", k.Want, k.Got)
	case *kind.Minimum:
		return fmt.Sprintf("want at least %s, have %s", decimal(k.Want), decimal(k.Got))
	case *kind.Maximum:
		return fmt.Sprintf("want at most %s, have %s", decimal(k.Want), decimal(k.Got))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("want more than %s, have %s", decimal(k.Want), decimal(k.Got))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("want less than %s, have %s", decimal(k.Want), decimal(k.Got))
	case *kind.MultipleOf:
		return fmt.Sprintf("want a multiple of %s, have %s", decimal(k.Want), decimal(k.Got))
	case *kind.MinContains:
		return fmt.Sprintf("want at least %d items of the wanted kind, have %d", k.Want, len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("want at most %d items of the wanted kind, have %d", k.Want, len(k.Got))
	}
	return fmt.Sprintf("does not fit (%s)", strings.TrimPrefix(fmt.Sprintf("%T", k), "*kind."))
}

// allowedKeys lists the keys of the properties at a pointer into the schema.
func (r report) allowedKeys(pointer string) []string {
	node := r.document
	for segment := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if segment == "" {
			continue
		}
		segment = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		switch v := node.(type) {
		case map[string]any:
			node = v[segment]
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			node = v[i]
		}
	}
	object, _ := node.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// fragment is the JSON pointer in a schema location.
func fragment(location string) string {
	_, pointer, _ := strings.Cut(location, "#")
	if plain, err := url.PathUnescape(pointer); err == nil {
		return plain
	}
	return pointer
}

// maxSpelled is how much of a value a message shows, in characters.
const maxSpelled = 60

// spell gives a value as a person would type it: strings bare, the rest as JSON.
func spell(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return quoted(v)
}

func quoted(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if runes := []rune(string(raw)); len(runes) > maxSpelled {
		return string(runes[:maxSpelled]) + "…"
	}
	return string(raw)
}

func decimal(r interface{ Float64() (float64, bool) }) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
