package history

import (
	"cmp"
	"slices"

	"github.com/tenonrun/tenon/ledger"
	"github.com/tenonrun/tenon/workflow"
)

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
