package history

import (
	"cmp"
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

// note folds an event into the driver's own memory.
func (s *State) note(e workflow.Event) {
	m, v := &s.Memory, e.VisitID()
	defer s.noteAgents(v, e)
	switch p := e.Payload.(type) {
	case *workflow.Admitted:
		s.noteAdmitted(v, p)
	case *workflow.AgentStarted:
		if m.Agents[v] == nil {
			m.Agents[v] = &ledger.Tree{}
		}
	case *workflow.InvocationReserved:
		m.Calls[v] = e.Invocation
		tries := m.Tries[v]
		if tries == nil {
			tries = map[string]int{}
			m.Tries[v] = tries
		}
		tries[p.Key]++
		m.Live[CallID(v, e.Invocation)] = LiveCall{
			Visit: v, Node: e.Node, Number: e.Visit, Attempt: e.Attempt, Invocation: e.Invocation, Key: p.Key,
		}
	case *workflow.InvocationSettled:
		s.noteCall(v, e, p)
	case *workflow.Settled:
		s.noteSettled(v, e.Node, p)
	case *workflow.QuestionOpened:
		m.Asked[v] = append(m.Asked[v], p.Question)
	case *workflow.QuestionAnswered:
		for i := range m.Asked[v] {
			if q := &m.Asked[v][i]; q.ID == p.Question {
				a := p.Answer
				q.Answer = &a
			}
		}
	case *workflow.StepIntended:
		keep(m.Intents, v, p.Key, p.Intent)
	case *workflow.StepSettled:
		delete(m.Intents[v], p.Key)
		keep(m.Memos, v, p.Key, p.Memo)
		s.noteDenied(v, e.Node, p.Denied)
		s.noteMade(e.Node, p.Made)
	case *workflow.EvidenceKept:
		s.noteEvidence(e, p)
	case *workflow.TimerStarted:
		m.Timers[v] = p.Until
	case *workflow.TimerFired:
		delete(m.Timers, v)
	case *workflow.ChildStarted:
		m.child(v, p)
	case *workflow.ChildEnded:
		delete(m.Children, v) // the child of a step is not there
		m.Made = withMade(m.Made, p.Run, p.Made)
	case *workflow.Lost:
		if _, cancelled := s.Gate.Halted(); cancelled && p.Uncertain {
			s.warn(e.Node + " was writing when the run was cancelled: whether the write happened is not known")
		}
	default:
		s.noteRun(e)
	}
}

// noteRun folds the events about the run as a whole.
func (s *State) noteRun(e workflow.Event) {
	m := &s.Memory
	switch p := e.Payload.(type) {
	case *workflow.Steered:
		m.Texts[e.Seq] = p.Text
	case *workflow.AgentSkipped:
		if m.Skipped[p.Visit] == nil {
			m.Skipped[p.Visit] = map[string]string{}
		}
		m.Skipped[p.Visit][p.Key] = p.Reason
	case *workflow.SteerHeard:
		s.noteHeard(e.VisitID(), p)
	case *workflow.LimitRaised:
		m.Ended = nil
	case *workflow.Progress:
		if from := p.EditedFrom(); from != "" {
			s.ownMade(from)
		}
	case *workflow.Forked:
		s.Begun = e.At
		m.ForkOf, m.Cut, m.Ended, s.Begun = p.Parent, p.Cut, nil, e.At
		s.ownMade(cmp.Or(s.Start.Root, p.Parent))
		s.Start.Parent, s.Start.Root = nil, "" // a fork of a child stands alone
		m.Asked, m.Children = map[workflow.VisitID][]workflow.Question{}, map[workflow.VisitID]workflow.ChildStarted{}
		m.Timers, m.Live = map[workflow.VisitID]workflow.Time{}, map[string]LiveCall{}
		for _, tree := range m.Agents {
			tree.Live = nil // calls of the parent, which goes on with them
		}
		m.Intents = map[workflow.VisitID]map[string]workflow.Value{} // those of the parent, which goes on with them
		s.Wishes = slices.DeleteFunc(s.Wishes, func(c workflow.Command) bool {
			_, child := c.(workflow.StartChild) // is given again in the fork's own name
			_, result := c.(workflow.SettleVisit)
			return child || result && c.CommandID() == string(p.Patch.Reopen)
		})
	case *workflow.Ended:
		m.Ended = p
		s.warn(p.Warnings...)
	}
}

func (s *State) noteAdmitted(v workflow.VisitID, p *workflow.Admitted) {
	s.Memory.Ended = nil // a resume may lead past an end that was not for good
	if p.AI {
		s.Memory.AI[v] = true
	}
	if p.Continued || len(p.Steered) == 0 {
		return
	}
	var texts []string
	for _, seq := range p.Steered {
		texts = append(texts, s.Memory.Texts[seq])
		delete(s.Memory.Texts, seq)
	}
	s.Memory.Steering[v] = append(s.Memory.Steering[v], texts...)
}

// noteHeard moves advice to the agent that heard it.
func (s *State) noteHeard(v workflow.VisitID, p *workflow.SteerHeard) {
	m := &s.Memory
	var texts []string
	for _, seq := range p.Seqs {
		texts = append(texts, m.Texts[seq])
		delete(m.Texts, seq)
	}
	if m.Heard[v] == nil {
		m.Heard[v] = map[string][]string{}
	}
	m.Heard[v][p.Key] = texts
}

// noteAgents folds an event into the accounts of agents.
func (s *State) noteAgents(v workflow.VisitID, e workflow.Event) {
	if len(s.Memory.Agents) == 0 {
		return
	}
	if _, raised := e.Payload.(*workflow.LimitRaised); !raised {
		if tree := s.Memory.Agents[v]; tree != nil {
			tree.Apply(e, s.Gate.Active(e.At))
		}
		return
	}
	for _, tree := range s.Memory.Agents {
		tree.Apply(e, 0)
	}
}

// maxDenials is how many denials a run shows; all are in its history.
const maxDenials = 20

func (s *State) noteDenied(v workflow.VisitID, node string, d *workflow.Denial) {
	m := &s.Memory
	if d == nil {
		return
	}
	m.Denied++
	m.Denials = append(m.Denials[max(0, len(m.Denials)-maxDenials+1):len(m.Denials):len(m.Denials)], Denial{Visit: v, Node: node, Denial: *d})
}

// maxMade bounds the list of artifacts; the collection has them all.
const maxMade = 100

func (s *State) noteMade(node string, made *workflow.Made) {
	if made != nil {
		s.Memory.Made = withMade(s.Memory.Made, "", []workflow.MadeBy{{Made: *made, Node: node}})
	}
}

// withMade adds to a list what a child run wrote; "" is the run itself. Of each
// artifact the last version stays.
func withMade(list []workflow.MadeBy, run workflow.RunID, more []workflow.MadeBy) []workflow.MadeBy {
	for _, made := range more {
		made.Run = cmp.Or(made.Run, run)
		same := func(x workflow.MadeBy) bool { return x.Collection == made.Collection && x.ID == made.ID }
		if i := slices.IndexFunc(list, same); i >= 0 && list[i].Version > made.Version {
			continue
		}
		list = append(slices.DeleteFunc(slices.Clone(list), same), made)
	}
	return list[max(0, len(list)-maxMade):]
}

// ownMade says of the artifacts of a fork, or of a run that goes on from another
// one, that they are in its own collection, which begins with those of that one.
func (s *State) ownMade(parent workflow.RunID) {
	own := slices.Clone(s.Memory.Made)
	for i := range own {
		if own[i].Collection == string(parent) {
			own[i].Collection = string(s.ID)
		}
	}
	s.Memory.Made = own
}

func (s *State) noteCall(v workflow.VisitID, e workflow.Event, p *workflow.InvocationSettled) {
	m := &s.Memory
	delete(m.Live, CallID(v, e.Invocation))
	if p.Status == workflow.InvocationLost {
		m.Lost++
	}
	if p.Status == workflow.InvocationOK {
		keep(m.Memos, v, p.Key, p.Memo)
	}
}

func keep(all map[workflow.VisitID]map[string]workflow.Value, v workflow.VisitID, key string, value workflow.Value) {
	if all[v] == nil {
		all[v] = map[string]workflow.Value{}
	}
	all[v][key] = value
}

// maxDead bounds the list of failed AI visits.
const maxDead = 100

func (s *State) noteSettled(v workflow.VisitID, node string, p *workflow.Settled) {
	m := &s.Memory
	s.warn(p.Warnings...)
	s.noteMade(node, p.Made)
	if m.AI[v] && p.Status == workflow.VisitFailed && p.Error != nil && len(m.Dead) < maxDead {
		m.Dead = append(m.Dead, Dead{Visit: v, Failure: *p.Error})
	}
	s.forget(v)
}

func (s *State) warn(w ...string) {
	for _, text := range w {
		if !slices.Contains(s.Memory.Warnings, text) && len(s.Memory.Warnings) < 50 {
			s.Memory.Warnings = append(s.Memory.Warnings, text)
		}
	}
}

// forget drops what only an open visit needs.
func (s *State) forget(v workflow.VisitID) {
	m := &s.Memory
	delete(m.Asked, v)
	delete(m.Timers, v)
	delete(m.Agents, v)
	delete(m.Heard, v)
	delete(m.Skipped, v)
	delete(m.Memos, v)
	delete(m.Intents, v)
	delete(m.Calls, v)
	delete(m.Tries, v)
	delete(m.Steering, v)
	delete(m.AI, v)
	delete(m.Kept, v)
}

// maxEvidence bounds the list of receipts; the history has them all.
const maxEvidence = 50

func (s *State) noteEvidence(e workflow.Event, p *workflow.EvidenceKept) {
	m := &s.Memory
	kept := *p
	kept.Data = workflow.Value{}
	m.Kept[e.VisitID()] = kept
	switch {
	case p.Certifies():
		m.Proof = &workflow.Verified{Receipt: p.Receipt, Candidate: p.Candidate}
	case m.Proof != nil && m.Proof.Receipt == p.Receipt:
		m.Proof = nil // it was contradicted
	}
	entry := Evidence{Visit: e.VisitID(), Node: e.Node, At: e.At, EvidenceKept: kept}
	if i := slices.IndexFunc(m.Evidence, func(x Evidence) bool { return x.Receipt == p.Receipt }); i >= 0 {
		m.Evidence[i] = entry
		return
	}
	m.Evidence = append(m.Evidence, entry)
	if len(m.Evidence) > maxEvidence {
		m.Evidence = slices.Delete(m.Evidence, 0, 1)
	}
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
