package expr

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// node is a part of an expression.
type node interface {
	eval(Scope) (any, error)
}

type literal struct{ value any }

func (n literal) eval(Scope) (any, error) { return n.value, nil }

func (p *Path) eval(scope Scope) (any, error) {
	v, ok, err := scope.Lookup(p.Root, p.Segments)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p, err)
	}
	if !ok {
		return Undefined, nil
	}
	return normal(v), nil
}

type not struct{ x node }

func (n *not) eval(scope Scope) (any, error) {
	v, err := n.x.eval(scope)
	if err != nil {
		return nil, err
	}
	return !Truth(v), nil
}

type negative struct {
	x      node
	column int
}

func (n *negative) eval(scope Scope) (any, error) {
	v, err := n.x.eval(scope)
	if err != nil {
		return nil, err
	}
	f, ok := v.(float64)
	if !ok {
		return nil, arithmeticError(n.column, "-", v)
	}
	return -f, nil
}

type binary struct {
	op          string
	left, right node
	column      int
}

func (n *binary) eval(scope Scope) (any, error) {
	left, err := n.left.eval(scope)
	if err != nil {
		return nil, err
	}
	switch {
	case n.op == "||" && Truth(left):
		return true, nil
	case n.op == "&&" && !Truth(left):
		return false, nil
	}
	right, err := n.right.eval(scope)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "||", "&&":
		return Truth(right), nil
	case "==":
		return identical(left, right), nil
	case "!=":
		return !identical(left, right), nil
	case "<", "<=", ">", ">=":
		return ordered(n.op, left, right), nil
	}
	return n.compute(left, right)
}

// ordered compares two numbers or two strings; others have no order.
func ordered(op string, left, right any) bool {
	var c int
	switch a := left.(type) {
	case float64:
		b, ok := right.(float64)
		if !ok {
			return false
		}
		c = compare(a < b, a > b)
	case string:
		b, ok := right.(string)
		if !ok {
			return false
		}
		c = strings.Compare(a, b)
	default:
		return false
	}
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func compare(less, greater bool) int {
	switch {
	case less:
		return -1
	case greater:
		return 1
	}
	return 0
}

// maxSafe bounds the whole numbers that a double counts one by one.
const maxSafe = 1 << 53

func (n *binary) compute(left, right any) (any, error) {
	a, ok := left.(float64)
	if !ok {
		return nil, arithmeticError(n.column, n.op, left)
	}
	b, ok := right.(float64)
	if !ok {
		return nil, arithmeticError(n.column, n.op, right)
	}
	var result float64
	switch n.op {
	case "+":
		result = a + b
	case "-":
		result = a - b
	case "*":
		result = a * b
	case "/":
		result = a / b
	case "%":
		result = math.Mod(a, b)
	}
	whole := a == math.Trunc(a) && b == math.Trunc(b) && n.op != "/"
	switch {
	case b == 0 && (n.op == "/" || n.op == "%"):
		return nil, &Error{Code: CodeExpression, Column: n.column, Message: "division by zero", Hint: "test the divisor first"}
	case math.IsInf(result, 0) || math.IsNaN(result) || whole && math.Abs(result) > maxSafe:
		return nil, &Error{Code: CodeExpression, Column: n.column, Message: fmt.Sprintf("the result of %s is too large to be exact", n.op)}
	}
	return result, nil
}

func arithmeticError(column int, op string, v any) error {
	return &Error{Code: CodeExpression, Column: column, Message: fmt.Sprintf("%s needs numbers, not %s", op, typeName(v)), Hint: "test with exists() first"}
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case undefined:
		return "a value that is missing"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}

// matchChars is how much of a text a pattern sees, in characters.
const matchChars = 32_000

type call struct {
	name    string
	args    []node
	pattern *regexp.Regexp // of matches
}

func (n *call) eval(scope Scope) (any, error) {
	args := make([]any, len(n.args))
	for i, arg := range n.args {
		v, err := arg.eval(scope)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	switch n.name {
	case "exists":
		return args[0] != nil && args[0] != Undefined, nil
	case "matches":
		s, ok := args[0].(string)
		return ok && n.pattern.MatchString(first(s, matchChars)), nil
	case "length":
		return length(args[0]), nil
	}
	return contains(args[0], args[1]), nil
}

// length counts characters, items or keys; other values have no length.
func length(v any) any {
	switch v := v.(type) {
	case string:
		return float64(utf8.RuneCountInString(v))
	case []any:
		return float64(len(v))
	case map[string]any:
		return float64(len(v))
	}
	return Undefined
}

// contains looks for a text in a string, an identical item in an array, or a key in
// an object.
func contains(v, what any) bool {
	switch v := v.(type) {
	case string:
		s, ok := what.(string)
		return ok && strings.Contains(v, s)
	case []any:
		for _, item := range v {
			if identical(normal(item), what) {
				return true
			}
		}
	case map[string]any:
		key, ok := what.(string)
		if !ok {
			return false
		}
		_, there := v[key]
		return there
	}
	return false
}

// first returns the first n characters of s.
func first(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
