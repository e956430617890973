// Package expr computes with a run's values where a definition asks for it.
//
// Holds: the expression language of conditions, interpolation of {{...}} tokens
// in parameters, and captures by pattern, each in the two levels that belong to
// the two formats of definitions.
//
// Guarantees: parsing finds every mistake that does not depend on values;
// evaluation always ends, has no effect, and gives the same result for the same
// values; values are read from a Scope only when they are needed.
//
// Does not: know where values come from, or which names exist. Paths and Tokens
// list what is used, so that a reader of definitions can judge it.
package expr

// Levels of the language. Level 2 is a superset.
const (
	Level1 = 1 // definitions of format 1
	Level2 = 2 // definitions of format 2
)

// Limits of one expression.
const (
	MaxChars   = 4096 // characters
	MaxTokens  = 512
	MaxNesting = 32
)

// Scope gives values by name. Root is "vars", "outputs" and so on, without the
// dollar sign; path is what follows, perhaps nothing. ok is false where nothing
// is there, which is not the same as null. Values are those that encoding/json
// decodes, or a json.RawMessage; other values are marshalled first.
type Scope interface {
	Lookup(root string, path []string) (value any, ok bool, err error)
}

// Values is a Scope over values at hand, by root.
type Values map[string]any

// Lookup finds a value with Walk.
func (vs Values) Lookup(root string, path []string) (any, bool, error) {
	v, ok := vs[root]
	if !ok {
		return nil, false, nil
	}
	v, ok = Walk(v, path)
	return v, ok, nil
}
