// Package store is the contract for the durable history of runs.
//
// Holds: the Store door, what goes through it, and the sealing of events
// (checksums chained per run) that every implementation shares.
//
// Guarantees: an Append is atomic and on disk when it returns; a run is written
// by one owner at a time; an event read back is the event that was appended, or
// a *Damaged names what is wrong. A fork reads the events of its parents.
//
// Does not: interpret events. It keeps an index row per run (Head) that the
// engine gives it, so that listing needs no replay.
package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Store keeps the runs of one project. All methods may be called from any
// goroutine.
type Store interface {
	// Append writes one batch of a run in one transaction and returns after the
	// sync. Errors: *Stale (another owner, or After is not the last seq),
	// CodeRunExists, CodeRunNotFound and CodeForkNotFound (Create and its
	// parent), CodeNotFound (Taken names a control that does not wait),
	// CodeInvalidArguments (a mistake of the caller), CodeStoreFull,
	// CodeStoreUnavailable, CodeStoreDamaged. After an error nothing was written.
	// The end of ctx counts only until the batch is queued; then the answer is
	// that of the transaction.
	Append(ctx context.Context, a Append) error
	// Events yields the events of a run with seq > after in order, walking the
	// parents of a fork, and verifies the chain as it goes. A *Damaged ends it.
	// An error of yield ends it and is returned; yield may use the store. An
	// event of a type that this binary does not know is CodeStoreNewer.
	Events(ctx context.Context, run workflow.RunID, after int64, yield func(workflow.Event) error) error
	// Snapshot returns the newest snapshot of the run (or of its parents, up to
	// the cut) with seq <= upTo; upTo 0 means the end. The zero Snapshot means
	// there is none.
	Snapshot(ctx context.Context, run workflow.RunID, upTo int64) (Snapshot, error)
	// Blob returns a stored text by digest; CodeNotFound when it is not there,
	// CodeStoreDamaged when its content does not have the digest.
	Blob(ctx context.Context, d workflow.Digest) ([]byte, error)
	// Runs lists heads, newest start first.
	Runs(ctx context.Context, q Query) ([]Head, error)
	// Post leaves a message for the owner of a run; it needs no ownership. The
	// same ID with the same content is accepted again, with another content it
	// is CodeControlConflict. More than 128 untaken messages: CodeInboxFull.
	Post(ctx context.Context, c Control) error
	// Inbox returns the messages of a run that no Append has taken, oldest
	// first.
	Inbox(ctx context.Context, run workflow.RunID) ([]Control, error)
	// Own takes the run for this process, at once or not at all: *Held names
	// the owner. The run need not exist yet; its id must pass CheckRun.
	Own(ctx context.Context, run workflow.RunID) (Owner, error)
}

// Owner is a hold on a run. The kernel lets it go when the process dies.
type Owner interface {
	// Epoch is the fencing number of this hold, higher than any before it. The
	// first Append under it makes it the run's.
	Epoch() int64
	// Release gives the run back. It may be called twice.
	Release() error
}

// Append is one batch: all of it or nothing.
type Append struct {
	Run      workflow.RunID
	Epoch    int64
	After    int64 // seq of the last event before this batch; 0 for a new run, the cut for a new fork
	Create   *Create
	Events   []workflow.Event // Seq After+1, After+2, …, all with Epoch; may be empty
	Blobs    []Blob
	Head     *Head // new index row, when it changed
	Snapshot *Snapshot
	Taken    []string // IDs of the controls that these events carry; each must be waiting
}

// Create makes the run in the same transaction as its first events.
type Create struct {
	Parent workflow.RunID // fork: whose history is shared; "" for a fresh run
	Cut    int64          // fork: last shared seq
}

// Blob is a text under its digest.
type Blob struct {
	Digest workflow.Digest
	Data   []byte
}

// Snapshot is the state of a run after the event Seq.
type Snapshot struct {
	Seq   int64
	State []byte
}

// Head is the index row of a run: what listing and finding need.
type Head struct {
	Run       workflow.RunID  `json:"run"`
	Workflow  string          `json:"workflow"`
	Digest    workflow.Digest `json:"digest"`
	Kind      string          `json:"kind"`
	Status    workflow.Status `json:"status"`
	Started   workflow.Time   `json:"started"`
	Updated   workflow.Time   `json:"updated"`
	Root      workflow.RunID  `json:"root,omitempty"`      // top of the tree of child runs; default the run itself
	ChildOf   workflow.RunID  `json:"childOf,omitempty"`   // the run whose visit started this one
	ForkOf    workflow.RunID  `json:"forkOf,omitempty"`    // set by the store: the run whose history it shares
	Cut       int64           `json:"cut,omitempty"`       // set by the store: last shared seq
	Questions []string        `json:"questions,omitempty"` // ids that are open
	Node      string          `json:"node,omitempty"`      // where it stands, for people
	Until     workflow.Time   `json:"until,omitempty"`     // when it is worth going on (timer, quota)
	Totals    workflow.Totals `json:"totals"`              // of this run and its children
	Detail    json.RawMessage `json:"detail,omitempty"`    // more, for the engine
	Last      int64           `json:"last"`                // set by the store: seq of the last event
	Epoch     int64           `json:"epoch"`               // set by the store
	Owner     *Holder         `json:"owner,omitempty"`     // set by the store: the live owner, nil when nobody holds it
}

