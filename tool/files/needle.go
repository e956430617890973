package files

import (
	"regexp/syntax"
	"strings"
)

// needle is plain ASCII text, one of which every line that matches has. It tells
// cheaply that a file has no match. The zero value tells nothing.
type needle struct {
	any  []string
	fold bool // case does not count
}

// maxNeedles is the number of alternatives that a needle may have.
const maxNeedles = 32

// needleOf finds the needle of a regular expression.
func needleOf(expr string) needle {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return needle{}
	}
	n := needed(re.Simplify())
	for _, s := range n.any {
		if len(s) < 2 {
			return needle{}
		}
	}
	return n
}

// needed gives the best needle of a part of an expression.
func needed(re *syntax.Regexp) needle {
	switch re.Op {
	case syntax.OpLiteral:
		return ofLiteral(re)
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needed(re.Sub[0])
		}
	case syntax.OpConcat:
		var best needle
		for _, sub := range re.Sub {
			if n := needed(sub); n.better(best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all needle
		for _, sub := range re.Sub {
			n := needed(sub)
			if len(n.any) == 0 || len(all.any)+len(n.any) > maxNeedles {
				return needle{}
			}
			all.any = append(all.any, n.any...)
			all.fold = all.fold || n.fold
		}
		return all
	}
	return needle{}
}

// ofLiteral takes the longest run of ASCII of a literal.
func ofLiteral(re *syntax.Regexp) needle {
	var best, run string
	for _, r := range re.Rune {
		if r >= 0x80 || r == 0 {
			run = ""
			continue
		}
		if run += string(r); len(run) > len(best) {
			best = run
		}
	}
	if best == "" {
		return needle{}
	}
	return needle{any: []string{best}, fold: re.Flags&syntax.FoldCase != 0}
}

// better prefers needles whose shortest text is longer.
func (n needle) better(other needle) bool { return n.shortest() > other.shortest() }

func (n needle) shortest() int {
	if len(n.any) == 0 {
		return 0
	}
	least := len(n.any[0])
	for _, s := range n.any {
		least = min(least, len(s))
	}
	return least
}

// in reports whether a text may have a match.
func (n needle) in(s string) bool {
	if len(n.any) == 0 || n.fold {
		return true
	}
	for _, one := range n.any {
		if strings.Contains(s, one) {
			return true
		}
	}
	return false
}
