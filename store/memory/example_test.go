package memory_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/memory"
	"github.com/tenonrun/tenon/workflow"
)

// A run is written by its owner, one batch at a time.
func Example() {
	ctx := context.Background()
	s := memory.New()
	owner, err := s.Own(ctx, "r1")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer owner.Release()
	err = s.Append(ctx, store.Append{
		Run: "r1", Epoch: owner.Epoch(), Create: &store.Create{},
		Events: []workflow.Event{
			{Seq: 1, Epoch: owner.Epoch(), Payload: &workflow.RunStarted{Kind: workflow.KindGraph, Level: 2}},
			{Seq: 2, Epoch: owner.Epoch(), Payload: &workflow.Steered{Text: "be brief", By: "ada"}},
		},
		Head: &store.Head{Workflow: "demo", Kind: workflow.KindGraph, Status: workflow.StatusRunning},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.Events(ctx, "r1", 0, func(e workflow.Event) error {
		fmt.Println(e.Seq, e.Type())
		return nil
	})
	_, second := s.Own(ctx, "r1")
	var held *store.Held
	fmt.Println(err, errors.As(second, &held))
	// Output:
	// 1 run_started
	// 2 steered
	// <nil> true
}
