package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// counted is the output of word-count.
type counted struct {
	Words int `json:"words"`
}

// wordCount is a kind of node. Its schema is closed, so a misspelt parameter is
// an error with a line and a column before anything runs.
func wordCount() piece.Piece {
	return piece.Piece{
		Kind: "word-count",
		Schema: func(int) json.RawMessage {
			return json.RawMessage(`{
				"type": "object",
				"additionalProperties": false,
				"required": ["file"],
				"properties": {
					"file": {"type": "string", "minLength": 1},
					"atLeast": {"type": "integer", "minimum": 0}
				}
			}`)
		},
		// A node that only reads may run again after a crash; one that writes
		// says so here, and whether a lost attempt may have happened.
		Describe: func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
			return piece.Traits{Outcomes: []string{"enough", "short"}, Effect: workflow.EffectRead}, nil
		},
		Run: count,
	}
}

func count(_ context.Context, c piece.Context) (workflow.Settled, error) {
	var params struct {
		File    string `json:"file"`
		AtLeast int    `json:"atLeast"`
	}
	frame := c.Frame()
	if err := json.Unmarshal(frame.Params, &params); err != nil {
		return workflow.Settled{}, err
	}
	text, err := inside(frame.Repositories[0].Path, params.File)
	if err != nil {
		return workflow.Settled{}, workflow.Errorf(workflow.CodeInvalidInputs, "%s: %w", frame.Node, err)
	}
	words := len(strings.Fields(text))
	output, err := json.Marshal(counted{Words: words})
	if err != nil {
		return workflow.Settled{}, err
	}
	outcome := "enough"
	if words < params.AtLeast {
		outcome = "short"
	}
	return workflow.Settled{Outcome: outcome, Output: workflow.Inline(output)}, nil
}

// inside reads a file below a directory, and none outside of it.
func inside(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := root.ReadFile(name)
	return string(text), err
}
