package live

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// control folds the facts about a run as a whole; false for those about a visit.
func (t *Tree) control(run workflow.RunID, e workflow.Event) bool {
	switch p := e.Payload.(type) {
	case *workflow.RunStarted:
		t.started(run, e, p)
	case *workflow.Resumed:
		t.resumed(run, e)
	case *workflow.Forked:
		t.row(run).spent = workflow.Totals{} // what the shared history spent is not this run's
	case *workflow.LimitRaised:
		t.raised(p)
	case *workflow.Paused:
		t.paused = true
	case *workflow.CancelRequested:
		t.ending = true
	case *workflow.BreakerOpened:
		t.breakers[p.Provider] = *p
	case *workflow.Progress:
		return t.noted(run, p)
	case *workflow.Signal, *workflow.Steered:
	case *workflow.Ended:
		t.ended(run, e, p)
	default:
		return false
	}
	return true
}

func (t *Tree) started(run workflow.RunID, e workflow.Event, p *workflow.RunStarted) {
	t.origins[run] = origin{start: p, plan: t.plans[p.Workflow.Name]}
	if p.Parent != nil {
		if t.runs[run] == nil && t.runs[p.Parent.Run] != nil {
			t.runs[run] = t.find(p.Parent.Run, string(p.Parent.Visit))
		}
		if i := t.runs[run]; i != nil {
			i.note = p.Workflow.Name
			return
		}
	}
	i := t.row(run)
	i.name, i.since = p.Workflow.Name, e.At
	t.budget, t.begun = p.Options.Budget, e.At
}

// noted shows what a script says about itself at its run; false for notes of visits.
func (t *Tree) noted(run workflow.RunID, p *workflow.Progress) bool {
	switch i := t.row(run); p.Kind {
	case workflow.NotePhase:
		i.note, i.tail = clean(p.Message), tail{}
		i.tail.add("note", i.note)
	case workflow.NoteLog, workflow.NoteWarning:
		i.tail = tail{}
		i.tail.add("note", strings.TrimPrefix(i.note+": "+p.Message, ": "))
	default:
		return false
	}
	return true
}

// resumed begins this process's work on what an earlier one left.
func (t *Tree) resumed(run workflow.RunID, e workflow.Event) {
	i := t.row(run)
	t.paused = false
	clear(t.breakers)
	if i.kind == kindRun && i.parent == nil {
		i.since, t.begun = e.At, e.At
	}
}

func (t *Tree) raised(p *workflow.LimitRaised) {
	if p.Tokens != 0 {
		t.budget.MaxTokens = p.Tokens
	}
	if p.CostUSD != 0 {
		t.budget.MaxCostUSD = p.CostUSD
	}
	if p.DurationMs != 0 {
		t.budget.MaxDurationMs = p.DurationMs
	}
}

func (t *Tree) ended(run workflow.RunID, e workflow.Event, p *workflow.Ended) {
	i := t.row(run)
	if i.kind != kindRun {
		return // the visit that started it says how it ended
	}
	i.note, i.took = string(p.Status), e.At.Std().Sub(i.since.Std())
	if p.Status == workflow.StatusSucceeded {
		t.close(i, done)
		return
	}
	t.close(i, failed)
}

// visit folds a fact about a visit.
func (t *Tree) visit(i *item, e workflow.Event) {
	switch p := e.Payload.(type) {
	case *workflow.Admitted:
		t.admitted(i, e, p)
	case *workflow.AgentStarted:
		t.hired(i, e, p)
	case *workflow.AgentEnded:
		t.dismissed(i, e, p)
	case *workflow.InvocationReserved:
		i = t.agent(i, p.Agent)
		t.calls[key{i.key.run, e.ID + " " + strconv.Itoa(e.Invocation)}] = i
		i.state, i.until, i.note, i.tail = running, 0, "", tail{}
		if p.Model != "" {
			i.model = p.Model
		}
	case *workflow.InvocationSettled:
		k := key{i.key.run, e.ID + " " + strconv.Itoa(e.Invocation)}
		if by := t.calls[k]; by != nil {
			i = by
			delete(t.calls, k)
		}
		i.spend(p.Usage)
		if p.Model != "" {
			i.model = p.Model
		}
		if p.RetryAt != 0 {
			i.state, i.until, i.note, i.tail = limited, p.RetryAt, words(string(p.Code)), tail{}
		}
	case *workflow.Retrying:
		i.state, i.until, i.note, i.tail = retrying, p.After, i.reason(p.Code, p.Message), tail{}
	case *workflow.Settled:
		t.settled(i, e, p)
	case *workflow.Lost:
		i.lost(p)
	case *workflow.Refused:
		i.state, i.until, i.note = parked, 0, i.reason(p.Code, p.Message)
	case *workflow.Recovered:
		i.state, i.note = queued, "recovered"
	case *workflow.QuestionOpened:
		q := p.Question
		i.state, i.ask, i.until, i.since, i.tail = asking, &q, q.Deadline, e.At, tail{}
	case *workflow.QuestionAnswered:
		i.state, i.ask, i.until = queued, nil, 0
	case *workflow.TimerStarted:
		i.state, i.until = sleeping, p.Until
	case *workflow.TimerFired:
		i.state, i.until = running, 0
	case *workflow.ChildStarted:
		i.child = p.Run
		t.runs[p.Run] = i
	case *workflow.ChildEnded:
		if i.spent.Calls == 0 { // its own history was not shown here
			for up := i; up != nil; up = up.parent {
				up.spent.Plus(p.Usage)
			}
		}
	case *workflow.Progress:
		i.tail.add("note", p.Kind+": "+p.Message)
	}
}

