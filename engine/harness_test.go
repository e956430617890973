package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/graph"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/memory"
	"github.com/tenonrun/tenon/workflow"
)

// world is what a run can see of the outside: counters, and the model.
type world struct {
	mu     sync.Mutex
	did    map[string]int // effects by name
	events []workflow.Event
	calls  atomic.Int64
	most   *workflow.MaxCost     // of a call
	limits *workflow.AgentLimits // of the agent of a turn
	model  func(ctx context.Context, prompt string, g executor.Grant) (executor.Done, error)
	block  chan struct{} // a "hang" step waits for it
	begun  chan string   // names of hanging steps
	tree   atomic.Value  // text of the work tree
}

func newWorld() *world {
	w := &world{did: map[string]int{}, block: make(chan struct{}), begun: make(chan string, 1000)}
	w.tree.Store("as committed")
	return w
}

func (w *world) do(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did[name]++
}

func (w *world) count(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.did[name]
}

func (w *world) see(n engine.Notice) {
	if n.Event == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, *n.Event)
}

func (w *world) types() map[workflow.EventType]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[workflow.EventType]int{}
	for _, e := range w.events {
		out[e.Type()]++
	}
	return out
}

// kinds are what workflows of these tests are made of.
func kinds(w *world) []piece.Piece {
	return append(control.Pieces(), stepPiece(w), provePiece(w, "prove", true), provePiece(w, "claim", false), pairPiece, handPiece(w))
}

// stepParams are those of the test piece "step".
type stepParams struct {
	Name      string         `json:"name"`
	Effect    string         `json:"effect"`
	Uncertain bool           `json:"uncertain"`
	Fail      workflow.Code  `json:"fail"`  // always fails with it
	FailOnce  workflow.Code  `json:"once"`  // fails the first time
	Look      bool           `json:"look"`  // reads the state, and notes it
	Usage     bool           `json:"usage"` // reads the state
	Hang      bool           `json:"hang"`  // until the world lets it go
	Model     string         `json:"model"` // prompt of a model call
	Set       map[string]any `json:"set"`
	Output    any            `json:"output"`
	Repeat    int            `json:"repeat"` // outcome "again" this many times
}

func stepPiece(w *world) piece.Piece {
	return piece.Piece{
		Kind:   "step",
		Schema: func(int) json.RawMessage { return json.RawMessage(`{"type":"object"}`) },
		Describe: func(raw json.RawMessage, _ piece.Env) (piece.Traits, []piece.Problem) {
			var p stepParams
			if err := json.Unmarshal(raw, &p); err != nil {
				return piece.Traits{}, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
			}
			t := piece.Traits{Outcomes: []string{"next", "failed"}, Effect: workflow.EffectRead, Uncertain: p.Uncertain}
			if p.Effect != "" {
				t.Effect = workflow.Effect(p.Effect)
			}
			if p.Repeat > 0 {
				t.Outcomes = append(t.Outcomes, "again")
			}
			if p.Model != "" {
				t.AI, t.Provider, t.Steerable = true, "fake", true
			}
			return t, nil
		},
		Run: func(ctx context.Context, c piece.Context) (workflow.Settled, error) { return w.step(ctx, c) },
	}
}

