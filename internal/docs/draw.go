package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Sizes of the drawing, in units of the view box.
const (
	sheet   = 1080.0 // width
	margin  = 24.0
	gutter  = 190.0 // for the names of floors
	boxHigh = 30.0
	gap     = 10.0
	glyph   = 7.3 // width of a letter of a room's name
	titled  = 64.0

	lettered = 20 // letters of a line of a floor's name
	crowd    = 12 // rooms of a floor from which families begin rows
)

const style = `
  text { font: 12.5px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328 }
  .title { font: 600 19px system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
  .note, .floor, .number { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
  .note { font-size: 12.5px; fill: #59636e }
  .number { font-size: 19px; font-weight: 600; fill: #59636e }
  .floor { font-size: 13px; fill: #59636e }
  .in { font-size: 10.5px; fill: #59636e }
  .sheet { fill: #ffffff }
  .band { fill: #f3f5f8; stroke: #d9dee5 }
  .room { fill: #ffffff; stroke: #b3bcc8 }
  .contract { fill: #ddeafd; stroke: #6e9bd6 }
  .root { fill: #fdeccd; stroke: #c99a45 }
  .test { fill: none; stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .note, .number, .floor, .in { fill: #9aa5b1 }
    .sheet { fill: #0d1117 }
    .band { fill: #161b22; stroke: #2b323b }
    .room { fill: #1f262e; stroke: #4b5663 }
    .contract { fill: #173050; stroke: #4b7fc0 }
    .root { fill: #453414; stroke: #a37d33 }
    .test { fill: none }
  }
`

// box is a room in its place.
type box struct {
	room
	x, y, w float64
}

// band is a floor with its rooms in rows.
type band struct {
	floor int
	y, h  float64
	boxes []box
}

// drawHouse returns the drawing of the plan: a band a floor, a box a room.
func drawHouse(h house) []byte {
	bands, high := layOut(h)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-labelledby="t">`+"\n", sheet, high)
	fmt.Fprintf(&b, "<title id=\"t\">The house of Tenon: %d rooms on %d floors</title>\n<style>%s</style>\n", len(h.rooms), len(bands), style)
	fmt.Fprintf(&b, `<rect class="sheet" width="%g" height="%g"/>`+"\n", sheet, high)
	fmt.Fprintf(&b, `<text class="title" x="%g" y="32">The house</text>`+"\n", margin)
	fmt.Fprintf(&b, `<text class="note" x="%g" y="52">One room a package. Stairs lead down only, so rooms of one floor never see each other. The small number: how many rooms enter.</text>`+"\n", margin)
	entered, contracts := h.entered(), h.contracts()
	for _, band := range bands {
		drawBand(&b, band, h.names[band.floor])
		for _, x := range band.boxes {
			drawRoom(&b, x, contracts[x.name], entered[x.name])
		}
	}
	fmt.Fprintf(&b, `<text class="note" x="%g" y="%g">Blue: a contract; what fulfils it stands above, under its name. Yellow: the room with all keys. Dashed: only tests enter.</text>`+"\n", margin, high-16)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// contracts are the rooms that have rooms of their own name above them. The
// vocabulary is none, though its loader stands above it.
func (h house) contracts() map[string]bool {
	all := map[string]bool{}
	for _, r := range h.rooms {
		if r.name == "workflow" {
			continue
		}
		for _, above := range h.rooms {
			if strings.HasPrefix(above.name, r.name+"/") && above.floor > r.floor {
				all[r.name] = true
			}
		}
	}
	return all
}

// layOut gives every room its place; the highest floor comes first.
func layOut(h house) ([]band, float64) {
	var bands []band
	y := titled
	for _, n := range h.floors() {
		b := band{floor: n, y: y}
		x, row := gutter, y+gap
		family := ""
		for _, r := range h.on(n) {
			w := float64(utf8.RuneCountInString(r.label()))*glyph + 40
			first, _, _ := strings.Cut(r.name, "/")
			fresh := family != "" && first != family && x > sheet/2
			if x+w > sheet-margin-gap || fresh && len(h.on(n)) > crowd {
				x, row = gutter, row+boxHigh+gap
			}
			b.boxes = append(b.boxes, box{r, x, row, w})
			x, family = x+w+gap, first
		}
		b.h = max(row+boxHigh+gap-y, 24+16*float64(len(wrapped(h.names[n], lettered))))
		bands = append(bands, b)
		y += b.h + 6
	}
	return bands, y + 40
}

// on lists the rooms of a floor.
func (h house) on(floor int) []room {
	var all []room
	for _, r := range h.rooms {
		if r.floor == floor {
			all = append(all, r)
		}
	}
	return all
}

func drawBand(b *bytes.Buffer, band band, name string) {
	fmt.Fprintf(b, `<rect class="band" x="%g" y="%g" width="%g" height="%g" rx="6"/>`+"\n", margin, band.y, sheet-2*margin, band.h)
	fmt.Fprintf(b, `<text class="number" x="%g" y="%g">%d</text>`+"\n", margin+14, band.y+31, band.floor)
	for i, line := range wrapped(name, lettered) {
		fmt.Fprintf(b, `<text class="floor" x="%g" y="%g">%s</text>`+"\n", margin+38, band.y+30+float64(i)*16, escaped(line))
	}
}

func drawRoom(b *bytes.Buffer, x box, contract bool, entered int) {
	class := "room"
	switch {
	case x.name == ".":
		class = "room root"
	case x.test:
		class = "room test"
	case contract:
		class = "room contract"
	}
	down := "no stairs"
	if len(x.stairs) > 0 {
		down = "stairs to " + strings.Join(x.stairs, ", ")
	}
	fmt.Fprintf(b, `<g><title>%s: %s</title>`, escaped(x.label()), escaped(down))
	fmt.Fprintf(b, `<rect class="%s" x="%g" y="%g" width="%g" height="%g" rx="5"/>`, class, x.x, x.y, x.w, boxHigh)
	fmt.Fprintf(b, `<text x="%g" y="%g">%s</text>`, x.x+10, x.y+19.5, escaped(x.label()))
	if entered > 0 {
		fmt.Fprintf(b, `<text class="in" x="%g" y="%g" text-anchor="end">%d</text>`, x.x+x.w-8, x.y+19, entered)
	}
	b.WriteString("</g>\n")
}

// wrapped breaks a text at spaces into lines of about n letters.
func wrapped(s string, n int) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		last := len(lines) - 1
		if last >= 0 && len(lines[last])+1+len(word) <= n {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

func escaped(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return "" // a strings.Builder takes everything
	}
	return b.String()
}
