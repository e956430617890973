package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/workflow"
)

// watcher shows what a driven run does: JSON lines on standard output, or
// progress for people on standard error.
type watcher struct {
	a     *app
	mu    sync.Mutex
	begun bool
	view  view
}

// view is progress for people.
type view interface {
	event(run workflow.RunID, e workflow.Event)
	progress(n engine.Notice)
	stop()
}

func (a *app) watch() *watcher {
	w := &watcher{a: a, view: silent{}}
	switch {
	case a.quiet || a.jsonl:
	default:
		w.view = &lines{out: a.std.Err, began: map[string]time.Time{}}
	}
	return w
}

func (w *watcher) begin(*tenon.Workflow) {}

func (w *watcher) resume(workflow.RunID) {}

func (w *watcher) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view.stop()
}

// see is the engine's observer.
func (w *watcher) see(n engine.Notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.a.jsonl {
		w.jsonl(n)
		return
	}
	if n.Event != nil {
		w.view.event(n.Run, *n.Event)
		return
	}
	w.view.progress(n)
}

func (w *watcher) jsonl(n engine.Notice) {
	if !w.begun {
		w.begun = true
		w.a.line(map[string]any{"type": "run", "run": n.Run, "schema": 1})
	}
	if n.Event != nil {
		w.a.line(workflow.Wire(n.Run, *n.Event))
		return
	}
	w.a.line(map[string]any{
		"type": "progress", "run": n.Run, "id": n.Visit, "node": n.Node,
		"data": map[string]any{"kind": n.Progress.Kind, "text": n.Progress.Text, "tokens": n.Progress.Tokens, "model": n.Progress.Model},
	})
}

type silent struct{}

func (silent) event(workflow.RunID, workflow.Event) {}
func (silent) progress(engine.Notice)               {}
func (silent) stop()                                {}

// lines is progress without a terminal: a line for each thing that happens.
type lines struct {
	out   io.Writer
	began map[string]time.Time
}

func (l *lines) stop() {}

func (l *lines) progress(n engine.Notice) {
	if n.Progress.Kind == "waiting" {
		fmt.Fprintf(l.out, "  %s waits: %s\n", n.Node, n.Progress.Text)
	}
}

func (l *lines) event(run workflow.RunID, e workflow.Event) {
	if s := say(run, e, l.took(e)); s != "" {
		fmt.Fprintln(l.out, s)
	}
}

func (l *lines) took(e workflow.Event) time.Duration {
	switch e.Payload.(type) {
	case *workflow.Admitted:
		l.began[e.ID] = e.At.Std()
	case *workflow.Settled, *workflow.Lost, *workflow.Retrying:
		if at, ok := l.began[e.ID]; ok {
			delete(l.began, e.ID)
			return e.At.Std().Sub(at)
		}
	}
	return 0
}

// say tells an event in one line; "" when it is not worth one.
func say(run workflow.RunID, e workflow.Event, took time.Duration) string {
	place := e.ID
	switch p := e.Payload.(type) {
	case *workflow.RunStarted:
		return fmt.Sprintf("run %s of %s", run, p.Workflow.Name)
	case *workflow.Resumed:
		return fmt.Sprintf("run %s goes on", run)
	case *workflow.Admitted:
		if p.Self || p.Continued {
			return ""
		}
		return fmt.Sprintf("> %s %s%s", place, p.Kind, attempt(e.Attempt))
	case *workflow.Settled:
		return settledLine(place, p, took)
	case *workflow.Retrying:
		return fmt.Sprintf("~ %s failed and is tried again at %s: %s (%s)", place, clock(p.After), p.Message, p.Code)
	case *workflow.Lost:
		return fmt.Sprintf("! %s stopped without a result: %s (%s)", place, p.Message, p.Code)
	case *workflow.Refused:
		return fmt.Sprintf("! %s was not started: %s (%s)", place, p.Message, p.Code)
	case *workflow.QuestionOpened:
		return fmt.Sprintf("? %s asks (%s): %s", place, p.Question.ID, p.Question.Text)
	case *workflow.QuestionAnswered:
		return answerLine(place, p)
	case *workflow.InvocationSettled:
		if p.RetryAt != 0 {
			return fmt.Sprintf("~ %s call %d: %s; again at %s", place, e.Invocation, p.Message, clock(p.RetryAt))
		}
	case *workflow.BreakerOpened:
		return fmt.Sprintf("! provider %s takes no more calls: %s (%s)", p.Provider, p.Message, p.Code)
	case *workflow.TimerStarted:
		return fmt.Sprintf("  %s waits until %s", place, p.Until.Std().Local().Format("2006-01-02 15:04:05"))
	case *workflow.ChildStarted:
		return fmt.Sprintf("  %s started run %s", place, p.Run)
	case *workflow.Progress:
		return fmt.Sprintf("  %s %s: %s", place, p.Kind, p.Message)
	case *workflow.Ended:
		return ""
	}
	return ""
}

func settledLine(place string, p *workflow.Settled, took time.Duration) string {
	mark, after := "+", ""
	if p.Status != "" && p.Status != workflow.VisitSucceeded {
		mark = "x"
	}
	if took >= 10*time.Millisecond {
		after = " in " + took.Round(time.Millisecond).String()
	}
	if p.Error != nil {
		return fmt.Sprintf("%s %s %s%s: %s (%s)", mark, place, p.Outcome, after, p.Error.Message, p.Error.Code)
	}
	return fmt.Sprintf("%s %s %s%s", mark, place, p.Outcome, after)
}

func answerLine(place string, p *workflow.QuestionAnswered) string {
	switch {
	case p.Answer.Expired:
		return fmt.Sprintf("  %s: question %s expired", place, p.Question)
	case p.Answer.Denied:
		return fmt.Sprintf("  %s: %s denied by %s", place, p.Question, p.Answer.By)
	}
	return fmt.Sprintf("  %s: %s answered by %s", place, p.Question, p.Answer.By)
}

func attempt(n int) string {
	if n > 1 {
		return fmt.Sprintf(" (attempt %d)", n)
	}
	return ""
}

func clock(t workflow.Time) string { return t.Std().Local().Format("15:04:05") }