func (t *Tree) admitted(i *item, e workflow.Event, p *workflow.Admitted) {
	i.kind, i.node, i.attempt = p.Kind, e.Node, e.Attempt
	if p.Label != "" {
		i.name = clean(p.Label)
	}
	i.state, i.until, i.note, i.ask, i.tail = running, 0, "", nil, tail{}
	if !p.Continued {
		i.since = e.At
	}
	if p.Kind == workflow.KindWait {
		i.state = listening // a timer follows, when there is one
	}
	if i.fans() && i.total == 0 {
		if o := t.origins[i.key.run]; o.start != nil {
			i.total = o.plan.branches(e.Node, *o.start)
		}
	}
	for up := i.parent; up != nil && up.kind == kindBranch; up = up.parent {
		t.reopen(up)
		up.state = running
		if up.since == 0 {
			up.since = e.At
		}
	}
}

func (t *Tree) settled(i *item, e workflow.Event, p *workflow.Settled) {
	s := done
	if p.Status != "" && p.Status != workflow.VisitSucceeded {
		s = failed
	}
	i.note = p.Outcome
	if p.Error != nil {
		i.note = i.reason(p.Error.Code, p.Error.Message)
	}
	if i.since != 0 {
		i.took = e.At.Std().Sub(i.since.Std())
	}
	t.close(i, s)
	if b := i.parent; b != nil && b.kind == kindBranch {
		t.step(b, i, e, p, s)
	}
}

// step follows a branch after one of its visits: it goes on, or it has ended.
func (t *Tree) step(b, i *item, e workflow.Event, p *workflow.Settled, s state) {
	pl := t.origins[i.key.run].plan
	leads, known := pl.leads(e.Node, p.Outcome)
	switch {
	case i.kind == workflow.KindEnd:
		if p.Completion != nil && !p.Completion.OK {
			s = failed
			i.note = strings.Join(p.Completion.Reasons, ", ")
		}
	case leads:
		b.state = queued
		return
	case known && !pl.wired(e.Node, p.Outcome):
		s = failed
	}
	b.took = e.At.Std().Sub(b.since.Std())
	switch at := b.culprit(i); {
	case s == done:
		b.step, b.note = "", ""
	case !at.routes():
		b.step, b.note = at.name, at.note
	case b.note == "":
		b.note = at.note
	}
	t.close(b, s)
	if !known && i.kind != workflow.KindEnd {
		t.items[b.key] = b // it may go on after all
	}
}

// culprit is the newest step of a branch that failed, else its last one.
func (b *item) culprit(last *item) *item {
	for _, k := range slices.Backward(b.kids) {
		if k.state == failed {
			return k
		}
	}
	return last
}

func (i *item) lost(p *workflow.Lost) {
	i.tail, i.until, i.note = tail{}, p.Until, i.reason(p.Code, p.Message)
	switch {
	case p.Uncertain:
		i.state, i.note = unsure, "its write was in flight; whether it happened is not known"
	case p.Code == workflow.CodeInterrupted, p.Code == workflow.CodeOwnerLost, p.Code == workflow.CodeAborted:
		i.state, i.note = stopped, words(string(p.Code))
	default:
		i.state = parked
	}
}

// reason is a failure in one line.
func reason(code workflow.Code, message string) string {
	message = clean(message)
	switch {
	case message == "":
		return words(string(code))
	case code == "" || strings.Contains(message, string(code)):
		return message
	}
	return message + " (" + string(code) + ")"
}

// reason is a failure at the item, whose row has its name already.
func (i *item) reason(code workflow.Code, message string) string {
	return strings.TrimPrefix(reason(code, message), i.node+": ")
}

// words are a code for people.
func words(code string) string { return strings.ReplaceAll(code, "_", " ") }

// plain is the name of a step without the number of its first visit.
func plain(step string) string { return strings.TrimSuffix(step, "#1") }
