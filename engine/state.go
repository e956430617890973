package engine

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/workflow"
)

// state is the fold of a run's history: the Program, the Gate, and what the
// driver itself must know. It is used to drive and to inspect.
type state struct {
	id     workflow.RunID
	seq    int64
	begun  workflow.Time
	last   workflow.Time
	start  workflow.RunStarted
	prog   workflow.Program
	gate   *admission.Gate
	values *layered
	memory memory
	wishes []workflow.Command // given and not answered by an event
}

// memory is the part of the state that a snapshot holds beside Program and Gate.
type memory struct {
	Asked    map[workflow.VisitID][]workflow.Question       `json:"asked,omitempty"` // questions of open visits, answered ones too
	Timers   map[workflow.VisitID]workflow.Time             `json:"timers,omitempty"`
	Children map[workflow.VisitID]workflow.ChildStarted     `json:"children,omitempty"` // not ended
	Memos    map[workflow.VisitID]map[string]workflow.Value `json:"memos,omitempty"`    // of open visits
	Calls    map[workflow.VisitID]int                       `json:"calls,omitempty"`    // invocations of open visits
	Tries    map[workflow.VisitID]map[string]int            `json:"tries,omitempty"`    // invocations of open visits, by key
	Live     map[string]liveCall                            `json:"live,omitempty"`     // reserved, not settled
	Steering map[workflow.VisitID][]string                  `json:"steering,omitempty"` // texts claimed by open visits
	Texts    map[int64]string                               `json:"texts,omitempty"`    // steering not claimed yet, by seq
	Warnings []string                                       `json:"warnings,omitempty"`
	Ended    *workflow.Ended                                `json:"ended,omitempty"`
	ForkOf   workflow.RunID                                 `json:"forkOf,omitempty"`
	Cut      int64                                          `json:"cut,omitempty"`
	AI       map[workflow.VisitID]bool                      `json:"ai,omitempty"`   // open AI visits
	Dead     []Dead                                         `json:"dead,omitempty"` // AI visits that failed
	Lost     int                                            `json:"lost,omitempty"` // invocations whose result is unknown
}

// liveCall is an invocation on its way.
type liveCall struct {
	Visit      workflow.VisitID `json:"visit"`
	Node       string           `json:"node"`
	Number     int              `json:"number"`
	Attempt    int              `json:"attempt"`
	Invocation int              `json:"invocation"`
	Key        string           `json:"key"`
}

func newMemory() memory {
	return memory{
		Asked:  map[workflow.VisitID][]workflow.Question{},
		Timers: map[workflow.VisitID]workflow.Time{}, Children: map[workflow.VisitID]workflow.ChildStarted{},
		Memos: map[workflow.VisitID]map[string]workflow.Value{}, Calls: map[workflow.VisitID]int{},
		Tries: map[workflow.VisitID]map[string]int{}, Live: map[string]liveCall{},
		AI: map[workflow.VisitID]bool{}, Steering: map[workflow.VisitID][]string{}, Texts: map[int64]string{},
	}
}

// begin makes Program and Gate of a run from its first event.
func (s *state) begin(e workflow.Event, programs map[string]workflow.Factory) error {
	start, ok := e.Payload.(*workflow.RunStarted)
	if !ok {
		return &workflow.Damage{Run: s.id, Seq: e.Seq, Err: fmt.Errorf("the history begins with %s", e.Type())}
	}
	f := programs[start.Kind]
	if f == nil {
		return workflow.Errorf(workflow.CodeResumeIncompatible, "run %s is a %q workflow, which this program does not know", s.id, start.Kind)
	}
	prog, err := f.New(s.id, *start, s.values)
	if err != nil {
		return err
	}
	s.start, s.begun, s.prog, s.memory = *start, e.At, prog, newMemory()
	s.gate = admission.New(start.Options)
	return nil
}

// apply folds one event into everything. Wishes that the event leads to are
// collected by decide.
func (s *state) apply(e workflow.Event, programs map[string]workflow.Factory) error {
	if s.prog == nil {
		if err := s.begin(e, programs); err != nil {
			return err
		}
	}
	if err := s.prog.Apply(e); err != nil {
		return err
	}
	s.gate.Apply(e)
	s.note(e)
	s.seq, s.last = e.Seq, e.At
	return nil
}

// decide takes the Program's new wishes: visits go to the Gate, the others wait
// for their event.
func (s *state) decide() error {
	n := len(s.wishes)
	var err error
	if s.wishes, err = s.prog.Decide(s.wishes); err != nil {
		return err
	}
	kept := s.wishes[:n]
	for _, c := range s.wishes[n:] {
		if sv, ok := c.(workflow.StartVisit); ok {
			s.gate.Want(sv)
			continue
		}
		kept = append(kept, c)
	}
	s.wishes = kept
	return nil
}

// replay is apply for a recorded event: wishes that it answers are struck.
func (s *state) replay(e workflow.Event, programs map[string]workflow.Factory) error {
	if err := s.apply(e, programs); err != nil {
		return err
	}
	if len(s.wishes) > 0 {
		s.strike(e)
	}
	return s.decide()
}

