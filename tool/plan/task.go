package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/tool"
)

type taskArgs struct {
	Agent       string `json:"agent"`
	Prompt      string `json:"prompt"`
	Description string `json:"description"`
}

func task(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := take[taskArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	if strings.TrimSpace(args.Prompt) == "" {
		return tool.Result{}, &tool.BadArguments{Tool: c.Tool, Problems: []string{"prompt is empty"}, Next: "say what the agent has to do, with all that it needs to know"}
	}
	if c.Host.Spawn == nil {
		return tool.Result{}, &tool.Failed{What: "no agents can be started here", Next: "do the work yourself, step by step"}
	}
	done, err := c.Host.Spawn(ctx, tool.Task{Agent: strings.TrimSpace(args.Agent), Prompt: args.Prompt, Title: strings.TrimSpace(args.Description)})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: taskText(done), Data: data(done)}, nil
}

// taskText is what the agent that asked is told.
func taskText(d tool.TaskDone) string {
	var b strings.Builder
	b.WriteString(d.Text)
	if len(d.Structured) > 0 && !strings.Contains(d.Text, string(d.Structured)) {
		fmt.Fprintf(&b, "\n%s", d.Structured)
	}
	notes := []string{}
	if d.Drained {
		notes = append(notes, "a limit ended this agent before it was done: the work is partial")
	}
	if n := len(d.Files); n > 0 {
		const shown = 20
		names := make([]string, 0, shown)
		for _, f := range d.Files[:min(n, shown)] {
			names = append(names, tool.Quote(f))
		}
		if n > shown {
			names = append(names, fmt.Sprintf("and %d more", n-shown))
		}
		notes = append(notes, "it wrote "+strings.Join(names, ", "))
	}
	used := fmt.Sprintf("it used %d tokens", d.Tokens)
	if d.Unknown {
		used = fmt.Sprintf("it used %d tokens, and more that nobody counted", d.Tokens)
	}
	notes = append(notes, used)
	fmt.Fprintf(&b, "\n[agent %s: %s]", d.Agent, strings.Join(notes, "; "))
	return strings.TrimSpace(b.String())
}
