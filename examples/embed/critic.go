package main

import (
	"context"
	"strings"

	"github.com/tenonrun/tenon/provider"
)

// critic is a provider inside the program: it answers one model turn at a time.
// Tenon records each answer before anything builds on it, and never asks twice
// for one that it has.
type critic struct{}

// Name is what definitions call it.
func (critic) Name() string { return "house-critic" }

// Stream answers the last message.
func (c critic) Stream(ctx context.Context, q provider.Request, emit func(provider.Delta)) (provider.Response, error) {
	if err := ctx.Err(); err != nil {
		return provider.Response{}, &provider.Error{Code: provider.CodeCanceled, Provider: c.Name(), Message: "stopped", Err: err}
	}
	asked := q.Messages[len(q.Messages)-1].Text()
	said := "Plain and short."
	if emit != nil {
		emit(provider.Delta{Kind: provider.DeltaText, Text: said})
	}
	in, out := int64(len(strings.Fields(asked))), int64(len(strings.Fields(said)))
	return provider.Response{
		Parts: []provider.Part{{Kind: provider.PartText, Text: said}},
		Stop:  provider.StopEnd,
		Model: "critic-1",
		Usage: provider.Usage{Input: &in, Output: &out}, // what is left nil is unknown, not 0
	}, nil
}
