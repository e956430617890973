package workflow

import "encoding/json"

// RunStarted is the first event of every run: all that the run is pinned to.
type RunStarted struct {
	Workflow Ref            `json:"workflow"`
	Kind     string         `json:"kind"`  // graph | script
	Level    int            `json:"level"` // semantics of the Program; a released level never changes
	Inputs   Value          `json:"inputs,omitzero"`
	Launch   Launch         `json:"launch,omitzero"`
	Options  Options        `json:"options,omitzero"`
	Children map[string]Ref `json:"children,omitempty"` // documents of workflow nodes, by their name
	Parent   *ParentRef     `json:"parent,omitempty"`
	Root     RunID          `json:"root,omitempty"` // the run at the top of the tree; absent: this one
	Project  string         `json:"project,omitempty"`
}

// Format is the format of definitions whose rules hold for the pieces of the run.
func (s *RunStarted) Format() int {
	if s.Kind == KindScript {
		return 2
	}
	return s.Level
}

// ParentRef is the visit of another run that started a child run.
type ParentRef struct {
	Run   RunID   `json:"run"`
	Visit VisitID `json:"visit"`
	Depth int     `json:"depth"`
}

// Launch is what format 1 is started with.
type Launch struct {
	Change  string `json:"change,omitempty"`
	Tickets Value  `json:"tickets,omitzero"` // list of {id, title, body?, criteria?}
	Specs   Value  `json:"specs,omitzero"`   // list of {path, text}
}

// Options are the effective rules of a run, after definition, configuration and
// flags.
type Options struct {
	Roles        map[string]Role  `json:"roles,omitempty"`
	Repositories []RepositoryInfo `json:"repositories,omitempty"`
	Budget       Budget           `json:"budget,omitzero"`
	Policies     Policies         `json:"policies,omitzero"`
	Transitions  int              `json:"transitions,omitempty"`
	Verified     *bool            `json:"requiresVerified,omitempty"`
	Checks       []Check          `json:"checks,omitempty"` // the configured verification plan
	Setup        []Check          `json:"setup,omitempty"`
	Timeouts     Timeouts         `json:"timeouts,omitzero"`
	Session      Value            `json:"session,omitzero"` // what the wiring needs to drive the run again
	// Backends are what the providers of the run could do when it began; one that
	// is not here, as in old histories, is what it is configured to be now.
	Backends  map[string]Capabilities `json:"backends,omitempty"`
	Providers []string                `json:"providers,omitempty"` // names that were configured
	Routed    bool                    `json:"routed,omitempty"`    // a model is chosen where nobody names a provider
	Script    ScriptOptions           `json:"script,omitzero"`
	ByAgent   bool                    `json:"byAgent,omitempty"` // an agent started the run, or one above it
}

// Backend returns the capabilities behind a provider's name: those that the run
// is pinned to, and for others what now tells, which may be nil.
func (o Options) Backend(provider string, now func(string) (Capabilities, bool)) (Capabilities, bool) {
	if c, ok := o.Backends[provider]; ok {
		return c, true
	}
	if now == nil {
		return Capabilities{}, false
	}
	return now(provider)
}

// Capabilities are what an executor can do with a provider.
type Capabilities struct {
	Model     string   `json:"model,omitempty"`     // used when a turn names none; "" when there is none
	Efforts   []string `json:"efforts,omitempty"`   // that can be asked for; nil none
	Sessions  bool     `json:"sessions,omitempty"`  // a session can be continued
	Native    bool     `json:"native,omitempty"`    // native commands are understood by the backend itself
	Tools     bool     `json:"tools,omitempty"`     // the turn can use tools
	Uncertain bool     `json:"uncertain,omitempty"` // a write turn that is lost may have written, and nothing tells
}

// Check is one host command of a verification plan.
type Check struct {
	Key          string            `json:"key,omitempty"`
	Label        string            `json:"label,omitempty"`
	RepositoryID string            `json:"repositoryId"`
	Command      string            `json:"command"`
	Args         []string          `json:"args,omitempty"`
	Cwd          string            `json:"cwd,omitempty"` // relative to the repository
	Env          map[string]string `json:"env,omitempty"`
	TimeoutMs    int64             `json:"timeoutMs,omitempty"` // default 900,000, at most 7,200,000
	Policy       json.RawMessage   `json:"policy,omitempty"`
}

// Timeouts are the defaults for turns, in milliseconds; 0 is none.
type Timeouts struct {
	TurnMs int64 `json:"turnMs,omitempty"`
	IdleMs int64 `json:"idleMs,omitempty"`
}

// RepositoryInfo names a repository of the run; its place is not part of the
// run's identity.
type RepositoryInfo struct {
	ID    string   `json:"id"`
	Path  string   `json:"path"`
	Scope []string `json:"scope,omitempty"`
}