func (w *world) step(ctx context.Context, c piece.Context) (workflow.Settled, error) {
	var p stepParams
	if err := json.Unmarshal(c.Frame().Params, &p); err != nil {
		return workflow.Settled{}, err
	}
	w.do(p.Name)
	if p.Hang {
		select {
		case w.begun <- p.Name:
		default:
		}
		select {
		case <-w.block:
		case <-ctx.Done():
			return workflow.Settled{}, context.Cause(ctx)
		}
	}
	if p.Look || p.Usage {
		if _, _, err := c.Lookup(ctx, "$usage"); err != nil {
			return workflow.Settled{}, err
		}
	}
	if p.Look {
		if err := c.Note(ctx, "look", "it looked"); err != nil {
			return workflow.Settled{}, err
		}
	}
	if p.Fail != "" || p.FailOnce != "" && w.count(p.Name) == 1 {
		return workflow.Settled{}, workflow.Errorf(p.Fail+p.FailOnce, "%s failed on purpose", p.Name)
	}
	res := workflow.Settled{Outcome: "next", History: p.Name + " done", Vars: map[string]workflow.Value{}}
	if p.Repeat > 0 && c.Frame().Number <= p.Repeat {
		res.Outcome = "again"
	}
	if p.Model != "" {
		reply, err := c.Turn(ctx, executor.Turn{Key: "turn", Provider: "fake", Prompt: p.Model})
		if err != nil {
			return workflow.Settled{}, err
		}
		p.Output = map[string]any{"text": reply.Text, "steering": c.Frame().Steering}
	}
	for k, v := range p.Set {
		raw, _ := json.Marshal(v)
		res.Vars[k] = workflow.Inline(raw)
	}
	if p.Output != nil {
		raw, err := json.Marshal(p.Output)
		if err != nil {
			return res, err
		}
		res.Output = workflow.Inline(raw)
	}
	return res, nil
}

// Execute implements executor.Executor with one call per turn.
func (w *world) Execute(ctx context.Context, t executor.Turn, h executor.Host) (executor.Reply, error) {
	agent := ""
	if w.limits != nil {
		agent = t.Key
		if err := h.(executor.Spawner).Spawn(ctx, workflow.AgentStarted{Key: agent, Limits: w.limits}); err != nil {
			return executor.Reply{}, err
		}
	}
	raw, err := h.Call(ctx, executor.Call{
		Key: t.Key + "/1", Agent: agent, Provider: t.Provider, Model: "m", PromptBytes: len(t.Prompt), MaxOutput: t.MaxOutput, MaxCost: w.most,
		Do: func(ctx context.Context, g executor.Grant) (executor.Done, error) {
			w.calls.Add(1)
			w.do("call:" + t.Prompt)
			if w.model != nil {
				return w.model(ctx, t.Prompt, g)
			}
			return said("reply to "+t.Prompt, 300, 100), nil
		},
	})
	if err != nil {
		return executor.Reply{}, err
	}
	var text string
	err = json.Unmarshal(raw, &text)
	return executor.Reply{Text: text}, err
}

// Capabilities implements executor.Executor.
func (w *world) Capabilities(string) executor.Capabilities { return executor.Capabilities{Model: "m"} }

func said(text string, in, out int64) executor.Done {
	raw, _ := json.Marshal(text)
	return executor.Done{Memo: raw, Usage: workflow.Usage{Input: &in, Output: &out}, Model: "m"}
}

// rig is an engine over a store that tests can reopen.
type rig struct {
	t      *testing.T
	w      *world
	store  store.Store
	engine *engine.Engine
}

func newRig(t *testing.T, tune ...func(*engine.Config)) *rig {
	t.Helper()
	r := &rig{t: t, w: newWorld(), store: memory.New()}
	r.reopen(tune...)
	t.Cleanup(func() {
		if !t.Failed() {
			r.checkLaws()
		}
	})
	return r
}

