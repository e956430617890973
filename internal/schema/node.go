package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node is a compiled schema. A member that is not there is nil or empty.
type node struct {
	always, never bool // the schema is true, or false
	types         kind
	enum          []any // nil without the keyword
	constant      *any
	bounds        []bound
	pattern       pattern
	ref, dynamic  *node

	properties    map[string]*node
	patterns      []patterned
	additional    *node
	names         *node
	required      []string
	dependent     []dependency
	unknownKeys   *node // unevaluatedProperties
	prefix        []*node
	items         *node
	contains      *node
	few, many     *float64 // minContains, maxContains
	unique        bool
	unknownItems  *node // unevaluatedItems
	allOf, anyOf  []*node
	oneOf         []*node
	not           *node
	when          *node // if
	then, another *node
}

type patterned struct {
	pattern pattern
	node    *node
}

// dependency is what an object needs that has the key.
type dependency struct {
	key      string
	node     *node    // dependentSchemas
	required []string // dependentRequired
}

// builder makes nodes of a document that was surveyed. A schema that nothing
// leads to is not built.
type builder struct {
	*survey
	document any
	meta     *Schema          // of schemas; nil for that one itself
	nodes    map[string]*node // by pointer
}

// node builds the schema at a pointer, once.
func (b *builder) node(pointer string, value any) *node {
	if n := b.nodes[pointer]; n != nil {
		return n
	}
	n := &node{}
	b.nodes[pointer] = n
	switch v := value.(type) {
	case bool:
		n.always, n.never = v, !v
	case map[string]any:
		b.assertions(n, v)
		b.applicators(n, v, pointer)
		n.ref, n.dynamic = b.reference(v, pointer, "$ref"), b.reference(v, pointer, "$dynamicRef")
	}
	return n
}

func (b *builder) assertions(n *node, object map[string]any) {
	switch t := object["type"].(type) {
	case string:
		n.types = kinds[t]
	case []any:
		for _, name := range texts(t) {
			n.types |= kinds[name]
		}
	}
	if values, ok := object["enum"].([]any); ok {
		n.enum = values
	}
	if value, ok := object["const"]; ok {
		n.constant = &value
	}
	for _, bound := range bounds {
		if want, ok := object[bound.keyword].(float64); ok {
			bound.want = want
			n.bounds = append(n.bounds, bound)
		}
	}
	if source, ok := object["pattern"].(string); ok {
		n.pattern = b.patterns[source]
	}
	n.required = texts(object["required"])
	n.unique, _ = object["uniqueItems"].(bool)
	n.few, n.many = count(object["minContains"]), count(object["maxContains"])
	needs, _ := object["dependentRequired"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(needs)) {
		n.dependent = append(n.dependent, dependency{key: key, required: texts(needs[key])})
	}
}

func (b *builder) applicators(n *node, object map[string]any, pointer string) {
	one := func(keyword string) *node {
		if value, ok := object[keyword]; ok {
			return b.node(pointer+"/"+keyword, value)
		}
		return nil
	}
	list := func(keyword string) []*node {
		values, _ := object[keyword].([]any)
		if len(values) == 0 {
			return nil
		}
		nodes := make([]*node, len(values))
		for i, value := range values {
			nodes[i] = b.node(pointer+"/"+keyword+"/"+strconv.Itoa(i), value)
		}
		return nodes
	}
	dict := func(keyword string) map[string]*node {
		values, _ := object[keyword].(map[string]any)
		if len(values) == 0 {
			return nil
		}
		nodes := make(map[string]*node, len(values))
		for key, value := range values {
			nodes[key] = b.node(pointer+"/"+keyword+"/"+escape(key), value)
		}
		return nodes
	}
	n.properties, n.additional, n.names = dict("properties"), one("additionalProperties"), one("propertyNames")
	patterns := dict("patternProperties")
	for _, source := range slices.Sorted(maps.Keys(patterns)) {
		n.patterns = append(n.patterns, patterned{pattern: b.patterns[source], node: patterns[source]})
	}
	needs := dict("dependentSchemas")
	for _, key := range slices.Sorted(maps.Keys(needs)) {
		n.dependent = append(n.dependent, dependency{key: key, node: needs[key]})
	}
	n.prefix, n.items, n.contains = list("prefixItems"), one("items"), one("contains")
	n.allOf, n.anyOf, n.oneOf, n.not = list("allOf"), list("anyOf"), list("oneOf"), one("not")
	if n.when = one("if"); n.when != nil {
		n.then, n.another = one("then"), one("else")
	}
	n.unknownKeys, n.unknownItems = one("unevaluatedProperties"), one("unevaluatedItems")
}

// reference builds what a reference leads to. All of a document is one resource,
// so that a dynamic reference has but one target, as any other.
func (b *builder) reference(object map[string]any, pointer, keyword string) *node {
	ref, ok := object[keyword].(string)
	if !ok || !strings.HasPrefix(ref, "#") { // the survey complains of others
		return nil
	}
	target, value, ok := b.resolve(b.document, ref)
	if !ok {
		b.complain(pointer+"/"+keyword, keyword, "%q leads nowhere in the schema", ref)
		return nil
	}
	if !b.schemas[target] { // not where a keyword has a schema
		b.visit(value, target)
	}
	return b.node(target, value)
}

// visit surveys what is used as a schema, and checks its shape.
func (b *builder) visit(value any, pointer string) {
	b.walk(value, pointer)
	if b.meta == nil {
		return
	}
	for _, p := range b.meta.validate(value) {
		p.Pointer = pointer + p.Pointer
		b.complaints = append(b.complaints, p)
	}
}

func texts(value any) []string {
	var all []string
	values, _ := value.([]any)
	for _, v := range values {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

func count(value any) *float64 {
	if f, ok := value.(float64); ok {
		return &f
	}
	return nil
}
