package render

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Markdown returns a Markdown text, formatted. HTML in it is shown as it is
// written.
func Markdown(s string, o Options) string {
	if len(s) > maxRead {
		return s
	}
	p := &paper{source: []byte(s), o: o}
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(p.source))
	p.blocks(root, p.o.Width)
	return strings.Trim(p.b.String(), "\n") + "\n"
}

// paper is a text that is being formatted.
type paper struct {
	source []byte
	o      Options
	b      strings.Builder
}

func (p *paper) style(s, style string) string {
	if !p.o.Color {
		return s
	}
	return paint(s, style)
}

// inside formats the blocks of a node by themselves, in a width.
func (p *paper) inside(n ast.Node, width int) string {
	in := &paper{source: p.source, o: p.o}
	in.blocks(n, width)
	return strings.Trim(in.b.String(), "\n")
}

func (p *paper) blocks(parent ast.Node, width int) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		p.block(n, width)
	}
}

func (p *paper) put(s string) { p.b.WriteString(strings.TrimRight(s, "\n") + "\n\n") }

func (p *paper) block(n ast.Node, width int) {
	switch n := n.(type) {
	case *ast.Heading:
		mark := ""
		if !p.o.Color {
			mark = strings.Repeat("#", n.Level) + " "
		}
		style := bold
		if n.Level == 1 {
			style = bold + ";" + underline
		}
		p.put(p.style(mark+ansi.Strip(p.inline(n)), style))
	case *ast.Paragraph:
		p.put(wrap(p.inline(n), width))
	case *ast.TextBlock: // an item of a tight list
		p.b.WriteString(wrap(p.inline(n), width) + "\n")
	case *ast.List:
		p.list(n, width)
	case *ast.Blockquote:
		p.put(p.indent(p.inside(n, narrower(width, 2)), p.style("│ ", faint), p.style("│ ", faint)))
	case *ast.FencedCodeBlock:
		p.put(p.indent(Code(p.lines(n), string(n.Language(p.source)), p.o), "    ", "    "))
	case *ast.CodeBlock:
		p.put(p.indent(p.lines(n), "    ", "    "))
	case *ast.ThematicBreak:
		p.put(p.style(strings.Repeat("─", max(3, min(width, 40))), faint))
	case *ast.HTMLBlock:
		raw := p.lines(n)
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(p.source))
		}
		p.put(p.style(strings.TrimRight(raw, "\n"), faint))
	case *tables.Table:
		p.table(n)
	default:
		p.blocks(n, width)
	}
}

// lines returns the text of a block as it is written.
func (p *paper) lines(n ast.Node) string { return string(n.Lines().Value(p.source)) }

// indent puts first before the first line and rest before the others.
func (p *paper) indent(s, first, rest string) string {
	return first + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+rest)
}

func (p *paper) list(l *ast.List, width int) {
	n := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if l.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", n, l.Marker)
			n++
		}
		room := ansi.StringWidthWc(mark)
		p.b.WriteString(p.indent(p.inside(item, narrower(width, room)), mark, strings.Repeat(" ", room)) + "\n")
		if !l.IsTight {
			p.b.WriteString("\n")
		}
	}
	if l.IsTight {
		p.b.WriteString("\n")
	}
}

func narrower(width, by int) int {
	if width == 0 {
		return 0
	}
	return max(width-by, 20)
}

func wrap(s string, width int) string {
	if width == 0 {
		return s
	}
	return ansi.WrapWc(s, width, "")
}

// table lays the cells of a table out in columns.
func (p *paper) table(t *tables.Table) {
	var rows [][]string
	var wide []int
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			s := p.inline(cell)
			if i := len(cells); i == len(wide) {
				wide = append(wide, 0)
			}
			wide[len(cells)] = max(wide[len(cells)], ansi.StringWidthWc(s))
			cells = append(cells, s)
		}
		rows = append(rows, cells)
	}
	var b strings.Builder
	for r, cells := range rows {
		var line strings.Builder
		for i, c := range cells {
			pad := strings.Repeat(" ", wide[i]-ansi.StringWidthWc(c)+2)
			if r == 0 {
				c = p.style(c, bold)
			}
			line.WriteString(c + pad)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		if r == 0 {
			total := -2
			for _, w := range wide {
				total += w + 2
			}
			b.WriteString(p.style(strings.Repeat("─", max(total, 1)), faint) + "\n")
		}
	}
	p.put(b.String())
}

// inline returns the text of a node with the styles of its parts.
func (p *paper) inline(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(p.part(n))
	}
	return b.String()
}

func (p *paper) part(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Text:
		s := plain(n.Segment.Value(p.source))
		switch {
		case n.HardLineBreak():
			s += "\n"
		case n.SoftLineBreak():
			s += " "
		}
		return s
	case *ast.String:
		return plain(n.Value)
	case *ast.CodeSpan:
		if !p.o.Color {
			return "`" + p.raw(n) + "`"
		}
		return p.style(p.raw(n), cyan)
	case *ast.Emphasis:
		if n.Level == 2 {
			return p.style(p.inline(n), bold)
		}
		return p.style(p.inline(n), italic)
	case *tables.Strikethrough:
		return p.style(p.inline(n), "9")
	case *tables.TaskCheckBox:
		if n.IsChecked {
			return "[x] "
		}
		return "[ ] "
	case *ast.Link:
		return p.link(p.inline(n), string(n.Destination))
	case *ast.AutoLink:
		return p.link("", string(n.URL(p.source)))
	case *ast.Image:
		return p.link("[picture: "+p.inline(n)+"]", string(n.Destination))
	case *ast.RawHTML:
		return p.style(string(n.Segments.Value(p.source)), faint)
	}
	return p.inline(n)
}

// plain resolves what is escaped in a text.
func plain(raw []byte) string {
	raw = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(raw)))
	return strings.ReplaceAll(Tame(string(raw)), "\n", " ")
}

// raw returns the text of a code span, in which nothing is escaped.
func (p *paper) raw(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(p.source))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// link shows where a link leads, since a terminal does not follow it unseen.
func (p *paper) link(label, to string) string {
	to = strings.NewReplacer("\n", "", "\t", "").Replace(Tame(to))
	if label == "" || label == to {
		return p.style(to, underline)
	}
	if len(to) > 200 {
		to = to[:200] + "…"
	}
	return label + " (" + p.style(strings.ToValidUTF8(to, "\ufffd"), underline) + ")"
}
