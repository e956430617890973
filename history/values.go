package history

import (
	"slices"
	"sync"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Layered reads values from what is not appended yet, then from the store. The
// loop writes it; pieces read it too.
type Layered struct {
	below workflow.Values
	mu    sync.Mutex
	fresh map[workflow.Digest][]byte
}

// NewLayered returns a Layered with nothing above the store.
func NewLayered(below workflow.Values) *Layered {
	return &Layered{below: below, fresh: map[workflow.Digest][]byte{}}
}

// Load implements workflow.Values.
func (l *Layered) Load(d workflow.Digest) ([]byte, error) {
	l.mu.Lock()
	raw, ok := l.fresh[d]
	l.mu.Unlock()
	if ok {
		return raw, nil
	}
	return l.below.Load(d)
}

// Put keeps a text and returns its digest.
func (l *Layered) Put(raw []byte) workflow.Digest {
	d := workflow.Digest(canon.Sum(raw))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh[d] = raw
	return d
}

// Take hands out what is not appended yet; Clear forgets it after the append.
func (l *Layered) Take() []store.Blob {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]store.Blob, 0, len(l.fresh))
	for d, raw := range l.fresh {
		out = append(out, store.Blob{Digest: d, Data: raw})
	}
	return out
}

// Clear forgets what was appended.
func (l *Layered) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.fresh)
}

// Sink prepares payloads for the history: secrets are redacted, and values over
// the inline limit become references.
type Sink struct {
	Redact *text.Redactor
	Values *Layered
	Bytes  int // of inline values and blobs, roughly what they add to the log
}

func (s *Sink) value(v *workflow.Value) {
	if v.JSON == nil {
		return
	}
	raw := v.JSON
	if len(raw) > 8 { // shorter than any secret
		raw = s.Redact.RedactJSON(raw)
	}
	s.Bytes += len(raw)
	if len(raw) > workflow.InlineLimit {
		*v = workflow.Value{Digest: s.Values.Put(raw), Size: len(raw)}
		return
	}
	v.JSON = raw
}

func (s *Sink) members(m map[string]workflow.Value) map[string]workflow.Value {
	if len(m) == 0 {
		return m
	}
	out := make(map[string]workflow.Value, len(m))
	for k, v := range m {
		s.value(&v)
		out[k] = v
	}
	return out
}

func (s *Sink) text(t *string) {
	if len(*t) >= 8 { // shorter than any secret
		*t = s.Redact.Redact(*t)
	}
	s.Bytes += len(*t)
}

func (s *Sink) denial(d *workflow.Denial) {
	if d == nil {
		return
	}
	for _, t := range []*string{&d.Path, &d.Canonical, &d.Rule, &d.Reason, &d.Message} {
		s.text(t)
	}
}

func (s *Sink) made(m **workflow.Made) {
	if *m == nil {
		return
	}
	c := **m
	for _, t := range []*string{&c.Title, &c.Mime, &c.Language} {
		s.text(t)
	}
	*m = &c
}

func (s *Sink) failure(f *workflow.Failure) {
	if f != nil {
		s.text(&f.Message)
	}
}

// Clean prepares a payload in place. It is the payload's only owner; lists that
// a Program may still hold are copied.
func (s *Sink) Clean(p workflow.Payload) {
	switch p := p.(type) {
	case *workflow.RunStarted:
		s.value(&p.Inputs)
		s.value(&p.Launch.Tickets)
		s.value(&p.Launch.Specs)
		s.value(&p.Options.Session)
		if r := p.Options.Script.Reuse; r != nil {
			own := *r
			s.value(&own.Calls)
			p.Options.Script.Reuse = &own
		}
	case *workflow.Admitted:
		s.text(&p.Label)
		s.text(&p.Group)
	case *workflow.Settled:
		s.settled(p)
	case *workflow.InvocationReserved:
		s.text(&p.RouteReason)
	case *workflow.InvocationSettled:
		s.value(&p.Memo)
		s.text(&p.Message)
	case *workflow.Progress:
		s.text(&p.Message)
		s.value(&p.Data)
	case *workflow.StepIntended:
		s.value(&p.Intent)
	case *workflow.StepSettled:
		s.value(&p.Memo)
		s.text(&p.About)
		s.text(&p.Why)
		s.denial(p.Denied)
		s.made(&p.Made)
	case *workflow.EvidenceKept:
		s.text(&p.Reason)
		s.value(&p.Data)
	case *workflow.Retrying:
		s.text(&p.Message)
	case *workflow.Lost:
		s.text(&p.Message)
	case *workflow.Refused:
		s.text(&p.Message)
	case *workflow.BreakerOpened:
		s.text(&p.Message)
	case *workflow.QuestionOpened:
		s.question(&p.Question)
	case *workflow.QuestionAnswered:
		s.value(&p.Answer.Value)
		s.text(&p.Answer.Reason)
	default:
		s.aboutRun(p)
	}
}

// aboutRun cleans the facts about the run and its children.
func (s *Sink) aboutRun(p workflow.Payload) {
	switch p := p.(type) {
	case *workflow.ChildStarted:
		s.value(&p.Inputs)
	case *workflow.ChildEnded:
		s.value(&p.Outputs)
		p.Reasons = s.texts(p.Reasons)
		p.Made = slices.Clone(p.Made)
		for i := range p.Made {
			made := &p.Made[i].Made
			s.made(&made)
			p.Made[i].Made = *made
		}
	case *workflow.Signal:
		s.value(&p.Value)
	case *workflow.AgentSkipped:
		s.text(&p.Reason)
	case *workflow.Steered:
		s.text(&p.Text)
	case *workflow.CancelRequested:
		s.text(&p.Reason)
	case *workflow.Forked:
		s.value(&p.Request)
		p.Patch.Vars, p.Patch.Outputs, p.Patch.Answers = s.members(p.Patch.Vars), s.members(p.Patch.Outputs), s.members(p.Patch.Answers)
	case *workflow.Ended:
		p.Outputs = s.members(p.Outputs)
		p.Completion = s.completion(p.Completion)
		p.Failures = slices.Clone(p.Failures)
		for i := range p.Failures {
			s.failure(&p.Failures[i])
		}
		p.Warnings = s.texts(p.Warnings)
	}
}

func (s *Sink) settled(p *workflow.Settled) {
	s.value(&p.Output)
	p.Vars = s.members(p.Vars)
	s.value(&p.Private)
	s.text(&p.History)
	s.failure(p.Error)
	s.made(&p.Made)
	p.Answers = slices.Clone(p.Answers)
	for i := range p.Answers {
		s.value(&p.Answers[i].Value)
	}
	p.Completion = s.completion(p.Completion)
	p.Warnings = s.texts(p.Warnings)
}

// question cleans what a person is shown. An answer is checked against the
// schema and the options as they are then.
func (s *Sink) question(q *workflow.Question) {
	s.text(&q.Text)
	q.Options = s.texts(q.Options)
	if len(q.Schema) > 0 {
		q.Schema = s.Redact.RedactJSON(q.Schema)
		s.Bytes += len(q.Schema)
	}
}

func (s *Sink) completion(c *workflow.Completion) *workflow.Completion {
	if c == nil {
		return nil
	}
	out := *c
	out.Reasons = s.texts(c.Reasons)
	return &out
}

func (s *Sink) texts(all []string) []string {
	all = slices.Clone(all)
	for i := range all {
		s.text(&all[i])
	}
	return all
}
