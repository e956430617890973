package live

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// mark is the sign at the beginning of a row.
type mark struct {
	sign, ascii string
	style       style
}

// Marks. The plain lines of progress use the same ASCII signs.
var (
	markRun  = mark{"›", ">", lively}
	markDone = mark{"✓", "+", good}
	markFail = mark{"✗", "x", bad}
	markWait = mark{"~", "~", slow}
	markAsk  = mark{"?", "?", question}
	markStop = mark{"!", "!", bad}
	markMore = mark{"…", ":", faint}
	markTurn = mark{"·", ".", faint}
)

func (i *item) mark() mark {
	switch i.state {
	case done:
		return markDone
	case failed:
		return markFail
	}
	switch i.urgency {
	case urgentPerson:
		return markAsk
	case urgentRetry, urgentWaiting:
		return markWait
	case urgentHeld, urgentStopped:
		return markStop
	case urgentQueued:
		return markTurn
	}
	return markRun
}

// cell is a part of a row. Of a row that does not fit, the cells with the
// highest drop go first; 0 never goes. The flexible cell takes the room that is
// left: its beginning, or its end.
type cell struct {
	text      string
	style     style
	drop      int
	flex, end bool
}

// cells tell an item: what it is, what it does or waits for, with which model,
// for how many tokens and how long.
func (r *rows) cells(i *item, name string) []cell {
	out := []cell{{text: name, style: strong}}
	add := func(text string, s style, drop int) {
		if text != "" {
			out = append(out, cell{text: text, style: s, drop: drop})
		}
	}
	switch i.kind {
	case kindRun:
		add(string(i.key.run), faint, 3)
	case workflow.KindWorkflow:
		add(string(i.child), faint, 4)
	default:
		if i.open() && i.kind != kindBranch {
			add(i.kind, faint, 5)
		}
	}
	out = append(out, r.doing(i)...)
	if i.attempt > 1 && i.open() && i.state != retrying {
		add(fmt.Sprintf("attempt %d", i.attempt), slow, 2)
	}
	if !i.holds() {
		add(i.model, faint, 4)
	}
	if i.kind != kindRun {
		add(tokens(i.spent, i.tail.tokens), faint, 2)
	}
	add(r.time(i), faint, 1)
	return out
}

// doing tells the state of an item in words.
func (r *rows) doing(i *item) []cell {
	say := func(s style, text string) []cell { return []cell{{text: text, style: s}} }
	with := func(s style, text, note string) []cell {
		out := say(s, text)
		if note != "" {
			out = append(out, cell{text: note, style: faint, flex: true})
		}
		return out
	}
	switch i.state {
	case retrying:
		return with(slow, fmt.Sprintf("attempt %d %s", i.attempt+1, r.in(i.until)), i.note)
	case limited:
		return with(slow, "again "+r.in(i.until), i.note)
	case sleeping:
		return append(say(slow, "waits "+r.left(i.until)), cell{text: "until " + r.clock(i.until), style: faint, drop: 4})
	case listening:
		return say(slow, "waits for a signal")
	case asking:
		return r.asks(i)
	case unsure:
		return with(question, "waits for recover", i.note)
	case parked:
		text := "held"
		if i.until != 0 {
			text += " " + r.until(i.until)
		}
		return with(bad, text, i.note)
	case stopped:
		if i.note == "" {
			return say(bad, "stopped")
		}
		return say(bad, i.note)
	case queued:
		if !i.holds() || i.kind == kindBranch {
			return say(faint, "waits for its turn")
		}
	case done, failed:
		return r.closed(i)
	}
	if i.holds() {
		return r.census(i)
	}
	return nil
}

func (r *rows) asks(i *item) []cell {
	out := []cell{{text: map[string]string{
		workflow.AskApproval: "waits for approval", workflow.AskGate: "waits at a gate",
	}[i.ask.Kind], style: question}}
	if out[0].text == "" {
		out[0].text = "asks"
	}
	if i.until != 0 {
		out[0].text += ", expires " + r.in(i.until)
	}
	if r.lim.asks == 0 || r.look.Final {
		out = append(out, cell{text: i.ask.Text, style: faint, flex: true})
	}
	return out
}

func (r *rows) closed(i *item) []cell {
	var out []cell
	if i.fans() || i.kind == kindRun {
		out = r.census(i)
	}
	if i.kind == workflow.KindWorkflow && i.state == done || i.note == "next" {
		return out
	}
	s := faint
	if i.state == failed {
		s = bad
	}
	if note := i.note; note != "" {
		if i.state == done {
			note = r.look.arrow() + note
		}
		out = append(out, cell{text: note, style: s, flex: true})
	}
	return out
}

