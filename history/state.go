package history

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/ledger"
	"github.com/tenonrun/tenon/workflow"
)

// State is the fold of a run's history: the Program, the Gate, and what the
// driver itself must know. It is used to drive and to inspect.
type State struct {
	ID      workflow.RunID
	Seq     int64         // of the newest event
	Snapped int64         // seq of the newest snapshot; 0 is none
	Begun   workflow.Time // of the first event
	Last    workflow.Time // of the newest event
	Start   workflow.RunStarted
	Program workflow.Program
	Gate    *admission.Gate
	Values  *Layered
	Memory  Memory
	Wishes  []workflow.Command // given and not answered by an event
}

// Memory is the part of the state that a snapshot holds beside Program and Gate.
type Memory struct {
	Asked    map[workflow.VisitID][]workflow.Question       `json:"asked,omitempty"` // questions of open visits, answered ones too
	Timers   map[workflow.VisitID]workflow.Time             `json:"timers,omitempty"`
	Children map[workflow.VisitID]workflow.ChildStarted     `json:"children,omitempty"` // not ended
	Memos    map[workflow.VisitID]map[string]workflow.Value `json:"memos,omitempty"`    // of open visits
	Intents  map[workflow.VisitID]map[string]workflow.Value `json:"intents,omitempty"`  // of steps that have not settled
	Calls    map[workflow.VisitID]int                       `json:"calls,omitempty"`    // invocations of open visits
	Tries    map[workflow.VisitID]map[string]int            `json:"tries,omitempty"`    // invocations of open visits, by key
	Live     map[string]LiveCall                            `json:"live,omitempty"`     // reserved, not settled
	Agents   map[workflow.VisitID]*ledger.Tree              `json:"agents,omitempty"`   // of open visits
	Steering map[workflow.VisitID][]string                  `json:"steering,omitempty"` // texts claimed by open visits
	Heard    map[workflow.VisitID]map[string][]string       `json:"heard,omitempty"`    // by open visits, at moments of theirs
	Skipped  map[workflow.VisitID]map[string]string         `json:"skipped,omitempty"`  // agents of open visits that a person wants stopped, and why
	Texts    map[int64]string                               `json:"texts,omitempty"`    // steering not claimed yet, by seq
	Warnings []string                                       `json:"warnings,omitempty"`
	Ended    *workflow.Ended                                `json:"ended,omitempty"`
	ForkOf   workflow.RunID                                 `json:"forkOf,omitempty"`
	Cut      int64                                          `json:"cut,omitempty"`
	AI       map[workflow.VisitID]bool                      `json:"ai,omitempty"`      // open AI visits
	Dead     []Dead                                         `json:"dead,omitempty"`    // AI visits that failed
	Lost     int                                            `json:"lost,omitempty"`    // invocations whose result is unknown
	Denied   int                                            `json:"denied,omitempty"`  // uses of tools that the fence did not let through
	Denials  []Denial                                       `json:"denials,omitempty"` // the newest of them
	Kept     map[workflow.VisitID]workflow.EvidenceKept     `json:"kept,omitempty"`    // newest receipt of open visits, without its data
	Evidence []Evidence                                     `json:"evidence,omitempty"`
	Made     []workflow.MadeBy                              `json:"made,omitempty"`  // also by child runs that ended
	Proof    *workflow.Verified                             `json:"proof,omitempty"` // newest candidate that a receipt certifies, as it was then
}

// LiveCall is an invocation on its way.
type LiveCall struct {
	Visit      workflow.VisitID `json:"visit"`
	Node       string           `json:"node"`
	Number     int              `json:"number"`
	Attempt    int              `json:"attempt"`
	Invocation int              `json:"invocation"`
	Key        string           `json:"key"`
}

// child keeps an open child run. Those that agents started are their own.
func (m *Memory) child(v workflow.VisitID, p *workflow.ChildStarted) {
	if p.Step == "" {
		m.Children[v] = *p
	}
}

