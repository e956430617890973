package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// style is a colour of the terminal's own palette, as the parameters of its
// escape sequence; "" is the terminal's text.
type style string

const (
	text     style = ""
	strong   style = "1"
	faint    style = "2"
	bad      style = "31"
	good     style = "32"
	slow     style = "33"
	lively   style = "36"
	question style = "1;33"
	command  style = "1;36"
)

var markNone = mark{" ", " ", text}

// maxFinal bounds the rows of the last picture.
const maxFinal = 200

// Draw returns the tree as lines, none wider than look.Width less one column,
// and fewer than look.Height.
func (t *Tree) Draw(look Look) []string {
	if t.Empty() {
		return nil
	}
	for _, i := range t.roots {
		i.weigh()
	}
	height := look.Height - 1 // the cursor stands below
	if look.Height == 0 || look.Final {
		height = maxFinal
	}
	height = max(height, 1)
	var foot []string
	if !look.Final {
		foot = look.lines(t.budgetRow(look))
	}
	var out []string
	for _, lim := range levels {
		out = nil
		for _, w := range t.rows(look, lim) {
			out = append(out, look.lines(w)...)
		}
		if len(out)+len(foot) <= height {
			return append(out, foot...)
		}
	}
	return look.cut(append(out, foot...), len(foot), height)
}

// cut leaves out the middle of what is taller than the terminal.
func (l Look) cut(lines []string, foot, height int) []string {
	if height <= foot+1 {
		return lines[:height]
	}
	top := height - foot - 1
	more := fmt.Sprintf("%d more lines", len(lines)-foot-top)
	out := append(slices.Clone(lines[:top]), l.lines(row{mark: markMore, cells: []cell{{text: more, style: faint}}})...)
	return append(out, lines[len(lines)-foot:]...)
}

// lines fits a row into the width. What came from elsewhere becomes harmless
// here, and only here.
func (l Look) lines(w row) []string {
	width := l.Width - 1
	if l.Width == 0 {
		width = 1 << 20
	}
	width = max(width, 1)
	cells := make([]cell, len(w.cells))
	for i, c := range w.cells {
		c.text = clean(c.text)
		cells[i] = c
	}
	w.cells = cells
	indent := min(2*w.depth, width/3)
	room := width - indent - 2
	lead := strings.Repeat(" ", indent)
	if room < 4 { // nothing can be told here
		return []string{l.paint(w.mark.style, ansi.TruncateWc(l.sign(w.mark), width, ""))}
	}
	if w.wrap > 0 {
		return l.wrap(w, lead+"  ", room)
	}
	out := lead + l.paint(w.mark.style, l.sign(w.mark)) + " " + l.fit(w.cells, room)
	return []string{strings.TrimRight(out, " ")}
}

func (l Look) sign(m mark) string {
	switch {
	case m.sign == "":
		return " "
	case l.ASCII:
		return m.ascii
	}
	return m.sign
}

// wrap lays a text out over as many lines as it may take.
func (l Look) wrap(w row, lead string, room int) []string {
	c := w.cells[0]
	var all []string
	if c.style == command {
		all = strings.Split(ansi.HardwrapWc(c.text, room, true), "\n")
	} else {
		all = strings.Split(ansi.WrapWc(c.text, room, ""), "\n")
	}
	if len(all) > w.wrap {
		all = all[:w.wrap]
		all[w.wrap-1] = ansi.TruncateWc(all[w.wrap-1]+" "+l.dots(), room, l.dots())
	}
	for i := range all {
		all[i] = lead + l.paint(c.style, all[i])
	}
	return all
}

func (l Look) dots() string {
	if l.ASCII {
		return "..."
	}
	return "…"
}

// arrow leads to an outcome.
func (l Look) arrow() string {
	if l.ASCII {
		return "-> "
	}
	return "→ "
}

// minFlex is what a flexible cell keeps while others can be dropped.
const minFlex = 16

// fit joins the cells within the room.
func (l Look) fit(cells []cell, room int) string {
	cells = append([]cell(nil), cells...)
	for {
		need, last := 0, -1
		for i, c := range cells {
			n := ansi.StringWidthWc(c.text)
			if c.flex {
				n = min(n, minFlex)
			}
			need += n + gap(cells, i)
			if c.drop > 0 && (last < 0 || c.drop > cells[last].drop) {
				last = i
			}
		}
		if need <= room || last < 0 {
			break
		}
		cells = append(cells[:last], cells[last+1:]...)
	}
	return l.join(cells, room)
}

// gap is the space before a cell.
func gap(cells []cell, i int) int {
	switch {
	case i == 0, cells[i-1].text == "":
		return 0
	case strings.HasSuffix(cells[i-1].text, ":"):
		return 1
	}
	return 2
}

func (l Look) join(cells []cell, room int) string {
	left := room
	for i, c := range cells {
		left -= gap(cells, i)
		if !c.flex {
			left -= ansi.StringWidthWc(c.text)
		}
	}
	var b strings.Builder
	used := 0
	for i, c := range cells {
		s := c.text
		switch {
		case c.flex && left < 4:
			continue
		case c.flex && c.end:
			if over := ansi.StringWidthWc(s) - left; over > 0 {
				s = ansi.TruncateLeftWc(s, over+ansi.StringWidthWc(l.dots()), l.dots())
			}
		case c.flex:
			s = ansi.TruncateWc(s, left, l.dots())
		}
		space := gap(cells, i)
		if used+space >= room {
			break
		}
		s = ansi.TruncateWc(s, room-used-space, l.dots())
		used += space + ansi.StringWidthWc(s)
		b.WriteString(strings.Repeat(" ", space) + l.paint(c.style, s))
	}
	return b.String()
}

func (l Look) paint(s style, t string) string {
	if !l.Color || s == "" || t == "" {
		return t
	}
	return "\x1b[" + string(s) + "m" + t + "\x1b[0m"
}
