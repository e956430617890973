package line

import (
	"slices"
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// gitQuiet lists subcommands that only tell, or write what belongs to git.
var gitQuiet = strings.Fields("status log show shortlog blame annotate describe rev-parse rev-list ls-files ls-tree ls-remote cat-file diff diff-tree diff-index diff-files show-ref symbolic-ref for-each-ref merge-base name-rev reflog count-objects fsck check-ignore check-attr var version help whatchanged cherry range-diff branch tag remote fetch commit notes gc prune pack-refs hash-object write-tree commit-tree update-ref grep add")

// gitTree lists subcommands that write the work tree.
var gitTree = strings.Fields("checkout switch restore reset clean merge pull revert cherry-pick rm mv apply am read-tree checkout-index stash sparse-checkout")

func (c *command) git() {
	at := *c
	args := c.args[1:]
	for len(args) > 0 && args[0].flag() {
		a := args[0]
		value := arg{source: a.source, text: tool.NotShown}
		if len(args) > 1 {
			value = args[1]
		}
		used := 1
		switch name, v, has := strings.Cut(a.text, "="); {
		case name == "-C":
			c.operand(value, tool.OpEnter, "directory of git")
			if at.in = unknown(); value.shown() {
				at.in = c.in.enter(value.text)
			}
			used = 2
		case name == "-c" || name == "--config-env" || name == "--exec-path" && has:
			c.hide("git -c can make git run a program")
			if name == "-c" || !has {
				used = 2
			}
		case name == "--git-dir" || name == "--work-tree" || name == "--namespace" || name == "--super-prefix":
			if has {
				value = arg{text: v, source: a.source}
			} else {
				used = 2
			}
			c.operand(value, tool.OpRead, name+" of git")
			c.hide(name + " makes git use another configuration")
		case !a.shown():
			c.hide("an option of git is not literal: " + a.source)
		}
		args = args[min(used, len(args)):]
	}
	if len(args) > 0 && len(args) < len(c.args)-1 { // a rule for "git push" reaches "git -C x push"
		words := []string{c.name()}
		for _, a := range args {
			words = append(words, a.text)
		}
		c.outer = append(c.outer, words)
	}
	if len(args) > 0 {
		at.subcommand(args[0], args[1:])
	}
	c.operands, c.opaque = append(c.operands, at.operands...), append(c.opaque, at.opaque...)
}

// subcommand reads the words after a subcommand of git.
func (c *command) subcommand(sub arg, args []arg) {
	quiet, tree := slices.Contains(gitQuiet, sub.text), slices.Contains(gitTree, sub.text)
	c.gitOptions(args)
	switch {
	case quiet || tree:
		c.gitOperands(sub.text, args, tree)
	case slices.Contains([]string{"clone", "init", "worktree", "archive", "bundle", "format-patch"}, sub.text):
		c.gitPlaces(sub.text, args)
	case sub.text == "config" && len(args) == 1 || sub.text == "config" && len(args) > 0 && (strings.HasPrefix(args[0].text, "--get") || args[0].text == "-l" || args[0].text == "--list" || args[0].text == "get" || args[0].text == "list"):
	case sub.text == "push":
	default:
		c.hide("the text does not show what git " + brief(sub.text) + " does")
		for _, a := range args {
			c.guess(a)
		}
	}
}

// gitOptions notes options that write files or run programs.
func (c *command) gitOptions(args []arg) {
	for i, a := range args {
		name, value, has := strings.Cut(a.text, "=")
		next := arg{text: value, source: a.source}
		if !has && i+1 < len(args) {
			next = args[i+1]
		}
		switch {
		case name == "--":
			return
		case name == "--output":
			c.operand(next, tool.OpWrite, "--output of git")
		case name == "--file" || name == "-F" || name == "--pathspec-from-file" || name == "--template":
			c.operand(next, tool.OpRead, name+" of git")
		case strings.HasPrefix(a.text, "ext::") || strings.HasPrefix(a.text, "fd::"):
			c.hide("the transport " + brief(a.text) + " of git runs a program")
		case slices.Contains(gitRuns, name) || strings.HasPrefix(name, "-O"):
			c.hide(name + " of git can run a program")
		case a.flag() && !a.shown():
			c.hide("an option of git is not literal: " + a.source)
		}
	}
}

// gitRuns lists options that make a subcommand run a program.
var gitRuns = strings.Fields("--exec --upload-pack --receive-pack --ext-diff --textconv --open-files-in-pager --exec-path --tool --filters --show-signature")

// gitWords lists options whose value is text.
var gitWords = strings.Fields("-m --message --author --date --format --pretty --grep -S -G --since --until -n --trailer")

// gitPaths lists subcommands whose operands are paths, or may be: what is a name
// of a revision is a file that does not exist.
var gitPaths = strings.Fields("add rm mv ls-files clean restore check-ignore apply am hash-object diff log show blame annotate whatchanged")

// gitOperands notes paths: those after "--", and for subcommands whose operands
// are paths all of them.
func (c *command) gitOperands(sub string, args []arg, tree bool) {
	paths := slices.Contains(gitPaths, sub)
	op := tool.OpRead
	if tree && sub != "apply" && sub != "am" {
		op = tool.OpWrite
	}
	all := slices.ContainsFunc(args, func(a arg) bool { return a.text == "--no-index" })
	after := false
	for i, a := range args {
		switch {
		case a.text == "--":
			after = true
		case !after && a.flag():
		case !after && i > 0 && slices.Contains(gitWords, args[i-1].text):
		case (sub == "show" || sub == "cat-file" || sub == "diff") && a.shown() && strings.Contains(a.text, ":"):
			_, file, _ := strings.Cut(a.text, ":")
			c.operand(arg{text: file, source: a.source}, op, "operand of git "+sub)
		case after || paths || all || strings.Contains(a.text, "../") || strings.HasPrefix(a.text, "/"):
			c.operand(a, op, "operand of git "+sub)
		case !a.shown():
			c.hide("an operand of git " + sub + " is not literal: " + a.source)
		}
	}
	if tree && !c.wrote() {
		c.path(".", tool.OpWrite, "work tree of git "+sub)
	}
	if sub == "mv" {
		for _, o := range slices.Clone(c.operands) {
			o.Op = tool.OpRead
			c.operands = append(c.operands, o)
		}
	}
	if sub == "grep" { // it shows what lies below, like grep -r
		c.deep = true
		c.path(".", tool.OpSearch, "directory of git grep")
	}
}

func (c *command) wrote() bool {
	return slices.ContainsFunc(c.operands, func(o tool.Operand) bool { return o.Op == tool.OpWrite })
}

// gitPlaces notes what subcommands write outside of the work tree.
func (c *command) gitPlaces(sub string, args []arg) {
	var found []arg
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, has := strings.Cut(a.text, "=")
		switch {
		case a.text == "-o" || a.text == "--output-directory" || a.text == "--output":
			if i++; i < len(args) {
				c.operand(args[i], tool.OpWrite, "output of git "+sub)
			}
		case has && strings.HasPrefix(name, "--output"):
			c.operand(arg{text: value, source: a.source}, tool.OpWrite, "output of git "+sub)
		case a.text == "-b" || a.text == "-B" || a.text == "--branch" || a.text == "--depth" || a.text == "--format" || a.text == "--prefix":
			i++
		case a.text == "-c" || a.text == "--config" || a.text == "--template" || strings.HasPrefix(name, "--config"):
			c.hide("a configuration for git " + sub + " can run a program")
			i++
		case !a.flag():
			found = append(found, a)
		}
	}
	c.gitTargets(sub, found)
}

func (c *command) gitTargets(sub string, found []arg) {
	switch {
	case sub == "clone" && len(found) > 0:
		if !found[0].shown() {
			c.hide("the source of git clone is not literal: " + found[0].source)
		}
		if strings.HasPrefix(found[0].text, "/") || strings.HasPrefix(found[0].text, ".") {
			c.operand(found[0], tool.OpRead, "source of git clone")
		}
		if len(found) > 1 {
			c.operand(found[1], tool.OpWrite, "target of git clone")
			return
		}
		c.path(".", tool.OpWrite, "directory of git clone")
	case sub == "init":
		for _, a := range found {
			c.operand(a, tool.OpWrite, "directory of git init")
		}
		if len(found) == 0 {
			c.path(".", tool.OpWrite, "directory of git init")
		}
	case sub == "worktree" && len(found) > 1 && found[0].text != "list":
		c.operand(found[1], tool.OpWrite, "operand of git worktree")
	case sub == "bundle" && len(found) > 1:
		op := tool.OpRead
		if found[0].text == "create" {
			op = tool.OpWrite
		}
		c.operand(found[1], op, "file of git bundle")
	case sub == "format-patch" && !c.wrote():
		c.path(".", tool.OpWrite, "directory of git format-patch")
	}
}