// census tells how far the kids of an item are.
func (r *rows) census(i *item) []cell {
	if i.kind == kindRun {
		return r.standing()
	}
	if !i.fans() {
		return nil
	}
	text := fmt.Sprintf("%d done", i.shut.done)
	if i.total > 0 {
		text = fmt.Sprintf("%d of %d done", i.shut.done, i.total)
	}
	out := []cell{{text: text, style: faint}}
	if i.shut.failed > 0 {
		out = append(out, cell{text: fmt.Sprintf("%d failed", i.shut.failed), style: bad})
	}
	var open []*item
	for _, k := range i.kids {
		if k.open() && i.open() {
			open = append(open, k)
		}
	}
	if c := census(open); len(c) > 0 {
		out = append(out, cell{text: strings.Join(c, ", "), style: faint, drop: 3})
	}
	return out
}

// standing tells what holds a whole run.
func (r *rows) standing() []cell {
	switch {
	case r.t.ending:
		return []cell{{text: "is being cancelled", style: bad}}
	case r.t.paused:
		return []cell{{text: "paused", style: slow}}
	}
	return nil
}

func (r *rows) time(i *item) string {
	switch {
	case !i.open():
		return brief(i.took)
	case i.state == queued || i.since == 0:
		return ""
	}
	return brief(max(0, r.look.Now.Std().Sub(i.since.Std())).Truncate(time.Second))
}

// left is the time until at.
func (r *rows) left(at workflow.Time) string {
	left := at.Std().Sub(r.look.Now.Std())
	if left <= 0 {
		return "0s"
	}
	return brief((left + time.Second - 1).Truncate(time.Second))
}

// in is a countdown.
func (r *rows) in(at workflow.Time) string {
	if at <= r.look.Now {
		return "now"
	}
	return "in " + r.left(at)
}

func (r *rows) clock(at workflow.Time) string {
	form := "15:04:05"
	if at.Std().Sub(r.look.Now.Std()) > 20*time.Hour {
		form = "2006-01-02 15:04"
	}
	return at.Std().Local().Format(form)
}

func (r *rows) until(at workflow.Time) string { return "until " + r.clock(at) + " (" + r.in(at) + ")" }

// brief is a duration as people read it: "0.4s", "12s", "3m05s", "2h10m".
func brief(d time.Duration) string {
	switch {
	case d < 50*time.Millisecond:
		return ""
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// tokens tells a spend; what is unknown is "?", never left out.
func tokens(t workflow.Totals, flowing int64) string {
	n := t.Input + t.Output + flowing
	switch {
	case t.UnknownTokens > 0 && n == 0:
		return "? tokens"
	case t.UnknownTokens > 0:
		return number(n) + "+? tokens"
	case n == 0:
		return ""
	}
	return number(n) + " tokens"
}

// number is a count in at most five characters.
func number(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1fG", float64(n)/1e9)
}

// budget is the last line: what the whole run has spent, of what it may.
func (t *Tree) budgetRow(look Look) row {
	var sum workflow.Totals
	for _, i := range t.roots {
		sum.Plus(i.spent)
	}
	of := func(have, most string, capped bool) string {
		if capped {
			return have + " of " + most
		}
		return have
	}
	calls := "model calls"
	if sum.Calls == 1 {
		calls = "model call"
	}
	out := []cell{{text: fmt.Sprintf("%d %s", sum.Calls, calls), style: faint, drop: 2}}
	spent := number(sum.Input + sum.Output)
	if sum.UnknownTokens > 0 {
		spent += "+?"
	}
	out = append(out, cell{text: of(spent, number(t.budget.MaxTokens), t.budget.MaxTokens > 0) + " tokens", style: faint})
	if sum.CostUSD > 0 || t.budget.MaxCostUSD > 0 {
		out = append(out, cell{text: of(fmt.Sprintf("$%.2f", sum.CostUSD), fmt.Sprintf("$%.2f", t.budget.MaxCostUSD), t.budget.MaxCostUSD > 0), style: faint})
	}
	took := max(0, look.Now.Std().Sub(t.begun.Std())).Truncate(time.Second)
	most := time.Duration(t.budget.MaxDurationMs) * time.Millisecond
	text := brief(took)
	if text == "" {
		text = "0s"
	}
	return row{mark: markNone, cells: append(out, cell{text: of(text, brief(most), most > 0), style: faint})}
}
