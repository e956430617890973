package line

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
)

// arg is one word after expansion.
type arg struct {
	text   string // parts that are not shown are tool.NotShown
	source string // as written, shortened
	pipe   bool   // a process substitution: a file that is a pipe
}

func (a arg) shown() bool { return !strings.Contains(a.text, tool.NotShown) }

// flag reports whether the program takes the word for an option.
func (a arg) flag() bool { return len(a.text) > 1 && a.text[0] == '-' }

// brief shortens text for a message.
func brief(s string) string {
	return text.Head(strings.Join(strings.FieldsFunc(s, unicode.IsControl), " "), 80, "…")
}

// words expands words as the shell does, as far as the text shows it.
func (w *walk) words(list []*syntax.Word, in state) []arg {
	var out []arg
	for _, word := range list {
		w.substitutions(word, in)
		out = append(out, w.word(word, in)...)
	}
	return out
}

// word expands one word; a word that is not shown in full gives one arg.
func (w *walk) word(word *syntax.Word, in state) []arg {
	source := brief(w.source(word))
	if len(word.Parts) == 1 {
		if p, ok := word.Parts[0].(*syntax.ProcSubst); ok {
			return []arg{{text: "/dev/fd/63", source: source, pipe: p != nil}}
		}
	}
	if w.static(word, in) {
		if fields, err := w.expand(word, in); err == nil {
			args := make([]arg, 0, len(fields))
			for _, f := range fields {
				args = append(args, arg{text: f, source: source})
			}
			return args
		}
	}
	return []arg{{text: w.partly(word, in), source: source}}
}

// expand gives the fields of a static word. A word that the library cannot expand
// is one that the text does not show.
func (w *walk) expand(word *syntax.Word, in state) (fields []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			fields, err = nil, fmt.Errorf("expanding a word: %v", r)
		}
	}()
	for f, err := range expand.FieldsSeq(w.config(in), word) {
		if err != nil {
			return nil, err
		}
		if fields = append(fields, f); len(fields) > maxFields {
			return nil, errWide
		}
	}
	return fields, nil
}

var errWide = errors.New("the pattern matches too much")

func (w *walk) config(in state) *expand.Config {
	return &expand.Config{
		Env: expand.FuncEnviron(func(name string) string {
			switch name {
			case "PWD":
				return in.one()
			case "HOME":
				return w.options.Home
			}
			return ""
		}),
		ReadDir2: w.list,
	}
}

// list lists a directory within the bound of the reading.
func (w *walk) list(dir string) ([]fs.DirEntry, error) {
	if w.options.ReadDir == nil || w.listed > maxEntries {
		return nil, errWide
	}
	entries, err := w.options.ReadDir(dir)
	w.listed += len(entries) + 1
	return entries, err
}

// static reports whether a word can be expanded from its text alone.
func (w *walk) static(word *syntax.Word, in state) bool {
	if lit, ok := word.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "~") {
		home := lit.Value == "~" || strings.HasPrefix(lit.Value, "~/")
		if !home || !w.trusted["HOME"] || w.options.Home == "" || lit.Value == "~" && len(word.Parts) > 1 {
			return false
		}
	}
	for i, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if ok && (strings.Count(lit.Value, "{") > maxBraces || strings.Contains(lit.Value, "{") && parameters(word)) {
			return false // braces are expanded first: $HOME{x,y} is $HOMEx $HOMEy
		}
		if ok && hasPattern(lit.Value) {
			first, _ := word.Parts[0].(*syntax.Lit)
			rooted := first != nil && (strings.HasPrefix(first.Value, "/") || strings.HasPrefix(first.Value, "~"))
			if w.options.ReadDir == nil || w.altered || !rooted && in.one() == "" {
				return false
			}
		}
		if !w.staticPart(part, in, i) {
			return false
		}
	}
	return true
}

// parameters reports whether a word has parameters.
func parameters(word *syntax.Word) bool {
	return slices.ContainsFunc(word.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.ParamExp); return ok })
}

func (w *walk) staticPart(part syntax.WordPart, in state, i int) bool {
	switch part := part.(type) {
	case *syntax.Lit, *syntax.SglQuoted:
		return true
	case *syntax.DblQuoted:
		for _, inner := range part.Parts {
			if _, lit := inner.(*syntax.Lit); !lit && !w.staticPart(inner, in, i) {
				return false
			}
		}
		return true
	case *syntax.ParamExp:
		return w.known(part, in)
	}
	return false
}

// known reports whether a parameter has a value that the text cannot have changed.
func (w *walk) known(p *syntax.ParamExp, in state) bool {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil || len(p.Modifiers) > 0 {
		return false
	}
	switch p.Param.Value {
	case "HOME":
		return w.trusted["HOME"] && w.options.Home != ""
	case "PWD":
		return w.trusted["PWD"] && in.one() != ""
	}
	return false
}

// trusted tells which of HOME and PWD the text only reads: their names do not
// occur otherwise.
func trusted(source string, file *syntax.File) map[string]bool {
	reads := map[string]int{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil && p.Exp == nil {
			reads[p.Param.Value]++
		}
		return true
	})
	return map[string]bool{
		"HOME": strings.Count(source, "HOME") == reads["HOME"],
		"PWD":  strings.Count(source, "PWD") == reads["PWD"],
	}
}

// partly spells a word with NotShown for what the text does not show.
func (w *walk) partly(word *syntax.Word, in state) string {
	var b strings.Builder
	for i, part := range word.Parts {
		single := &syntax.Word{Parts: []syntax.WordPart{part}}
		lit, isLit := part.(*syntax.Lit)
		switch {
		case isLit && (hasPattern(lit.Value) || strings.ContainsAny(lit.Value, "{}") || i == 0 && strings.HasPrefix(lit.Value, "~")):
			b.WriteString(tool.NotShown)
		case w.staticPart(part, in, i):
			s, err := expand.Literal(&expand.Config{Env: w.config(in).Env}, single)
			if err != nil {
				s = tool.NotShown
			}
			b.WriteString(s)
		default:
			b.WriteString(tool.NotShown)
		}
	}
	return b.String()
}

// hasPattern reports whether literal text holds a character of a pattern that is
// not escaped.
func hasPattern(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}
