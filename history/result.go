package history

import (
	"encoding/json"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Result is a run as it stands: what `--json` prints.
type Result struct {
	Run         workflow.RunID             `json:"run"`
	Workflow    WorkflowName               `json:"workflow"`
	Status      workflow.Status            `json:"status"`
	Exit        int                        `json:"exit"`
	Result      *workflow.Completion       `json:"result,omitempty"`
	Reasons     []string                   `json:"reasons,omitempty"`
	Outputs     map[string]json.RawMessage `json:"outputs"`
	Questions   []workflow.Question        `json:"questions"`
	Uncertain   []Unsettled                `json:"uncertain,omitempty"` // writes that wait for recover
	Unfinished  []Unsettled                `json:"unfinished,omitempty"`
	Waits       []workflow.Wait            `json:"waits,omitempty"`  // for times and signals
	Paused      bool                       `json:"paused,omitempty"` // by a person
	Failures    []workflow.Failure         `json:"failures"`
	Dead        []Dead                     `json:"dead"`              // AI visits that failed
	Denied      int                        `json:"denied,omitempty"`  // uses of tools that the fence did not let through
	Denials     []Denial                   `json:"denials,omitempty"` // the newest of them, oldest first
	Warnings    []string                   `json:"warnings,omitempty"`
	Usage       Usage                      `json:"usage"`
	Evidence    []Evidence                 `json:"evidence"`  // the newest receipts, oldest first, without what they hold
	Artifacts   []workflow.MadeBy          `json:"artifacts"` // that it and its child runs wrote, each at the last version, the newest ones
	ResumeAfter workflow.Time              `json:"resumeAfter,omitzero"`
	ForkOf      workflow.RunID             `json:"forkOf,omitempty"`
	Children    []workflow.RunID           `json:"children,omitempty"`
	ScriptPath  string                     `json:"scriptPath,omitempty"` // of a run of a script: a copy that can be edited and run
	Started     workflow.Time              `json:"started"`
	Updated     workflow.Time              `json:"updated"`
	Visits      int                        `json:"visits"`
	Next        []string                   `json:"next"`
	Seen        int                        `json:"-"` // messages of the inbox that stay there
}

// WorkflowName names the workflow of a run.
type WorkflowName struct {
	Name   string          `json:"name"`
	Digest workflow.Digest `json:"digest"`
	Kind   string          `json:"kind,omitempty"` // workflow.KindScript; "" is a definition
	File   string          `json:"file,omitempty"` // of a script: where it was read, for people
}

// Usage is the spend of a run. Unknown is not zero: Unknown counts calls whose
// result nobody knows.
type Usage struct {
	workflow.Totals
	Inherited *workflow.Totals `json:"inherited,omitempty"`
	Reserved  int64            `json:"reserved,omitempty"`
	Unknown   int              `json:"unknown,omitempty"`
	Budget    workflow.Budget  `json:"budget,omitzero"`
}

// Unsettled is a visit without a result.
type Unsettled struct {
	Visit   workflow.VisitID `json:"visit"`
	Node    string           `json:"node"`
	Kind    string           `json:"kind"`
	Attempt int              `json:"attempt"`
	Code    workflow.Code    `json:"code,omitempty"`
	Message string           `json:"message,omitempty"`
	Until   workflow.Time    `json:"until,omitzero"`
}

// Dead is an AI visit that failed.
type Dead struct {
	Visit workflow.VisitID `json:"visit"`
	workflow.Failure
}

// Denial is a use of a tool that the fence did not let through.
type Denial struct {
	Visit workflow.VisitID `json:"visit"`
	Node  string           `json:"node"`
	workflow.Denial
}

// Evidence is a receipt that a visit kept.
type Evidence struct {
	Visit workflow.VisitID `json:"visit"`
	Node  string           `json:"node"`
	At    workflow.Time    `json:"at"`
	workflow.EvidenceKept
}

// Standing returns the status of a run for people: a run that nobody drives is
// not running but interrupted.
func Standing(h store.Head) workflow.Status {
	if h.Status == workflow.StatusRunning && h.Owner == nil {
		return workflow.StatusInterrupted
	}
	if !h.Status.Terminal() && h.Owner != nil {
		return workflow.StatusRunning
	}
	return h.Status
}

// Adopt shows what a child run waits for, and made, as the parent's.
func (res *Result) Adopt(child Result) {
	res.Children = append(res.Children, child.Run)
	res.Questions = append(res.Questions, child.Questions...)
	res.Uncertain = append(res.Uncertain, child.Uncertain...)
	res.Unfinished = append(res.Unfinished, child.Unfinished...)
	res.Waits = append(res.Waits, child.Waits...)
	res.Artifacts = withMade(res.Artifacts, child.Run, child.Artifacts)
	if res.ResumeAfter == 0 {
		res.ResumeAfter = child.ResumeAfter
	}
}

// Result tells the run under a status.
func (s *State) Result(status workflow.Status) (Result, error) {
	m := &s.Memory
	res := Result{
		Run: s.ID, Workflow: WorkflowName{Name: s.Start.Workflow.Name, Digest: s.Start.Workflow.Digest},
		Status: status, Exit: status.Exit(), Questions: s.Asking(), Dead: m.Dead, Denied: m.Denied, Denials: m.Denials, Warnings: m.Warnings,
		Usage:   Usage{Totals: s.Gate.Spent(), Reserved: s.Gate.Reserved(), Unknown: m.Lost, Budget: s.Gate.Options().Budget},
		Started: s.Begun, Updated: s.Last, ForkOf: m.ForkOf, Visits: s.Gate.Transitions(),
		Evidence: append([]Evidence{}, m.Evidence...), Artifacts: append([]workflow.MadeBy{}, m.Made...), Next: []string{},
	}
	if in := s.Gate.Inherited(); in != (workflow.Totals{}) {
		res.Usage.Inherited = &in
	}
	if ref := s.Start.Workflow; s.Start.Kind == workflow.KindScript {
		res.Workflow.Kind, res.Workflow.File = s.Start.Kind, ref.File
	}
	s.unsettled(&res)
	if m.Ended != nil {
		res.Result, res.Failures = m.Ended.Completion, m.Ended.Failures
		if m.Ended.Completion != nil {
			res.Reasons = m.Ended.Completion.Reasons
		}
	}
	if rep, ok := s.Program.(workflow.Reporter); ok && m.Ended == nil {
		res.Failures, res.Waits = rep.Failures(), rep.Waits()
		res.Paused, _ = s.Gate.Halted()
	}
	outputs, err := s.outputs()
	if err != nil {
		return res, err
	}
	res.Outputs = outputs
	if res.Questions == nil {
		res.Questions = []workflow.Question{}
	}
	if res.Failures == nil {
		res.Failures = []workflow.Failure{}
	}
	if res.Dead == nil {
		res.Dead = []Dead{}
	}
	return res, nil
}

// Over reports whether the run has ended for good.
func (s *State) Over() bool { return s.Memory.Ended != nil && s.Memory.Ended.Status.Terminal() }

// Asking returns the questions that an answer would move: none in a run that is
// over.
func (s *State) Asking() []workflow.Question {
	if s.Over() {
		return nil
	}
	return s.Questions()
}

func (s *State) outputs() (map[string]json.RawMessage, error) {
	var all map[string]workflow.Value
	if s.Memory.Ended != nil {
		all = s.Memory.Ended.Outputs
	} else if rep, ok := s.Program.(workflow.Reporter); ok {
		all = rep.Outputs()
	}
	out := make(map[string]json.RawMessage, len(all))
	for k, v := range all {
		raw, err := v.Load(s.Values)
		if err != nil {
			return nil, err
		}
		out[k] = raw
	}
	return out, nil
}

func (s *State) unsettled(res *Result) {
	if s.Over() {
		return
	}
	entry := func(o admission.Open) Unsettled {
		return Unsettled{Visit: o.Command.Visit, Node: o.Command.Node, Kind: o.Command.Kind, Attempt: o.Attempt, Until: o.Until}
	}
	for _, o := range s.Gate.InState(admission.Lost) {
		u := entry(o)
		u.Code, u.Message = workflow.CodeOwnerLost, "its write was in flight when the process ended; whether it happened is not known"
		res.Uncertain = append(res.Uncertain, u)
	}
	for _, o := range s.Gate.InState(admission.Refused) {
		u := entry(o)
		if o.Refusal != nil {
			u.Code, u.Message = o.Refusal.Code, o.Refusal.Message
		}
		res.Unfinished = append(res.Unfinished, u)
	}
	breakers := s.Gate.Breakers()
	for _, o := range s.Gate.InState(admission.Wanted) {
		if b, open := breakers[o.Command.Provider]; open || o.Parked {
			u := entry(o)
			u.Code, u.Message, u.Until = b.Code, b.Message, max(u.Until, b.Until)
			if o.Refusal != nil {
				u.Code, u.Message = o.Refusal.Code, o.Refusal.Message
			}
			res.Unfinished = append(res.Unfinished, u)
		}
	}
}
