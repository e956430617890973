// Package evidence describes the piece that works with artifacts.
//
// Holds: artifact, as far as a definition can be judged.
//
// Guarantees: a definition that uses it is validated in full; it does not pretend
// to run.
//
// Does not: carry it out. It says in Missing what it waits for.
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
		described("artifact", "arrives with versioned artifacts", describeArtifact),
	}
}

type describe = func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem)

func described(kind, missing string, d describe) piece.Piece {
	return piece.Piece{Kind: kind, Schema: params.Schemas(schemas, kind), Describe: d, Missing: kind + " " + missing + " in a later version"}
}

func describeArtifact(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
	return piece.Traits{Outcomes: []string{"next", "failed"}, Effect: workflow.EffectRead}, nil
}
