package workflow

import (
	"encoding/json"
	"fmt"
)

// Program decides one run. It is pure: no clock, disk, network, goroutine or
// map order. One goroutine uses it at a time.
//
// A driver applies the facts of the run in order and carries out the wishes it
// is given. Law: however a history is split into batches of Apply, with a
// Decide after each batch, the commands are the same in the same order.
type Program interface {
	// Apply folds one fact. An error is a *Divergence or a *Damage; the
	// Program is dead afterwards and is rebuilt from its history.
	Apply(Event) error
	// Decide appends to dst the commands not yet given.
	Decide(dst []Command) ([]Command, error)
	// Snapshot returns the state between two Decides, or ErrNoSnapshot.
	Snapshot() ([]byte, error)
	// Restore sets a new Program to a snapshot of the same run.
	Restore([]byte) error
	// Close frees what the Program holds. It may be called twice.
	Close() error
}

// Reader is a Program whose state pieces may read while they run.
type Reader interface {
	// Lookup reads a path such as ("$vars", ["name"]) in the scope of a
	// running visit. ok is false when there is no such value.
	Lookup(visit VisitID, root string, path []string) (value any, ok bool, err error)
}

// Pathfinder is a Program that knows where it has been.
type Pathfinder interface {
	// Been reports whether the Program may have come to a visit; false is
	// certain.
	Been(visit VisitID) bool
}

// Factory makes the Programs of one kind of workflow.
type Factory interface {
	New(run RunID, start RunStarted, values Values) (Program, error)
}

// Halter is a Factory whose Programs may compute for long.
type Halter interface {
	// Halt ends what the Programs of a run compute too long at a stretch, with an
	// error of the code interrupted, until the channel is closed.
	Halt(run RunID, until <-chan struct{})
}

// ErrNoSnapshot is returned by Programs that are only replayed.
var ErrNoSnapshot = &Error{Code: CodeNotFound, Msg: "this program keeps no snapshots"}

// Divergence is a history that the Program would not have produced.
type Divergence struct {
	Seq  int64
	Want string // what the Program expected
	Got  string // what the history holds
}

// Error tells where the history and the Program part.
func (d *Divergence) Error() string {
	return fmt.Sprintf("event %d does not follow from the workflow: expected %s, found %s", d.Seq, d.Want, d.Got)
}

// Damage is an event that cannot be understood.
type Damage struct {
	Run RunID
	Seq int64
	Err error
}

// Error tells which event is damaged and why.
func (d *Damage) Error() string {
	return fmt.Sprintf("run %s is damaged at event %d: %v", d.Run, d.Seq, d.Err)
}

// Unwrap returns the cause.
func (d *Damage) Unwrap() error { return d.Err }

// Command is a wish of a Program: one of the types of this file.
type Command interface {
	// CommandID is structural and the same in every replay.
	CommandID() string
}

// StartVisit asks to run a visit, or to go on with one that lost its attempt,
// was paused by a question, or was refused.
type StartVisit struct {
	Visit     VisitID         `json:"visit"`
	Node      string          `json:"node"`            // path of node names, such as "work/fix"
	Number    int             `json:"number"`          // n-th arrival at the node in its scope, from 1
	Scope     string          `json:"scope,omitempty"` // id of the body invocation; "" is the root
	Kind      string          `json:"kind"`
	Params    json.RawMessage `json:"params"` // interpolated
	Self      bool            `json:"self,omitempty"`
	Effect    Effect          `json:"effect,omitempty"`
	AI        bool            `json:"ai,omitempty"`
	Provider  string          `json:"provider,omitempty"`
	Uncertain bool            `json:"uncertain,omitempty"` // a lost attempt may have written and cannot be judged
	Steerable bool            `json:"steerable,omitempty"`
	Retry     Retry           `json:"retry,omitzero"`
	Limits    []Limit         `json:"limits,omitempty"`
	Unlimited bool            `json:"unlimited,omitempty"` // the visit behind onExhausted
	BodyCount int             `json:"bodyCount,omitempty"` // this visit's ordinal in its body
	BodyMax   int             `json:"bodyMax,omitempty"`   // the body's own maxTransitions
	Context   VisitContext    `json:"context,omitzero"`
}

// VisitContext is the part of the state that pieces need often.
type VisitContext struct {
	History string   `json:"history,omitempty"` // bounded text of $history
	Session *Session `json:"session,omitempty"`
	Private Value    `json:"private,omitzero"` // what this node committed with its last visit, for itself
	Item    *Item    `json:"item,omitempty"`
	Group   string   `json:"group,omitempty"`
	Label   string   `json:"label,omitempty"`
}

// Item is the element that a map branch works on.
type Item struct {
	Index int   `json:"index"`
	Value Value `json:"value"`
}

// Limit is a cap on visits that run at once, shared by all with the same ID.
type Limit struct {
	ID  string `json:"id"`
	Max int    `json:"max"`
}

// SettleVisit gives the result of a visit that the Program carries out itself.
type SettleVisit struct {
	Visit  VisitID
	Node   string
	Number int
	Result Settled
}

// CancelVisit asks to stop a visit whose result no longer matters.
type CancelVisit struct{ Visit VisitID }

// StartTimer asks for a TimerFired at a time.
type StartTimer struct {
	Visit VisitID
	At    Time
}

// CancelTimer takes a StartTimer back.
type CancelTimer struct{ Visit VisitID }

// StartChild asks for a run of another workflow.
type StartChild struct {
	Visit  VisitID
	Node   string
	Ref    string // name under which RunStarted.Children pins the document
	Inputs Value
}

// CancelChild asks to cancel a child run.
type CancelChild struct{ Visit VisitID }

// Complete ends the run.
type Complete struct{ Ended Ended }

// CommandID is the visit.
func (c StartVisit) CommandID() string { return string(c.Visit) }

// CommandID is the visit.
func (c SettleVisit) CommandID() string { return string(c.Visit) }

// CommandID is the visit.
func (c CancelVisit) CommandID() string { return string(c.Visit) }

// CommandID is the visit that waits.
func (c StartTimer) CommandID() string { return string(c.Visit) }

// CommandID is the visit that waits.
func (c CancelTimer) CommandID() string { return string(c.Visit) }

// CommandID is the visit that waits.
func (c StartChild) CommandID() string { return string(c.Visit) }

// CommandID is the visit that waits.
func (c CancelChild) CommandID() string { return string(c.Visit) }

// CommandID is "end".
func (c Complete) CommandID() string { return "end" }

// Reporter is a Program that can tell how far it is.
type Reporter interface {
	// Outputs are those of the root, by node.
	Outputs() map[string]Value
	// Failures are the newest ones, oldest first.
	Failures() []Failure
	// Waits are the visits that wait for a time or a signal, by id.
	Waits() []Wait
}

// Wait is a visit that waits for a time or a signal.
type Wait struct {
	Visit  VisitID `json:"visit"`
	Node   string  `json:"node"`
	Signal string  `json:"signal,omitempty"` // its name
	Until  Time    `json:"until,omitzero"`   // when it goes on, or expires
}