func (s *state) strike(e workflow.Event) {
	s.wishes = slices.DeleteFunc(s.wishes, func(c workflow.Command) bool {
		switch c.(type) {
		case workflow.SettleVisit:
			return e.Type() == workflow.TypeSettled && c.CommandID() == e.ID
		case workflow.StartTimer:
			return e.Type() == workflow.TypeTimerStarted && c.CommandID() == e.ID
		case workflow.StartChild:
			return e.Type() == workflow.TypeChildStarted && c.CommandID() == e.ID
		case workflow.Complete:
			return e.Type() == workflow.TypeEnded
		}
		return false
	})
}

// note folds an event into the driver's own memory.
func (s *state) note(e workflow.Event) {
	m, v := &s.memory, e.VisitID()
	switch p := e.Payload.(type) {
	case *workflow.Admitted:
		s.noteAdmitted(v, p)
	case *workflow.InvocationReserved:
		m.Calls[v] = e.Invocation
		tries := m.Tries[v]
		if tries == nil {
			tries = map[string]int{}
			m.Tries[v] = tries
		}
		tries[p.Key]++
		m.Live[callID(v, e.Invocation)] = liveCall{
			Visit: v, Node: e.Node, Number: e.Visit, Attempt: e.Attempt, Invocation: e.Invocation, Key: p.Key,
		}
	case *workflow.InvocationSettled:
		s.noteCall(v, e, p)
	case *workflow.Settled:
		s.noteSettled(v, p)
	case *workflow.QuestionOpened:
		m.Asked[v] = append(m.Asked[v], p.Question)
	case *workflow.QuestionAnswered:
		for i := range m.Asked[v] {
			if q := &m.Asked[v][i]; q.ID == p.Question {
				a := p.Answer
				q.Answer = &a
			}
		}
	case *workflow.TimerStarted:
		m.Timers[v] = p.Until
	case *workflow.TimerFired:
		delete(m.Timers, v)
	case *workflow.ChildStarted:
		m.Children[v] = *p
	case *workflow.ChildEnded:
		delete(m.Children, v)
	default:
		s.noteRun(e)
	}
}

// noteRun folds the events about the run as a whole.
func (s *state) noteRun(e workflow.Event) {
	m := &s.memory
	switch p := e.Payload.(type) {
	case *workflow.Steered:
		m.Texts[e.Seq] = p.Text
	case *workflow.LimitRaised:
		m.Ended = nil
	case *workflow.Forked:
		m.ForkOf, m.Cut, m.Ended = p.Parent, p.Cut, nil
		m.Asked, m.Children = map[workflow.VisitID][]workflow.Question{}, map[workflow.VisitID]workflow.ChildStarted{}
		m.Timers, m.Live = map[workflow.VisitID]workflow.Time{}, map[string]liveCall{}
		s.wishes = slices.DeleteFunc(s.wishes, func(c workflow.Command) bool {
			_, child := c.(workflow.StartChild) // is given again in the fork's own name
			_, result := c.(workflow.SettleVisit)
			return child || result && c.CommandID() == string(p.Patch.Reopen)
		})
	case *workflow.Ended:
		m.Ended = p
		s.warn(p.Warnings...)
	}
}

func (s *state) noteAdmitted(v workflow.VisitID, p *workflow.Admitted) {
	if p.AI {
		s.memory.AI[v] = true
	}
	if p.Continued || len(p.Steered) == 0 {
		return
	}
	var texts []string
	for _, seq := range p.Steered {
		texts = append(texts, s.memory.Texts[seq])
		delete(s.memory.Texts, seq)
	}
	s.memory.Steering[v] = append(s.memory.Steering[v], texts...)
}

func (s *state) noteCall(v workflow.VisitID, e workflow.Event, p *workflow.InvocationSettled) {
	m := &s.memory
	delete(m.Live, callID(v, e.Invocation))
	if p.Status == workflow.InvocationLost {
		m.Lost++
	}
	if p.Status == workflow.InvocationOK {
		memos := m.Memos[v]
		if memos == nil {
			memos = map[string]workflow.Value{}
			m.Memos[v] = memos
		}
		memos[p.Key] = p.Memo
	}
}

// maxDead bounds the list of failed AI visits.
const maxDead = 100

func (s *state) noteSettled(v workflow.VisitID, p *workflow.Settled) {
	m := &s.memory
	s.warn(p.Warnings...)
	if m.AI[v] && p.Status == workflow.VisitFailed && p.Error != nil && len(m.Dead) < maxDead {
		m.Dead = append(m.Dead, Dead{Visit: v, Failure: *p.Error})
	}
	s.forget(v)
}

func (s *state) warn(w ...string) {
	for _, text := range w {
		if !slices.Contains(s.memory.Warnings, text) && len(s.memory.Warnings) < 50 {
			s.memory.Warnings = append(s.memory.Warnings, text)
		}
	}
}

// forget drops what only an open visit needs.
func (s *state) forget(v workflow.VisitID) {
	m := &s.memory
	delete(m.Asked, v)
	delete(m.Timers, v)
	delete(m.Memos, v)
	delete(m.Calls, v)
	delete(m.Tries, v)
	delete(m.Steering, v)
	delete(m.AI, v)
}

// openQuestions returns the questions without an answer, oldest first.
func (s *state) openQuestions() []workflow.Question {
	var out []workflow.Question
	for _, all := range s.memory.Asked {
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

func callID(v workflow.VisitID, n int) string { return string(v) + "/" + strconv.Itoa(n) }
