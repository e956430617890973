package plain

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Lines is progress without a terminal: a line for each thing that happens. The
// first sign tells what: > starts, + is done, x failed, ~ waits for a time, ? waits
// for a person, ! is held or stopped.
type Lines struct {
	out  io.Writer
	root workflow.RunID
	open map[place]*past
}

// place is a visit of a run.
type place struct {
	run   workflow.RunID
	visit string
}

// past is what lines know of a visit that goes on.
type past struct {
	name   string // the visit, with its run when that is a child
	node   string
	routes bool // it only routes: its success is not worth a line
	began  time.Time
	took   time.Duration // set at its end
	model  string
	spent  workflow.Totals
	agents map[string]string // that were started: labels by key
}

// New returns Lines that write to out.
func New(out io.Writer) *Lines { return &Lines{out: out, open: map[place]*past{}} }

// Event writes the line of an event, if it is worth one.
func (l *Lines) Event(run workflow.RunID, e workflow.Event) {
	if s := say(run, e, l.fold(run, e)); s != "" {
		fmt.Fprintln(l.out, s)
	}
}

// fold returns what is known of the event's visit.
func (l *Lines) fold(run workflow.RunID, e workflow.Event) past {
	if l.root == "" {
		l.root = run
	}
	at, name := place{run, e.ID}, e.ID
	if run != l.root {
		name = string(run) + " " + e.ID
	}
	v := l.open[at]
	if v == nil {
		v = &past{name: name, node: e.Node}
		l.open[at] = v
	}
	switch p := e.Payload.(type) {
	case *workflow.Admitted:
		v.began = e.At.Std()
		if p.Label != "" && p.Kind != workflow.AskQuestion { // the text of a question follows
			v.name = Indent(p.Label) + " (" + name + ")"
		}
		switch p.Kind {
		case workflow.KindCondition, workflow.KindAssign, workflow.KindJoin, workflow.KindEnd:
			v.routes = p.Self
		}
	case *workflow.AgentStarted:
		if v.agents == nil {
			v.agents = map[string]string{}
		}
		v.agents[p.Key] = p.Label
	case *workflow.InvocationReserved:
		v.model = cmp.Or(p.Model, v.model)
	case *workflow.InvocationSettled:
		v.model = cmp.Or(p.Model, v.model)
		v.spent.Add(p.Usage)
	case *workflow.Settled, *workflow.Lost, *workflow.Retrying:
		if !v.began.IsZero() {
			v.took = e.At.Std().Sub(v.began)
		}
		if _, again := p.(*workflow.Settled); again {
			delete(l.open, at)
		}
	}
	return *v
}

// say tells an event in one line; "" when it is not worth one.
func say(run workflow.RunID, e workflow.Event, v past) string {
	switch p := e.Payload.(type) {
	case *workflow.RunStarted:
		return fmt.Sprintf("run %s of %s", run, p.Workflow.Name)
	case *workflow.Resumed:
		return fmt.Sprintf("run %s goes on", run)
	case *workflow.Admitted:
		if v.routes || p.Continued {
			return ""
		}
		return fmt.Sprintf("> %s starts (%s%s%s)", v.name, p.Kind, attempt(e.Attempt), phase(p.Group))
	case *workflow.Settled:
		return settledLine(p, v)
	case *workflow.Retrying:
		return fmt.Sprintf("~ %s failed%s, attempt %d %s: %s", v.name, in(v.took), e.Attempt+1, at(p.After), coded(p.Message, p.Code))
	case *workflow.Lost:
		return lostLine(p, v)
	case *workflow.Refused:
		return fmt.Sprintf("! %s is held: %s", v.name, coded(p.Message, p.Code))
	case *workflow.QuestionOpened:
		return questionLine(p.Question, v)
	case *workflow.QuestionAnswered:
		return answerLine(p, v)
	case *workflow.InvocationSettled:
		if p.RetryAt != 0 {
			return fmt.Sprintf("~ %s model call %d failed, again %s: %s", v.name, e.Invocation, at(p.RetryAt), coded(p.Message, p.Code))
		}
	case *workflow.BreakerOpened:
		until := ""
		if p.Until != 0 {
			until = " until " + stamp(p.Until)
		}
		return fmt.Sprintf("! provider %s takes no more calls%s: %s", p.Provider, until, coded(p.Message, p.Code))
	case *workflow.TimerStarted:
		return fmt.Sprintf("~ %s waits until %s", v.name, stamp(p.Until))
	case *workflow.ChildStarted:
		return fmt.Sprintf("> %s starts run %s", v.name, p.Run)
	case *workflow.ChildEnded:
		return fmt.Sprintf("  %s: run %s is %s", v.name, p.Run, p.Status)
	case *workflow.Paused:
		return fmt.Sprintf("! run %s is paused by %s", run, p.By)
	case *workflow.CancelRequested:
		return fmt.Sprintf("! run %s is being cancelled by %s", run, p.By)
	case *workflow.EvidenceKept:
		if p.State != workflow.ReceiptPending {
			return "  " + v.name + " keeps " + Receipt(*p)
		}
	case *workflow.StepSettled:
		return stepLine(p, v)
	case *workflow.AgentStarted:
		return agentLine(p, v)
	case *workflow.AgentEnded:
		return agentEnd(p, v)
	case *workflow.Progress:
		return noteLine(p, v)
	}
	return ""
}

