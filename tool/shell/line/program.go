package line

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/tool"
)

// program reads the operands of a program.
func (c *command) program() {
	if read := special(c.name()); read != nil {
		read(c)
		return
	}
	s, ok := programs()[c.name()]
	if !ok {
		c.hide("the text does not show what " + brief(c.name()) + " does")
		if strings.Contains(c.name(), "/") {
			c.operand(arg{text: c.args[0].text}, tool.OpRead, "program")
		}
		c.generic()
		return
	}
	c.known(s)
}

// spec tells which words of a program are paths.
type spec struct {
	names string // programs, separated by spaces
	// operands has a letter for each operand in order: r, w, s and e are operations,
	// m is read and write, "-" is no path. "*" repeats the letter before it; letters
	// after it are for the last operands. Without any, no operand is a path.
	operands string
	flags    string // "-n:v --output:w"; see the kinds of options
	absent   byte   // operation on the working directory when there is no operand
	script   string // options that take the place of the first operand
	deep     string // options that make it read all that lies below its operands
}

// programs returns the table by name.
var programs = sync.OnceValue(func() map[string]*spec {
	all := map[string]*spec{}
	for i := range table {
		for _, name := range strings.Fields(table[i].names) {
			all[name] = &table[i]
		}
	}
	return all
})

// known reads the operands of a program of the table.
func (c *command) known(s *spec) {
	o := options(s.flags)
	found := c.positional(o)
	letters, absent := s.operands, s.absent
	if c.deep = c.has(s.deep); c.deep && absent == 0 && strings.Contains(letters, "s") {
		absent = 's'
	}
	if c.has(s.script) {
		letters = strings.TrimPrefix(letters, "-")
	}
	if c.has("-t --target-directory") {
		letters = strings.TrimSuffix(letters, "w") // cp, mv and ln: all operands are sources
	}
	if absent != 0 && len(found) <= strings.Count(letters, "-") {
		c.path(".", operation(absent), "working directory of "+c.name())
	}
	c.aliases(found)
	for i, a := range found {
		letter := letterAt(letters, i, len(found))
		if c.name() == "ln" && letter == 'r' && a.shown() && !slices.Contains(c.in.reached(), "") {
			continue // where a link leads was noted
		}
		c.take(a, letter, i, found)
		if letter == '-' && !a.shown() && len(o) > 0 {
			c.hide("an operand of " + c.name() + " is not literal and may be an option: " + a.source)
		}
	}
}

// has reports whether one of the options is among the words.
func (c *command) has(names string) bool {
	for _, name := range strings.Fields(names) {
		for _, a := range c.args[1:] {
			long := strings.HasPrefix(name, "--")
			if long && (a.text == name || strings.HasPrefix(a.text, name+"=")) ||
				!long && a.flag() && a.text[1] != '-' && strings.Contains(a.text, name[1:]) {
				return true
			}
		}
	}
	return false
}

// letterAt is the letter of operand i of n.
func letterAt(letters string, i, n int) byte {
	star := strings.IndexByte(letters, '*')
	if star < 0 {
		if i < len(letters) {
			return letters[i]
		}
		return '-'
	}
	before, after := letters[:star-1], letters[star+1:]
	switch {
	case i >= n-len(after) && n > len(before)+len(after)-1 && n > 1:
		return after[i-(n-len(after))]
	case i < len(before):
		return before[i]
	}
	return letters[star-1]
}

// take notes an operand by its letter.
func (c *command) take(a arg, letter byte, i int, all []arg) {
	why := "operand of " + c.name()
	switch {
	case letter == '-' || a.text == "-":
	case letter == 'm':
		c.operand(a, tool.OpRead, why)
		c.operand(a, tool.OpWrite, why)
	default:
		c.operand(a, operation(letter), why)
	}
	last := i == len(all)-1
	if !last || letter != 'w' || len(all) < 2 || !a.shown() {
		return
	}
	switch c.name() {
	case "cp", "mv", "ln", "install":
		c.inside(a, all[:i])
	}
}

// inside notes the names that sources get in a directory they are put into.
func (c *command) inside(dir arg, sources []arg) {
	t := dir.text
	certain := len(sources) > 1 || strings.HasSuffix(t, "/") || path.Base(t) == "." || path.Base(t) == ".."
	if !certain && !c.isDir(t) {
		return
	}
	for _, s := range sources {
		if s.shown() {
			c.operand(arg{text: strings.TrimSuffix(t, "/") + "/" + path.Base(s.text)}, tool.OpWrite, "operand of "+c.name())
		}
	}
}
