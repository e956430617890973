package expr

import (
	"errors"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Expr is a parsed expression. It may be used by any number of goroutines.
type Expr struct {
	src   string
	root  node
	paths []Path
}

// Parse reads an expression at Level1 or Level2. The error is of type *Error.
//
// From low to high: || && (== !=) (< <= > >=), at level 2 (+ -) (* / %), then ! and,
// at level 2, unary minus; operators of one rank group from the left. Operands are
// true, false, null, numbers, "strings", paths, (expressions), exists(x),
// matches(x, /pattern/) and, at level 2, length(x) and contains(x, y). Path
// segments may contain a minus: leave space around the operator.
func Parse(src string, level int) (*Expr, error) {
	p := &parser{lexer: lexer{src: src, level: level}}
	switch n := utf8.RuneCountInString(src); {
	case n > MaxChars:
		return nil, &Error{Code: CodeExpression, Message: "the expression has more than 4096 characters", Hint: "split it"}
	case !utf8.ValidString(src):
		return nil, &Error{Code: CodeExpression, Message: "the expression is not UTF-8"}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	root, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokenEnd {
		return nil, p.surprise("an operator")
	}
	return &Expr{src: src, root: root, paths: p.paths}, nil
}

// String gives the text of the expression.
func (e *Expr) String() string { return e.src }

// Paths lists the values that the expression names, in the order written.
func (e *Expr) Paths() []Path { return slices.Clone(e.paths) }

// Eval computes the expression. The result is nil, bool, float64, string,
// map[string]any, []any or Undefined; a condition asks Truth of it. Errors are those
// of the scope, and at level 2 of arithmetic (type *Error).
func (e *Expr) Eval(scope Scope) (any, error) { return e.root.eval(scope) }

type parser struct {
	lexer
	tok   token
	depth int
	paths []Path
}

func (p *parser) advance() (err error) {
	p.tok, err = p.next()
	return err
}

// surprise is the error for the current token where something else was wanted.
func (p *parser) surprise(want string) *Error {
	if p.tok.kind == tokenEnd {
		return p.fail(p.tok.start, "", "the expression ends where %s should be", want)
	}
	rest := p.src[p.tok.start:]
	shown := rest[:min(len(rest), max(1, p.pos-p.tok.start))]
	return p.fail(p.tok.start, "", "unexpected %.40s where %s should be", shown, want)
}

func (p *parser) is(op string) bool { return p.tok.kind == tokenOperator && p.tok.text == op }

func (p *parser) expect(op string) error {
	if !p.is(op) {
		return p.surprise(op)
	}
	return p.advance()
}

// ranks are the binary operators from low to high; arithmetic is of level 2.
var ranks = [][]string{{"||"}, {"&&"}, {"==", "!="}, {"<", "<=", ">", ">="}, {"+", "-"}, {"*", "/", "%"}}

const arithmetic = 4 // first rank of level 2

func (p *parser) binary(rank int) (node, error) {
	if rank == len(ranks) || rank == arithmetic && p.level < Level2 {
		return p.unary()
	}
	left, err := p.binary(rank + 1)
	for err == nil && p.tok.kind == tokenOperator && slices.Contains(ranks[rank], p.tok.text) {
		n := &binary{op: p.tok.text, left: left, column: column(p.src, p.tok.start)}
		if err = p.advance(); err == nil {
			n.right, err = p.binary(rank + 1)
		}
		left = n
	}
	return left, err
}

// nested guards one level of nesting.
func (p *parser) nested(parse func() (node, error)) (node, error) {
	if p.depth++; p.depth > MaxNesting {
		return nil, p.fail(p.tok.start, "", "more than %d levels of nesting", MaxNesting)
	}
	defer func() { p.depth-- }()
	return parse()
}

func (p *parser) unary() (node, error) {
	switch {
	case p.is("!"):
		return p.nested(func() (node, error) {
			if err := p.advance(); err != nil {
				return nil, err
			}
			x, err := p.unary()
			return &not{x}, err
		})
	case p.is("-") && p.level >= Level2:
		return p.nested(func() (node, error) {
			at := column(p.src, p.tok.start)
			if err := p.advance(); err != nil {
				return nil, err
			}
			x, err := p.unary()
			return &negative{x, at}, err
		})
	}
	return p.primary()
}

func (p *parser) primary() (node, error) {
	tok := p.tok
	switch {
	case tok.kind == tokenLiteral:
		return literal{tok.value}, p.advance()
	case tok.kind == tokenPath:
		p.paths = append(p.paths, tok.path)
		return &tok.path, p.advance()
	case tok.kind == tokenWord:
		return p.named(tok)
	case p.is("("):
		return p.nested(func() (node, error) {
			if err := p.advance(); err != nil {
				return nil, err
			}
			x, err := p.binary(0)
			if err != nil {
				return nil, err
			}
			return x, p.expect(")")
		})
	}
	return nil, p.surprise("a value")
}

func (p *parser) named(tok token) (node, error) {
	switch tok.text {
	case "true", "false":
		return literal{tok.text == "true"}, p.advance()
	case "null":
		return literal{nil}, p.advance()
	case "exists", "matches":
		return p.nested(func() (node, error) { return p.call(tok.text) })
	case "length", "contains":
		if p.level >= Level2 {
			return p.nested(func() (node, error) { return p.call(tok.text) })
		}
	}
	hint := "text needs double quotes, values a dollar sign"
	return nil, p.fail(tok.start, hint, "unknown word %.40s", tok.text)
}

// call reads the arguments of a function.
func (p *parser) call(name string) (node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	first, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	c := &call{name: name, args: []node{first}}
	switch name {
	case "matches":
		if c.pattern, err = p.patternArgument(); err != nil {
			return nil, err
		}
	case "contains":
		if err := p.expect(","); err != nil {
			return nil, err
		}
		second, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, second)
	}
	return c, p.expect(")")
}

func (p *parser) patternArgument() (*regexp.Regexp, error) {
	if !p.is(",") {
		return nil, p.surprise(",")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	start := p.tok.start
	text, err := p.pattern(start)
	if err != nil {
		return nil, err
	}
	re, err := compile(text)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Column = column(p.src, start)
		}
		return nil, err
	}
	return re, p.advance()
}
