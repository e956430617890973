package plan

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// WorkflowName is the tool that runs workflows.
const WorkflowName = "workflow"

// Flow is a workflow that a model wants to run: by its path, its text or its name,
// in this order.
type Flow struct {
	Path   string          `json:"scriptPath"`
	Script string          `json:"script"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"` // nil: none
	From   workflow.RunID  `json:"resumeFromRunId"`
}

// FlowRun names a run of a workflow, and how it stands.
type FlowRun struct {
	Status     workflow.Status `json:"status"`
	TaskID     string          `json:"taskId"`
	TaskType   string          `json:"taskType"`
	Workflow   string          `json:"workflowName"`
	Run        workflow.RunID  `json:"runId,omitempty"`
	Summary    string          `json:"summary"`
	ScriptPath string          `json:"scriptPath,omitempty"`
	Warning    string          `json:"warning,omitempty"`
}

// FlowDone is a run of a workflow that has begun, is over, or rests.
type FlowDone struct {
	FlowRun
	Error      string          `json:"error,omitempty"` // why it did not begin
	Output     json.RawMessage `json:"result,omitempty"`
	Cut        string          `json:"resultCut,omitempty"` // the beginning of a result that is too long
	Agents     int             `json:"agents"`
	Dead       int             `json:"deadAgents,omitempty"`
	Tokens     int64           `json:"tokens"`
	DurationMs int64           `json:"durationMs"`
	Failures   []string        `json:"failures,omitempty"`
	Next       string          `json:"next,omitempty"`
}

// StatusLaunched is the status of a run that has just begun: its end is told later.
const StatusLaunched workflow.Status = "async_launched"

// taskType is what other hosts of the dialect call such a run.
const taskType = "local_workflow"

// Bounds of a result, in bytes, and of what is listed of failures.
const (
	maxResult   = 24 << 10
	maxFailures = 8
	maxFailure  = 500
)

// Workflow returns the tool; launch begins a run, and does not wait for its end.
func Workflow(launch func(ctx context.Context, c tool.Call, f Flow) (FlowDone, error)) tool.Tool {
	t := made(WorkflowName, func(ctx context.Context, c tool.Call) (tool.Result, error) {
		f, err := take[Flow](c)
		if err != nil {
			return tool.Result{}, err
		}
		if strings.TrimSpace(f.Path+f.Script+f.Name) == "" && f.From == "" {
			return tool.Result{}, &tool.BadArguments{Tool: c.Tool, Problems: []string{"none of name, script and scriptPath is there"}, Next: "send the name of a workflow, or a script"}
		}
		d, err := launch(ctx, c, f)
		if err != nil {
			return tool.Result{}, err
		}
		return d.Result()
	})
	return t
}

// Result is what the model is told, bounded.
func (d FlowDone) Result() (tool.Result, error) {
	d.TaskID, d.TaskType = string(d.Run), taskType
	if d.Status == StatusLaunched {
		raw, err := json.MarshalIndent(d.FlowRun, "", " ")
		return tool.Result{Text: string(raw), Data: raw, Begun: string(d.Run)}, err
	}
	if len(d.Output) > maxResult {
		d.Cut = text.HeadBytes(string(d.Output), maxResult, "… [cut]")
		d.Output = nil
	}
	if len(d.Failures) > maxFailures {
		d.Failures = d.Failures[len(d.Failures)-maxFailures:]
	}
	for i, f := range d.Failures {
		d.Failures[i] = text.Head(f, maxFailure, "…")
	}
	raw, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return tool.Result{}, err
	}
	about := d
	about.Output, about.Cut = nil, ""
	return tool.Result{Text: string(raw), Data: data(about)}, nil
}
