// Package piecetest runs pieces without an engine.
//
// Holds: Context, an in-memory piece.Context with memos, answers, state and a
// work tree digest, and Executor, which answers turns from a list.
//
// Guarantees: what an engine keeps over a re-run, a Context keeps too: memos of
// settled calls, and questions with their answers.
//
// Does not: persist, admit, retry or route.
package piecetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

// Context is a piece.Context, Candidater, Prover and Desk in memory. Its fields may be
// changed between runs of the piece, not during one.
type Context struct {
	F        piece.Frame
	State    map[string]any // root such as "$vars" → value of plain JSON data
	Values   map[workflow.Digest]json.RawMessage
	Executor executor.Executor
	Digest   string                 // candidate of the work tree; "" makes Candidate fail
	Hash     func() (string, error) // instead of Digest
	Desk     string                 // directory of the visit; "" makes Dir fail
	Proven   *workflow.Verified     // what Proof returns until a receipt certifies something

	mu        sync.Mutex
	memo      map[string]json.RawMessage
	questions []*workflow.Question
	progress  []executor.Progress
	notes     []string
	kept      []workflow.EvidenceKept
	calls     int
}

// Frame returns F.
func (c *Context) Frame() piece.Frame { return c.F }

// Lookup walks State.
func (c *Context) Lookup(_ context.Context, root string, path ...string) (any, bool, error) {
	value, ok := c.State[root]
	if ok {
		value, ok = expr.Walk(value, path)
	}
	return value, ok, nil
}

// Load returns an inline value or one of Values.
func (c *Context) Load(v workflow.Value) (json.RawMessage, error) {
	if v.Digest == "" {
		return v.JSON, nil
	}
	raw, ok := c.Values[v.Digest]
	if !ok {
		return nil, workflow.Errorf(workflow.CodeNotFound, "there is no value %s", v.Digest)
	}
	return raw, nil
}

// Turn runs the turn with Executor.
func (c *Context) Turn(ctx context.Context, t executor.Turn) (executor.Reply, error) {
	if c.Executor == nil {
		return executor.Reply{}, fmt.Errorf("piecetest: the piece wants a turn, and there is no executor")
	}
	return c.Executor.Execute(ctx, t, c)
}

// Call makes a model call, or returns the memo of an earlier one.
func (c *Context) Call(ctx context.Context, call executor.Call) (json.RawMessage, error) {
	c.mu.Lock()
	memo, settled := c.memo[call.Key]
	if !settled {
		c.calls++
	}
	ordinal := c.calls
	c.mu.Unlock()
	if settled {
		return memo, nil
	}
	done, err := call.Do(ctx, executor.Grant{MaxOutput: call.MaxOutput, Ordinal: ordinal})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memo == nil {
		c.memo = map[string]json.RawMessage{}
	}
	c.memo[call.Key] = done.Memo
	return done.Memo, nil
}

// Calls returns how many model calls were really made.
func (c *Context) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// Ask returns the answer of the round, or opens the question.
func (c *Context) Ask(_ context.Context, a piece.Ask) (workflow.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.questions {
		if q.Round != a.Round {
			continue
		}
		if q.Answer == nil {
			return workflow.Answer{}, piece.ErrPaused
		}
		answer := *q.Answer
		answer.Question, answer.Bound = q.ID, q.Bound
		return answer, nil
	}
	c.questions = append(c.questions, &workflow.Question{
		ID: fmt.Sprintf("q%d", a.Round), Run: c.F.Run, Visit: c.F.Visit, Node: c.F.Node, Kind: a.Kind, Text: a.Text,
		Schema: a.Schema, Options: a.Options, Bound: a.Bound, Round: a.Round, Deadline: a.Timeout,
	})
	return workflow.Answer{}, piece.ErrPaused
}

// Open returns the question that waits for an answer, or nil. Its Deadline is
// the duration that was asked for.
func (c *Context) Open() *workflow.Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.questions {
		if q.Answer == nil {
			return q
		}
	}
	return nil
}

// Answer closes the open question. It is an error when there is none.
func (c *Context) Answer(a workflow.Answer) error {
	q := c.Open()
	if q == nil {
		return fmt.Errorf("piecetest: no question is open")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q.Answer = &a
	return nil
}

// Candidate returns what Hash returns, or Digest.
func (c *Context) Candidate(context.Context) (string, error) {
	if c.Hash != nil {
		return c.Hash()
	}
	if c.Digest == "" {
		return "", fmt.Errorf("piecetest: there is no work tree")
	}
	return c.Digest, nil
}

// Progress keeps p.
func (c *Context) Progress(p executor.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = append(c.progress, p)
}

// Shown returns the progress so far.
func (c *Context) Shown() []executor.Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]executor.Progress(nil), c.progress...)
}

// Note keeps the message.
func (c *Context) Note(_ context.Context, kind, message string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, kind+": "+message)
	return nil
}

// Notes returns what was noted, each as "kind: message".
func (c *Context) Notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.notes...)
}

// Keep keeps a receipt.
func (c *Context) Keep(_ context.Context, e workflow.EvidenceKept) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, e)
	return nil
}

// Receipts returns what was kept, oldest first.
func (c *Context) Receipts() []workflow.EvidenceKept {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]workflow.EvidenceKept(nil), c.kept...)
}

// Proof returns the newest candidate that a kept receipt certifies, else Proven.
func (c *Context) Proof(context.Context) (*workflow.Verified, error) {
	all := c.Receipts()
	for i := len(all) - 1; i >= 0; i-- {
		if e := all[i]; e.Certifies() {
			return &workflow.Verified{Receipt: e.Receipt, Candidate: e.Candidate}, nil
		}
	}
	return c.Proven, nil
}

// Dir returns Desk.
func (c *Context) Dir() (string, error) {
	if c.Desk == "" {
		return "", fmt.Errorf("piecetest: there is no desk")
	}
	return c.Desk, nil
}
