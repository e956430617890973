package implementation

import (
	_ "embed" // body.json
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed body.json
var bodyJSON []byte

// wholeParams are the params of an implementation.
type wholeParams struct {
	Attempts              int     `json:"attempts"`
	ApprovalBeforeArchive bool    `json:"approvalBeforeArchive"`
	ReviewPolicy          *policy `json:"reviewPolicy"`
}

// Body returns the body that an implementation with these params stands for.
// attempts is used where the params name none; 0 is DefaultAttempts.
func Body(raw json.RawMessage, attempts int) (workflow.Body, error) {
	var b workflow.Body
	p, err := params.Read[wholeParams](raw)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(bodyJSON, &b); err != nil {
		return b, fmt.Errorf("reading the body of an implementation: %w", err)
	}
	for name, n := range b.Nodes {
		if n.Kind != KindStep {
			continue
		}
		if n.Params, err = stepParamsOf(n.Params, p, attempts); err != nil {
			return b, fmt.Errorf("preparing node %s of an implementation: %w", name, err)
		}
		b.Nodes[name] = n
	}
	if !p.ApprovalBeforeArchive {
		archive := "archive"
		b.Nodes["reviewer"].Ends["next"] = &archive
		delete(b.Nodes, "approval")
	}
	return b, nil
}

// stepParamsOf tells a step what the whole was given.
func stepParamsOf(raw json.RawMessage, whole wholeParams, attempts int) (json.RawMessage, error) {
	p, err := params.Read[stepParams](raw)
	if err != nil {
		return nil, err
	}
	p.Within, p.Attempts, p.ReviewPolicy, p.ApprovalBeforeArchive = Kind, limit(whole.Attempts, attempts), whole.ReviewPolicy, whole.ApprovalBeforeArchive
	return json.Marshal(p)
}

// limit is how often the work may be changed.
func limit(own, configured int) int {
	switch {
	case own > 0:
		return own
	case configured > 0:
		return configured
	}
	return DefaultAttempts
}