// Admitted starts or continues an attempt of a visit.
type Admitted struct {
	Kind      string  `json:"kind"`
	Effect    Effect  `json:"effect,omitempty"`
	AI        bool    `json:"ai,omitempty"`
	Provider  string  `json:"provider,omitempty"`
	Self      bool    `json:"self,omitempty"`
	Uncertain bool    `json:"uncertain,omitempty"`
	Unlimited bool    `json:"unlimited,omitempty"`
	Continued bool    `json:"continued,omitempty"` // the same attempt goes on after an answer
	Limits    []Limit `json:"limits,omitempty"`
	Params    Digest  `json:"params,omitempty"`  // of the interpolated params
	Label     string  `json:"label,omitempty"`   // of a call of a script, for people
	Group     string  `json:"group,omitempty"`   // its phase
	Steered   []int64 `json:"steered,omitempty"` // seqs of the steering claimed by this attempt
}

// Refused says why a visit was not admitted. It can be admitted later.
type Refused struct {
	Code    Code   `json:"code"`
	Message string `json:"message,omitempty"`
}

// InvocationReserved is written before a provider call is sent.
type InvocationReserved struct {
	Key           string  `json:"key"`             // names the call inside its visit
	Agent         string  `json:"agent,omitempty"` // whose account it is charged to; "" is that of the visit
	Provider      string  `json:"provider"`
	Model         string  `json:"model,omitempty"`
	Effort        string  `json:"effort,omitempty"`
	Kind          string  `json:"kind,omitempty"` // initial, repair, retry, session-fallback, …
	ContextMode   string  `json:"contextMode,omitempty"`
	PromptBytes   int     `json:"promptBytes,omitempty"`
	ContextBytes  int     `json:"contextBytes,omitempty"`
	Tokens        int64   `json:"tokens,omitempty"`  // bound that is reserved
	CostUSD       float64 `json:"costUsd,omitempty"` // bound that is reserved
	RouteReason   string  `json:"routeReason,omitempty"`
	RequestDigest Digest  `json:"request,omitempty"`
}

// Statuses of an invocation.
const (
	InvocationOK     = "ok"
	InvocationFailed = "failed"
	InvocationLost   = "lost" // the owner died: the result and the usage are unknown
)

// InvocationSettled closes an invocation: status, usage and the memo that a
// replay needs.
type InvocationSettled struct {
	Key        string `json:"key"`
	Status     string `json:"status"`
	Model      string `json:"model,omitempty"` // really used
	Usage      Usage  `json:"usage"`
	Memo       Value  `json:"memo,omitzero"`
	Code       Code   `json:"code,omitempty"`
	Message    string `json:"message,omitempty"`
	RetryAt    Time   `json:"retryAt,omitzero"`
	DurationMs int64  `json:"durationMs,omitempty"`
	ToolCalls  int    `json:"toolCalls,omitempty"`
}

// Progress is a note worth keeping.
type Progress struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Data    Value  `json:"data,omitzero"`
}

// ProgressEdited is the kind of the note of a run that goes on from another one
// with an edited workflow. Its data is an Edited.
const ProgressEdited = "edited"

// ProgressHalted is the kind of the note that a person stopped the code of a script
// before it came to its next call. The code runs again when the run goes on.
const ProgressHalted = "halted"

// Edited names the run that another one goes on from.
type Edited struct {
	Run RunID `json:"run"`
}

// EditedFrom returns the run that the note says this one goes on from; "" when it
// says none.
func (p *Progress) EditedFrom() RunID {
	var from Edited
	if p.Kind != ProgressEdited || json.Unmarshal(p.Data.JSON, &from) != nil {
		return ""
	}
	return from.Run
}

// StepIntended is written before a step of a turn changes something: what it is
// about to change, so that the change itself can tell after a crash whether it
// was made.
type StepIntended struct {
	Key    string `json:"key"`  // names the step inside its visit
	Tool   string `json:"tool"` // for people
	Intent Value  `json:"intent"`
}

// StepSettled closes a step: what it gave is never fetched or done again.
type StepSettled struct {
	Key        string  `json:"key"`
	Tool       string  `json:"tool"`
	About      string  `json:"about,omitempty"` // for people: the tool and what it was used on
	Failed     bool    `json:"failed,omitempty"`
	Why        string  `json:"why,omitempty"` // it failed, in one line
	Denied     *Denial `json:"denied,omitempty"`
	Made       *Made   `json:"made,omitempty"`
	Memo       Value   `json:"memo"`
	DurationMs int64   `json:"durationMs,omitempty"`
}

