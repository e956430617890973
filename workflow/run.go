package workflow

import (
	"encoding/json"
	"slices"
)

// Effect is what a piece may change.
type Effect string

// Effects. None is the effect of pieces that only route or wait.
const (
	EffectNone  Effect = ""
	EffectRead  Effect = "read"
	EffectWrite Effect = "write"
)

// Status is the state of a run, in the words of the command line.
type Status string

// Statuses. A run that is Running in the store while no process owns it is
// shown as Interrupted.
const (
	StatusRunning     Status = "running"
	StatusSucceeded   Status = "succeeded"
	StatusFailed      Status = "failed"
	StatusInvalid     Status = "invalid"
	StatusWaiting     Status = "waiting"
	StatusExhausted   Status = "exhausted"
	StatusUnavailable Status = "unavailable"
	StatusDenied      Status = "denied"
	StatusUnproven    Status = "unproven"
	StatusCancelled   Status = "cancelled"
	StatusInterrupted Status = "interrupted"
)

var exits = map[Status]int{
	StatusSucceeded: 0, StatusFailed: 1, StatusInvalid: 2, StatusWaiting: 3, StatusExhausted: 4,
	StatusUnavailable: 5, StatusDenied: 6, StatusUnproven: 7, StatusCancelled: 8, StatusInterrupted: 130,
}

var precedence = []Status{
	StatusInvalid, StatusInterrupted, StatusCancelled, StatusDenied, StatusWaiting,
	StatusExhausted, StatusUnavailable, StatusFailed, StatusUnproven, StatusSucceeded,
}

// Statuses returns every status that a run can be listed with.
func Statuses() []Status { return append([]Status{StatusRunning}, precedence...) }

// Exit returns the exit code of a command that ends with the status; 1 for a
// word it does not know.
func (s Status) Exit() int {
	if code, ok := exits[s]; ok {
		return code
	}
	return 1
}

// Terminal reports whether a run of this status can never go on.
func (s Status) Terminal() bool {
	switch s {
	case StatusSucceeded, StatusFailed, StatusDenied, StatusUnproven, StatusCancelled:
		return true
	}
	return false
}

// Worst returns the status that stands for several at once.
func Worst(all ...Status) Status {
	for _, s := range precedence {
		if slices.Contains(all, s) {
			return s
		}
	}
	return StatusSucceeded
}

// Ref is the workflow a run is pinned to.
type Ref struct {
	Name   string `json:"name"`
	Digest Digest `json:"digest"`         // of the document as it was read, the blob that holds it
	File   string `json:"file,omitempty"` // where it was read, for people
}

// Kinds of workflows.
const (
	KindGraph  = "graph"
	KindScript = "script"
)

// Role is how a configuration fills a role of a definition.
type Role struct {
	Access   Effect `json:"access,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Effort   string `json:"effort,omitempty"`
	Prompt   string `json:"prompt,omitempty"` // instructions of the role
}

// Session is a conversation that a later visit may continue.
type Session struct {
	ID       string `json:"id"`
	Identity Digest `json:"identity"` // of everything that must be equal to continue it
}

// MaxCost is the most that a call can cost, in US dollars.
type MaxCost struct {
	Sent  float64 // for what is sent
	Token float64 // for each token of the answer
}

// Of returns the bound of a call with an answer of at most these tokens.
func (m MaxCost) Of(output int) float64 { return m.Sent + m.Token*float64(output) }

// Usage is what models consumed. Nil means unknown, which is not zero. Input
// holds all prompt tokens; Cached and CacheWrite are parts of it; Reasoning is a
// part of Output.
type Usage struct {
	Input      *int64   `json:"input"`
	Cached     *int64   `json:"cached,omitempty"`
	CacheWrite *int64   `json:"cacheWrite,omitempty"`
	Output     *int64   `json:"output"`
	Reasoning  *int64   `json:"reasoning,omitempty"`
	CostUSD    *float64 `json:"costUsd"`
}

// Tokens returns input plus output, and whether both are known.
func (u Usage) Tokens() (n int64, known bool) {
	known = u.Input != nil && u.Output != nil
	if u.Input != nil {
		n += *u.Input
	}
	if u.Output != nil {
		n += *u.Output
	}
	return n, known
}

// Totals is the spend of a run: known lower bounds, and what is missing.
type Totals struct {
	Calls         int     `json:"calls"`
	Input         int64   `json:"input"`
	Cached        int64   `json:"cached,omitempty"`
	CacheWrite    int64   `json:"cacheWrite,omitempty"`
	Output        int64   `json:"output"`
	Reasoning     int64   `json:"reasoning,omitempty"`
	CostUSD       float64 `json:"costUsd"`
	UnknownTokens int     `json:"unknownTokens,omitempty"` // calls whose tokens are unknown
	UnknownCost   int     `json:"unknownCost,omitempty"`   // calls whose cost is unknown
}

// Add charges one call.
func (t *Totals) Add(u Usage) {
	t.Calls++
	add := func(to *int64, v *int64) {
		if v != nil {
			*to += *v
		}
	}
	add(&t.Input, u.Input)
	add(&t.Cached, u.Cached)
	add(&t.CacheWrite, u.CacheWrite)
	add(&t.Output, u.Output)
	add(&t.Reasoning, u.Reasoning)
	if u.CostUSD != nil {
		t.CostUSD += *u.CostUSD
	} else {
		t.UnknownCost++
	}
	if _, known := u.Tokens(); !known {
		t.UnknownTokens++
	}
}

// Plus adds the totals of a child run.
func (t *Totals) Plus(o Totals) {
	t.Calls += o.Calls
	t.Input += o.Input
	t.Cached += o.Cached
	t.CacheWrite += o.CacheWrite
	t.Output += o.Output
	t.Reasoning += o.Reasoning
	t.CostUSD += o.CostUSD
	t.UnknownTokens += o.UnknownTokens
	t.UnknownCost += o.UnknownCost
}

// Kinds of questions.
const (
	AskQuestion = "question"
	AskApproval = "approval"
	AskGate     = "gate"
)

// Question is a durable wait for a person.
type Question struct {
	ID       string          `json:"id"` // unique in the project
	Run      RunID           `json:"run"`
	Visit    VisitID         `json:"visit"`
	Node     string          `json:"node"`
	Kind     string          `json:"kind"`
	Text     string          `json:"text"`
	Schema   json.RawMessage `json:"schema,omitempty"` // JSON Schema of the answer; absent: text
	Options  []string        `json:"options,omitempty"`
	Bound    string          `json:"bound,omitempty"` // candidate the answer is about
	Round    int             `json:"round"`           // n-th question of its visit, from 1; 0 with a key
	Key      string          `json:"key,omitempty"`   // names it inside its visit where there is no order
	Asked    Time            `json:"asked,omitzero"`
	Deadline Time            `json:"deadline,omitzero"` // when it expires; zero never
	Answer   *Answer         `json:"answer,omitempty"`  // nil while it is open
}

// Answer closes a question.
type Answer struct {
	Value   Value  `json:"value,omitzero"`
	Denied  bool   `json:"denied,omitempty"`
	Expired bool   `json:"expired,omitempty"`
	Reason  string `json:"reason,omitempty"`
	By      string `json:"by,omitempty"`
	At      Time   `json:"at,omitzero"`
	// Question and Bound repeat the question's id and candidate for the piece
	// that asked; they are filled in when it reads the answer, and not stored.
	Question string `json:"-"`
	Bound    string `json:"-"`
}

// Failure is why a visit or a run did not succeed.
type Failure struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Node    string `json:"node,omitempty"`
}
