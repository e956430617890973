package schema

import (
	"fmt"
	"math"
	"strconv"
)

// check is one value under one schema.
type check struct {
	node  *node
	value any
	at    *place
	outer *check // the schema that asks this one about the same value
	quiet bool   // only whether there is a problem matters
	track bool   // somebody asks which members are evaluated
	seen  seen
	found Problems
}

// place is where a value is, from the inside out. The root is nil.
type place struct {
	parent *place
	key    string
	index  int // of an item, else -1
}

func (p *place) in(key string) *place { return &place{parent: p, key: key, index: -1} }

func (p *place) item(i int) *place { return &place{parent: p, index: i} }

// String is the JSON pointer.
func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.index >= 0:
		return p.parent.String() + "/" + strconv.Itoa(p.index)
	}
	return p.parent.String() + "/" + escape(p.key)
}

// seen are the members of a value that a schema has evaluated.
type seen struct {
	all   bool
	keys  map[string]bool
	items map[int]bool
}

func (s *seen) key(key string) {
	if s.keys == nil {
		s.keys = map[string]bool{}
	}
	s.keys[key] = true
}

func (s *seen) item(i int) {
	if s.items == nil {
		s.items = map[int]bool{}
	}
	s.items[i] = true
}

func (s *seen) merge(other seen) {
	s.all = s.all || other.all
	for key := range other.keys {
		s.key(key)
	}
	for i := range other.items {
		s.item(i)
	}
}

// run finds the problems, and what is evaluated. A value of the wrong type or
// constant has no other problem.
func (c *check) run() {
	n := c.node
	switch {
	case n.always:
		return
	case n.never:
		c.say("false", "no value is allowed here")
		return
	case c.endless():
		c.say("$ref", "the schema refers to itself without end")
		return
	case !c.typed() || !c.fixed():
		return
	}
	c.track = c.track || n.unknownKeys != nil || n.unknownItems != nil
	c.apply(n.ref)
	switch v := c.value.(type) {
	case map[string]any:
		c.object(v)
	case []any:
		c.array(v)
	case string:
		c.text(v)
	case float64:
		c.measure(number, v)
	}
	if c.refused() {
		return
	}
	c.apply(n.dynamic)
	c.logic()
	c.unevaluated()
}

// refused tells that the rest need not be looked at.
func (c *check) refused() bool { return c.quiet && len(c.found) > 0 }

func (c *check) endless() bool {
	for outer := c.outer; outer != nil; outer = outer.outer {
		if outer.node == c.node {
			return true
		}
	}
	return false
}

// say adds a problem of the value.
func (c *check) say(keyword, format string, args ...any) {
	c.add(Problem{Keyword: keyword}, format, args...)
}

func (c *check) add(p Problem, format string, args ...any) {
	if !c.quiet {
		p.Pointer = c.at.String()
		p.Message = fmt.Sprintf(format, args...)
	}
	c.found = append(c.found, p)
}

// same checks the value under another schema.
func (c *check) same(n *node, quiet bool) *check {
	sub := &check{node: n, value: c.value, at: c.at, outer: c, quiet: quiet || c.quiet, track: c.track}
	sub.run()
	return sub
}

// apply takes over what another schema says of the value.
func (c *check) apply(n *node) {
	if n == nil || c.refused() {
		return
	}
	sub := c.same(n, false)
	c.found = append(c.found, sub.found...)
	if len(sub.found) == 0 {
		c.seen.merge(sub.seen)
	}
}

// fits tells whether another schema accepts the value.
func (c *check) fits(n *node) bool {
	sub := c.same(n, true)
	if len(sub.found) > 0 {
		return false
	}
	c.seen.merge(sub.seen)
	return true
}

// member checks a member of the value.
func (c *check) member(n *node, value any, at *place) {
	sub := check{node: n, value: value, at: at, quiet: c.quiet}
	sub.run()
	c.found = append(c.found, sub.found...)
}

func (c *check) typed() bool {
	n := c.node
	have := kindOf(c.value)
	f, _ := c.value.(float64)
	if n.types == 0 || n.types&have != 0 || have == number && n.types&integer != 0 && f == math.Trunc(f) {
		return true
	}
	want := n.types.names()
	c.add(Problem{Keyword: "type", Allowed: want}, "want %s, have %s", alternatives(want), have)
	return false
}

// fixed compares the value with constants.
func (c *check) fixed() bool {
	n := c.node
	if n.constant != nil && !equal(c.value, *n.constant) {
		c.add(Problem{Keyword: "const", Allowed: []string{spell(*n.constant)}}, "want %s, have %s", quoted(*n.constant), quoted(c.value))
		return false
	}
	if n.enum == nil || contains(n.enum, c.value) {
		return true
	}
	allowed := make([]string, len(n.enum))
	for i, v := range n.enum {
		allowed[i] = spell(v)
	}
	c.add(Problem{Keyword: "enum", Allowed: allowed}, "want %s, have %s", alternatives(allowed), quoted(c.value))
	return false
}
