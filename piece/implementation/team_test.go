package implementation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/graph"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/implementation"
	"github.com/tenonrun/tenon/store/memory"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/verification/host"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// team carries out whole definitions: it is the agents, the host and the work
// tree of a run.
type team struct {
	t       *testing.T
	mu      sync.Mutex
	tree    int // changes of the work tree so far
	turns   []executor.Turn
	visits  []string
	receipt []workflow.EvidenceKept
	// passing says whether the checks pass over a state of the tree; score is that
	// of the n-th review, from 0.
	passing func(tree int) bool
	score   func(n int) int
	before  func(role string) // is called when a role is asked, before it answers
	engine  *engine.Engine
}

var everyRole = map[string]workflow.Role{
	"architect": {Access: workflow.EffectRead, Provider: "fake"}, "developer": {Access: workflow.EffectWrite, Provider: "fake"},
	"reviewer": {Access: workflow.EffectRead, Provider: "fake"},
}

func assemble(t *testing.T) *team {
	t.Helper()
	tm := &team{t: t, passing: func(int) bool { return true }, score: func(int) int { return 90 }}
	pieces := tm.pieces()
	backend := func(string) (executor.Capabilities, bool) { return tm.Capabilities(""), true }
	var err error
	tm.engine, err = engine.New(engine.Config{
		Store: memory.New(), Pieces: pieces, Poll: 5 * time.Millisecond, Observe: tm.see,
		Programs:  map[string]workflow.Factory{workflow.KindGraph: graph.New(graph.Config{Pieces: pieces, Backend: backend})},
		Executor:  func(string) (executor.Executor, error) { return tm, nil },
		Candidate: func(context.Context, piece.Frame) (string, error) { return tm.hash(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

func (tm *team) pieces() *piece.Registry {
	tm.t.Helper()
	own := piece.Piece{
		Kind: "verify", Certifies: true,
		Schema: func(int) json.RawMessage { return json.RawMessage(`{"type":"object"}`) },
		Describe: func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
			return piece.Traits{Outcomes: []string{"pass", "fail", "failed"}, Effect: workflow.EffectWrite}, nil
		},
		Run: func(ctx context.Context, c piece.Context) (workflow.Settled, error) {
			f := c.Frame()
			r, err := tm.verify(ctx, c, host.Request{ID: "rc-" + string(f.Visit), Checks: verification.Commands(f.Checks), Scope: workflow.ReceiptFull, Keep: c.(piece.Prover).Keep})
			out := workflow.Settled{Outcome: "fail"}
			if r.Certifies() {
				out.Outcome, out.Verified = "pass", &workflow.Verified{Receipt: r.ID, Candidate: r.Candidate}
			}
			return out, err
		},
	}
	pieces, err := piece.NewRegistry(slices.Concat(control.Pieces(), implementation.Pieces(implementation.Config{Verify: tm.verify}), []piece.Piece{own})...)
	if err != nil {
		tm.t.Fatal(err)
	}
	return pieces
}

func (tm *team) hash() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return fmt.Sprintf("c1:tree-%d", tm.tree)
}

func (tm *team) verify(ctx context.Context, _ piece.Context, q host.Request) (verification.Receipt, error) {
	r := verification.Receipt{ID: q.ID, State: workflow.ReceiptPending, Scope: q.Scope, Candidate: tm.hash()}
	if r.Scope == "" {
		r.Scope = workflow.ReceiptFull
	}
	if err := q.Keep(ctx, r.Kept()); err != nil {
		return r, err
	}
	tm.mu.Lock()
	state, output := verification.StatePassed, ""
	if !tm.passing(tm.tree) {
		state, output = verification.StateFailed, strings.Repeat("bad ", tm.tree)
	}
	tm.mu.Unlock()
	for _, c := range q.Checks {
		r.Commands = append(r.Commands, verification.Evidence{Check: c, State: state, Output: output, Reason: "exit code 1"})
	}
	var err error
	if r.Plan, err = verification.PlanDigest(q.Checks); err != nil {
		return r, err
	}
	r.After = tm.hash()
	r.Judge("")
	return r, q.Keep(ctx, r.Kept())
}

func (tm *team) see(n engine.Notice) {
	if n.Event == nil {
		return
	}
	tm.mu.Lock()
	defer tm.mu.Unlock()
	switch data := n.Event.Payload.(type) {
	case *workflow.Settled:
		tm.visits = append(tm.visits, n.Event.Node)
	case *workflow.EvidenceKept:
		tm.receipt = append(tm.receipt, *data)
	}
}

// Capabilities implements executor.Executor.
func (tm *team) Capabilities(string) executor.Capabilities { return executor.Capabilities{Model: "m"} }

// Execute implements executor.Executor: the roles do their work.
func (tm *team) Execute(ctx context.Context, t executor.Turn, h executor.Host) (executor.Reply, error) {
	raw, err := h.Call(ctx, executor.Call{Key: t.Key + "/1", Provider: t.Provider, Model: "m", Do: func(ctx context.Context, _ executor.Grant) (executor.Done, error) {
		tm.mu.Lock()
		defer tm.mu.Unlock()
		if tm.before != nil {
			tm.before(t.Role)
		}
		if ctx.Err() != nil {
			return executor.Done{}, ctx.Err()
		}
		tm.turns = append(tm.turns, t)
		switch t.Role {
		case "architect":
			return executor.Done{Memo: json.RawMessage(planned)}, nil
		case "developer":
			tm.tree++
			return executor.Done{Memo: json.RawMessage(developed)}, nil
		}
		score := tm.score(tm.count("reviewer") - 1)
		return executor.Done{Memo: json.RawMessage(tm.certified(t.Prompt, score))}, nil
	}})
	return executor.Reply{Text: string(raw), Structured: raw, Rounds: 1}, err
}

// certified is a verdict about every criterion of a prompt.
func (tm *team) certified(prompt string, score int) string {
	_, list, _ := strings.Cut(prompt, "<criteria>\n")
	list, _, _ = strings.Cut(list, "\n</criteria>")
	var given []string
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "- "), ":")
		given = append(given, fmt.Sprintf(`{"id":%q,"status":"met","evidence":"a.go"}`, id))
	}
	return strings.Replace(verdict(true, score, "met"), `{"id":"add-x","status":"met","evidence":"a.go:1"}`, strings.Join(given, ","), 1)
}

