package line

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// flow is where a statement leaves the shell when it succeeds and when it fails.
type flow struct{ ok, fail state }

func (f flow) either() state { return f.ok.join(f.fail) }

func stays(s state) flow { return flow{s, s} }

// stmts reads a list; its success is that of the last statement.
func (w *walk) stmts(list []*syntax.Stmt, in state) flow {
	out := stays(in)
	for i, s := range list {
		if i > 0 {
			in = out.either()
		}
		out = w.stmt(s, in)
	}
	return out
}

func (w *walk) stmt(s *syntax.Stmt, in state) flow {
	if w.steps++; w.steps > maxSteps {
		w.hide("more than can be followed")
		return stays(unknown())
	}
	in = in.reached()
	for _, r := range s.Redirs {
		w.redirect(r, in)
	}
	out := stays(in)
	if s.Cmd != nil {
		out = w.command(s.Cmd, in)
	}
	switch {
	case s.Background || s.Coprocess || s.Disown:
		return stays(in)
	case s.Negated:
		return flow{ok: out.fail, fail: out.ok}
	}
	return out
}

func (w *walk) command(cmd syntax.Command, in state) flow {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		return w.call(cmd, in)
	case *syntax.BinaryCmd:
		return w.binary(cmd, in)
	case *syntax.Block:
		return w.stmts(cmd.Stmts, in)
	case *syntax.Subshell:
		w.stmts(cmd.Stmts, in)
	case *syntax.IfClause:
		return w.branches(cmd, in)
	case *syntax.WhileClause:
		return w.loop(in, func(at state) state { return w.stmts(cmd.Do, w.stmts(cmd.Cond, at).either()).either() })
	case *syntax.ForClause:
		w.substitutions(cmd.Loop, in)
		if items, ok := cmd.Loop.(*syntax.WordIter); ok && items.Name != nil {
			w.sets(items.Name.Value)
		}
		return w.loop(in, func(at state) state { return w.stmts(cmd.Do, at).either() })
	case *syntax.CaseClause:
		return w.cases(cmd, in)
	case *syntax.FuncDecl:
		w.declare(cmd, in)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return w.stmt(cmd.Stmt, in)
		}
	case *syntax.CoprocClause:
		w.stmt(cmd.Stmt, in)
	case *syntax.DeclClause:
		w.assigns(cmd.Args, in)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		w.substitutions(cmd, in)
	default:
		w.hide("a construct that is not known: %s", brief(w.source(cmd)))
	}
	return stays(in)
}

func (w *walk) binary(cmd *syntax.BinaryCmd, in state) flow {
	left := w.stmt(cmd.X, in)
	switch cmd.Op {
	case syntax.AndStmt:
		right := w.stmt(cmd.Y, left.ok)
		return flow{ok: right.ok, fail: left.fail.join(right.fail)}
	case syntax.OrStmt:
		right := w.stmt(cmd.Y, left.fail)
		return flow{ok: left.ok.join(right.ok), fail: right.fail}
	}
	w.stmt(cmd.Y, in) // a pipeline: each part is a shell of its own
	return stays(in)
}

func (w *walk) branches(cmd *syntax.IfClause, in state) flow {
	cond := w.stmts(cmd.Cond, in)
	then := w.stmts(cmd.Then, cond.ok)
	otherwise := stays(cond.fail)
	switch {
	case cmd.Else == nil:
	case len(cmd.Else.Cond) > 0:
		otherwise = w.branches(cmd.Else, cond.fail)
	default:
		otherwise = w.stmts(cmd.Else.Then, cond.fail)
	}
	return flow{ok: then.ok.join(otherwise.ok), fail: then.fail.join(otherwise.fail)}
}

// loop reads a body until it leads to no further directory.
func (w *walk) loop(in state, body func(state) state) flow {
	at := in
	for range 3 {
		next := at.join(body(at))
		if slices.Equal(next, at) {
			return stays(at)
		}
		at = next
	}
	body(unknown())
	return stays(unknown())
}

func (w *walk) cases(cmd *syntax.CaseClause, in state) flow {
	w.substitutions(cmd.Word, in)
	out := in
	for _, item := range cmd.Items {
		for _, p := range item.Patterns {
			w.substitutions(p, in)
		}
		out = out.join(w.stmts(item.Stmts, in).either())
	}
	return stays(out)
}

// declare keeps a function. Its body is read here, as if it ran in any directory,
// and again where it is called.
func (w *walk) declare(f *syntax.FuncDecl, in state) {
	if f.Name == nil || f.Body == nil {
		return
	}
	name := f.Name.Value
	w.functions[name] = append(w.functions[name], f.Body)
	w.invoke(name, in)
}

// definite lists the functions that are declared in the list of a text itself, and
// not taken away again: their names are no programs afterwards.
func definite(file *syntax.File) map[string]bool {
	names := map[string]bool{}
	unset := false
	syntax.Walk(file, func(n syntax.Node) bool {
		lit, ok := n.(*syntax.Lit)
		unset = unset || ok && strings.Contains(lit.Value, "unset")
		return true
	})
	for _, s := range file.Stmts {
		f, ok := s.Cmd.(*syntax.FuncDecl)
		if !ok || f.Name == nil || unset || s.Background || len(s.Redirs) > 0 {
			continue
		}
		if _, piped := f.Body.Cmd.(*syntax.BinaryCmd); !piped { // then it is declared in a shell of its own
			names[f.Name.Value] = true
		}
	}
	return names
}

// invoke reads the bodies that a function may have.
func (w *walk) invoke(name string, in state) flow {
	if slices.Contains(w.running, name) || len(w.running) >= maxDepth {
		return stays(unknown())
	}
	w.running = append(w.running, name)
	var out state
	for _, body := range w.functions[name] {
		out = out.join(w.stmt(body, in).either())
	}
	w.running = w.running[:len(w.running)-1]
	return stays(out)
}

// substitutions reads the commands inside a word or expression. What they do to
// the working directory stays with them.
func (w *walk) substitutions(n syntax.Node, in state) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.stmts(n.Stmts, in)
			return false
		case *syntax.ProcSubst:
			w.stmts(n.Stmts, in)
			return false
		case *syntax.ParamExp:
			if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				w.sets(n.Param.Value)
			}
		}
		return true
	})
}