func newMemory() Memory {
	return Memory{
		Asked:  map[workflow.VisitID][]workflow.Question{},
		Timers: map[workflow.VisitID]workflow.Time{}, Children: map[workflow.VisitID]workflow.ChildStarted{},
		Memos: map[workflow.VisitID]map[string]workflow.Value{}, Intents: map[workflow.VisitID]map[string]workflow.Value{}, Calls: map[workflow.VisitID]int{},
		Tries: map[workflow.VisitID]map[string]int{}, Live: map[string]LiveCall{},
		Agents: map[workflow.VisitID]*ledger.Tree{}, Heard: map[workflow.VisitID]map[string][]string{}, Skipped: map[workflow.VisitID]map[string]string{},
		Kept: map[workflow.VisitID]workflow.EvidenceKept{}, AI: map[workflow.VisitID]bool{}, Steering: map[workflow.VisitID][]string{}, Texts: map[int64]string{},
	}
}

// begin makes Program and Gate of a run from its first event.
func (s *State) begin(e workflow.Event, programs map[string]workflow.Factory) error {
	start, ok := e.Payload.(*workflow.RunStarted)
	if !ok {
		return &workflow.Damage{Run: s.ID, Seq: e.Seq, Err: fmt.Errorf("the history begins with %s", e.Type())}
	}
	f := programs[start.Kind]
	if f == nil {
		return workflow.Errorf(workflow.CodeResumeIncompatible, "run %s is a %q workflow, which this program does not know", s.ID, start.Kind)
	}
	prog, err := f.New(s.ID, *start, s.Values)
	if err != nil {
		return err
	}
	s.Start, s.Begun, s.Program, s.Memory = *start, e.At, prog, newMemory()
	s.Gate = admission.New(start.Options)
	return nil
}

// Apply folds one event into everything. Wishes that the event leads to are
// collected by Decide.
func (s *State) Apply(e workflow.Event, programs map[string]workflow.Factory) error {
	if s.Program == nil {
		if err := s.begin(e, programs); err != nil {
			return err
		}
	}
	if err := s.Program.Apply(e); err != nil {
		return err
	}
	s.Gate.Apply(e)
	s.note(e)
	s.Seq, s.Last = e.Seq, e.At
	return nil
}

// Decide takes the Program's new wishes: visits go to the Gate, the others wait
// for their event.
func (s *State) Decide() error {
	n := len(s.Wishes)
	var err error
	if s.Wishes, err = s.Program.Decide(s.Wishes); err != nil {
		return err
	}
	kept := s.Wishes[:n]
	for _, c := range s.Wishes[n:] {
		if sv, ok := c.(workflow.StartVisit); ok {
			s.Gate.Want(sv)
			continue
		}
		kept = append(kept, c)
	}
	s.Wishes = kept
	return nil
}

// Replay is Apply for a recorded event: wishes that it answers are struck. After
// the last one the caller decides. An event that answers no wish, because it is
// about the run and not its end, does not have the Program compute: it may say
// that a person stopped just that.
func (s *State) Replay(e workflow.Event, programs map[string]workflow.Factory) error {
	if s.Program != nil && (e.ID != "" || e.Type() == workflow.TypeEnded) {
		if err := s.Decide(); err != nil {
			return err
		}
	}
	if err := s.Apply(e, programs); err != nil {
		return err
	}
	if len(s.Wishes) > 0 {
		s.strike(e)
	}
	return nil
}

func (s *State) strike(e workflow.Event) {
	s.Wishes = slices.DeleteFunc(s.Wishes, func(c workflow.Command) bool {
		switch c.(type) {
		case workflow.SettleVisit:
			return e.Type() == workflow.TypeSettled && c.CommandID() == e.ID
		case workflow.Log:
			return e.Type() == workflow.TypeProgress && c.CommandID() == e.ID
		case workflow.StartTimer:
			return e.Type() == workflow.TypeTimerStarted && c.CommandID() == e.ID
		case workflow.StartChild:
			return (e.Type() == workflow.TypeChildStarted || e.Type() == workflow.TypeLost) && c.CommandID() == e.ID
		case workflow.Complete:
			return e.Type() == workflow.TypeEnded
		}
		return false
	})
}

// Questions returns the questions without an answer, oldest first.
func (s *State) Questions() []workflow.Question {
	var out []workflow.Question
	for _, all := range s.Memory.Asked {
		for _, q := range all {
			if q.Answer == nil {
				out = append(out, q)
			}
		}
	}
	slices.SortFunc(out, func(a, b workflow.Question) int {
		if a.Asked != b.Asked {
			return int(min(1, max(-1, a.Asked-b.Asked)))
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out
}

// CallID names an invocation in Memory.Live.
func CallID(v workflow.VisitID, n int) string { return string(v) + "/" + strconv.Itoa(n) }
