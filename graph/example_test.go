package graph_test

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/graph"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/workflow"
)

// A Program decides and nothing else: its driver applies events, carries out the
// commands that follow, and records what came of them as the next events.
func Example() {
	document := `{
		"schemaVersion": 2, "id": "greet", "entry": "say", "delivery": {"requiresVerified": false},
		"nodes": {
			"say":  {"kind": "work", "params": {}, "ends": {"next": "done", "failed": null}},
			"done": {"kind": "end", "params": {"outcome": "success"}, "ends": {}}
		}
	}`
	values := blobs{}
	start := workflow.RunStarted{
		Workflow: workflow.Ref{Name: "greet", Digest: values.put([]byte(document))}, Kind: workflow.KindGraph, Level: 2,
	}
	pieces, err := piece.NewRegistry(append(control.Pieces(), workPiece())...)
	if err != nil {
		fmt.Println(err)
		return
	}
	program, err := graph.New(graph.Config{Pieces: pieces}).New("r1", start, values)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer program.Close()

	var seq int64
	apply := func(about workflow.Event, p workflow.Payload) {
		seq++
		about.Seq, about.Payload = seq, p
		fmt.Printf("event %s %q\n", about.Type(), about.Node)
		if err := program.Apply(about); err != nil {
			fmt.Println(err)
		}
	}
	apply(workflow.Event{}, &start)
	for done := false; !done; {
		commands, err := program.Decide(nil)
		if err != nil || len(commands) == 0 {
			fmt.Println("stuck:", err)
			return
		}
		for _, c := range commands {
			fmt.Printf("command %T\n", c)
			switch c := c.(type) {
			case workflow.StartVisit: // here a piece would do its work
				about := workflow.Event{ID: string(c.Visit), Node: c.Node, Visit: c.Number, Attempt: 1}
				apply(about, &workflow.Admitted{Kind: c.Kind, Effect: c.Effect, Self: c.Self})
				if !c.Self {
					apply(about, &workflow.Settled{Outcome: "next", Output: workflow.Inline(json.RawMessage(`"hello"`))})
				}
			case workflow.SettleVisit:
				apply(workflow.Event{ID: string(c.Visit), Node: c.Node, Visit: c.Number, Attempt: 1}, &c.Result)
			case workflow.Complete:
				apply(workflow.Event{}, &c.Ended)
				done = true
			}
		}
	}
	// Output:
	// event run_started ""
	// command workflow.StartVisit
	// event admitted "say"
	// event settled "say"
	// command workflow.StartVisit
	// event admitted "done"
	// command workflow.SettleVisit
	// event settled "done"
	// command workflow.Complete
	// event ended ""
}
