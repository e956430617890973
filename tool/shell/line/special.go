package line

import (
	"regexp"
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// special returns what reads a program whose words need more than the table; nil
// for every other one.
func special(name string) func(*command) {
	switch name {
	case "git":
		return (*command).git
	case "sed":
		return (*command).sed
	case "awk", "gawk", "mawk", "nawk":
		return (*command).awk
	case "find":
		return (*command).find
	case "tar", "bsdtar":
		return (*command).tar
	case "dd":
		return (*command).dd
	case "curl":
		return (*command).curl
	case "wget":
		return (*command).wget
	case "unzip":
		return (*command).unzip
	case "patch":
		return (*command).patch
	}
	return nil
}

// safeSed matches scripts that only print, delete and substitute.
var safeSed = regexp.MustCompile(`^\s*(((\d+|\$|/[^/\\]*/)(,(\d+|\$|/[^/\\]*/))?)?\s*!?\s*([pdqDGgHhNnx=]|s(/([^/\\]|\\.)*/([^/\\]|\\.)*/|\|([^|\\]|\\.)*\|([^|\\]|\\.)*\||#([^#\\]|\\.)*#([^#\\]|\\.)*#|,([^,\\]|\\.)*,([^,\\]|\\.)*,|@([^@\\]|\\.)*@([^@\\]|\\.)*@)[gpiIm0-9]*|y/([^/\\]|\\.)*/([^/\\]|\\.)*/)?\s*(;|\n|$)\s*)*$`)

func (c *command) sed() {
	o := options("-e:v -f:! -l:v --expression:v --file:! --line-length:v")
	op, scripted := tool.OpRead, false
	var found []arg
	for args := c.args[1:]; len(args) > 0; {
		a := args[0]
		switch t := a.text; {
		case t == "--":
			found, args = append(found, args[1:]...), nil
			continue
		case strings.HasPrefix(t, "--in") || strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "--") && sedInPlace(t):
			op = tool.OpWrite
			args = args[1:]
			continue
		case a.flag():
			used := c.option(o, args)
			if script, ok := sedExpression(args[:used]); ok {
				scripted = true
				c.sedScript(script)
			}
			args = args[used:]
			continue
		}
		found, args = append(found, a), args[1:]
	}
	if !scripted && len(found) > 0 && !c.has("-f --file") {
		c.sedScript(found[0])
		found = found[1:]
	}
	for _, a := range found {
		c.operand(a, op, "operand of sed")
		if op == tool.OpWrite {
			c.operand(a, tool.OpRead, "operand of sed")
		}
	}
}

// sedInPlace reports whether a word of short options holds -i: what follows "e",
// "f" and "l" is a value, and what follows "i" a suffix.
func sedInPlace(t string) bool {
	i := strings.IndexByte(t, 'i')
	return i > 0 && !strings.ContainsAny(t[:i], "efl")
}

// sedExpression returns the script in an option -e.
func sedExpression(words []arg) (arg, bool) {
	first := words[0].text
	long := strings.HasPrefix(first, "--e")
	if !long && (strings.HasPrefix(first, "--") || !strings.Contains(first, "e")) {
		return arg{}, false
	}
	if len(words) > 1 {
		return words[1], true
	}
	_, value, _ := strings.Cut(first, map[bool]string{true: "=", false: "e"}[long])
	return arg{text: value, source: words[0].source}, true
}

func (c *command) sedScript(script arg) {
	if !script.shown() || !safeSed.MatchString(script.text) {
		c.hide("the text does not show whether the sed script writes or runs something")
	}
}

func (c *command) awk() {
	found := c.positional(options("-F:v -v:v -f:! -i:! -E:! -l:! --file:! --include:! --load:! --exec:! --field-separator:v --assign:v -o:! -p:! -d:! --dump-variables:! --profile:! --pretty-print:!"))
	if len(found) == 0 {
		return
	}
	if p := found[0]; !p.shown() || strings.ContainsAny(p.text, ">|@") || strings.Contains(p.text, "system") || strings.Contains(p.text, "getline") || strings.Contains(p.text, "ARGV") {
		c.hide("the text does not show whether the awk program writes or runs something")
	}
	for _, a := range found[1:] {
		c.operand(a, tool.OpRead, "operand of awk")
	}
}

func (c *command) find() {
	args := c.args[1:]
	for len(args) > 0 && (args[0].text == "-L" || args[0].text == "-P" || args[0].text == "-H") {
		args = args[1:]
	}
	var roots []arg
	for len(args) > 0 && !args[0].flag() && args[0].text != "(" && args[0].text != "!" {
		roots, args = append(roots, args[0]), args[1:]
	}
	if len(roots) == 0 {
		roots = []arg{{text: "."}}
	}
	ops := []tool.Op{tool.OpSearch}
	for i, a := range args {
		value := arg{source: a.source}
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch a.text {
		case "-delete":
			ops = append(ops, tool.OpWrite)
		case "-fprint", "-fls", "-fprint0", "-fprintf":
			c.operand(value, tool.OpWrite, "value of "+a.text)
		case "-files0-from", "-newer", "-anewer", "-cnewer", "-samefile":
			c.operand(value, tool.OpRead, "value of "+a.text)
		case "-exec", "-execdir", "-ok", "-okdir":
			c.hide("find runs a command with the files it finds")
		}
		if !a.shown() && !strings.HasPrefix(a.text, "-") && (i == 0 || !args[i-1].flag()) {
			c.hide("a word of find is not literal: " + a.source)
		}
	}
	for _, r := range roots {
		for _, op := range ops {
			c.operand(r, op, "directory of find")
		}
	}
}

// executed returns the commands in a find, with what it finds not shown.
func (c *command) executed() [][]arg {
	var all [][]arg
	for i := 0; i < len(c.args); i++ {
		switch c.args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			continue
		}
		var inner []arg
		for i++; i < len(c.args) && c.args[i].text != ";" && c.args[i].text != "+"; i++ {
			a := c.args[i]
			a.text = strings.ReplaceAll(a.text, "{}", tool.NotShown)
			inner = append(inner, a)
		}
		if len(inner) > 0 {
			all = append(all, inner)
		}
	}
	return all
}

func (c *command) dd() {
	for _, a := range c.args[1:] {
		name, value, _ := strings.Cut(a.text, "=")
		v := arg{text: value, source: a.source}
		switch {
		case strings.Contains(name, tool.NotShown):
			c.hide("an operand of dd is not literal: " + a.source)
		case name == "if":
			c.operand(v, tool.OpRead, "if= of dd")
		case name == "of":
			c.operand(v, tool.OpWrite, "of= of dd")
		}
	}
}

func (c *command) patch() {
	found := c.positional(options("-i:r --input:r -o:w --output:w -d:! --directory:! -p:v -F:v -D:v -B:v -Y:v -z:v -r:w --reject-file:w -V:v --strip:v --fuzz:v --suffix:v"))
	for i, a := range found {
		c.take(a, letterAt("wr", i, len(found)), i, nil)
	}
	if len(found) == 0 && !c.has("--dry-run") {
		c.path(".", tool.OpWrite, "working directory of patch")
		c.hide("the files that patch changes stand in its input")
	}
}
