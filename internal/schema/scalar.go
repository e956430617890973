package schema

import (
	"hash/maphash"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"
)

// kind is a set of the types of values.
type kind uint8

const (
	null kind = 1 << iota
	boolean
	number
	integer
	str
	array
	object
)

var kinds = map[string]kind{"null": null, "boolean": boolean, "number": number, "integer": integer, "string": str, "array": array, "object": object}

// names are those of the set, in the order of the constants.
func (k kind) names() []string {
	var names []string
	for i, name := range [...]string{"null", "boolean", "number", "integer", "string", "array", "object"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String names one or many types.
func (k kind) String() string { return alternatives(k.names()) }

// kindOf is the type of a decoded value, and 0 for what is none.
func kindOf(value any) kind {
	switch value.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case float64:
		return number
	case string:
		return str
	case []any:
		return array
	case map[string]any:
		return object
	}
	return 0
}

// bound is a limit of a number, a length or a count.
type bound struct {
	keyword string
	of      kind
	want    float64
	holds   func(have, want float64) bool
	words   string // with the limit and what is there
}

var bounds = []bound{
	{keyword: "minLength", of: str, holds: atLeast, words: "want at least %s characters, have %s"},
	{keyword: "maxLength", of: str, holds: atMost, words: "want at most %s characters, have %s"},
	{keyword: "minItems", of: array, holds: atLeast, words: "want at least %s items, have %s"},
	{keyword: "maxItems", of: array, holds: atMost, words: "want at most %s items, have %s"},
	{keyword: "minProperties", of: object, holds: atLeast, words: "want at least %s keys, have %s"},
	{keyword: "maxProperties", of: object, holds: atMost, words: "want at most %s keys, have %s"},
	{keyword: "minimum", of: number, holds: atLeast, words: "want at least %s, have %s"},
	{keyword: "maximum", of: number, holds: atMost, words: "want at most %s, have %s"},
	{keyword: "exclusiveMinimum", of: number, holds: func(have, want float64) bool { return have > want }, words: "want more than %s, have %s"},
	{keyword: "exclusiveMaximum", of: number, holds: func(have, want float64) bool { return have < want }, words: "want less than %s, have %s"},
	{keyword: "multipleOf", of: number, holds: multiple, words: "want a multiple of %s, have %s"},
}

func atLeast(have, want float64) bool { return have >= want }

func atMost(have, want float64) bool { return have <= want }

// multiple computes with the decimals that are written, so that 0.3 is a multiple
// of 0.1.
func multiple(have, want float64) bool {
	if have == math.Trunc(have) && want == math.Trunc(want) && math.Abs(have) < 1<<53 && want < 1<<53 {
		return math.Mod(have, want) == 0
	}
	return new(big.Rat).Quo(fraction(have), fraction(want)).IsInt()
}

func fraction(f float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return r
}

// measure checks the bounds of one kind.
func (c *check) measure(of kind, have float64) {
	for _, b := range c.node.bounds {
		if b.of == of && !b.holds(have, b.want) {
			c.say(b.keyword, b.words, quoted(b.want), quoted(have))
		}
	}
}

func (c *check) text(v string) {
	c.measure(str, float64(utf8.RuneCountInString(v)))
	if pattern := c.node.pattern; pattern != nil && !pattern.matches(v) {
		c.say("pattern", "%s does not match %s", quoted(v), pattern())
	}
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	return kindOf(a) == kindOf(b) && a == b
}

func contains(values []any, value any) bool {
	return slices.ContainsFunc(values, func(v any) bool { return equal(v, value) })
}

// duplicates gives the first two items that are equal; 0, 0 when there are none.
func duplicates(values []any) (first, second int) {
	if len(values) < 2 {
		return 0, 0
	}
	seed := maphash.MakeSeed()
	alike := make(map[uint64][]int, len(values))
	for j, value := range values {
		var h maphash.Hash
		h.SetSeed(seed)
		digest(&h, value)
		sum := h.Sum64()
		for _, i := range alike[sum] {
			if equal(values[i], value) {
				return i, j
			}
		}
		alike[sum] = append(alike[sum], j)
	}
	return 0, 0
}

// digest writes what equal values have in common.
func digest(h *maphash.Hash, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			_, _ = h.WriteString(key)
			digest(h, v[key])
		}
	case []any:
		for _, item := range v {
			digest(h, item)
		}
	case float64:
		maphash.WriteComparable(h, v)
	case string:
		_, _ = h.WriteString(v)
	case bool:
		maphash.WriteComparable(h, v)
	}
	_ = h.WriteByte(byte(kindOf(value)))
}
