package schema

import (
	"fmt"
	"slices"
	"strings"
)

func (c *check) logic() {
	n := c.node
	if n.not != nil && len(c.same(n.not, true).found) == 0 {
		c.say("not", "is of a kind that is not allowed")
	}
	for _, sub := range n.allOf {
		c.apply(sub)
	}
	if !c.refused() && !c.anyOf() {
		c.union("anyOf", n.anyOf)
	}
	if !c.refused() {
		c.oneOf()
	}
	if n.when == nil || c.refused() {
		return
	}
	if c.fits(n.when) {
		c.apply(n.then)
	} else {
		c.apply(n.another)
	}
}

func (c *check) anyOf() bool {
	fits := len(c.node.anyOf) == 0
	for _, sub := range c.node.anyOf {
		if c.fits(sub) {
			fits = true
			if !c.track {
				break
			}
		}
	}
	return fits
}

func (c *check) oneOf() {
	var fitting []int
	for i, sub := range c.node.oneOf {
		if c.fits(sub) {
			fitting = append(fitting, i)
		}
		if len(fitting) > 1 {
			c.say("oneOf", "fits more than one of the alternatives: %v", fitting)
			return
		}
	}
	if len(fitting) == 0 && len(c.node.oneOf) > 0 {
		c.union("oneOf", c.node.oneOf)
	}
}

// union reports a value that fits no alternative: the problems of the only
// alternative of the right type and constants, otherwise one problem in sum.
func (c *check) union(keyword string, subs []*node) {
	if c.quiet {
		c.say(keyword, "")
		return
	}
	at := c.at.String()
	var near []Problems
	var types []string
	for _, sub := range subs {
		ps := c.same(sub, false).found.inOrder()
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
		c.found = append(c.found, near[0]...)
		return
	}
	p := Problem{Pointer: at, Keyword: keyword, Message: fmt.Sprintf("fits none of the %d alternatives", len(subs))}
	if len(near) == 0 && len(types) >= len(subs) {
		slices.Sort(types)
		p.Allowed = slices.Compact(types)
		p.Message += ": want " + alternatives(p.Allowed)
	}
	c.found = append(c.found, p)
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
