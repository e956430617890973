package line

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/tenonrun/tenon/tool"
)

// builtin returns what reads a command that acts on the shell itself or runs the
// text it is given; nil for every other one.
func builtin(name string) func(*walk, *command) flow {
	switch name {
	case "cd", "chdir", "pushd":
		return (*walk).cd
	case "popd":
		return (*walk).popd
	case "exit":
		return (*walk).exit
	case "shopt", "alias", "enable", "hash":
		return (*walk).alters
	case "set":
		return (*walk).set
	case "eval":
		return (*walk).eval
	case "source", ".":
		return (*walk).sourced
	case "trap":
		return (*walk).trap
	case "bash", "sh", "dash", "zsh", "ksh", "ash", "rbash":
		return (*walk).shell
	}
	return nil
}

// cd reads a change of directory.
func (w *walk) cd(c *command) flow {
	args, target := c.args[1:], arg{text: "~", source: "~"}
	for len(args) > 0 && args[0].shown() && args[0].flag() {
		args = args[1:]
	}
	switch {
	case len(args) > 0:
		target = args[0]
	case w.trusted["HOME"] && w.options.Home != "":
		target.text = w.options.Home
	default:
		target.text = tool.NotShown
	}
	if target.text == "-" || w.cdpath || strings.HasPrefix(target.text, "+") && c.name() == "pushd" {
		target.text = tool.NotShown
	}
	c.operand(target, tool.OpEnter, "directory of "+c.name())
	w.finish(c)
	if !target.shown() {
		return flow{ok: unknown(), fail: c.in}
	}
	if target.text == "" {
		return stays(c.in)
	}
	return flow{ok: c.in.enter(target.text), fail: c.in}
}

// popd leads to a directory that the text does not show.
func (w *walk) popd(c *command) flow {
	w.finish(c)
	return stays(unknown())
}

// exit ends the shell.
func (w *walk) exit(c *command) flow {
	w.finish(c)
	return flow{}
}

// alters is a command that changes how the shell reads what follows.
func (w *walk) alters(c *command) flow {
	w.altered = true
	c.hide(c.name() + " changes how commands are read")
	w.finish(c)
	return stays(c.in)
}

// set reads options of the shell.
func (w *walk) set(c *command) flow {
	for i, a := range c.args[1:] {
		if !a.shown() {
			continue // a positional parameter, or a name after -o
		}
		named := i > 0 && strings.HasSuffix(c.args[i].text, "o") && strings.Trim(a.text, "abcdefghijklmnopqrstuvwxyz") == ""
		if named && a.text != "pipefail" && a.text != "errexit" && a.text != "nounset" && a.text != "xtrace" ||
			a.flag() && a.text != "--" && strings.Trim(a.text[1:], "eouxv") != "" || a.text == "+f" || a.text == "+P" {
			return w.alters(c)
		}
	}
	w.finish(c)
	return stays(c.in)
}

// eval reads the text that eval is given, as far as it is shown.
func (w *walk) eval(c *command) flow {
	c.hide("eval runs text")
	w.finish(c)
	var texts []string
	for _, a := range c.args[1:] {
		if !a.shown() {
			return stays(c.in.join(unknown()))
		}
		texts = append(texts, a.text)
	}
	return w.nested(strings.Join(texts, " "), c, func() flow { return stays(unknown()) }, true)
}

// sourced reads a script of this shell.
func (w *walk) sourced(c *command) flow {
	if len(c.args) > 1 {
		c.operand(c.args[1], tool.OpRead, "script of "+c.name())
	}
	c.hide(c.name() + " runs a script")
	w.altered = true
	w.finish(c)
	return stays(c.in.join(unknown()))
}

// trap reads the text that runs later, in any directory.
func (w *walk) trap(c *command) flow {
	w.finish(c)
	if len(c.args) < 3 || c.args[1].flag() {
		return stays(c.in)
	}
	late := *c
	late.in = c.in.join(unknown())
	if !c.args[1].shown() {
		w.hide("the command of trap is not literal: %s", c.args[1].source)
		return stays(c.in)
	}
	w.nested(c.args[1].text, &late, func() flow { return flow{} }, true)
	return stays(c.in)
}

// shell reads the text or the script that another shell is given.
func (w *walk) shell(c *command) flow {
	args := c.args[1:]
	text := false
	altered := w.altered
	defer func() { w.altered = altered }()
	for len(args) > 0 && args[0].shown() && (args[0].flag() || strings.HasPrefix(args[0].text, "+")) {
		flag := args[0].text
		args = args[1:]
		switch {
		case flag == "--" || flag == "-":
		case flag == "--rcfile" || flag == "--init-file":
			c.hide(flag + " of " + c.name() + " runs a script")
		case strings.HasPrefix(flag, "--"):
		default:
			text = text || strings.Contains(flag, "c")
			// Options that are not known here may change how patterns are expanded.
			w.altered = w.altered || strings.Trim(flag[1:], "ceilnoprsuvx") != "" || strings.Contains(flag, "o") && len(args) > 0 && !slices.Contains(plainOptions, args[0].text)
			if strings.ContainsAny(flag, "oO") && len(args) > 0 {
				args = args[1:]
			}
		}
	}
	switch {
	case !text && len(args) > 0:
		c.operand(args[0], tool.OpRead, "script of "+c.name())
		c.hide(c.name() + " runs a script")
	case !text || len(args) == 0:
		c.hide(c.name() + " runs commands from its input")
	case !args[0].shown():
		c.hide("the text of " + c.name() + " -c is not literal: " + args[0].source)
	case len(c.opaque) == 0:
		w.nested(args[0].text, c, func() flow {
			c.hide("the text of " + c.name() + " -c cannot be read")
			w.finish(c)
			return flow{}
		}, false)
		return stays(c.in)
	}
	w.finish(c)
	return stays(c.in)
}

// plainOptions are values of -o that change nothing about what is read.
var plainOptions = []string{"pipefail", "errexit", "nounset", "xtrace", "verbose"}

// nested reads text that a command runs: in this shell, or in one of its own.
// bad is called when that is not possible.
func (w *walk) nested(text string, c *command, bad func() flow, here bool) flow {
	if w.depth >= maxDepth {
		w.hide("shells in shells, deeper than %d", maxDepth)
		return bad()
	}
	file, err := w.parse(text)
	if err != nil {
		w.hide("the text of %s cannot be read", c.name())
		return bad()
	}
	saved := *w
	w.depth++
	w.text = text
	w.outer = append(append(slices.Clone(w.outer), c.outer...), c.words())
	known := trusted(text, file)
	w.trusted = map[string]bool{"HOME": known["HOME"] && saved.trusted["HOME"], "PWD": known["PWD"] && saved.trusted["PWD"]}
	if !here {
		w.functions, w.running = map[string][]*syntax.Stmt{}, nil
	}
	w.definite = definite(file)
	w.arithmetic(file)
	out := w.stmts(file.Stmts, c.in)
	saved.commands, saved.opaque, saved.listed, saved.steps, saved.aliases = w.commands, w.opaque, w.listed, w.steps, w.aliases
	saved.altered, saved.cdpath = saved.altered || here && w.altered, saved.cdpath || here && w.cdpath
	*w = saved
	return out
}
