package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// Status is the state of a task.
type Status string

// States of a task.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Cancelled  Status = "cancelled"
)

// Todo is one task of an agent's own list.
type Todo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  Status `json:"status"`
}

// Todos is the Data of a result of todo_write: the whole list.
type Todos struct {
	Todos []Todo `json:"todos"`
}

var marks = map[Status]string{Pending: "[ ]", InProgress: "[>]", Completed: "[x]", Cancelled: "[-]"}

func todo(_ context.Context, c tool.Call) (tool.Result, error) {
	list, err := take[Todos](c)
	if err != nil {
		return tool.Result{}, err
	}
	bad := &tool.BadArguments{Tool: c.Tool, Next: "send the whole list again"}
	seen := map[string]bool{}
	counts := map[Status]int{}
	var b strings.Builder
	for i, t := range list.Todos {
		if seen[t.ID] {
			bad.Problems = append(bad.Problems, fmt.Sprintf("todos/%d: the id %s is there twice", i, tool.Quote(t.ID)))
		}
		if strings.TrimSpace(t.Content) == "" {
			bad.Problems = append(bad.Problems, fmt.Sprintf("todos/%d: its content is empty", i))
		}
		seen[t.ID] = true
		counts[t.Status]++
		fmt.Fprintf(&b, "%s %s: %s\n", marks[t.Status], tool.Quote(t.ID), strings.Join(strings.Fields(t.Content), " "))
	}
	if len(bad.Problems) > 0 {
		return tool.Result{}, bad
	}
	fmt.Fprintf(&b, "[%d of %d completed]", counts[Completed], len(list.Todos)-counts[Cancelled])
	if n := counts[InProgress]; n > 1 {
		fmt.Fprintf(&b, "\n[%d are in progress: work on one at a time]", n)
	}
	return tool.Result{Text: b.String(), Data: data(list)}, nil
}
