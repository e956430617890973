package permission

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// folding is how names are compared.
type folding struct {
	fold  Fold
	tails bool // Windows drops dots and spaces at the end of a name
}

// index numbers the foldings.
func (f folding) index() int {
	i := 0
	if f.fold.Case {
		i |= 1
	}
	if f.fold.Norm {
		i |= 2
	}
	if f.tails {
		i |= 4
	}
	return i
}

func foldingOf(i int) folding {
	return folding{fold: Fold{Case: i&1 != 0, Norm: i&2 != 0}, tails: i&4 != 0}
}

// foldings is how many there are.
const foldings = 8

// name gives the form of a name that all its aliases share.
func (f folding) name(s string) string {
	if f.tails {
		if cut := strings.TrimRight(s, ". "); cut != "" {
			s = cut
		}
	}
	return f.part(s)
}

// part is name for a piece of a name.
func (f folding) part(s string) string {
	switch {
	case f.fold.Norm && !ascii(s):
		s = norm.NFC.String(s)
		if f.fold.Case {
			s = norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
			return foldCase(s)
		}
		return s
	case f.fold.Case:
		return foldCase(s)
	}
	return s
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldCase writes one letter of each set of letters that differ in case only.
func foldCase(s string) string {
	for i, r := range s {
		if foldRune(r) == r {
			continue
		}
		var b strings.Builder
		b.Grow(len(s))
		b.WriteString(s[:i])
		for j := i; j < len(s); {
			r, n := utf8.DecodeRuneInString(s[j:])
			if r == utf8.RuneError && n == 1 {
				b.WriteByte(s[j])
			} else {
				b.WriteRune(foldRune(r))
			}
			j += n
		}
		return b.String()
	}
	return s
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			return r | 0x20
		}
		return r
	}
	least := r
	for k := unicode.SimpleFold(r); k != r; k = unicode.SimpleFold(k) {
		least = min(least, k)
	}
	if least >= 'A' && least <= 'Z' {
		return least | 0x20
	}
	return least
}
