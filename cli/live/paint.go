package live

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The sequences of the painter. Those around a frame let terminals that know
// them show it at once; others ignore them.
const (
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
	eraseLine  = "\x1b[K"
	eraseBelow = "\x1b[J"
)

// painter keeps a block of lines above the cursor, which stands at the
// beginning of the line below it. It sets no mode of the terminal.
type painter struct {
	out        io.Writer
	reflow     bool     // the terminal wraps old lines again when it gets narrower
	last       []string // as they were drawn
	cols, rows int      // of the terminal then
}

// paint replaces the block, all of it: a key that was echoed may have moved the
// cursor, and then a single line would land in the wrong place. lines must be
// narrower than cols and fewer than rows.
func (p *painter) paint(lines []string, cols, rows int) error {
	if cols == p.cols && rows == p.rows && slices.Equal(lines, p.last) {
		return nil
	}
	var b strings.Builder
	b.WriteString(beginFrame)
	old := p.up(&b, cols, rows)
	for _, l := range lines {
		b.WriteString(l + eraseLine + "\r\n")
	}
	if len(lines) < old {
		b.WriteString(eraseBelow)
	}
	b.WriteString(endFrame)
	p.last, p.cols, p.rows = lines, cols, rows
	_, err := io.WriteString(p.out, b.String())
	return err
}

// erase takes the block away; the cursor stands where it began. It goes line by
// line: erasing the whole screen at once would push it into the scrollback of
// some terminals.
func (p *painter) erase(cols, rows int) error {
	if len(p.last) == 0 {
		return nil
	}
	var b strings.Builder
	old := p.up(&b, cols, rows)
	b.WriteString(strings.Repeat(eraseLine+"\r\n", old))
	p.up(&b, cols, rows)
	p.forget()
	_, err := io.WriteString(p.out, b.String())
	return err
}

// forget leaves the block where it is and begins a new one at the cursor.
func (p *painter) forget() { p.last = nil }

// up moves the cursor to the beginning of the block in a terminal that is now
// so large, and returns by how many rows. What has scrolled away stays as it is.
func (p *painter) up(b *strings.Builder, cols, rows int) int {
	n := 0
	for _, l := range p.last {
		n++
		if p.reflow && cols < p.cols && cols > 0 {
			n += max(0, ansi.StringWidthWc(l)-1) / cols
		}
	}
	if rows > 0 {
		n = min(n, rows-1)
	}
	b.WriteByte('\r')
	if n > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(n) + "A")
	}
	return n
}
