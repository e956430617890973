// Package evidence describes the pieces that work with agents and artifacts.
//
// Holds: agent and artifact, as far as a definition can be judged.
//
// Guarantees: a definition that uses them is validated in full; none of them
// pretends to run.
//
// Does not: carry them out. Each says in Missing what it waits for.
package evidence

import (
	"embed"
	"encoding/json"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed schema/*.json
var schemas embed.FS

// Pieces returns the kinds of this package.
func Pieces() []piece.Piece {
	return []piece.Piece{
		described("agent", "arrives with agents and compositions", describeAgent),
		described("artifact", "arrives with versioned artifacts", describeArtifact),
	}
}

type describe = func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem)

func described(kind, missing string, d describe) piece.Piece {
	return piece.Piece{Kind: kind, Schema: params.Schemas(schemas, kind), Describe: d, Missing: kind + " " + missing + " in a later version"}
}

func describeAgent(raw json.RawMessage, _ piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"next", "unproven", "failed"}, Effect: workflow.EffectWrite, AI: true, Steerable: true}
	p, err := params.Read[struct {
		Access workflow.Effect `json:"access"`
	}](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	if p.Access != workflow.EffectNone {
		traits.Effect = p.Access
	}
	return traits, nil
}

func describeArtifact(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
	return piece.Traits{Outcomes: []string{"next", "failed"}, Effect: workflow.EffectRead}, nil
}
