package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Look is how a Tree is drawn.
type Look struct {
	Width, Height int // columns and rows of the terminal; 0 is no bound
	Now           workflow.Time
	Color, ASCII  bool
	Final         bool // the last picture: no budget line, no streams, no commands
	// Reply and Recover give the commands that answer a question and settle an
	// uncertain write; nil where there are none.
	Reply   func(workflow.Question) []string
	Recover func(workflow.RunID, workflow.VisitID) []string
}

// limits are how much of a tree is drawn: done, failed and open kids of one
// parent, questions with their text, and streams, of all.
type limits struct{ done, failed, open, asks, tails int }

// levels are tried until a tree fits, the fullest first.
var levels = []limits{
	{keepDone, keepFailed, 64, 8, 8}, {12, 20, 64, 8, 8}, {6, 10, 32, 4, 4}, {4, 6, 16, 2, 2}, {2, 4, 10, 2, 1},
	{1, 3, 6, 1, 1}, {0, 2, 4, 1, 0}, {0, 1, 2, 1, 0}, {0, 1, 1, 0, 0}, {0, 0, 1, 0, 0},
}

// calm is how long something runs before its stream is shown: streams of short
// calls would make the tree jump.
const calm = time.Second

// row is a line before it is fitted into a width.
type row struct {
	depth int
	mark  mark
	cells []cell
	wrap  int // it may take so many lines; 0 is one, cut
}

// rows draws the tree with one set of limits.
type rows struct {
	t    *Tree
	look Look
	lim  limits
	out  []row
}

// rows returns the tree without the budget line.
func (t *Tree) rows(look Look, lim limits) []row {
	r := &rows{t: t, look: look, lim: lim}
	for _, i := range t.roots {
		r.item(i, 0)
	}
	if !look.Final {
		r.breakers()
	}
	return r.out
}

func (r *rows) add(w row) { r.out = append(r.out, w) }

// item draws an item and what is below it. A branch is drawn as the step that
// is under way in it, or at which it failed.
func (r *rows) item(i *item, depth int) {
	name := plain(i.name)
	if i.kind == kindBranch && i.open() {
		if at := slices.IndexFunc(i.kids, (*item).open); at >= 0 {
			i = i.kids[at]
			name += " " + plain(i.name)
		}
	} else if i.step != "" {
		name += " " + plain(i.step)
	}
	r.add(row{depth: depth, mark: i.mark(), cells: r.cells(i, name)})
	r.below(i, depth)
	if i.holds() || i.leads() {
		r.kids(i, depth+1)
	}
}

// below draws what belongs to an item: its question or the end of its stream.
func (r *rows) below(i *item, depth int) {
	switch {
	case r.look.Final:
	case i.state == asking && r.lim.asks > 0:
		r.lim.asks--
		r.add(row{depth: depth + 1, wrap: 3, cells: []cell{{text: i.ask.Text, style: strong}}})
		if r.look.Reply != nil {
			r.commands(r.look.Reply(*i.ask), depth)
		}
	case i.state == unsure && r.lim.asks > 0 && r.look.Recover != nil:
		r.lim.asks--
		r.commands(r.look.Recover(r.t.roots[0].key.run, workflow.VisitID(i.key.id)), depth)
	case i.open() && len(i.tail.text) > 0 && r.lim.tails > 0 && r.look.Now >= i.since.Add(calm):
		r.lim.tails--
		r.add(row{depth: depth + 1, cells: []cell{{text: i.tail.label(), style: faint}, {text: string(i.tail.text), style: faint, flex: true, end: true}}})
	}
}

// commands draws what to type, whole: it is there to be copied.
func (r *rows) commands(lines []string, depth int) {
	for _, l := range lines {
		r.add(row{depth: depth + 1, wrap: 6, cells: []cell{{text: l, style: command}}})
	}
}

