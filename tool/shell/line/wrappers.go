package line

import (
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// wrapper is a program that runs the command in its arguments.
type wrapper struct {
	flags  string // as in spec: options with values
	skip   int    // operands in front of the command
	assign bool   // NAME=VALUE may stand in front of the command
	here   bool   // the command acts on this shell
	opaque string // why the wrapper itself is not clear; then it counts as a command too
	input  bool   // more operands come from the input
}

var wrappers = map[string]wrapper{
	"builtin": {here: true},
	"command": {here: true},
	"exec":    {here: true, flags: "-a:v"},
	"nohup":   {},
	"setsid":  {},
	"time":    {flags: "-o:w --output:w -f:v --format:v"},
	"timeout": {skip: 1, flags: "-k:v --kill-after:v -s:v --signal:v"},
	"nice":    {flags: "-n:v --adjustment:v"},
	"ionice":  {flags: "-c:v --class:v -n:v --classdata:v"},
	"stdbuf":  {flags: "-i:v -o:v -e:v --input:v --output:v --error:v"},
	"chrt":    {skip: 1, flags: "-T:v -P:v -D:v"},
	"taskset": {skip: 1},
	"flock":   {skip: 1, flags: "-w:v --timeout:v -E:v -c:! --command:!"},
	"env":     {assign: true, flags: "-u:v --unset:v -C:! --chdir:! -S:! --split-string:! -a:v --argv0:v"},
	"sudo":    {assign: true, opaque: "sudo runs it as another user", flags: "-u:v -g:v -h:v -p:v -C:v -T:v -r:v -t:v -D:! -R:! -s:! -i:! --user:v --group:v --chdir:! --chroot:! --shell:! --login:! -e:!"},
	"doas":    {opaque: "doas runs it as another user", flags: "-u:v -C:r -s:!"},
	"strace":  {opaque: "strace follows it", flags: "-o:w -e:v -s:v -p:v -E:v -u:v -a:v -O:v -S:v -P:v"},
	"xargs":   {input: true, flags: "-n:v -P:v -I:v -d:v -L:v -s:v -E:v -a:r --arg-file:r --max-args:v --max-procs:v --replace:v --delimiter:v --max-lines:v --max-chars:v --eof:v"},
}

// unwrap reads a wrapper and the command in it.
func (w *walk) unwrap(c *command, wrap wrapper) flow {
	name := c.name()
	if name == "command" && len(c.args) > 1 && (c.args[1].text == "-v" || c.args[1].text == "-V") {
		w.finish(c)
		return stays(c.in)
	}
	rest := c.leading(options(wrap.flags), c.args[1:])
	for wrap.assign && len(rest) > 0 && strings.Contains(rest[0].text, "=") {
		w.sets(rest[0].text)
		rest = rest[1:]
	}
	rest = c.skipped(rest, wrap.skip)
	if len(rest) == 0 && !wrap.input || len(c.opaque) > 0 {
		for i, a := range rest {
			if i > 0 {
				c.guess(a)
			}
		}
		w.finish(c)
		return stays(c.in)
	}
	inner := &command{args: rest, text: c.text, in: c.in, outer: append(c.outer, c.words()), operands: c.operands, isDir: c.isDir}
	if wrap.input {
		inner.args = fromInput(c, rest)
	}
	if wrap.opaque != "" {
		inner.operands = nil
		c.hide(wrap.opaque)
		w.finish(c)
	}
	out := w.direct(inner)
	if !wrap.here {
		return stays(c.in)
	}
	return out
}

// leading reads the options in front of a command and returns what follows.
func (c *command) leading(o map[string]byte, args []arg) []arg {
	for len(args) > 0 && args[0].flag() {
		if args[0].text == "--" {
			return args[1:]
		}
		used := c.option(o, args)
		args = args[used:]
	}
	return args
}

// skipped drops the operands that a wrapper takes for itself.
func (c *command) skipped(args []arg, n int) []arg {
	for ; n > 0 && len(args) > 0; n-- {
		switch {
		case c.name() == "flock":
			c.operand(args[0], tool.OpWrite, "lock of flock")
		case !args[0].shown():
			c.hide("the operand of " + c.name() + " is not literal: " + args[0].source)
		}
		args = args[1:]
	}
	return args
}

// fromInput completes the command of xargs with what the text does not show.
func fromInput(c *command, rest []arg) []arg {
	args := []arg{{text: "echo"}}
	if len(rest) > 0 {
		args = nil
	}
	for _, a := range rest {
		a.text = strings.ReplaceAll(a.text, "{}", tool.NotShown)
		args = append(args, a)
	}
	return append(args, arg{text: tool.NotShown, source: "the input of " + c.name()})
}
