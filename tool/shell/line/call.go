package line

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/tenonrun/tenon/tool"
)

// command is one simple command that is being read.
type command struct {
	args  []arg
	text  string
	in    state
	outer [][]string        // with the wrappers that were looked through
	isDir func(string) bool // of a path as it is spelled

	deep     bool // directories are read with all that lies below
	operands []tool.Operand
	opaque   []string
	made     []alias
}

// name is the program: without its directory when that is one of the system.
func (c *command) name() string {
	name := c.args[0].text
	if slices.Contains([]string{"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"}, path.Dir(name)) {
		return path.Base(name)
	}
	return name
}

// words are the words of a list of args, the program by its name.
func (c *command) words() []string {
	words := make([]string, 0, len(c.args))
	for i, a := range c.args {
		if i == 0 {
			a.text = c.name()
		}
		words = append(words, a.text)
	}
	return words
}

// hide notes what the text of the command does not show.
func (c *command) hide(what string) {
	if !slices.Contains(c.opaque, what) {
		c.opaque = append(c.opaque, what)
	}
}

// operand notes a path; what is not shown of it is noted instead.
func (c *command) operand(a arg, op tool.Op, why string) {
	switch {
	case !a.shown():
		c.hide("the " + why + " is not literal: " + a.source)
	case a.pipe || a.text == "" || harmless(a.text):
	default:
		c.path(a.text, op, why)
	}
}

// path notes a path from every directory that is possible.
func (c *command) path(spelled string, op tool.Op, why string) {
	for _, dir := range c.in.reached() {
		o := tool.Operand{Spelled: spelled, Op: op, Base: dir, Why: why, Deep: c.deep && (op == tool.OpRead || op == tool.OpSearch)}
		if path.IsAbs(spelled) {
			o.Base = c.in.one()
		}
		if !slices.Contains(c.operands, o) {
			c.operands = append(c.operands, o)
		}
	}
}

// harmless reports whether a path is one of the files that every process may use.
func harmless(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/random", "/dev/urandom":
		return true
	}
	digits, ok := strings.CutPrefix(p, "/dev/fd/")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// call reads a simple command with its assignments.
func (w *walk) call(cmd *syntax.CallExpr, in state) flow {
	w.assigns(cmd.Assigns, in)
	args := w.words(cmd.Args, in)
	if len(args) == 0 {
		return stays(in)
	}
	return w.simple(&command{args: args, text: w.source(cmd), in: in, isDir: w.isDir(in)})
}

// simple reads the words of one command.
func (w *walk) simple(c *command) flow {
	name := c.args[0]
	if !name.shown() {
		c.hide("the name of the command is not literal: " + name.source)
		c.generic()
		w.finish(c)
		return stays(c.in.join(unknown())) // it may be cd
	}
	if w.functions[name.text] == nil {
		return w.program(c)
	}
	out := w.invoke(name.text, c.in)
	if !w.definite[name.text] {
		out.ok = out.ok.join(w.program(c).either()) // it may be the program all the same
	}
	return stays(out.ok)
}

// direct reads a command that another one starts: it is no function.
func (w *walk) direct(c *command) flow {
	if !c.args[0].shown() {
		return w.simple(c)
	}
	return w.program(c)
}

// program reads the words of a command that is no function.
func (w *walk) program(c *command) flow {
	name := c.args[0]
	if strings.Contains(name.text, "/") && c.name() != name.text {
		c.outer = append(c.outer, append([]string{name.text}, c.words()[1:]...))
	} else if strings.Contains(name.text, "/") {
		c.outer = append(c.outer, append([]string{path.Base(name.text)}, c.words()[1:]...))
	}
	if read := builtin(c.name()); read != nil {
		return read(w, c)
	}
	if wrap, ok := wrappers[c.name()]; ok {
		return w.unwrap(c, wrap)
	}
	switch c.name() {
	case "read", "mapfile", "readarray", "getopts", "printf", "unset":
		for _, a := range c.args[1:] {
			w.sets(a.text)
		}
	}
	c.program()
	w.finish(c)
	if c.name() == "find" {
		for _, inner := range c.executed() {
			w.direct(&command{args: inner, text: c.text, in: c.in.join(unknown()), outer: [][]string{c.words()}, isDir: c.isDir})
		}
	}
	return stays(c.in)
}

