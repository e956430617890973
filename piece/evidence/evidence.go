// Package evidence describes the pieces that work with evidence, agents and
// artifacts.
//
// Holds: artifact-contract, openspec-validate, openspec-archive, implementation,
// implementation-step, agent and artifact, as far as a definition can be judged.
//
// Guarantees: a definition that uses them is validated in full; none of them
// pretends to run.
//
// Does not: carry them out. Each says in Missing what it waits for.
package evidence

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
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
		described("artifact-contract", "arrives with receipts and artifact contracts", describeChange(workflow.EffectRead, "pass", "fail", "failed")),
		described("openspec-validate", "arrives with the OpenSpec tools", describeChange(workflow.EffectRead, "pass", "fail", "failed")),
		described("openspec-archive", "arrives with the OpenSpec tools", describeChange(workflow.EffectWrite, "next", "failed")),
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

// kebab is the shape of the name of an OpenSpec change.
var kebab = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// describeChange describes a kind that works on an OpenSpec change.
func describeChange(effect workflow.Effect, outcomes ...string) describe {
	return func(raw json.RawMessage, _ piece.Env) (piece.Traits, []piece.Problem) {
		traits := piece.Traits{Outcomes: slices.Clone(outcomes), Effect: effect, Uncertain: effect == workflow.EffectWrite}
		p, err := params.Read[struct {
			Change string `json:"change"`
		}](raw)
		if err != nil {
			return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
		}
		if !params.Open(p.Change) && (!kebab.MatchString(p.Change) || len(p.Change) > 64) {
			return traits, []piece.Problem{{
				Code: workflow.CodeInvalidArguments, Pointer: "/change", Message: fmt.Sprintf("%q is not the name of a change", p.Change),
				Hint: "write small letters and digits with single dashes between them, at most 64 characters, or {{run.changeId}}",
			}}
		}
		return traits, nil
	}
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
