package line

import (
	"path"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// alias is a name that a command makes for what is at another path. What later
// commands do with it, or below it, they do there.
type alias struct {
	at string // absolute, folded
	to string // absolute, unfolded
	// read says that the name gets a copy, in which links may still lead away: only
	// reading is the same.
	read  bool
	maker string // text of the command that makes it
}

// Bounds of what is followed.
const (
	maxAliases = 64
	maxAgain   = 5 // aliases of aliases
	maxLed     = 10_000
)

// aliases notes the names that cp, mv and ln make. found are their operands.
func (c *command) aliases(found []arg) {
	soft, read := false, false
	switch name := c.name(); {
	case name == "ln":
		soft = c.has("-s --symbolic") && !c.has("-r --relative")
	case name == "cp" && c.has("-l --link -s --symbolic-link"):
	case name == "cp" && c.has("-r -R -a -d -P --recursive --archive --no-dereference"):
		read = true
	case name != "mv":
		return
	}
	into, sources := c.destination(found)
	for _, dir := range c.in.reached() {
		for _, s := range sources {
			if dir == "" || !s.shown() {
				continue // later names from there are asked about anyway
			}
			for _, name := range into {
				c.alias(dir, name, s.text, soft, read)
			}
		}
	}
}

// destination gives what names the sources can get; "/" at the end stands for
// their own name below.
func (c *command) destination(found []arg) (into []string, sources []arg) {
	for _, o := range c.operands {
		if strings.HasPrefix(o.Why, "value of -t ") || strings.HasPrefix(o.Why, "value of --target") {
			into = append(into, o.Spelled+"/")
		}
	}
	switch last := len(found) - 1; {
	case len(into) > 0:
		return into, found
	case last == 0 && c.name() == "ln":
		return []string{"./"}, found
	case last < 1 || !found[last].shown():
		return nil, nil
	case last > 1 || strings.HasSuffix(found[last].text, "/") || c.isDir(found[last].text):
		return []string{found[last].text + "/"}, found[:last]
	default:
		return []string{found[last].text, found[last].text + "/"}, found[:last]
	}
}

func (c *command) alias(dir, name, source string, soft, read bool) {
	if strings.HasSuffix(name, "/") {
		name += path.Base(source)
	}
	at := path.Clean(rooted(dir, name))
	if soft {
		dir = path.Dir(at) // where the link is, its target begins
	}
	to := rooted(dir, source)
	if c.name() == "ln" {
		o := tool.Operand{Spelled: to, Op: tool.OpRead, Base: dir, Why: "target of " + c.name()}
		if !slices.Contains(c.operands, o) {
			c.operands = append(c.operands, o)
		}
	}
	c.made = append(c.made, alias{at, to, read, c.text})
}

func rooted(dir, p string) string {
	if path.IsAbs(p) {
		return p
	}
	return dir + "/" + p
}

// lead adds, for every operand that passes an alias, where that leads. The order
// of the commands does not count: there are loops and functions.
func (w *walk) lead() {
	if len(w.aliases) == 0 {
		return
	}
	if len(w.aliases) > maxAliases {
		w.hide("more than %d names are made for other files", maxAliases)
		w.aliases = w.aliases[:maxAliases]
	}
	by := map[string][]alias{}
	for _, a := range w.aliases {
		by[a.at] = append(by[a.at], a)
	}
	left := maxLed
	for i := range w.commands {
		c := &w.commands[i]
		from := 0
		for range maxAgain {
			end := len(c.Operands)
			for _, o := range c.Operands[from:end] {
				led := leadsOf(by, c, o)
				if left -= len(led); left < 0 {
					w.hide("more than %d paths pass names that are made for other files", maxLed)
					return
				}
				c.Operands = append(c.Operands, led...)
			}
			from = end
		}
	}
}

// leadsOf gives where an operand of a command leads through aliases that other
// commands make.
func leadsOf(by map[string][]alias, c *tool.ShellCommand, o tool.Operand) []tool.Operand {
	if o.Base == "" && !path.IsAbs(o.Spelled) {
		return nil
	}
	var led []tool.Operand
	full := rooted(o.Base, o.Spelled)
	for i := 1; i <= len(full); i++ {
		if i < len(full) && full[i] != '/' {
			continue
		}
		for _, a := range by[path.Clean(full[:i])] {
			if a.maker == c.Text || a.read && o.Op == tool.OpWrite {
				continue
			}
			next := o
			next.Spelled = a.to + full[i:]
			next.Why = strings.TrimSuffix(o.Why, through) + through
			if !slices.Contains(c.Operands, next) {
				led = append(led, next)
			}
		}
	}
	return led
}

// through tells of a path that another command of the line leads elsewhere.
const through = ", through a name that this line makes"
