package executor

import (
	"context"
	"encoding/json"

	"github.com/tenonrun/tenon/workflow"
)

// Journal is a Host that also records the steps of a turn which are no model
// calls: what its tools did.
type Journal interface {
	// Step does something and records what it gave, or returns the memo of the
	// step that settled under the key before. An error of Do is returned and
	// nothing is settled: the step is done again when the visit is.
	Step(ctx context.Context, s Step) (json.RawMessage, error)
}

// Step is one use of a tool.
type Step struct {
	Key  string // names the step inside its visit; no call has the same
	Tool string // for people
	// Do does it. left is what a process intended that died before the step
	// settled, nil when none did. intend records what is about to be changed; it
	// is durable on return, and comes before the first change.
	Do func(ctx context.Context, left json.RawMessage, intend func(json.RawMessage) error) (Outcome, error)
}

// Outcome is what a step gave.
type Outcome struct {
	Memo   json.RawMessage
	About  string // for people, in one line
	Failed bool
	Why    string           // it failed, in one line
	Denied *workflow.Denial // why the fence did not let it through
	Made   *workflow.Made   // the artifact that it wrote
}

// Person is a Host that can ask a person.
type Person interface {
	// Consult returns the answer to a durable question, or an error that the turn
	// returns as it is while there is none: the turn is then run again later, and
	// asks the same question under the same key.
	Consult(ctx context.Context, q Question) (workflow.Answer, error)
}

// Steerer is a Host that has words of a person for a turn that is at work.
type Steerer interface {
	// Steer returns what is to be said to an agent (by its label, "" for that of
	// the piece) before its next model call, and the same again whenever it is asked
	// under the same key. A call that has settled is followed by nothing new.
	Steer(ctx context.Context, key, agent string) ([]string, error)
}

// Question is what a turn asks a person. A denied answer is an answer.
type Question struct {
	Key     string          // names the question inside its visit
	Kind    string          // workflow.AskQuestion, or workflow.AskApproval for a yes or no
	Text    string          // what is asked, with everything that the answer decides about
	Options []string        // of a question: labels to choose from; none for a free answer
	Schema  json.RawMessage // of the answer's value; nil for a text
}
