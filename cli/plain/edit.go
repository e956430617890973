package plain

import (
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/engine"
)

// shown is how many visits of a kind are listed.
const shown = 20

// Edit tells what an edited workflow keeps of a run and what runs live, a visit
// a line.
func Edit(ed engine.Edit) string {
	var b strings.Builder
	list := func(word, note string, n int, visit func(int) string) {
		for i := range min(n, shown) {
			fmt.Fprintf(&b, "  %s %s%s\n", word, visit(i), note)
		}
		if n > shown {
			fmt.Fprintf(&b, "  %s and %d more\n", word, n-shown)
		}
	}
	list("kept ", "", len(ed.Reused), func(i int) string { return string(ed.Reused[i]) })
	list("live ", "", len(ed.Live), func(i int) string { return string(ed.Live[i]) })
	list("again", ": a write that has happened", len(ed.Writes), func(i int) string { return string(ed.Writes[i]) })
	if ed.Diverges != "" {
		fmt.Fprintf(&b, "  it goes on live at %s\n", ed.Diverges)
	}
	if ed.Saved+ed.Ahead > 0 {
		fmt.Fprintf(&b, "  %s kept, worth %d tokens; the rest takes about %d\n", Count(len(ed.Reused), "result"), ed.Saved, ed.Ahead)
	}
	if ed.Later > 0 {
		fmt.Fprintf(&b, "  %s may be kept after that, where the script makes the same calls\n", Count(ed.Later, "more result"))
	}
	return b.String()
}
