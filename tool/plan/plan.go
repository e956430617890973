package plan

import (
	"context"
	"embed"
	"encoding/json"
	"strings"

	"github.com/tenonrun/tenon/notes"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed *.md *.schema.json
var texts embed.FS

// Tools returns todo_write, memory, ask and task. Memory is left out without a
// store.
func Tools(memory *notes.Store) []tool.Tool {
	list := []tool.Tool{made("todo_write", todo)}
	if memory != nil {
		list = append(list, made("memory", keeper{memory}.run))
	}
	return append(list, made("ask", ask), made("task", task))
}

func made(name string, run func(context.Context, tool.Call) (tool.Result, error)) tool.Tool {
	return tool.Tool{Name: name, Description: embedded(name + ".md"), Schema: json.RawMessage(embedded(name + ".schema.json")),
		Effect: workflow.EffectRead, Reading: readings[name], Run: run}
}

// embedded gives an embedded file. A set refuses a tool whose texts are missing.
func embedded(name string) string {
	raw, _ := texts.ReadFile(name)
	return strings.TrimSpace(string(raw))
}

// readings are the other names that models use for arguments.
var readings = map[string]tool.Reading{
	"todo_write": {Aliases: map[string]string{"items": "todos", "tasks": "todos", "list": "todos"}},
	"memory": {Aliases: map[string]string{"command": "action", "operation": "action", "name": "slug", "content": "text"},
		Words: map[string]map[string]string{"action": {"list": "view", "read": "view", "create": "add", "update": "replace", "delete": "remove"}}},
	"ask":        {Wrap: "question", Aliases: map[string]string{"text": "question", "prompt": "question", "choices": "options", "multiple": "many", "multiSelect": "many"}},
	WorkflowName: {Wrap: "name", Aliases: map[string]string{"workflow": "name", "path": "scriptPath", "input": "args", "inputs": "args"}},
	"task":       {Wrap: "prompt", Aliases: map[string]string{"subagent_type": "agent"}},
}

// take reads the arguments of a call into a struct.
func take[T any](c tool.Call) (T, error) {
	var v T
	if err := json.Unmarshal(c.Args.Raw, &v); err != nil {
		return v, &tool.BadArguments{Tool: c.Tool, Problems: []string{err.Error()}}
	}
	return v, nil
}

// data gives the structured part of a result.
func data(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}
