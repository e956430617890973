package shell

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Pipe is a pipeline in a shell string.
type Pipe struct {
	Text         string // the pipeline as written
	Line, Column int    // of its first byte, from 1; columns count bytes
}

// Pipes lists the pipelines of a Bash string whose failure is hidden: pipefail
// carries the status of a pipeline in the last position to the end of the
// string, but one before a ";" or newline, in a loop body or in the background
// has its status dropped. Pipelines that are tested (if, while, ||), whose status
// the next statement reads ($?, PIPESTATUS), or that end the string under
// "set -e" are not listed. The error is that of a string that does not parse,
// with line and column.
func Pipes(line string) (unchecked []Pipe, err error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, fmt.Errorf("parsing the shell string: %w", err)
	}
	w := walker{text: line}
	w.list(file.Stmts, place{kept: true, mayExit: true})
	return w.found, nil
}

// place is what becomes of the status of a statement.
type place struct {
	kept    bool // it is tested or becomes the status of the string
	mayExit bool // "set -e" would act on it
}

type walker struct {
	text    string
	errexit bool // "set -e" is in force here
	found   []Pipe
}

func (w *walker) list(stmts []*syntax.Stmt, p place) {
	for i, stmt := range stmts {
		at := p
		if i+1 < len(stmts) {
			at.kept = readsStatus(stmts[i+1])
		}
		w.stmt(stmt, at)
	}
}

func (w *walker) stmt(s *syntax.Stmt, p place) {
	if s.Background {
		p = place{}
	}
	if s.Negated {
		p.mayExit = false
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		w.binary(cmd, p)
	case *syntax.Block:
		w.list(cmd.Stmts, p)
	case *syntax.Subshell:
		outer := w.errexit
		w.list(cmd.Stmts, p)
		w.errexit = outer
	case *syntax.IfClause:
		for branch := cmd; branch != nil; branch = branch.Else {
			w.list(branch.Cond, place{kept: true})
			w.list(branch.Then, p)
		}
	case *syntax.WhileClause:
		w.list(cmd.Cond, place{kept: true})
		w.list(cmd.Do, place{mayExit: p.mayExit})
	case *syntax.ForClause:
		w.list(cmd.Do, place{mayExit: p.mayExit})
	case *syntax.CaseClause:
		for _, item := range cmd.Items {
			w.list(item.Stmts, p)
		}
	case *syntax.FuncDecl:
		w.stmt(cmd.Body, place{kept: true, mayExit: true})
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			w.stmt(cmd.Stmt, p)
		}
	case *syntax.CoprocClause:
		w.stmt(cmd.Stmt, place{})
	case *syntax.CallExpr:
		w.call(cmd, p)
	}
}

func (w *walker) binary(cmd *syntax.BinaryCmd, p place) {
	left, right := p, p
	switch cmd.Op {
	case syntax.AndStmt:
		left.mayExit = false
	case syntax.OrStmt:
		left = place{kept: true}
	default: // a pipeline; "a | b | c" is one
		if !p.kept && !(p.mayExit && w.errexit) {
			start, end := cmd.Pos(), cmd.End()
			w.found = append(w.found, Pipe{
				Text: w.text[start.Offset():end.Offset()],
				Line: int(start.Line()), Column: int(start.Col()),
			})
			left.kept, right.kept = true, true // said once
		}
	}
	w.stmt(cmd.X, left)
	w.stmt(cmd.Y, right)
}

// call follows the one substitution whose status is that of the statement, and
// "set".
func (w *walker) call(cmd *syntax.CallExpr, p place) {
	if len(cmd.Args) == 0 {
		if n := len(cmd.Assigns); n > 0 && cmd.Assigns[n-1].Value != nil {
			for _, part := range cmd.Assigns[n-1].Value.Parts {
				if sub, ok := part.(*syntax.CmdSubst); ok {
					outer := w.errexit
					w.list(sub.Stmts, p)
					w.errexit = outer
				}
			}
		}
		return
	}
	if cmd.Args[0].Lit() != "set" {
		return
	}
	for i, arg := range cmd.Args[1:] {
		word := arg.Lit()
		named := (word == "-o" || word == "+o") && i+2 < len(cmd.Args) && cmd.Args[i+2].Lit() == "errexit"
		short := len(word) > 1 && word[1] != '-' && strings.Contains(word, "e") && (word[0] == '-' || word[0] == '+')
		if named || short {
			w.errexit = word[0] == '-'
		}
	}
}

// readsStatus reports whether a statement looks at the status of the one before.
func readsStatus(s *syntax.Stmt) (found bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil {
			found = found || slices.Contains([]string{"?", "PIPESTATUS"}, p.Param.Value)
		}
		return !found
	})
	return found
}
