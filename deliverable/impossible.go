package deliverable

import (
	"fmt"
	"strconv"
	"strings"
)

// maxSteps bounds the search in one schema.
const maxSteps = 20_000

// impossible reports whether no value meets a schema, as far as that can be seen,
// and why. An object that requires one of its own kind inside never ends.
func (c *contradicter) impossible(at string, value any) (string, bool) {
	if value == false {
		return "its schema is false", true
	}
	s, ok := value.(map[string]any)
	if !ok {
		return "", false
	}
	switch c.steps++; {
	case c.open[at]:
		return "it contains itself without end", true
	case c.steps > maxSteps:
		return "", false // not to be seen
	}
	c.open[at] = true
	defer delete(c.open, at)
	return c.reasons(at, s)
}

func (c *contradicter) reasons(at string, s map[string]any) (string, bool) {
	own := &contradicter{told: map[string]bool{}}
	own.bounds(at, s)
	own.choices(at, s)
	if len(own.found) > 0 && (s["type"] != nil || s["enum"] != nil || s["const"] != nil || s["allOf"] != nil) {
		return own.found[0].message, true
	}
	if not, ok := s["not"]; ok && (not == true || empty(not)) {
		return "not excludes everything", true
	}
	if ref, ok := s["$ref"].(string); ok {
		if target, value, ok := c.follow(ref); ok {
			if why, never := c.impossible(target, value); never {
				return why, true
			}
		}
	}
	if all, ok := s["allOf"].([]any); ok {
		for i, item := range all {
			if why, never := c.impossible(index(at+"/allOf", i), item); never {
				return why, true
			}
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if c.noneOf(at+"/"+key, s[key]) {
			return "none of " + key + " can be met", true
		}
	}
	return c.members(at, s)
}

func empty(value any) bool {
	s, ok := value.(map[string]any)
	return ok && len(s) == 0
}

// noneOf reports whether no schema of a list can be met.
func (c *contradicter) noneOf(at string, value any) bool {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return false
	}
	for i, item := range list {
		if _, never := c.impossible(index(at, i), item); !never {
			return false
		}
	}
	return true
}

// members looks at what an object or array has to hold, where it can be nothing
// else.
func (c *contradicter) members(at string, s map[string]any) (string, bool) {
	switch s["type"] {
	case "object":
		required, _ := s["required"].([]any)
		properties, _ := s["properties"].(map[string]any)
		for _, item := range required {
			name, _ := item.(string)
			member, ok := properties[name]
			if !ok {
				if s["additionalProperties"] == false && !patterned(s, name) {
					return fmt.Sprintf("the required %q is not allowed", name), true
				}
				continue
			}
			if why, never := c.impossible(at+"/properties/"+escape(name), member); never {
				return fmt.Sprintf("in the required %q, %s", name, why), true
			}
		}
	case "array":
		prefix, _ := s["prefixItems"].([]any)
		if least, ok := s["minItems"].(float64); ok && int(least) > len(prefix) {
			if items, ok := s["items"]; ok {
				return c.impossible(at+"/items", items)
			}
		}
	}
	return "", false
}

// follow finds what a reference by pointer leads to. Anchors are not followed.
func (c *contradicter) follow(ref string) (string, any, bool) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || rest != "" && rest[0] != '/' {
		return "", nil, false
	}
	value := c.root
	if rest == "" {
		return "", value, true
	}
	for part := range strings.SplitSeq(rest[1:], "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := value.(type) {
		case map[string]any:
			value, ok = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			ok = err == nil && i >= 0 && i < len(v)
			if ok {
				value = v[i]
			}
		default:
			ok = false
		}
		if !ok {
			return "", nil, false
		}
	}
	return rest, value, true
}
