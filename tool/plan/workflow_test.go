package plan_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/plan"
	"github.com/tenonrun/tenon/workflow"
)

func TestWorkflow(t *testing.T) {
	t.Parallel()
	var asked plan.Flow
	done := plan.FlowDone{FlowRun: plan.FlowRun{Status: workflow.StatusSucceeded, Run: "r1", Workflow: "w"}, Output: json.RawMessage(`"` + strings.Repeat("x", 30_000) + `"`)}
	for range 20 {
		done.Failures = append(done.Failures, strings.Repeat("é", 2000))
	}
	set, err := tool.NewSet(plan.Workflow(func(_ context.Context, _ tool.Call, f plan.Flow) (plan.FlowDone, error) {
		asked = f
		return done, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	w, err := set.Find(plan.WorkflowName)
	if err != nil {
		t.Fatal(err)
	}
	use := func(raw string) (tool.Result, error) {
		t.Helper()
		args, err := tool.ParseArgs(w.Name, []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return w.Run(t.Context(), tool.Call{Tool: w.Name, Args: args})
	}
	if _, err := use(`{"args": 1}`); err == nil || !tool.ByModel(err) || !strings.Contains(err.Error(), "none of name, script and scriptPath") {
		t.Errorf("nothing to run: %v", err)
	}
	res, err := use(`{"name": "w", "args": {"a": [1]}, "resumeFromRunId": "r0"}`)
	if err != nil {
		t.Fatal(err)
	}
	if asked.Name != "w" || string(asked.Args) != `{"a": [1]}` && string(asked.Args) != `{"a":[1]}` || asked.From != "r0" {
		t.Errorf("asked for %+v", asked)
	}
	var told plan.FlowDone
	if err := json.Unmarshal([]byte(res.Text), &told); err != nil {
		t.Fatal(err)
	}
	if len(res.Text) > 40_000 || told.Output != nil || !strings.HasSuffix(told.Cut, "[cut]") || len(told.Failures) != 8 || told.TaskID != "r1" || told.TaskType != "local_workflow" {
		t.Errorf("told %d bytes: %.300s", len(res.Text), res.Text)
	}
	if res.Begun != "" {
		t.Errorf("a run that is over goes on as %s", res.Begun)
	}
	if len(res.Data) > 20_000 || strings.Contains(string(res.Data), "xxx") {
		t.Errorf("kept %d bytes", len(res.Data))
	}
	done = plan.FlowDone{FlowRun: plan.FlowRun{Status: plan.StatusLaunched, Run: "r2", Workflow: "w", ScriptPath: "/s.js"}}
	if res, err = use(`{"name": "w"}`); err != nil || res.Begun != "r2" || strings.Contains(res.Text, "tokens") {
		t.Errorf("%+v, %v", res, err)
	}
	if err := json.Unmarshal([]byte(res.Text), &told); err != nil || told.Status != "async_launched" || told.TaskID != "r2" || told.ScriptPath != "/s.js" {
		t.Errorf("told %s, %v", res.Text, err)
	}
}
