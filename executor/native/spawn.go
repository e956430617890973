package native

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// Child is an agent that is about to be started.
type Child struct {
	Executor executor.Executor
	// Turn is its turn; the loop sets Key, Agent, Depth and Label.
	Turn executor.Turn
	// Name is the agent as it is called, Version that of its definition.
	Name, Version string
	Digest        workflow.Digest // of its resolved definition
	Reason, Rule  string          // why it has its model
	Limits        *workflow.AgentLimits
}

// maxRefusals is how often an agent is told that it may start no more agents
// before it is asked to come to an end.
const maxRefusals = 3

// defaultLimits are those of an agent that has none and starts others.
func defaultLimits() *workflow.AgentLimits {
	depth, fanout, spawns := 5, 16, 1000
	return &workflow.AgentLimits{MaxDepth: &depth, MaxFanout: &fanout, MaxSpawns: &spawns}
}

// account opens the account of the agent of a piece, once.
func (l *loop) account(ctx context.Context, limits *workflow.AgentLimits) error {
	host, ok := l.Host.(executor.Spawner)
	if !ok || l.Turn.Agent != "" || limits == nil {
		return nil
	}
	name := cmp.Or(l.Turn.Label, l.Turn.Route.Agent, l.Turn.Node)
	started := workflow.AgentStarted{
		Key: l.Turn.Key, Agent: name, Label: l.Turn.Label, Provider: l.Provider.Name(), Model: l.Model, Limits: limits,
		Digest: l.Turn.Digest, Reason: l.Turn.Reason, Rule: l.Turn.Rule,
	}
	if err := host.Spawn(ctx, started); err != nil {
		return err
	}
	l.Turn.Agent = l.Turn.Key
	return nil
}

// spawn starts an agent for a tool, and returns what it gave. Its calls and steps
// are below the key of the tool's step, so one that a crash stopped goes on where
// it was.
func (w *work) spawn(ctx context.Context, t tool.Task) (tool.TaskDone, error) {
	host, ok := w.l.Host.(executor.Spawner)
	if !ok {
		return tool.TaskDone{}, &tool.Failed{What: "no agents can be started in this run", Next: "do the work yourself, step by step"}
	}
	w.l.opening.Lock()
	err := w.l.account(ctx, defaultLimits())
	w.l.opening.Unlock()
	if err != nil {
		return tool.TaskDone{}, w.park(err)
	}
	w.account = true
	c, err := w.l.cfg.Spawn(ctx, w.l.Turn, t)
	if err != nil {
		if !tool.ByModel(err) {
			err = w.park(err)
		}
		return tool.TaskDone{}, err
	}
	started := w.below(&c, t)
	var refused *executor.SpawnRefused
	if err := host.Spawn(ctx, started); errors.As(err, &refused) {
		w.refused = true
		return tool.TaskDone{}, refusal(refused)
	} else if err != nil {
		return tool.TaskDone{}, w.park(err)
	}
	w.l.progress("%s starts %s", w.brief, started.Label)
	scope, release := host.Scope(ctx, started.Key)
	reply, err := c.Executor.Execute(scope, c.Turn, w.l.Host)
	if cause := context.Cause(scope); err != nil && ctx.Err() == nil && workflow.CodeOf(cause) == workflow.CodeSkipped {
		err = cause
	}
	release()
	if err != nil && (ctx.Err() != nil || !ends(err)) {
		return tool.TaskDone{}, w.park(err)
	}
	if err := host.Despawn(ctx, ended(started.Key, reply, err)); err != nil {
		return tool.TaskDone{}, w.park(err)
	}
	if err != nil {
		return tool.TaskDone{}, &tool.Failed{What: fmt.Sprintf("the agent %s failed: %v", c.Name, err),
			Next: "look at what it left, and do the rest yourself or ask another agent", Err: err}
	}
	w.spawned = reply.Agents + 1
	done := tool.TaskDone{Agent: c.Name, Text: text.HeadBytes(reply.Text, w.l.cfg.Limits.Result, "\n[cut]"), Structured: reply.Structured, Files: reply.Files, Drained: reply.Drained}
	var known bool
	done.Tokens, known = reply.Usage.Tokens()
	done.Unknown = !known
	return done, nil
}

// below puts a child under the agent that starts it.
func (w *work) below(c *Child, t tool.Task) workflow.AgentStarted {
	parent, turn := w.l.Turn, &c.Turn
	turn.Key = w.key + "/agent"
	turn.Agent, turn.Depth = turn.Key, parent.Depth+1
	turn.Run, turn.Visit, turn.Node, turn.Strict = parent.Run, parent.Visit, parent.Node, parent.Strict || turn.Strict
	turn.Label = strings.TrimPrefix(parent.Label+"/"+c.Name, "/")
	turn.Kind = "agent"
	name := c.Name
	if c.Version != "" {
		name += "@" + c.Version
	}
	return workflow.AgentStarted{
		Key: turn.Key, Parent: parent.Agent, Agent: name, Digest: c.Digest, Label: turn.Label, Task: text.Head(t.Title, 200, "…"), Depth: turn.Depth,
		Provider: turn.Provider, Model: turn.Model, Reason: c.Reason, Rule: c.Rule, Limits: c.Limits,
	}
}

// park keeps an error that ends the turn as it is.
func (w *work) park(err error) error {
	w.parked = err
	return err
}

// refusal is what a model is told that may start no more agents.
func refusal(r *executor.SpawnRefused) error {
	raw, err := json.Marshal(map[string]any{"code": "SPAWN_REFUSED", "limit": r.Limit, "max": r.Max, "used": r.Used})
	if err != nil {
		return err // not reached: plain values always encode
	}
	next := "do this part of the work yourself"
	if r.Limit == "maxFanout" {
		next = "wait until another agent is done, or do it yourself"
	}
	return &tool.Failed{What: string(raw), Next: next}
}

// own are the failures that are an agent's own: the agent that asked is told, and
// goes on. All others are the run's.
var own = []workflow.Code{
	workflow.CodeRecursionLimit, workflow.CodeNoProgress, workflow.CodeStructuredOutput, workflow.CodeProviderRefused,
	workflow.CodeIncompleteResponse, workflow.CodeTimeout, workflow.CodeIdleTimeout, workflow.CodeContextLength, workflow.CodeModelUnknown,
	workflow.CodeProviderRequest, workflow.CodeNativeCommand, workflow.CodeSkipped,
}

func ends(err error) bool { return slices.Contains(own, workflow.CodeOf(err)) }

func ended(key string, r executor.Reply, err error) workflow.AgentEnded {
	e := workflow.AgentEnded{Key: key, Status: workflow.AgentSucceeded}
	switch {
	case err != nil:
		e.Status, e.Code, e.Message = workflow.AgentFailed, workflow.CodeOf(err), text.Head(err.Error(), 1000, "…")
	case r.Drained:
		e.Status = workflow.AgentDrained
	}
	return e
}

// writers lets one agent of a tree write at a time.
type writersKey struct{}

// writing holds the tree's right to write.
func writing(ctx context.Context) (release func()) {
	mu, ok := ctx.Value(writersKey{}).(*sync.Mutex)
	if !ok {
		return func() {}
	}
	mu.Lock()
	return mu.Unlock
}

// tree makes the right to write of a tree of agents, at its root.
func tree(ctx context.Context) context.Context {
	if ctx.Value(writersKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, writersKey{}, new(sync.Mutex))
}
