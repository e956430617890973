package line

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmetic notes a text that calculates with what it does not show: the shell
// runs a command that stands in the subscript of a value, as in 'a[$(rm x)]'.
func (w *walk) arithmetic(file *syntax.File) {
	calculates, hidden := false, false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop, *syntax.BinaryTest, *syntax.UnaryTest:
			calculates = calculates || evaluates(n)
		case *syntax.ParamExp:
			calculates = calculates || n.Slice != nil || n.Index != nil
		case *syntax.SglQuoted:
			hidden = hidden || runs(n.Value)
		case *syntax.Lit:
			hidden = hidden || runs(n.Value)
		case *syntax.Assign:
			hidden = hidden || n.Value != nil && !settled(n.Value)
		case *syntax.CallExpr:
			name := ""
			if len(n.Args) > 0 {
				name = n.Args[0].Lit()
			}
			hidden = hidden || slices.Contains([]string{"read", "mapfile", "readarray", "getopts"}, name)
			calculates = calculates || slices.Contains([]string{"test", "[", "printf", "unset", "read"}, name) && slices.ContainsFunc(n.Args, func(a *syntax.Word) bool {
				return strings.Contains(w.source(a), "[") && runs(w.source(a))
			})
		}
		return true
	})
	if calculates && hidden {
		w.hide("arithmetic with values that are not shown")
	}
}

// evaluates tells calculations from tests of text and files.
func evaluates(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.BinaryTest:
		return slices.Contains([]syntax.BinTestOperator{syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr}, n.Op)
	case *syntax.UnaryTest:
		return n.Op == syntax.TsVarSet
	}
	return true
}

// runs reports whether text that is evaluated again may run a command.
func runs(s string) bool { return strings.Contains(s, "$(") || strings.Contains(s, "`") }

// settled reports whether a value holds nothing that comes from elsewhere than the
// text and its own calculations.
func settled(word *syntax.Word) bool {
	ok := true
	syntax.Walk(word, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			ok = false
		case *syntax.ParamExp:
			ok = ok && n.Param != nil && n.Param.Value != "1" // parameters of functions and scripts
		case *syntax.ArithmExp:
			return false
		}
		return true
	})
	return ok
}
