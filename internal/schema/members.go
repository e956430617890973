package schema

import (
	"maps"
	"slices"
)

func (c *check) object(v map[string]any) {
	n := c.node
	c.measure(object, float64(len(v)))
	c.need(v, n.required, "required", "")
	if c.refused() {
		return
	}
	for key, value := range v {
		if c.refused() {
			return
		}
		if c.property(key, value) && c.track {
			c.seen.key(key)
		}
	}
	if n.names != nil {
		for key := range v {
			c.name(key)
		}
	}
	for _, d := range n.dependent {
		if _, there := v[d.key]; there {
			c.apply(d.node)
			c.need(v, d.required, "dependentRequired", d.key)
		}
	}
}

// need reports the keys that are missing; because of one that is there, if any.
func (c *check) need(v map[string]any, keys []string, keyword, because string) {
	for _, key := range keys {
		if _, there := v[key]; there {
			continue
		}
		if because == "" {
			c.add(Problem{Keyword: keyword, Key: key}, "the key %q is missing", key)
		} else {
			c.add(Problem{Keyword: keyword, Key: key}, "the key %q is missing, which goes with %q", key, because)
		}
	}
}

// property checks a value under the schemas of its key; it tells if there is one.
func (c *check) property(key string, value any) bool {
	n := c.node
	at := c.at.in(key)
	sub, evaluated := n.properties[key]
	if evaluated {
		c.member(sub, value, at)
	}
	for _, p := range n.patterns {
		if p.pattern.matches(key) {
			evaluated = true
			c.member(p.node, value, at)
		}
	}
	if !evaluated && n.additional != nil {
		c.other(n.additional, key, value, at, "additionalProperties")
		return true
	}
	return evaluated
}

// other checks a value under the schema of all other keys; that is mostly false,
// for no others.
func (c *check) other(n *node, key string, value any, at *place, keyword string) {
	switch {
	case !n.never:
		c.member(n, value, at)
	case c.quiet:
		c.say(keyword, "")
	default:
		sub := check{at: at}
		sub.add(Problem{Keyword: keyword, Key: key, Allowed: slices.Sorted(maps.Keys(c.node.properties))}, "unknown key %q", key)
		c.found = append(c.found, sub.found...)
	}
}

// name checks a key under propertyNames.
func (c *check) name(key string) {
	sub := check{node: c.node.names, value: key, quiet: c.quiet}
	if sub.run(); len(sub.found) == 0 {
		return
	}
	first := sub.found[0]
	problem := check{at: c.at.in(key), quiet: c.quiet}
	problem.add(Problem{Keyword: "propertyNames", Key: key, Allowed: first.Allowed}, "the key %q is not allowed here: %s", key, first.Message)
	c.found = append(c.found, problem.found...)
}

func (c *check) array(v []any) {
	n := c.node
	c.measure(array, float64(len(v)))
	if n.unique {
		if i, j := duplicates(v); j > 0 {
			c.say("uniqueItems", "the items %d and %d are equal", i, j)
		}
	}
	for i, value := range v {
		if c.refused() {
			return
		}
		sub := n.items
		if i < len(n.prefix) {
			sub = n.prefix[i]
		}
		if sub != nil {
			c.member(sub, value, c.at.item(i))
			if c.track {
				c.seen.item(i)
			}
		}
	}
	if n.contains != nil {
		c.contains(v)
	}
}

func (c *check) contains(v []any) {
	n, matched := c.node, 0
	for i, value := range v {
		sub := check{node: n.contains, value: value, at: c.at.item(i), quiet: true}
		if sub.run(); len(sub.found) == 0 {
			matched++
			if c.track {
				c.seen.item(i)
			}
		}
	}
	switch {
	case n.few != nil && float64(matched) < *n.few:
		c.say("minContains", "want at least %s items of the wanted kind, have %d", quoted(*n.few), matched)
	case n.few == nil && matched == 0:
		c.say("contains", "no item is of the kind that is wanted")
	}
	if n.many != nil && float64(matched) > *n.many {
		c.say("maxContains", "want at most %s items of the wanted kind, have %d", quoted(*n.many), matched)
	}
}

// unevaluated checks the members that no schema has evaluated so far.
func (c *check) unevaluated() {
	n := c.node
	switch v := c.value.(type) {
	case map[string]any:
		if n.unknownKeys == nil {
			return
		}
		for key, value := range v {
			if !c.seen.all && !c.seen.keys[key] {
				c.other(n.unknownKeys, key, value, c.at.in(key), "unevaluatedProperties")
			}
		}
		c.seen.all = true
	case []any:
		if n.unknownItems == nil {
			return
		}
		for i, value := range v {
			if !c.seen.all && !c.seen.items[i] {
				c.member(n.unknownItems, value, c.at.item(i))
			}
		}
		c.seen.all = true
	}
}
