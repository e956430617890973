package executor

import "strings"

// Misfit is the cause of CodeStructuredOutput: an answer that does not fit the
// schema of its turn, after all repairs.
type Misfit struct {
	Text     string   // the whole answer
	Problems []string // what does not fit
}

// Error names the problems.
func (e *Misfit) Error() string { return strings.Join(e.Problems, "; ") }
