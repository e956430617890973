package load

import "github.com/tenonrun/tenon/workflow"

// DefaultTransitions is the cap of visits of a format 2 document that names
// none.
const DefaultTransitions = 1000

// Effective returns the policies that hold for a run of def: what is written,
// and the defaults of its format for the rest. FailFast and NoProgress are 0
// where there is no such limit, which only format 1 allows.
func Effective(def *workflow.Definition) workflow.Policies {
	p := def.Policies
	fill := func(to *int, value int) {
		if *to == 0 {
			*to = value
		}
	}
	fill(&p.HistoryMaxChars, 1500)
	if def.SchemaVersion < 2 {
		fill(&p.Concurrency, 1)
		return p
	}
	fill(&p.FailFast, 2)
	fill(&p.NoProgress, 2)
	fill(&p.Concurrency, 4)
	return p
}

// Transitions returns the cap of visits of a whole run of def.
func Transitions(def *workflow.Definition) int {
	if def.MaxTransitions == 0 {
		return DefaultTransitions
	}
	return def.MaxTransitions
}

// Attempts returns how often a visit of node may be tried.
func Attempts(node workflow.Node, ai bool) int {
	switch {
	case node.Retry.MaxAttempts > 0:
		return node.Retry.MaxAttempts
	case ai:
		return 2
	}
	return 1
}

// RequiresVerified reports whether every success of def must be verified.
func RequiresVerified(def *workflow.Definition) bool {
	return def.Delivery.RequiresVerified != nil && *def.Delivery.RequiresVerified
}