func noteLine(p *workflow.Progress, v past) string {
	switch p.Kind {
	case workflow.NoteLog, workflow.NotePhase, workflow.NoteWarning: // the ids of notes tell nothing
		return fmt.Sprintf("  %s: %s", p.Kind, Indent(p.Message))
	}
	return strings.TrimSpace(fmt.Sprintf("  %s %s: %s", v.name, p.Kind, p.Message))
}

func agentLine(p *workflow.AgentStarted, v past) string {
	if p.Depth == 0 {
		return ""
	}
	s := fmt.Sprintf("  %s starts agent %s on %s/%s", v.name, p.Label, p.Provider, p.Model)
	if p.Task != "" {
		s += ": " + p.Task
	}
	return s
}

func agentEnd(p *workflow.AgentEnded, v past) string {
	name := v.agents[p.Key]
	if name == "" {
		name = p.Key
	}
	switch p.Status {
	case workflow.AgentSucceeded:
		return fmt.Sprintf("  %s agent %s is done", v.name, name)
	case workflow.AgentDrained:
		return fmt.Sprintf("  %s agent %s came to an end at a limit", v.name, name)
	}
	return fmt.Sprintf("  %s agent %s failed: %s", v.name, name, coded(p.Message, p.Code))
}

func stepLine(p *workflow.StepSettled, v past) string {
	switch {
	case p.Denied != nil:
		return fmt.Sprintf("x %s was denied %s", v.name, p.Denied.Message)
	case p.Failed:
		return fmt.Sprintf("  %s %s: failed", v.name, cmp.Or(p.About, p.Tool)) + because(p.Why)
	}
	line := fmt.Sprintf("  %s %s", v.name, cmp.Or(p.About, p.Tool))
	if p.Made != nil {
		line += made(p.Made)
	}
	return line
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func made(m *workflow.Made) string { return fmt.Sprintf(": artifact %s version %d", m.ID, m.Version) }

func settledLine(p *workflow.Settled, v past) string {
	if p.Status != "" && p.Status != workflow.VisitSucceeded {
		why := ""
		switch {
		case p.Error != nil:
			why = ": " + coded(strings.TrimPrefix(p.Error.Message, v.node+": "), p.Error.Code)
		case p.Outcome != "":
			why = ": " + p.Outcome
		}
		return "x " + v.name + " failed" + in(v.took) + cost(v) + why
	}
	if c := p.Completion; v.routes && c != nil && !c.OK {
		return "x " + v.name + " ends in failure" + Reasons(c.Reasons)
	}
	if v.routes {
		return ""
	}
	s := "+ " + v.name + " done" + in(v.took) + cost(v)
	if p.Outcome != "" && p.Outcome != "next" {
		s += " -> " + p.Outcome
	}
	if p.Made != nil {
		s += made(p.Made)
	}
	return s
}

func lostLine(p *workflow.Lost, v past) string {
	switch {
	case p.Uncertain:
		return fmt.Sprintf("? %s stopped and may have written; it waits for recover: %s", v.name, coded(p.Message, p.Code))
	case p.Until != 0:
		return fmt.Sprintf("! %s is held until %s: %s", v.name, stamp(p.Until), coded(p.Message, p.Code))
	}
	return fmt.Sprintf("! %s stopped: %s", v.name, coded(p.Message, p.Code))
}

func questionLine(q workflow.Question, v past) string {
	does := "asks"
	switch q.Kind {
	case workflow.AskApproval:
		does = "waits for approval"
	case workflow.AskGate:
		does = "waits at a gate"
	}
	s := fmt.Sprintf("? %s %s (%s)", v.name, does, q.ID)
	if q.Deadline != 0 {
		s += ", expires at " + stamp(q.Deadline)
	}
	return s + ": " + Indent(q.Text)
}

func answerLine(p *workflow.QuestionAnswered, v past) string {
	switch {
	case p.Answer.Expired:
		return fmt.Sprintf("> %s goes on: question %s expired", v.name, p.Question)
	case p.Answer.Denied:
		return fmt.Sprintf("> %s goes on: %s denied by %s", v.name, p.Question, p.Answer.By)
	}
	return fmt.Sprintf("> %s goes on: %s answered by %s", v.name, p.Question, p.Answer.By)
}

// cost tells the model and the tokens of a visit; unknown is "?".
func cost(v past) string {
	if v.spent.Calls == 0 {
		return ""
	}
	s := fmt.Sprintf(", %d tokens", v.spent.Input+v.spent.Output)
	if v.spent.UnknownTokens > 0 {
		s = fmt.Sprintf(", %d+? tokens", v.spent.Input+v.spent.Output)
	}
	if v.model != "" {
		s = ", " + v.model + s
	}
	return s
}

func coded(message string, code workflow.Code) string {
	message = Indent(message)
	switch {
	case message == "":
		return string(code)
	case code == "":
		return message
	}
	return message + " (" + string(code) + ")"
}

func in(took time.Duration) string {
	if took < 10*time.Millisecond {
		return ""
	}
	return " in " + took.Round(time.Millisecond).String()
}

func phase(name string) string {
	if name == "" {
		return ""
	}
	return ", phase " + Indent(name)
}

func attempt(n int) string {
	if n > 1 {
		return fmt.Sprintf(", attempt %d", n)
	}
	return ""
}

// at is a time of today.
func at(t workflow.Time) string { return "at " + t.Std().Local().Format("15:04:05") }

func stamp(t workflow.Time) string { return t.Std().Local().Format("2006-01-02 15:04:05") }