// reopen makes a new engine over the same store, as a new process would.
func (r *rig) reopen(tune ...func(*engine.Config)) {
	r.t.Helper()
	pieces, err := piece.NewRegistry(kinds(r.w)...)
	if err != nil {
		r.t.Fatal(err)
	}
	backend := func(string) (executor.Capabilities, bool) { return executor.Capabilities{Model: "m"}, true }
	cfg := engine.Config{
		Store: r.store, Pieces: pieces,
		Programs: map[string]workflow.Factory{workflow.KindGraph: graph.New(graph.Config{Pieces: pieces, Backend: backend})},
		Executor: func(string) (executor.Executor, error) { return r.w, nil },
		Observe:  r.w.see, Poll: 5 * time.Millisecond,
		Candidate: func(context.Context, piece.Frame) (string, error) { return "c1:" + r.w.tree.Load().(string), nil },
	}
	cfg.Child = func(parent workflow.RunStarted, doc workflow.Ref, text, inputs []byte) (engine.Launch, error) {
		l := launch(r.t, string(text))
		l.Started.Inputs = workflow.Inline(inputs)
		l.Started.Children = parent.Children
		if parent.Options.Budget.MaxTokens > 0 {
			l.Started.Options.Budget = parent.Options.Budget
		}
		return l, nil
	}
	for _, f := range tune {
		f(&cfg)
	}
	r.engine, err = engine.New(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
}

// launch makes a launch of a definition; documents here need no validation.
func launch(t testing.TB, doc string) engine.Launch {
	t.Helper()
	var def workflow.Definition
	if err := json.Unmarshal([]byte(doc), &def); err != nil {
		t.Fatalf("definition: %v", err)
	}
	opts := workflow.Options{
		Budget: def.Budget, Policies: def.Policies, Transitions: def.MaxTransitions, Verified: def.Delivery.RequiresVerified,
	}
	if opts.Policies.Concurrency == 0 {
		opts.Policies.Concurrency = 4
	}
	return engine.Launch{
		Document: []byte(doc),
		Started: workflow.RunStarted{
			Workflow: workflow.Ref{Name: def.ID, Digest: workflow.Digest(canon.Sum([]byte(doc)))},
			Kind:     workflow.KindGraph, Level: def.SchemaVersion, Options: opts,
		},
	}
}

func (r *rig) run(doc string) history.Result {
	r.t.Helper()
	return r.start(launch(r.t, doc))
}

func (r *rig) start(l engine.Launch) history.Result {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	res, err := r.engine.Start(ctx, l)
	if err != nil {
		r.t.Fatalf("start: %v", err)
	}
	return res
}

func (r *rig) drive(id workflow.RunID) history.Result {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	res, err := r.engine.Drive(ctx, id, "tester")
	if err != nil {
		r.t.Fatalf("drive: %v", err)
	}
	return res
}

func (r *rig) send(id workflow.RunID, c engine.Control) {
	r.t.Helper()
	c.By = "tester"
	if err := r.engine.Send(r.t.Context(), id, c); err != nil {
		r.t.Fatalf("send: %v", err)
	}
}

func (r *rig) answer(q workflow.Question, text string) {
	r.t.Helper()
	r.send(q.Run, engine.Control{Answer: &engine.AnswerControl{Question: q.ID, Text: &text}})
}

func wantStatus(t *testing.T, res history.Result, want workflow.Status) {
	t.Helper()
	if res.Status != want {
		raw, _ := json.MarshalIndent(res, "", " ")
		t.Fatalf("status %s, want %s: %s", res.Status, want, raw)
	}
}

func wantCode(t *testing.T, err error, code workflow.Code) {
	t.Helper()
	if !errors.Is(err, &workflow.Error{Code: code}) {
		t.Fatalf("error %v (%s), want code %s", err, workflow.CodeOf(err), code)
	}
}

// def2 wraps nodes into a definition of format 2.
func def2(entry, nodes string, more ...string) string {
	doc := fmt.Sprintf(`{"schemaVersion":2,"id":"test","entry":%q,"maxTransitions":1000,"nodes":{%s}`, entry, nodes)
	for _, m := range more {
		doc += "," + m
	}
	return doc + "}"
}

const ends = `"done":{"kind":"end","params":{"outcome":"success"},"ends":{}},"bad":{"kind":"end","params":{"outcome":"failure","reason":"went_bad"},"ends":{}}`

func step(name, params, next string) string {
	return fmt.Sprintf(`%q:{"kind":"step","params":{"name":%q%s},"ends":{"next":%q,"failed":"bad"}}`, name, name, params, next)
}
