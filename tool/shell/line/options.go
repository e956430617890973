package line

import (
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// Kinds of options in a spec. An option that is not listed has no value.
const (
	plain  = 'v' // its value is no path
	opaque = '!' // it makes the program do what the text does not show
)

// operation gives the operation of a letter in a spec.
func operation(letter byte) tool.Op {
	switch letter {
	case 'r':
		return tool.OpRead
	case 'w':
		return tool.OpWrite
	case 's':
		return tool.OpSearch
	case 'e':
		return tool.OpEnter
	}
	return tool.OpNone
}

// options reads "-n:v --output:w" into the kind of each option.
func options(list string) map[string]byte {
	o := map[string]byte{}
	for _, entry := range strings.Fields(list) {
		name, kind, _ := strings.Cut(entry, ":")
		o[name] = kind[0]
	}
	return o
}

// long returns the kind of a long option, which may be shortened.
func long(o map[string]byte, name string) byte {
	if kind, ok := o[name]; ok {
		return kind
	}
	var found byte
	for full, kind := range o {
		if len(name) > 2 && strings.HasPrefix(full, name) && found != opaque {
			found = kind
		}
	}
	return found
}

// option reads the option at the head of args, and returns how many words it is.
func (c *command) option(o map[string]byte, args []arg) int {
	a := args[0]
	if strings.HasPrefix(a.text, "--") {
		name, value, has := strings.Cut(a.text, "=")
		if strings.Contains(name, tool.NotShown) {
			c.hide("an option of " + c.name() + " is not literal: " + a.source)
			return 1
		}
		return c.valued(name, long(o, name), arg{text: value, source: a.source}, has, args)
	}
	for i := 1; i < len(a.text); i++ {
		if a.text[i] == tool.NotShown[0] {
			c.hide("an option of " + c.name() + " is not literal: " + a.source)
			return 1
		}
		name := "-" + a.text[i:i+1]
		if kind := o[name]; kind != 0 {
			rest := strings.TrimPrefix(a.text[i+1:], "=")
			return c.valued(name, kind, arg{text: rest, source: a.source}, rest != "", args)
		}
	}
	return 1
}

// valued takes the value of an option of a kind, from the next word if has is
// false.
func (c *command) valued(name string, kind byte, value arg, has bool, args []arg) int {
	used := 1
	switch kind {
	case 0:
		if has {
			c.guess(value)
		}
		return 1
	case opaque:
		c.hide(name + " of " + c.name() + " does what the text does not show")
	}
	if !has && len(args) > 1 {
		value, used = args[1], 2
	}
	if op := operation(kind); op != tool.OpNone {
		c.operand(value, op, "value of "+name+" of "+c.name())
	}
	return used
}

// positional reads the options of a program wherever they stand and returns the
// operands.
func (c *command) positional(o map[string]byte) []arg {
	var found []arg
	for args := c.args[1:]; len(args) > 0; {
		switch {
		case args[0].text == "--":
			return append(found, args[1:]...)
		case args[0].flag():
			args = args[c.option(o, args):]
		default:
			found, args = append(found, args[0]), args[1:]
		}
	}
	return found
}

// generic takes every word that looks like a path for one that is read: that is
// all the text shows of a program that is not known.
func (c *command) generic() {
	for _, a := range c.args[1:] {
		if a.flag() {
			_, value, has := strings.Cut(a.text, "=")
			if !has {
				continue
			}
			a.text = value
		}
		c.guess(a)
	}
}

// guess notes a word as a path that is read if it looks like one.
func (c *command) guess(a arg) {
	t := a.text
	if !a.shown() || len(t) > 4096 || strings.ContainsAny(t, "\n") || strings.Contains(t, "://") {
		return
	}
	if strings.ContainsAny(t, "/.") || strings.HasPrefix(t, "~") {
		c.operand(a, tool.OpRead, "operand of "+c.name())
	}
}
