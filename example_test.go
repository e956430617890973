package tenon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/workflow"
)

// open opens Tenon for an example: over an empty directory, with runs in memory.
func open(ctx context.Context) (t *tenon.Tenon, done func(), err error) {
	dir, err := os.MkdirTemp("", "tenon-")
	if err != nil {
		return nil, nil, err
	}
	t, err = tenon.Open(ctx, tenon.Config{Dir: dir, State: dir + "-state", Memory: true})
	if err != nil {
		return nil, nil, err
	}
	return t, func() { t.Close(); os.RemoveAll(dir) }, nil
}

const paint = `
schemaVersion: 2
id: paint
delivery: {requiresVerified: false}
inputs: {type: object, properties: {what: {type: string, default: the door}}}
entry: colour
nodes:
  colour:
    kind: question
    params: {text: "Which colour for {{inputs.what}}?", options: [red, green]}
    ends: {next: brush}
  brush:
    kind: shell
    params: {argv: [echo, "{{inputs.what}}", "is", "{{answers.colour}}"], effect: read}
    ends: {ok: done, fail: null, failed: null}
  done: {kind: end, params: {outcome: success}, ends: {}}
`

func stdout(outputs map[string]json.RawMessage, node string) string {
	var o struct {
		Stdout string `json:"stdout"`
	}
	if err := json.Unmarshal(outputs[node], &o); err != nil {
		return err.Error()
	}
	return o.Stdout
}

// A run that has no questions goes on to its end.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "tenon-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	t, err := tenon.Open(ctx, tenon.Config{Dir: dir, State: dir + "-state", Memory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	w, err := t.LoadDocument("hello", []byte(`
schemaVersion: 2
id: hello
delivery: {requiresVerified: false}
entry: say
nodes:
  say: {kind: shell, params: {argv: [echo, hello], effect: read}, ends: {ok: done, fail: null, failed: null}}
  done: {kind: end, params: {outcome: success}, ends: {}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := t.Run(ctx, tenon.Request{Workflow: w})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(result.Status, ": ", stdout(result.Outputs, "say"))
	// Output: succeeded: hello
}

// A question is answered by its id, from any process; Resume then goes on.
func ExampleTenon_Send() {
	ctx := context.Background()
	t, done, err := open(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer done()
	w, err := t.LoadDocument("paint", []byte(paint))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := t.Run(ctx, tenon.Request{Workflow: w, By: "cron"})
	if err != nil {
		fmt.Println(err)
		return
	}
	question := result.Questions[0]
	fmt.Println(result.Status, "-", question.Text, question.Options)

	answer := engine.AnswerControl{Question: question.ID, Value: json.RawMessage(`"green"`)}
	if err := t.Send(ctx, result.Run, engine.Control{By: "ada", Answer: &answer}); err != nil {
		fmt.Println(err)
		return
	}
	result, err = t.Resume(ctx, result.Run, "cron")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(result.Status, " - ", stdout(result.Outputs, "brush"))
	// Output:
	// waiting - Which colour for the door? [red green]
	// succeeded - the door is green
}

// A fork shares what came before a point, and may change what is true there. The
// run that it comes from stays as it is.
func ExampleTenon_Fork() {
	ctx := context.Background()
	t, done, err := open(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer done()
	w, err := t.LoadDocument("paint", []byte(paint))
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := t.Run(ctx, tenon.Request{Workflow: w})
	if err != nil {
		fmt.Println(err)
		return
	}
	red := engine.AnswerControl{Question: first.Questions[0].ID, Value: json.RawMessage(`"red"`)}
	if err := t.Send(ctx, first.Run, engine.Control{Answer: &red}); err != nil {
		fmt.Println(err)
		return
	}
	if first, err = t.Resume(ctx, first.Run, ""); err != nil {
		fmt.Println(err)
		return
	}
	run, err := t.Fork(ctx, engine.ForkRequest{
		Run: first.Run, Node: "brush",
		Patch: workflow.Patch{Answers: map[string]workflow.Value{"colour": workflow.Text("green")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := t.Resume(ctx, run, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(stdout(first.Outputs, "brush"), stdout(second.Outputs, "brush"))
	// Output:
	// the door is red
	// the door is green
}
