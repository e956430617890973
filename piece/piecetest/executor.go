package piecetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/workflow"
)

// Step is what an Executor gives to one turn.
type Step struct {
	Text       string
	Structured json.RawMessage
	Session    string
	Err        error
	// Before runs in place of the agent's work, once, before the answer.
	Before func()
}

// Executor answers turns in order from a list, one call each.
type Executor struct {
	Steps []Step
	Caps  executor.Capabilities

	mu    sync.Mutex
	next  int
	turns []executor.Turn
}

// Execute gives the next step, unless the turn settled before.
func (e *Executor) Execute(ctx context.Context, t executor.Turn, h executor.Host) (executor.Reply, error) {
	e.mu.Lock()
	e.turns = append(e.turns, t)
	e.mu.Unlock()
	memo, err := h.Call(ctx, executor.Call{
		Key: t.Key + "/1", Kind: t.Kind, Provider: t.Provider, Model: t.Model, Effort: t.Effort,
		PromptBytes: len(t.Instructions) + len(t.Prompt), Do: e.answer,
	})
	if err != nil {
		return executor.Reply{}, err
	}
	var said memoised
	if err := json.Unmarshal(memo, &said); err != nil {
		return executor.Reply{}, fmt.Errorf("piecetest: reading a memo: %w", err)
	}
	return executor.Reply{Text: said.Text, Structured: said.Structured, Session: said.Session, Rounds: 1}, nil
}

// memoised is the memo of a step.
type memoised struct {
	Text       string
	Structured json.RawMessage `json:",omitempty"`
	Session    string
}

func (e *Executor) answer(context.Context, executor.Grant) (executor.Done, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next >= len(e.Steps) {
		return executor.Done{}, workflow.Errorf(workflow.CodeInternal, "piecetest: turn %d is not in the list", e.next+1)
	}
	step := e.Steps[e.next]
	e.next++
	if step.Before != nil {
		step.Before()
	}
	if step.Err != nil {
		return executor.Done{}, step.Err
	}
	memo, err := json.Marshal(memoised{Text: step.Text, Structured: step.Structured, Session: step.Session})
	return executor.Done{Memo: memo}, err
}

// Capabilities returns Caps.
func (e *Executor) Capabilities(string) executor.Capabilities { return e.Caps }

// Turns returns the turns that were asked for, re-runs included.
func (e *Executor) Turns() []executor.Turn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]executor.Turn(nil), e.turns...)
}
