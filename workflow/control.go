package workflow

import "encoding/json"

// Kinds that the Program of a graph carries out itself: they route, count and
// open bodies, and touch nothing outside the run.
const (
	KindCondition = "condition"
	KindAssign    = "assign"
	KindEnd       = "end"
	KindComponent = "component"
	KindMap       = "map"
	KindJoin      = "join"
	KindParallel  = "parallel"
	KindWait      = "wait"
	KindWorkflow  = "workflow"
)

// Unhappy reports whether an outcome says that what was wanted did not come
// about. A body that ends on such an outcome has not succeeded.
func Unhappy(outcome string) bool {
	switch outcome {
	case "fail", "failed", "blocked", "denied", "rejected", "invalid", "expired", "unproven", "incomplete":
		return true
	}
	return false
}

// ConditionParams are the params of a condition: outcomes true and false.
type ConditionParams struct {
	Expr string `json:"expr"`
}

// AssignParams are the params of an assign: outcomes next and failed.
type AssignParams struct {
	Set       map[string]json.RawMessage `json:"set"`
	Increment map[string]int64           `json:"increment"`
}

// EndParams are the params of an end, which has no outcomes.
type EndParams struct {
	Outcome          string `json:"outcome"` // success | failure
	RequiresVerified bool   `json:"requiresVerified"`
	Reason           string `json:"reason"`
	Exit             string `json:"exit"` // components: the outcome of the component node
	BlockerFrom      string `json:"blockerFrom"`
}

// ComponentParams are the params of a component. An input is a literal or a
// path such as "$vars.name".
type ComponentParams struct {
	Ref    string                     `json:"ref"`
	Inputs map[string]json.RawMessage `json:"inputs"`
}

// MapParams are the params of a map: outcome next, which leads to its join
// (format 2: or is reduced in place).
type MapParams struct {
	Over        MapSource `json:"over"`
	Body        BodyRef   `json:"body"`
	Concurrency int       `json:"concurrency"`
}

// MapSource names what a map runs over.
type MapSource struct {
	Name      string          // tickets | repositories
	OutputsOf string          // or: the node whose output holds the list
	Path      string          // dotted path inside that output
	Expr      string          // format 2: or a path such as "$inputs.items"
	Items     json.RawMessage // format 2: or a literal list
}

// UnmarshalJSON reads a name, {outputsOf, path}, {expr} or {items}.
func (m *MapSource) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &m.Name)
	}
	var o struct {
		OutputsOf string          `json:"outputsOf"`
		Path      string          `json:"path"`
		Expr      string          `json:"expr"`
		Items     json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	m.OutputsOf, m.Path, m.Expr, m.Items = o.OutputsOf, o.Path, o.Expr, o.Items
	return nil
}

// BodyRef is a body given by the name of a component or written in place.
type BodyRef struct {
	Name   string
	Inline *Body
}

// UnmarshalJSON reads a name or a body.
func (b *BodyRef) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &b.Name)
	}
	b.Inline = new(Body)
	return json.Unmarshal(raw, b.Inline)
}

// Reductions of a join or a parallel.
const (
	ReduceCollect = "collect" // next, whatever the branches did
	ReduceAllOK   = "all-ok"  // next when every branch succeeded, else fail
	ReduceAnyOK   = "any-ok"  // next when one branch succeeded, else fail
)

// JoinParams are the params of a join: outcomes next and fail.
type JoinParams struct {
	Reduce string `json:"reduce"`
}

// ParallelParams are the params of a parallel: outcomes next and fail.
type ParallelParams struct {
	Branches    map[string]BodyRef `json:"branches"`
	Concurrency int                `json:"concurrency"`
	Reduce      string             `json:"reduce"` // default all-ok
}

// WaitParams are the params of a wait: exactly one of For, Until and Signal;
// outcome next, and expired when there is a Timeout.
type WaitParams struct {
	For     string `json:"for"`     // duration such as "90s"
	Until   string `json:"until"`   // RFC 3339 time
	Signal  string `json:"signal"`  // name of a signal
	Timeout string `json:"timeout"` // duration; only with Signal
}

// WorkflowParams are the params of a workflow node, a child run: outcomes next
// and failed.
type WorkflowParams struct {
	Name   string                     `json:"name"`
	File   string                     `json:"file"`
	Inputs map[string]json.RawMessage `json:"inputs"`
}

// Ref returns the name under which the child's document is pinned.
func (p WorkflowParams) Ref() string {
	if p.Name != "" {
		return p.Name
	}
	return p.File
}
