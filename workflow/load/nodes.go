package load

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// checkNode checks a node by itself: its kind, its params and what its piece
// says about them.
func (c *checker) checkNode(b *body, n *node) {
	if n.kind == "" {
		return // told by the schema
	}
	p, ok := c.pieceOf(n)
	if !ok || n.params == nil {
		n.broken = true
		return
	}
	params, ok := c.checkParams(n, p)
	if !ok {
		n.broken = true
		return
	}
	if n.kind == workflow.KindWorkflow {
		c.addChild(n)
	}
	var problems []piece.Problem
	n.traits, problems = p.Describe(params, c.env)
	n.known = true
	for _, problem := range problems {
		c.addProblem(n, problem)
	}
	c.checkExit(b, n)
}

func (c *checker) pieceOf(n *node) (piece.Piece, bool) {
	p, ok := c.cfg.Pieces.Get(n.kind)
	if ok && p.Schema(c.level) != nil {
		return p, true
	}
	message, hint := fmt.Sprintf("there is no kind %q", n.kind), didYouMean(n.kind, c.cfg.Pieces.Kinds(c.level))
	if ok {
		message = fmt.Sprintf("kind %q does not exist in format %d", n.kind, c.level)
		if c.level == 1 {
			hint = "it belongs to format 2: schemaVersion: 2"
		}
	}
	c.fail(workflow.CodeUnknownPiece, n.pointer+"/kind", message, hint)
	return p, false
}

// addProblem turns what a piece found into an issue.
func (c *checker) addProblem(n *node, p piece.Problem) {
	if p.Code == "" {
		p.Code = workflow.CodeInvalidPieceParams
	}
	relaxed := p.Code == workflow.CodeUnsafeInterpolation && c.cfg.Compat.ShellInterpolation
	if p.Warning || relaxed {
		c.warn(p.Code, n.pointer+"/params"+p.Pointer, p.Message, p.Hint)
		return
	}
	c.fail(p.Code, n.pointer+"/params"+p.Pointer, p.Message, p.Hint)
}

func (c *checker) addChild(n *node) {
	var p workflow.WorkflowParams
	if json.Unmarshal(n.params, &p) != nil || p.Ref() == "" {
		return
	}
	c.children = append(c.children, Child{Ref: p.Ref(), Name: p.Name, File: p.File, Pointer: n.pointer + "/params"})
	if c.cfg.Workflow == nil {
		return
	}
	if err := c.cfg.Workflow(p); err != nil {
		at := "/file"
		if p.Name != "" {
			at = "/name"
		}
		c.fail(workflow.CodeWorkflowNotFound, n.pointer+"/params"+at, fmt.Sprintf("workflow %q: %v", p.Ref(), err), "")
	}
}

// checkExit checks the exit that an end node names.
func (c *checker) checkExit(b *body, n *node) {
	exit := n.field("exit")
	if n.kind != workflow.KindEnd {
		return
	}
	at := n.pointer + "/params/exit"
	switch {
	case exit == "":
		c.checkImplied(b, n)
	case b == c.root:
		c.fail(workflow.CodeInvalidExit, at, "an end of the root has no exit: only components have", "remove exit")
	case !slices.Contains(b.exits(), exit):
		c.fail(workflow.CodeInvalidExit, at, fmt.Sprintf("exit %q is not an output%s", exit, b.where()), didYouMean(exit, b.exits()))
	}
}

// checkImplied checks the exit of an end that names none: next for a success,
// failed for a failure.
func (c *checker) checkImplied(b *body, n *node) {
	implied := "next"
	if n.field("outcome") == "failure" {
		implied = "failed"
	}
	if b.component && !slices.Contains(b.exits(), implied) {
		c.strict(workflow.CodeInvalidExit, n.pointer+"/params", fmt.Sprintf("end %q leaves component %q as %q, which is not one of its outputs", n.name, b.name, implied),
			"name an exit: "+strings.Join(b.exits(), ", "))
	}
}

var outcomeShape = text.MustPattern(`^[a-z][a-z0-9-]{0,31}$`)

// checkOutcomes compares the wired outcomes of each node with those its piece
// has, after all bodies are known: a component has the outputs of its body.
func (c *checker) checkOutcomes(b *body) {
	for _, name := range b.order {
		n := b.nodes[name]
		if !n.known || !c.completeTraits(n) {
			continue
		}
		for _, outcome := range n.traits.Outcomes {
			if _, wired := n.ends[outcome]; !wired {
				c.failKey(workflow.CodeInvalidOutcomes, n.pointer+"/ends", fmt.Sprintf("outcome %q of %s is not wired", outcome, n.kind),
					"name the node it leads to, or null to end here")
			}
		}
		for _, outcome := range n.outcomes() {
			if !slices.Contains(n.traits.Outcomes, outcome) {
				c.failKey(workflow.CodeInvalidOutcomes, n.pointer+"/ends/"+escape(outcome), fmt.Sprintf("%s has no outcome %q with these params", n.kind, outcome),
					outcomeHint(outcome, n))
			}
		}
	}
}

func outcomeHint(outcome string, n *node) string {
	if len(n.traits.Outcomes) == 0 {
		return "it has none: write ends: {}"
	}
	return didYouMean(outcome, n.traits.Outcomes)
}

// completeTraits adds what only the definition knows, and guards against a
// piece that breaks its contract.
func (c *checker) completeTraits(n *node) bool {
	if n.kind == workflow.KindComponent {
		if len(n.refs) == 0 || n.refs[0].body == nil {
			return false
		}
		n.traits.Outcomes = n.refs[0].body.exits()
	}
	seen := map[string]bool{}
	for _, outcome := range n.traits.Outcomes {
		if seen[outcome] || !outcomeShape().MatchString(outcome) {
			c.fail(workflow.CodeInvalidPiece, n.pointer+"/kind", fmt.Sprintf("piece %s offers outcome %q twice, or not in the form of an outcome", n.kind, outcome), "this is a defect of the piece")
			return false
		}
		seen[outcome] = true
	}
	return true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