// isDir tells from the disk whether a path is a directory, where that is known.
func (w *walk) isDir(in state) func(string) bool {
	return func(spelled string) bool {
		if w.options.IsDir == nil {
			return false
		}
		return slices.ContainsFunc(in.enter(spelled), func(p string) bool { return p != "" && w.options.IsDir(p) })
	}
}

// finish keeps a command as it was read.
func (w *walk) finish(c *command) {
	w.aliases = append(w.aliases, c.made...)
	w.add(tool.ShellCommand{
		Words: c.words(), Outer: c.outer, Text: c.text, Cwd: c.in.one(), Operands: c.operands, Opaque: c.opaque,
	})
}

// assigns reads assignments: the commands in their values, and names that change
// what later commands do.
func (w *walk) assigns(list []*syntax.Assign, in state) {
	for _, a := range list {
		w.substitutions(a, in)
		switch {
		case a.Naked && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "n"):
			w.hide("a name that stands for another variable")
		case a.Name == nil && a.Naked && a.Value != nil: // a name that is computed, or an option
			if lit := a.Value.Lit(); lit == "" {
				w.hide("the name that is set is not literal: %s", brief(w.source(a)))
			} else {
				w.sets(lit)
			}
		case a.Name != nil && !a.Naked:
			w.sets(a.Name.Value)
		}
	}
}

// sets notes that a variable is set.
func (w *walk) sets(name string) {
	name, _, _ = strings.Cut(name, "=")
	w.cdpath = w.cdpath || name == "CDPATH"
	if governs(name) {
		w.hide("%s is set, which changes what commands do", name)
	}
}

// governs reports whether a variable changes which program a command is, or what
// else it runs, reads or writes.
func governs(name string) bool {
	for _, prefix := range []string{"LD_", "DYLD_", "GIT_", "PYTHON", "PERL", "RUBY", "NODE_", "JAVA_", "NPM_", "BASH", "LESS"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "PATH", "HOME", "ENV", "CDPATH", "IFS", "SHELL", "SHELLOPTS", "PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "PROMPT_COMMAND", "PS4", "GLOBIGNORE", "TMPDIR", "GOFLAGS", "CC", "CXX", "MAKEFLAGS", "RUSTC_WRAPPER", "TAR_OPTIONS", "GREP_OPTIONS", "JDK_JAVA_OPTIONS", "RIPGREP_CONFIG_PATH", "CURL_HOME", "XDG_CONFIG_HOME":
		return true
	}
	return false
}

// redirect reads one redirection.
func (w *walk) redirect(r *syntax.Redirect, in state) {
	if r.Hdoc != nil {
		w.substitutions(r.Hdoc, in)
	}
	if r.Word == nil {
		return
	}
	var op tool.Op
	switch r.Op {
	case syntax.RdrIn:
		op = tool.OpRead
	case syntax.Hdoc, syntax.DashHdoc:
		return
	case syntax.WordHdoc:
		w.substitutions(r.Word, in)
		return
	default: // everything else may write
		op = tool.OpWrite
	}
	args := w.words([]*syntax.Word{r.Word}, in)
	if len(args) != 1 || !args[0].shown() {
		w.hide("the target of %s is not literal: %s", r.Op, brief(w.source(r.Word)))
		return
	}
	target := args[0]
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		if t := strings.TrimSuffix(target.text, "-"); strings.Trim(t, "0123456789") == "" {
			return // a descriptor
		}
	}
	if strings.HasPrefix(target.text, "/dev/tcp/") || strings.HasPrefix(target.text, "/dev/udp/") {
		w.hide("%s is a connection", brief(target.text))
		return
	}
	c := command{text: w.source(r), in: in}
	c.operand(target, op, r.Op.String()+" redirection")
	if r.Op == syntax.RdrInOut {
		c.operand(target, tool.OpRead, r.Op.String()+" redirection")
	}
	if len(c.operands) > 0 {
		w.add(tool.ShellCommand{Text: c.text, Cwd: in.one(), Operands: c.operands})
	}
}
