package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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

// lint finds what the library would ignore or go out for. It trusts no shape: a
// value of the wrong type is left to the library.
func lint(document any) Problems {
	var ps Problems
	var walk func(node any, pointer string)
	walk = func(node any, pointer string) {
		object, ok := node.(map[string]any)
		if !ok {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			at, value := pointer+"/"+escape(key), object[key]
			switch keywords[key] {
			case plain:
				if p := lintPlain(key, value, pointer == ""); p != "" {
					ps = append(ps, Problem{Pointer: at, Keyword: key, Message: p})
				}
			case reference:
				if ref, ok := value.(string); ok && !strings.HasPrefix(ref, "#") {
					ps = append(ps, Problem{Pointer: at, Keyword: key, Message: fmt.Sprintf("%q is outside the schema; put it under $defs and write #/$defs/NAME", ref)})
				}
			case one:
				walk(value, at)
			case list:
				items, _ := value.([]any)
				for i, item := range items {
					walk(item, fmt.Sprintf("%s/%d", at, i))
				}
			case dict:
				members, _ := value.(map[string]any)
				for _, name := range slices.Sorted(maps.Keys(members)) {
					walk(members[name], at+"/"+escape(name))
				}
			default:
				ps = append(ps, Problem{Pointer: at, Keyword: "additionalProperties", Key: key, Message: fmt.Sprintf("unknown keyword %q", key), Allowed: slices.Sorted(maps.Keys(keywords))})
			}
		}
	}
	walk(document, "")
	return ps
}

func lintPlain(key string, value any, root bool) string {
	switch key {
	case "$schema":
		if s, ok := value.(string); ok && strings.TrimSuffix(s, "#") != draft {
			return "only draft 2020-12 is supported: " + draft
		}
	case "$id":
		if !root {
			return "$id is only possible at the root; use $anchor"
		}
	}
	return ""
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func escape(segment string) string { return pointerEscaper.Replace(segment) }

func pointerOf(path []string) string {
	var b strings.Builder
	for _, segment := range path {
		b.WriteString("/" + escape(segment))
	}
	return b.String()
}
