package schema

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// shape says what a keyword's value holds.
type shape int

const (
	plain     shape = iota + 1 // no schema inside
	one                        // a schema
	list                       // an array of schemas
	dict                       // an object of schemas
	reference                  // a reference
)

// keywords are those of draft 2020-12.
var keywords = map[string]shape{
	"$schema": plain, "$id": plain, "$anchor": plain, "$dynamicAnchor": plain, "$comment": plain, "$ref": reference, "$dynamicRef": reference, "$defs": dict, "definitions": dict,
	"type": plain, "enum": plain, "const": plain, "title": plain, "description": plain, "default": plain, "deprecated": plain, "readOnly": plain, "writeOnly": plain, "examples": plain,
	"multipleOf": plain, "maximum": plain, "exclusiveMaximum": plain, "minimum": plain, "exclusiveMinimum": plain,
	"maxLength": plain, "minLength": plain, "pattern": plain, "format": plain, "contentEncoding": plain, "contentMediaType": plain, "contentSchema": one,
	"items": one, "prefixItems": list, "contains": one, "maxContains": plain, "minContains": plain, "maxItems": plain, "minItems": plain, "uniqueItems": plain, "unevaluatedItems": one,
	"properties": dict, "patternProperties": dict, "additionalProperties": one, "propertyNames": one, "unevaluatedProperties": one, "maxProperties": plain, "minProperties": plain,
	"required": plain, "dependentRequired": plain, "dependentSchemas": dict,
	"allOf": list, "anyOf": list, "oneOf": list, "not": one, "if": one, "then": one, "else": one,
}

// draft is the only value of $schema that is accepted.
const draft = "https://json-schema.org/draft/2020-12/schema"

// survey is what a walk through all schemas of a document finds.
type survey struct {
	complaints Problems
	schemas    map[string]bool    // the pointers of schemas
	anchors    map[string]string  // the pointers of what has an anchor
	patterns   map[string]pattern // by source
}

func (s *survey) complain(at, keyword, format string, args ...any) {
	s.complaints = append(s.complaints, Problem{Pointer: at, Keyword: keyword, Message: fmt.Sprintf(format, args...)})
}

// walk surveys a schema and all in it. It trusts no shape: a value of the wrong
// type is left to the schema of schemas.
func (s *survey) walk(value any, pointer string) {
	if s.schemas[pointer] {
		return
	}
	s.schemas[pointer] = true
	object, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at, value := pointer+"/"+escape(key), object[key]
		switch keywords[key] {
		case plain:
			s.plain(key, value, at)
		case reference:
			if ref, ok := value.(string); ok && !strings.HasPrefix(ref, "#") {
				s.complain(at, key, "%q is outside the schema; put it under $defs and write #/$defs/NAME", ref)
			}
		case one:
			s.walk(value, at)
		case list:
			items, _ := value.([]any)
			for i, item := range items {
				s.walk(item, at+"/"+strconv.Itoa(i))
			}
		case dict:
			members, _ := value.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(members)) {
				if key == "patternProperties" {
					s.pattern(name, key, at+"/"+escape(name))
				}
				s.walk(members[name], at+"/"+escape(name))
			}
		default:
			s.complaints = append(s.complaints, Problem{Pointer: at, Keyword: "additionalProperties", Key: key, Message: fmt.Sprintf("unknown keyword %q", key), Allowed: slices.Sorted(maps.Keys(keywords))})
		}
	}
}

func (s *survey) plain(key string, value any, at string) {
	text, ok := value.(string)
	if !ok {
		return
	}
	owner := strings.TrimSuffix(at, "/"+key)
	switch key {
	case "$schema":
		if strings.TrimSuffix(text, "#") != draft {
			s.complain(at, key, "only draft 2020-12 is supported: %s", draft)
		}
	case "$id":
		if owner != "" {
			s.complain(at, key, "$id is only possible at the root; use $anchor")
		} else if _, err := url.Parse(text); err != nil {
			s.complain(at, key, "%q is not a URI", text)
		}
	case "$anchor", "$dynamicAnchor":
		if other, ok := s.anchors[text]; ok && other != owner {
			s.complain(at, key, "the anchor %q is already at %q", text, other)
		}
		s.anchors[text] = owner
	case "pattern":
		s.pattern(text, key, at)
	}
}

// pattern is an expression that is compiled when it is first needed.
type pattern func() *regexp.Regexp

func (p pattern) matches(text string) bool { return p().MatchString(text) }

func (s *survey) pattern(source, keyword, at string) {
	if s.patterns[source] != nil {
		return
	}
	if _, err := syntax.Parse(source, syntax.Perl); err != nil {
		s.complain(at, keyword, "%s is not a valid regex: %v", quoted(source), err)
		return
	}
	s.patterns[source] = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })
}

// resolve finds what a reference leads to, and its pointer.
func (s *survey) resolve(document any, ref string) (string, any, bool) {
	target, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return "", nil, false
	}
	if target != "" && target[0] != '/' {
		anchored, ok := s.anchors[target]
		if !ok {
			return "", nil, false
		}
		target = anchored
	}
	var clean strings.Builder
	for segment := range strings.SplitSeq(strings.TrimPrefix(target, "/"), "/") {
		if target == "" {
			break
		}
		segment = unescaper.Replace(segment)
		switch v := document.(type) {
		case map[string]any:
			value, ok := v[segment]
			if !ok {
				return "", nil, false
			}
			document = value
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(v) {
				return "", nil, false
			}
			document, segment = v[i], strconv.Itoa(i)
		default:
			return "", nil, false
		}
		clean.WriteString("/" + escape(segment))
	}
	return clean.String(), document, true
}

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func escape(segment string) string { return escaper.Replace(segment) }