// count is how often a role was asked; the caller holds the lock.
func (tm *team) count(role string) int {
	n := 0
	for _, t := range tm.turns {
		if t.Role == role {
			n++
		}
	}
	return n
}

func (tm *team) roles() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	var names []string
	for _, t := range tm.turns {
		names = append(names, t.Role)
	}
	return strings.Join(names, " ")
}

// published loads a definition of the format's own collection.
func (tm *team) published(name, old, now string) *load.Workflow {
	tm.t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "workflow", "load", "testdata", "definitions", name+".json"))
	if err != nil {
		tm.t.Fatal(err)
	}
	return tm.load(strings.ReplaceAll(string(raw), old, now))
}

func (tm *team) load(doc string) *load.Workflow {
	tm.t.Helper()
	w, err := load.Load("doc.json", []byte(doc), load.Config{Pieces: tm.pieces(), AnyVersion: true, Draft: true, Env: piece.Env{Roles: everyRole}})
	if err != nil {
		tm.t.Fatal(err)
	}
	return w
}

func (tm *team) run(w *load.Workflow, tickets string) history.Result {
	tm.t.Helper()
	ctx, cancel := context.WithTimeout(tm.t.Context(), 20*time.Second)
	defer cancel()
	res, err := tm.engine.Start(ctx, tm.launch(w, tickets))
	if err != nil {
		tm.t.Fatal(err)
	}
	return res
}

func (tm *team) launch(w *load.Workflow, tickets string) engine.Launch {
	def := w.Definition
	l := engine.Launch{Document: w.Document, Started: workflow.RunStarted{
		Workflow: workflow.Ref{Name: def.ID, Digest: w.Digest}, Kind: workflow.KindGraph, Level: def.SchemaVersion,
		Launch: workflow.Launch{Change: "add-x"},
		Options: workflow.Options{
			Roles: everyRole, Repositories: []workflow.RepositoryInfo{{ID: "repo", Path: "."}}, Transitions: def.MaxTransitions,
			Policies: workflow.Policies{Concurrency: 4}, Verified: def.Delivery.RequiresVerified, Checks: []workflow.Check{{RepositoryID: "repo", Command: "test"}},
		},
	}}
	if tickets != "" {
		l.Started.Launch.Tickets = workflow.Inline(json.RawMessage(tickets))
	}
	return l
}

func want(t *testing.T, res history.Result, status workflow.Status) {
	t.Helper()
	if res.Status != status {
		raw, err := json.MarshalIndent(res, "", " ")
		t.Fatalf("status %s, want %s: %s, %v", res.Status, status, raw, err)
	}
}
