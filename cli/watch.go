package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// watcher shows what a driven run does: JSON lines on standard output, or
// progress for people on standard error.
type watcher struct {
	a     *app
	t     *tenon.Tenon // nil until the project is open
	mu    sync.Mutex
	begun bool
	view  view
}

// view is progress for people.
type view interface {
	know(name string, def *workflow.Definition)
	event(run workflow.RunID, e workflow.Event)
	progress(n engine.Notice)
	stop()
}

// lines is the view without a terminal: what lasts is an event, and that is told.
type lines struct{ *plain.Lines }

func (lines) know(string, *workflow.Definition) {}

func (l lines) event(run workflow.RunID, e workflow.Event) { l.Event(run, e) }

func (lines) progress(engine.Notice) {}

func (lines) stop() {}

func (a *app) watch() *watcher {
	w := &watcher{a: a}
	switch {
	case a.quiet || a.jsonl:
		w.view = silent{}
	case a.drawable():
		w.view = a.draw()
	default:
		w.view = lines{plain.New(a.std.Err)}
	}
	return w
}

// begin tells the view what is going to run.
func (w *watcher) begin(wf *tenon.Workflow) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.know(wf)
}

func (w *watcher) know(wf *tenon.Workflow) {
	w.view.know(wf.Name, wf.Definition)
	for _, child := range wf.Children {
		w.know(child)
	}
}

// resume shows what was there before the run goes on. The run goes on without
// it when it cannot be read; the engine tells why.
func (w *watcher) resume(ctx context.Context, run workflow.RunID) {
	if _, ok := w.view.(*tree); !ok || w.t == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recall(ctx, run)
}

func (w *watcher) recall(ctx context.Context, run workflow.RunID) {
	_ = w.t.Store.Events(ctx, run, 0, func(e workflow.Event) error {
		switch p := e.Payload.(type) {
		case *workflow.RunStarted:
			if doc, err := w.t.Store.Blob(ctx, p.Workflow.Digest); err == nil {
				if def, err := load.Decode(doc); err == nil {
					w.view.know(p.Workflow.Name, def)
				}
			}
		case *workflow.ChildStarted:
			defer w.recall(ctx, p.Run)
		}
		w.view.event(run, e)
		return nil
	})
}

// stop ends the view; it may be called again.
func (w *watcher) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view.stop()
	w.view = silent{}
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

func (silent) know(string, *workflow.Definition)    {}
func (silent) event(workflow.RunID, workflow.Event) {}
func (silent) progress(engine.Notice)               {}
func (silent) stop()                                {}

// reply is what to type to answer a question.
func (a *app) reply(q workflow.Question) []string {
	tenon := a.self() + a.flagsOf() + " "
	switch {
	case q.Kind == workflow.AskQuestion && len(q.Options) > 0:
		next := make([]string, len(q.Options))
		for i, o := range q.Options {
			next[i] = fmt.Sprintf("%sanswer %s '%s'", tenon, q.ID, strings.ReplaceAll(o, "'", `'\''`))
		}
		return next
	case q.Kind == workflow.AskQuestion:
		return []string{tenon + "answer " + q.ID + " VALUE"}
	}
	return []string{tenon + "approve " + q.ID, tenon + "deny " + q.ID + " --reason WHY"}
}

// recovery is what to type to settle an uncertain write.
func (a *app) recovery(run workflow.RunID, visit workflow.VisitID) string {
	return fmt.Sprintf("%s%s recover %s --visit '%s' --rerun|--done|--fail", a.self(), a.flagsOf(), run, visit)
}