// Holder says who owns a run.
type Holder struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
	Here bool   `json:"here"` // this very process
}

// Query selects heads. Zero fields select nothing away.
type Query struct {
	Run      workflow.RunID // exact
	Prefix   string         // of the run id
	Question string         // the run with this open question
	ChildOf  workflow.RunID
	ForkOf   workflow.RunID
	Roots    bool // leave child runs out
	Limit    int
}

// Kinds of controls.
const (
	ControlAnswer  = "answer"
	ControlRecover = "recover"
	ControlCancel  = "cancel"
	ControlPause   = "pause"
	ControlSteer   = "steer"
	ControlSkip    = "skip"
	ControlSignal  = "signal"
	ControlRaise   = "raise"
)

// Control is a message to the owner of a run. ID is chosen by the sender: for
// an answer it is the question's, so that a second answer collides.
type Control struct {
	ID   string
	Run  workflow.RunID
	Kind string
	Data json.RawMessage
	By   string
	At   workflow.Time
}

// Stale is an Append that lost the run: another owner wrote, or a batch was
// missed. The writer must stop and fold the history again.
type Stale struct {
	Run  workflow.RunID
	What string
}

// Error tells what is stale.
func (s *Stale) Error() string {
	return fmt.Sprintf("run %s is no longer this process's to write: %s; another tenon took it over", s.Run, s.What)
}

// Code is run_stale.
func (s *Stale) Code() workflow.Code { return workflow.CodeRunStale }

// Is makes errors.Is(err, &workflow.Error{Code: CodeRunStale}) true.
func (s *Stale) Is(target error) bool { return isCode(target, workflow.CodeRunStale) }

// Held is a run that another process owns.
type Held struct {
	Run    workflow.RunID
	Holder Holder
}

// Error names the holder.
func (h *Held) Error() string {
	return fmt.Sprintf("run %s is being driven by process %d on %s; wait for it, or stop that process and resume", h.Run, h.Holder.PID, h.Holder.Host)
}

// Code is run_held.
func (h *Held) Code() workflow.Code { return workflow.CodeRunHeld }

// Is makes errors.Is(err, &workflow.Error{Code: CodeRunHeld}) true.
func (h *Held) Is(target error) bool { return isCode(target, workflow.CodeRunHeld) }

// Damaged is a history that fails its checks. Events up to LastGood are safe.
type Damaged struct {
	Run      workflow.RunID
	Seq      int64
	LastGood int64
	Why      string
}

// Error tells run, place and what is safe.
func (d *Damaged) Error() string {
	return fmt.Sprintf("run %s is damaged at event %d: %s; events 1 to %d are good, fork from there with `tenon fork`, other runs are not affected",
		d.Run, d.Seq, d.Why, d.LastGood)
}

// Code is store_damaged.
func (d *Damaged) Code() workflow.Code { return workflow.CodeStoreDamaged }

// Is makes errors.Is(err, &workflow.Error{Code: CodeStoreDamaged}) true.
func (d *Damaged) Is(target error) bool { return isCode(target, workflow.CodeStoreDamaged) }

func isCode(target error, code workflow.Code) bool {
	t, ok := target.(*workflow.Error) //nolint:errorlint // the target itself, as errors.Is asks
	return ok && t.Msg == "" && t.Code == code
}

// Keeper is a Store that can look after itself.
type Keeper interface {
	// Check reads everything and reports what is wrong, run by run.
	Check(ctx context.Context) (Report, error)
	// Collect removes runs that ended before the time and nothing reaches any
	// more (forks, parents and children keep each other), with the blobs only
	// they use. With dry it only reports.
	Collect(ctx context.Context, before time.Time, dry bool) (Report, error)
}

// Report is what a Keeper found or did.
type Report struct {
	Runs     int       `json:"runs"`
	Events   int64     `json:"events"`
	Blobs    int       `json:"blobs"`
	Bytes    int64     `json:"bytes"`             // of the removed, or of all
	Scripts  int       `json:"scripts,omitempty"` // copies of scripts of runs that are gone
	Removed  []string  `json:"removed,omitempty"`
	Kept     []string  `json:"kept,omitempty"` // with the reason
	Problems []Problem `json:"problems"`
}

// Problem is one thing that is wrong, and what to do about it.
type Problem struct {
	Run  workflow.RunID `json:"run,omitempty"`
	Seq  int64          `json:"seq,omitempty"`
	What string         `json:"what"`
	Next string         `json:"next"`
}