// Made is a revision of an artifact that a run wrote. Its content is in the
// collection.
type Made struct {
	Collection string `json:"collection"`
	ID         string `json:"id"` // of the artifact
	Title      string `json:"title"`
	Mime       string `json:"mime"`
	Kind       string `json:"kind"`
	Language   string `json:"language,omitempty"`
	Version    int64  `json:"version"`
	Bytes      int64  `json:"bytes"`  // of the content in UTF-8
	Digest     string `json:"sha256"` // of the content
}

// MadeBy is a revision of an artifact, and what wrote it.
type MadeBy struct {
	Made
	Run  RunID  `json:"run,omitempty"`  // the child run; absent: the run itself
	Node string `json:"node,omitempty"` // path of node names
}

// Denial says why the fence let a use of a tool not through.
type Denial struct {
	Agent     string `json:"agent,omitempty"` // the sub-agent
	Tool      string `json:"tool"`
	Op        string `json:"op,omitempty"`        // read, write, search, enter
	Path      string `json:"path,omitempty"`      // as the call spelled it
	Canonical string `json:"canonical,omitempty"` // where it leads
	View      string `json:"view,omitempty"`      // what the rule reached
	Rule      string `json:"rule,omitempty"`      // as written, with its source; "" when a default decided
	Reason    string `json:"reason"`
	Message   string `json:"message"` // all of it in one line, safe to print
}

// States of a receipt.
const (
	ReceiptPending = "pending" // its commands are about to start
	ReceiptValid   = "valid"   // every command passed, over files that stayed the same
	ReceiptInvalid = "invalid"
)

// Scopes of a receipt.
const (
	ReceiptFull   = "full"   // the whole plan: it can certify a candidate
	ReceiptScoped = "scoped" // a part: evidence, never a proof
)

// EvidenceKept records a receipt: host commands and the candidate that they are
// bound to. It is written before the first command starts, pending, and again
// when the last one has ended.
type EvidenceKept struct {
	Receipt   string `json:"receipt"` // id
	State     string `json:"state"`
	Scope     string `json:"scope"`
	Candidate string `json:"candidate,omitempty"`
	Commands  int    `json:"commands,omitempty"` // that ran and passed
	Reason    string `json:"reason,omitempty"`   // why it is invalid
	Data      Value  `json:"data,omitzero"`      // the verification.Receipt
}

// Certifies reports whether the receipt proves its candidate.
func (e *EvidenceKept) Certifies() bool {
	return e.State == ReceiptValid && e.Scope == ReceiptFull && e.Commands > 0 && e.Candidate != ""
}

// Retrying ends an attempt that is repeated.
type Retrying struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	After   Time   `json:"after"`
}

// Statuses of a settled visit.
const (
	VisitSucceeded = "succeeded"
	VisitFailed    = "failed"
	VisitBlocked   = "blocked"
)

