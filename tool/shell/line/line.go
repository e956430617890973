// Package line reads what the text of a Bash command line shows: its simple
// commands, and the paths they read, write, search and enter.
//
// Holds: Read, the walk through the syntax with the working directories that are
// possible at each point, the wrappers that are looked through, and the table of
// programs whose operands are known.
//
// Guarantees: every simple command is found, also in substitutions, functions,
// here-documents and the text given to another shell. What the text does not show
// (variables, eval, the files of an unknown program) is said to be opaque and never
// left out. Reading runs nothing and writes nothing; it lists directories only to
// expand patterns, within a bound.
//
// Does not: judge, or promise that a path that is shown is all that a program
// touches: its configuration files, libraries and the network are not read.
package line

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/tenonrun/tenon/tool"
)

// MaxText is the size of a command line in bytes that is still read.
const MaxText = 128 << 10

// Bounds of one reading.
const (
	maxCommands = 1000    // simple commands, also those met again
	maxSteps    = 20_000  // statements, each time it is met
	maxDepth    = 12      // shells in shells and functions in functions
	maxEntries  = 200_000 // directory entries listed to expand patterns
	maxFields   = 4096    // words that one pattern gives
	maxBraces   = 10      // in one word
	maxNesting  = 500     // brackets and quotes in each other
)

// Options say where a command line starts.
type Options struct {
	Cwd  string // absolute
	Home string // what "~" and $HOME mean; empty when they are not known
	// ReadDir lists a directory to expand patterns; nil when no pattern can be
	// expanded. What is there and no directory, a link to nothing too, gives
	// syscall.ENOTDIR, what is not there fs.ErrNotExist.
	ReadDir func(dir string) ([]fs.DirEntry, error)
	// IsDir tells whether a path is a directory; nil when nothing is known.
	IsDir func(path string) bool
}

// Line is what a command line shows.
type Line struct {
	Commands []tool.ShellCommand
	// Opaque is what the text does not show and no command stands for.
	Opaque []string
}

// Clear reports whether the text shows all.
func (l Line) Clear() bool {
	return len(l.Opaque) == 0 && !slices.ContainsFunc(l.Commands, func(c tool.ShellCommand) bool { return len(c.Opaque) > 0 })
}

// Read reads a command line. The error is that of a text that is too long or no
// Bash, with line and column.
func Read(text string, o Options) (Line, error) {
	w := &walk{options: o, text: text, functions: map[string][]*syntax.Stmt{}}
	file, err := w.parse(text)
	if err != nil {
		return Line{}, err
	}
	w.trusted, w.definite = trusted(text, file), definite(file)
	w.arithmetic(file)
	w.stmts(file.Stmts, state{o.Cwd})
	w.lead()
	return Line{Commands: w.commands, Opaque: w.opaque}, nil
}

// walk is one reading.
type walk struct {
	options   Options
	text      string                    // of the part that is read
	trusted   map[string]bool           // variables that the text does not set
	functions map[string][]*syntax.Stmt // bodies by name, of all declarations so far
	definite  map[string]bool           // functions that are declared whatever happens
	running   []string                  // functions that are being read
	depth     int
	steps     int        // statements that were read
	listed    int        // directory entries
	altered   bool       // the text changes how patterns are expanded
	cdpath    bool       // the text sets CDPATH
	outer     [][]string // words of the shells around this text

	commands []tool.ShellCommand
	opaque   []string
	aliases  []alias
}

func (w *walk) parse(text string) (*syntax.File, error) {
	switch {
	case len(text) > MaxText:
		return nil, fmt.Errorf("reading the command: it has %d bytes, at most %d are read: put the text into a file first", len(text), MaxText)
	case strings.IndexByte(text, 0) >= 0:
		return nil, fmt.Errorf("reading the command: it holds a NUL byte: remove it")
	case nesting(text) > maxNesting:
		return nil, fmt.Errorf("reading the command: it is nested too deep: put it into a script file")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, fmt.Errorf("reading the command: %w", err)
	}
	return file, nil
}

// nesting bounds how deep the brackets of a text may be in each other, without
// reading it: what is quoted counts too.
func nesting(text string) int {
	depth, deepest := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth = max(0, depth-1)
		}
		deepest = max(deepest, depth)
	}
	return deepest
}

// hide notes what no command stands for.
func (w *walk) hide(format string, a ...any) {
	if what := fmt.Sprintf(format, a...); !slices.Contains(w.opaque, what) {
		w.opaque = append(w.opaque, what)
	}
}

// add keeps a command once.
func (w *walk) add(c tool.ShellCommand) {
	if len(w.commands) >= maxCommands {
		w.hide("more than %d commands", maxCommands)
		return
	}
	c.Outer = append(slices.Clone(w.outer), c.Outer...)
	for _, have := range w.commands {
		if same(have, c) {
			return
		}
	}
	w.commands = append(w.commands, c)
}

func same(a, b tool.ShellCommand) bool {
	return a.Text == b.Text && a.Cwd == b.Cwd && slices.Equal(a.Words, b.Words) && slices.Equal(a.Operands, b.Operands) &&
		slices.Equal(a.Opaque, b.Opaque) && slices.EqualFunc(a.Outer, b.Outer, slices.Equal[[]string])
}

// source is the text of a node.
func (w *walk) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(w.text) {
		return ""
	}
	return w.text[from:to]
}

// state is the set of working directories that are possible at a point; "" is one
// that is not known. No directory at all is a point that is not reached.
type state []string

// unknown is a state of which nothing is known.
func unknown() state { return state{""} }

// maxDirs is how many directories are followed at a time.
const maxDirs = 8

func (s state) join(o state) state {
	all := append(slices.Clone(s), o...)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > maxDirs {
		return unknown()
	}
	return all
}

// reached is the state to read a statement in: one that cannot be reached is read
// as if nothing were known.
func (s state) reached() state {
	if len(s) == 0 {
		return unknown()
	}
	return s
}

// one is the directory when only one is possible, else "".
func (s state) one() string {
	if len(s) == 1 {
		return s[0]
	}
	return ""
}

// enter is the state after cd to a target, as the shell folds it.
func (s state) enter(target string) state {
	var next state
	for _, dir := range s.reached() {
		switch {
		case path.IsAbs(target):
			next = append(next, path.Clean(target))
		case dir == "":
			next = append(next, "")
		default:
			next = append(next, path.Join(dir, target))
		}
	}
	return next.join(nil)
}
