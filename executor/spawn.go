package executor

import (
	"context"

	"github.com/tenonrun/tenon/workflow"
)

// Spawner is a Host that keeps account of agents which the agent of a turn
// starts. What an agent uses is charged to its own account and to those of all
// agents above it.
type Spawner interface {
	// Spawn admits an agent; it is durable on return. The same key is admitted
	// once, whenever it is asked. A *SpawnRefused says that a limit forbids it.
	Spawn(ctx context.Context, a workflow.AgentStarted) error
	// Despawn records how an agent ended; an agent that ended stays ended.
	Despawn(ctx context.Context, e workflow.AgentEnded) error
	// Scope is the context of an agent: it ends when a person wants the agent
	// stopped, with a cause whose code is CodeSkipped. release ends it anyway.
	Scope(ctx context.Context, key string) (scope context.Context, release func())
	// Left tells how near an agent is to its limits, and those of the agents above
	// it, before it makes a call; nothing is told about a call that has settled.
	Left(ctx context.Context, agent, call string) (workflow.Allowance, error)
}

// SpawnRefused says that a limit forbids to start an agent.
type SpawnRefused struct {
	Limit string // maxDepth, maxFanout, maxSpawns, or tokens, cost, time
	Max   int64
	Used  int64
	Agent string // whose limit it is; "" is the first agent of the turn
}

func (e *SpawnRefused) Error() string { return "no more agents can be started: " + e.Limit }