// Settled is the result of a visit.
type Settled struct {
	Outcome    string           `json:"outcome,omitempty"`
	Status     string           `json:"status,omitempty"` // absent: succeeded
	Output     Value            `json:"output,omitzero"`
	Vars       map[string]Value `json:"vars,omitempty"`
	History    string           `json:"history,omitempty"`
	Session    *Session         `json:"session,omitempty"`
	Private    Value            `json:"private,omitzero"`
	Answers    []NamedAnswer    `json:"answers,omitempty"`
	Candidate  string           `json:"candidate,omitempty"` // after a write
	Verified   *Verified        `json:"verified,omitempty"`
	Unproven   Code             `json:"unproven,omitempty"` // what the visit was to deliver is not there: why
	Completion *Completion      `json:"completion,omitempty"`
	Error      *Failure         `json:"error,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
	Made       *Made            `json:"made,omitempty"`
}

// NamedAnswer is an answer that the state keeps under the node that asked.
type NamedAnswer struct {
	Question string `json:"question"`
	Node     string `json:"node"`
	Value    Value  `json:"value"`
	By       string `json:"by,omitempty"`
	At       Time   `json:"at,omitzero"`
}

// Verified is the proof that a candidate passed its full plan.
type Verified struct {
	Receipt   string `json:"receipt"`
	Candidate string `json:"candidate"`
}

// Completion is how a body ended.
type Completion struct {
	OK       bool     `json:"ok"`
	Status   Status   `json:"status,omitempty"` // root: the status of the run, when it is not told by OK
	Reasons  []string `json:"reasons,omitempty"`
	Exit     string   `json:"exit,omitempty"`
	Verified bool     `json:"verified,omitempty"`
}

// Lost ends an attempt without a result.
type Lost struct {
	Code      Code   `json:"code"` // owner_lost, interrupted, aborted, budget_exhausted, quota_exhausted, …
	Message   string `json:"message,omitempty"`
	Uncertain bool   `json:"uncertain,omitempty"` // a write may have happened: a person decides
	Until     Time   `json:"until,omitzero"`      // when it is worth trying again
}

// Ways to settle an uncertain write.
const (
	RecoverRerun = "rerun"
	RecoverDone  = "done"
	RecoverFail  = "fail"
)

// Recovered is a person's word about an uncertain write.
type Recovered struct {
	How     string `json:"how"`
	Outcome string `json:"outcome,omitempty"`
	By      string `json:"by,omitempty"`
}

// QuestionOpened pauses the attempt of a visit.
type QuestionOpened struct {
	Question Question `json:"question"`
}

// QuestionAnswered closes a question; the event's ID is the visit.
type QuestionAnswered struct {
	Question string `json:"question"`
	Answer   Answer `json:"answer"`
}

// TimerStarted records when a visit that waits goes on.
type TimerStarted struct {
	Until Time `json:"until"`
}

// TimerFired ends a wait.
type TimerFired struct{}

// ChildStarted records the run that a visit started, and what of the budget is
// kept for it. It comes again when that is raised.
type ChildStarted struct {
	Run    RunID  `json:"run"`
	Ref    string `json:"ref"` // name under which RunStarted.Children pins its document
	Inputs Value  `json:"inputs,omitzero"`
	Budget Budget `json:"budget,omitzero"` // cap of the child; zero is no cap
	// Step is the step of an agent that started it; "" when the visit itself did.
	Step string `json:"step,omitempty"`
}

// ChildEnded is the end of a child run.
type ChildEnded struct {
	Run     RunID    `json:"run"`
	Status  Status   `json:"status"`
	Outputs Value    `json:"outputs,omitzero"`
	Reasons []string `json:"reasons,omitempty"`
	Usage   Totals   `json:"usage"`
	Made    []MadeBy `json:"made,omitempty"` // the newest artifacts of the child and those below it
	Step    string   `json:"step,omitempty"` // as in ChildStarted
}

// Signal is a named message for a wait. It is kept until a wait takes it.
type Signal struct {
	Name  string `json:"name"`
	Value Value  `json:"value,omitzero"`
	By    string `json:"by,omitempty"`
}

// Steered is advice for the next AI attempt or, sooner, for an agent at work
// before its next model call.
type Steered struct {
	Text  string `json:"text"`
	Agent string `json:"agent,omitempty"` // label of the agent that it is for; "" is the first that can hear it
	By    string `json:"by,omitempty"`
}

// SteerHeard gives advice to an agent at work.
type SteerHeard struct {
	Key  string  `json:"key"` // names the moment inside the visit
	Seqs []int64 `json:"seqs"`
}

// LimitRaised sets new caps; zero leaves a cap as it is.
type LimitRaised struct {
	Tokens      int64   `json:"tokens,omitempty"`
	CostUSD     float64 `json:"costUsd,omitempty"`
	DurationMs  int64   `json:"durationMs,omitempty"`
	Transitions int     `json:"transitions,omitempty"`
	By          string  `json:"by,omitempty"`
}

// Paused stops admissions until the run is resumed.
type Paused struct {
	By string `json:"by,omitempty"`
}

// Resumed is a new ownership: breakers close, stalled limits start afresh, and
// what ran under the old owner is lost.
type Resumed struct {
	Process string `json:"process,omitempty"` // "pid@host"
	By      string `json:"by,omitempty"`
	Binary  string `json:"binary,omitempty"` // version of tenon
}

// CancelRequested stops the run for good.
type CancelRequested struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// BreakerOpened stops new calls to a provider in this run.
type BreakerOpened struct {
	Provider string `json:"provider"`
	Code     Code   `json:"code"`
	Message  string `json:"message,omitempty"`
	Until    Time   `json:"until,omitzero"`
}

// Forked begins a run that shares the history of another up to a cut.
type Forked struct {
	Parent  RunID `json:"parent"`
	Cut     int64 `json:"cut"` // last shared seq
	Patch   Patch `json:"patch,omitzero"`
	Request Value `json:"request,omitzero"`
}

// Patch changes the state of the scope that is forked.
type Patch struct {
	Scope   string           `json:"scope,omitempty"`
	Vars    map[string]Value `json:"vars,omitempty"`
	Outputs map[string]Value `json:"outputs,omitempty"`
	Answers map[string]Value `json:"answers,omitempty"`
	Reopen  VisitID          `json:"reopen,omitempty"` // a map or parallel whose failed branches run again
}

// Ended closes the run.
type Ended struct {
	Status     Status           `json:"status"`
	Completion *Completion      `json:"completion,omitempty"`
	Outputs    map[string]Value `json:"outputs,omitempty"`
	Failures   []Failure        `json:"failures,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
}
