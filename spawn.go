package tenon

import (
	"context"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/tool"
)

// likeItself is the name of an agent that is started without one.
const likeItself = "helper"

// spawn finds the agent that a turn wants to start.
func (t *Tenon) spawn(_ context.Context, parent executor.Turn, task tool.Task) (native.Child, error) {
	if task.Agent != "" && task.Agent != likeItself {
		return native.Child{}, &tool.Failed{What: "there is no agent " + tool.Quote(task.Agent), Next: "leave agent out to get one like yourself, or do the work yourself"}
	}
	ex, err := t.backends.executor(parent.Provider)
	if err != nil {
		return native.Child{}, err
	}
	return native.Child{
		Executor: ex, Name: likeItself, Reason: "like the agent that started it",
		Turn: executor.Turn{
			Role: parent.Role, Access: parent.Access, Instructions: parent.Instructions, Prompt: task.Prompt,
			Provider: parent.Provider, Model: parent.Model, Effort: parent.Effort, Thinking: parent.Thinking, MaxTurns: parent.MaxTurns, MaxOutput: parent.MaxOutput,
			Dir: parent.Dir, Roots: parent.Roots, Timeout: parent.Timeout, Idle: parent.Idle,
			Def: parent.Def, Tools: parent.Tools, Route: parent.Route,
		},
	}, nil
}
