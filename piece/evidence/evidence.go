// Package evidence describes the pieces that work with evidence, agents and
// artifacts.
//
// Holds: implementation, implementation-step, agent and artifact, as far as a
// definition can be judged.
//
// Guarantees: a definition that uses them is validated in full; none of them
// pretends to run.
//
// Does not: carry them out. Each says in Missing what it waits for.
package evidence

import (
	"embed"
	"encoding/json"
	"slices"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed schema/*.json
var schemas embed.FS

// Pieces returns the kinds of this package.
func Pieces() []piece.Piece {
	return []piece.Piece{
		described("implementation-step", "arrives with the implementation journal", describeImplementation("next", "incomplete", "rejected", "replan", "reverify", "rereview", "failed")),
		described("implementation", "arrives with the implementation journal", describeImplementation("next", "rejected", "failed")),
		described("agent", "arrives with agents and compositions", describeAgent),
		described("artifact", "arrives with versioned artifacts", describeArtifact),
	}
}

type describe = func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem)

func described(kind, missing string, d describe) piece.Piece {
	return piece.Piece{Kind: kind, Schema: params.Schemas(schemas, kind), Describe: d, Missing: kind + " " + missing + " in a later version"}
}

// describeImplementation describes a kind that runs the roles of the
// implementation journal.
func describeImplementation(outcomes ...string) describe {
	return func(_ json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
		developer := env.Roles["developer"]
		return piece.Traits{
			Outcomes: slices.Clone(outcomes), Effect: workflow.EffectWrite, AI: true, Uncertain: true, Steerable: true,
			Provider: developer.Provider, Model: developer.Model,
		}, nil
	}
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