func (r *rows) kids(i *item, depth int) {
	show, hidden := r.choose(i)
	if n := i.shut.done - hidden.shownDone; n > 0 && i.kind != workflow.KindMap && i.kind != kindBranch {
		r.more(depth, fmt.Sprintf("%d done", n), faint)
	}
	for _, k := range i.kids {
		if show[k] {
			r.item(k, depth)
		}
	}
	if n := i.shut.failed - hidden.shownFailed; n > 0 {
		r.more(depth, fmt.Sprintf("%d failed", n), bad)
	}
	if len(hidden.open) > 0 {
		r.more(depth, strings.Join(census(hidden.open), ", "), faint)
	}
}

// more tells of kids that are not drawn.
func (r *rows) more(depth int, what string, s style) {
	r.add(row{depth: depth, mark: markMore, cells: []cell{{text: what, style: s}}})
}

// rest is what choose leaves out.
type rest struct {
	shownDone, shownFailed int
	open                   []*item
}

// choose picks the kids to draw: the newest closed ones, the most urgent open
// ones.
func (r *rows) choose(i *item) (show map[*item]bool, hidden rest) {
	show = map[*item]bool{}
	var open []*item
	closed := r.lim.done
	if i.kind == workflow.KindMap || i.kind == kindBranch { // the row counts them; the row is the step
		closed = 0
	}
	for _, k := range slices.Backward(i.kids) {
		switch {
		case k.state == done && hidden.shownDone < closed:
			hidden.shownDone++
			show[k] = true
		case k.state == failed && hidden.shownFailed < r.lim.failed:
			hidden.shownFailed++
			show[k] = true
		case k.open() && !k.routes():
			open = append(open, k)
		}
	}
	slices.Reverse(open)
	slices.SortStableFunc(open, func(a, b *item) int { return a.urgency - b.urgency })
	n := min(len(open), r.lim.open)
	for _, k := range open[:n] {
		show[k] = true
	}
	hidden.open = open[n:]
	return show, hidden
}

// breakers tells which providers take no calls.
func (r *rows) breakers() {
	names := make([]string, 0, len(r.t.breakers))
	for name := range r.t.breakers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b := r.t.breakers[name]
		text := "provider " + name + " takes no more calls"
		if b.Until != 0 {
			text += " " + r.until(b.Until)
		}
		r.add(row{mark: markStop, cells: []cell{{text: text, style: bad}, {text: reason(b.Code, b.Message), style: faint, flex: true}}})
	}
}

// Urgencies, the most urgent first.
const (
	urgentPerson = iota
	urgentRunning
	urgentRetry
	urgentHeld
	urgentStopped
	urgentWaiting
	urgentQueued
	urgentNone
)

// weigh sets the urgency of an item and all below it.
func (i *item) weigh() int {
	i.urgency = [...]int{
		queued: urgentQueued, running: urgentRunning, retrying: urgentRetry, limited: urgentRetry, sleeping: urgentWaiting,
		listening: urgentWaiting, asking: urgentPerson, unsure: urgentPerson, parked: urgentHeld, stopped: urgentStopped,
		done: urgentNone, failed: urgentNone,
	}[i.state]
	most := urgentNone
	for _, k := range i.kids {
		if k.open() {
			most = min(most, k.weigh())
		}
	}
	if (i.state == running || i.state == queued) && most != urgentNone {
		i.urgency = most
	}
	return i.urgency
}

// census counts open items by what they do, for people.
func census(open []*item) []string {
	var n [urgentNone]int
	for _, k := range open {
		n[k.urgency]++
	}
	n[urgentWaiting] += n[urgentQueued]
	var out []string
	for _, c := range []struct {
		at   int
		word string
	}{{urgentRunning, "running"}, {urgentRetry, "to try again"}, {urgentPerson, "waiting for you"}, {urgentWaiting, "waiting"}, {urgentHeld, "held"}, {urgentStopped, "stopped"}} {
		if n[c.at] > 0 {
			out = append(out, fmt.Sprintf("%d %s", n[c.at], c.word))
		}
	}
	return out
}
