package history_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/graph"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/shell"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/workspacetest"
)

// host is what golden histories are driven with: real pieces, a model that
// repeats the first line of a prompt, and commands that say what they are.
type host struct {
	t        *testing.T
	pieces   *piece.Registry
	programs map[string]workflow.Factory
	hang     string // a command or prompt with this text never ends
	hung     chan struct{}
	mu       sync.Mutex
	all      []string
	times    map[string]int
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, hung: make(chan struct{}, 10), times: map[string]int{}}
	backend := func(string) (executor.Capabilities, bool) { return h.Capabilities(""), true }
	var err error
	h.pieces, err = piece.NewRegistry(slices.Concat(
		control.Pieces(), model.Pieces(model.Config{Backend: backend}), shell.Pieces(shell.Config{Runner: h}),
	)...)
	if err != nil {
		t.Fatal(err)
	}
	h.programs = map[string]workflow.Factory{workflow.KindGraph: graph.New(graph.Config{Pieces: h.pieces, Backend: backend})}
	return h
}

func (h *host) engine(s store.Store) *engine.Engine {
	h.t.Helper()
	e, err := engine.New(engine.Config{
		Store: s, Pieces: h.pieces, Programs: h.programs, Poll: 5 * time.Millisecond, Process: "1@golden", Binary: "golden",
		Executor: func(string) (executor.Executor, error) { return h, nil },
		WaitFor:  engine.Waits{Hold: -1},
		Child: func(parent workflow.RunStarted, _ workflow.Ref, text, inputs []byte) (engine.Launch, error) {
			l := launch(h.t, string(text))
			l.Started.Inputs, l.Started.Children = workflow.Inline(inputs), parent.Children
			return l, nil
		},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return e
}

// note keeps what was done; it reports whether it hangs, and how often it was
// done.
func (h *host) note(what string) (hangs bool, times int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, what)
	h.times[what]++
	return h.hang != "" && strings.Contains(what, h.hang), h.times[what]
}

// did returns commands and calls so far, sorted.
func (h *host) did() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.all))
}

func (h *host) wait(ctx context.Context) error {
	h.hung <- struct{}{}
	<-ctx.Done()
	return context.Cause(ctx)
}

// Run implements workspace.Runner.
func (h *host) Run(ctx context.Context, c workspace.Command) (workspace.Exit, error) {
	if hangs, _ := h.note("ran " + c.Line); hangs {
		return workspace.Exit{}, h.wait(ctx)
	}
	r := workspacetest.Runner{Answer: func(c workspace.Command) (workspace.Exit, error) {
		return workspace.Exit{Stdout: []byte("output of " + c.Line + "\n")}, nil
	}}
	return r.Run(ctx, c)
}

// Execute implements executor.Executor with one call. A prompt with FLAKY fails
// the first time; one with LONG is answered with more than an event holds.
func (h *host) Execute(ctx context.Context, t executor.Turn, eh executor.Host) (executor.Reply, error) {
	raw, err := eh.Call(ctx, executor.Call{
		Key: t.Key + "/1", Kind: t.Kind, Provider: t.Provider, Model: "m", PromptBytes: len(t.Prompt), MaxOutput: t.MaxOutput,
		Do: func(ctx context.Context, _ executor.Grant) (executor.Done, error) {
			first, _, _ := strings.Cut(t.Prompt, "\n")
			hangs, times := h.note("asked " + first)
			switch {
			case hangs:
				return executor.Done{}, h.wait(ctx)
			case strings.Contains(first, "FLAKY") && times == 1:
				return executor.Done{}, workflow.Errorf(workflow.CodeProviderRequest, "the connection was reset")
			case strings.Contains(first, "LONG"):
				first += strings.Repeat(" and on", 1000)
			}
			in, out := int64(300), int64(100)
			memo, err := json.Marshal("reply to " + first)
			return executor.Done{Memo: memo, Usage: workflow.Usage{Input: &in, Output: &out}, Model: "m"}, err
		},
	})
	if err != nil {
		return executor.Reply{}, err
	}
	var text string
	err = json.Unmarshal(raw, &text)
	return executor.Reply{Text: text, Model: "m"}, err
}

// Capabilities implements executor.Executor.
func (h *host) Capabilities(string) executor.Capabilities { return executor.Capabilities{Model: "m"} }

// launch makes a launch of a document that needs no checks.
func launch(t *testing.T, doc string) engine.Launch {
	t.Helper()
	var def workflow.Definition
	if err := json.Unmarshal([]byte(doc), &def); err != nil {
		t.Fatal(err)
	}
	opts := workflow.Options{
		Budget: def.Budget, Policies: def.Policies, Transitions: 1000,
		Repositories: []workflow.RepositoryInfo{{ID: "repo", Path: "."}},
	}
	opts.Policies.Concurrency = max(2, opts.Policies.Concurrency)
	return engine.Launch{Document: []byte(doc), Started: workflow.RunStarted{
		Workflow: workflow.Ref{Name: def.ID, Digest: workflow.Digest(canon.Sum([]byte(doc)))},
		Kind:     workflow.KindGraph, Level: def.SchemaVersion, Options: opts,
	}}
}

// actor plays what is recorded.
type actor struct {
	*host
	s store.Store
	e *engine.Engine
}

func newActor(t *testing.T, s store.Store) *actor {
	t.Helper()
	h := newHost(t)
	return &actor{host: h, s: s, e: h.engine(s)}
}

func (a *actor) start(l engine.Launch) history.Result {
	a.t.Helper()
	if l.ID == "" {
		l.ID = "r-golden"
	}
	res, err := a.e.Start(a.t.Context(), l)
	if err != nil {
		a.t.Fatal(err)
	}
	return res
}

// killed starts a run and throws it away as soon as something hangs: what is in
// the store stays as a killed process leaves it.
func (a *actor) killed(l engine.Launch) {
	a.t.Helper()
	l.ID = "r-golden"
	ctx, cancel := context.WithCancelCause(context.Background())
	dead := &deaf{Store: a.s}
	e := a.engine(dead)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = e.Start(ctx, l) // its last append is refused
	}()
	<-a.hung
	dead.refuse()
	cancel(context.Canceled)
	<-ended
	a.hang = ""
}

// deaf is a store that takes nothing any more once its process is dead.
type deaf struct {
	store.Store
	mu   sync.Mutex
	dead bool
}

func (d *deaf) refuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

func (d *deaf) Append(ctx context.Context, a store.Append) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return &store.Stale{Run: a.Run, What: "the process is dead"}
	}
	return d.Store.Append(ctx, a)
}

func (a *actor) drive(run workflow.RunID) history.Result {
	a.t.Helper()
	res, err := a.e.Drive(a.t.Context(), run, "golden")
	if err != nil {
		a.t.Fatal(err)
	}
	return res
}

func (a *actor) send(run workflow.RunID, c engine.Control) {
	a.t.Helper()
	c.By = "golden"
	if err := a.e.Send(a.t.Context(), run, c); err != nil {
		a.t.Fatal(err)
	}
}

func (a *actor) answer(q workflow.Question, text string) {
	a.t.Helper()
	a.send(q.Run, engine.Control{Answer: &engine.AnswerControl{Question: q.ID, Text: &text}})
}

func (a *actor) want(res history.Result, status workflow.Status) {
	a.t.Helper()
	if res.Status != status {
		a.t.Fatalf("the run is %s %v, want %s", res.Status, res.Failures, status)
	}
}
