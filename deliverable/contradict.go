package deliverable

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/schema"
)

// contradiction is a place of a schema that no value can meet.
type contradiction struct{ pointer, message string }

// contradictions finds what can be seen without solving: bounds that cross, empty
// choices, required members that are not allowed, types that exclude each other,
// and values that the schema itself refuses. It trusts that the
// schema compiles; compiled may be nil.
func contradictions(raw json.RawMessage, compiled *schema.Schema) []contradiction {
	var root any
	if json.Unmarshal(raw, &root) != nil {
		return nil
	}
	c := &contradicter{root: root, open: map[string]bool{}, told: map[string]bool{}}
	c.walk("", root)
	if len(c.found) == 0 {
		if why, never := c.impossible("", root); never {
			c.say("", "", "no value meets the schema: %s", why)
		}
	}
	if compiled != nil {
		c.examples(compiled)
	}
	slices.SortFunc(c.found, func(a, b contradiction) int { return strings.Compare(a.pointer+a.message, b.pointer+b.message) })
	return c.found
}

type contradicter struct {
	root  any
	open  map[string]bool // pointers of schemas that impossible is looking at
	steps int
	told  map[string]bool
	found []contradiction
}

func (c *contradicter) say(at, keyword, format string, args ...any) {
	if keyword != "" {
		at += "/" + keyword
	}
	message := fmt.Sprintf(format, args...)
	if !c.told[at+message] {
		c.told[at+message] = true
		c.found = append(c.found, contradiction{at, message})
	}
}

// inside are the keywords that hold schemas which a value has to meet, or may
// have to. What stands in not and if may well be impossible.
var (
	insideOne  = []string{"items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "then", "else"}
	insideList = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	insideDict = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// walk says what contradicts itself in each schema.
func (c *contradicter) walk(at string, value any) {
	s, ok := value.(map[string]any)
	if !ok {
		return
	}
	c.bounds(at, s)
	c.choices(at, s)
	c.required(at, s)
	for _, key := range insideOne {
		c.walk(at+"/"+key, s[key])
	}
	for _, key := range insideList {
		list, _ := s[key].([]any)
		for i, item := range list {
			c.walk(index(at+"/"+key, i), item)
		}
	}
	for _, key := range insideDict {
		members, _ := s[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			c.walk(at+"/"+key+"/"+escape(name), members[name])
		}
	}
}

// bounds finds bounds that cross.
func (c *contradicter) bounds(at string, s map[string]any) {
	for _, b := range [...]struct {
		low, high string
		strict    bool // equal is too much as well
	}{
		{"minimum", "maximum", false}, {"exclusiveMinimum", "maximum", true}, {"minimum", "exclusiveMaximum", true}, {"exclusiveMinimum", "exclusiveMaximum", true},
		{"minLength", "maxLength", false}, {"minItems", "maxItems", false}, {"minProperties", "maxProperties", false}, {"minContains", "maxContains", false},
	} {
		low, hasLow := s[b.low].(float64)
		high, hasHigh := s[b.high].(float64)
		if hasLow && hasHigh && (low > high || b.strict && low == high) {
			c.say(at, b.low, "%s %v and %s %v exclude each other", b.low, low, b.high, high)
		}
	}
	required, _ := s["required"].([]any)
	if most, ok := s["maxProperties"].(float64); ok && float64(len(required)) > most {
		c.say(at, "maxProperties", "%d members are required, maxProperties is %v", len(required), most)
	}
	prefix, _ := s["prefixItems"].([]any)
	if least, ok := s["minItems"].(float64); ok && s["items"] == false && least > float64(len(prefix)) {
		c.say(at, "minItems", "minItems is %v, but only %d items are allowed", least, len(prefix))
	}
}

// choices finds lists of values and types that are empty or exclude each other.
func (c *contradicter) choices(at string, s map[string]any) {
	if enum, ok := s["enum"].([]any); ok {
		if len(enum) == 0 {
			c.say(at, "enum", "enum is empty")
		} else if types := typesOf(s); types != nil && !slices.ContainsFunc(enum, func(v any) bool { return fits(v, types) }) {
			c.say(at, "enum", "no value of enum is of type %s", strings.Join(types, " or "))
		}
	}
	if constant, ok := s["const"]; ok {
		if types := typesOf(s); types != nil && !fits(constant, types) {
			c.say(at, "const", "const is not of type %s", strings.Join(types, " or "))
		}
	}
	all, _ := s["allOf"].([]any)
	types := typesOf(s)
	for i, item := range all {
		other := typesOf(item)
		switch {
		case other == nil:
		case types == nil:
			types = other
		case !overlap(types, other):
			c.say(at, "allOf", "a value cannot be %s and %s (allOf/%d)", strings.Join(types, " or "), strings.Join(other, " or "), i)
		}
	}
}

// required finds members that are required and not allowed.
func (c *contradicter) required(at string, s map[string]any) {
	if types := typesOf(s); types != nil && !slices.Contains(types, "object") {
		return
	}
	required, _ := s["required"].([]any)
	properties, _ := s["properties"].(map[string]any)
	for i, item := range required {
		name, _ := item.(string)
		if member, ok := properties[name]; ok {
			if why, never := c.impossible(at+"/properties/"+escape(name), member); never {
				c.say(at, "required/"+fmt.Sprint(i), "%q is required, and no value is allowed for it: %s", name, why)
			}
			continue
		}
		if s["additionalProperties"] == false && !patterned(s, name) {
			c.say(at, "required/"+fmt.Sprint(i), "%q is required, but properties does not have it and additionalProperties is false", name)
		}
	}
}

// examples finds const and enum values that the whole schema refuses, where the
// root is such a list.
func (c *contradicter) examples(compiled *schema.Schema) {
	root, _ := c.root.(map[string]any)
	values, _ := root["enum"].([]any)
	if constant, ok := root["const"]; ok {
		values = append(values, constant)
	}
	if len(values) == 0 || len(c.found) > 0 {
		return
	}
	if !slices.ContainsFunc(values, func(v any) bool { return len(compiled.Validate(v)) == 0 }) {
		c.say("", "", "the schema refuses every value that it lists itself")
	}
}

// patterned reports whether patternProperties allows a name.
func patterned(s map[string]any, name string) bool {
	patterns, _ := s["patternProperties"].(map[string]any)
	for source := range patterns {
		if re, err := regexp.Compile(source); err == nil && re.MatchString(name) {
			return true
		}
	}
	return false
}

// typesOf are the types that a schema allows, nil for all.
func typesOf(value any) []string {
	s, _ := value.(map[string]any)
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []any:
		out := []string{}
		for _, one := range t {
			if name, ok := one.(string); ok {
				out = append(out, name)
			}
		}
		return out
	}
	return nil
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(t string) bool {
		return slices.Contains(b, t) || t == "integer" && slices.Contains(b, "number") || t == "number" && slices.Contains(b, "integer")
	})
}

func fits(v any, types []string) bool {
	var kind string
	switch v := v.(type) {
	case nil:
		kind = "null"
	case bool:
		kind = "boolean"
	case string:
		kind = "string"
	case []any:
		kind = "array"
	case map[string]any:
		kind = "object"
	case float64:
		if v == float64(int64(v)) && slices.Contains(types, "integer") {
			return true
		}
		kind = "number"
	}
	return slices.Contains(types, kind)
}

func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
