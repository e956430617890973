// Package control holds the pieces that route, wait and ask.
//
// Holds: condition, assign, end, component, map, join, parallel, wait and
// workflow, which the graph carries out itself, and approval, question and gate,
// which wait for a person.
//
// Guarantees: silence is never an answer; an answer that is bound to a candidate
// counts only for that candidate.
//
// Does not: look into the bodies of components, maps and parallels, or know the
// outcomes that a component's body declares. The loader does.
package control

import (
	"embed"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed schema/*.json
var schemas embed.FS

// Pieces returns the kinds of this package.
func Pieces() []piece.Piece {
	return []piece.Piece{
		{Kind: workflow.KindCondition, Schema: params.Schemas(schemas, "condition"), Describe: describeCondition},
		{Kind: workflow.KindEnd, Schema: params.Schemas(schemas, "end"), Describe: describeEnd, Run: runEnd},
		asking(workflow.AskApproval, "decision"),
		asking(workflow.AskQuestion, "question"),
		asking(workflow.AskGate, "decision"),
		{Kind: workflow.KindAssign, Schema: params.Schemas(schemas, "assign"), Describe: describeAssign},
		{Kind: workflow.KindComponent, Schema: params.Schemas(schemas, "component"), Describe: fixed("next", "failed")},
		{Kind: workflow.KindMap, Schema: params.Schemas(schemas, "map"), Describe: describeMap},
		{Kind: workflow.KindJoin, Schema: params.Schemas(schemas, "join"), Describe: fixed("next", "fail")},
		{Kind: workflow.KindParallel, Schema: params.Schemas(schemas, "parallel"), Describe: fixed("next", "fail")},
		{Kind: workflow.KindWait, Schema: params.Schemas(schemas, "wait"), Describe: describeWait},
		{Kind: workflow.KindWorkflow, Schema: params.Schemas(schemas, "workflow"), Describe: fixed("next", "failed")},
	}
}
