package permission

import (
	"context"
	"sync"
)

// Args are the arguments of a call, with an identity: two pointers that are equal
// are the same arguments, two that are not are never taken for it.
type Args struct {
	Values map[string]any
	From   *Args // what these were read from; nil when nothing was changed
}

// ArgsReader reads arguments as a tool does. It returns nil when it changes
// nothing. A nil reader changes nothing.
type ArgsReader func(values map[string]any) map[string]any

// AsToolReads gives arguments as the tool reads them: a itself when nothing
// changes, so that what was read for a still holds.
func AsToolReads(read ArgsReader, a *Args) *Args {
	if read == nil {
		return a
	}
	values := read(a.Values)
	if values == nil {
		return a
	}
	return &Args{Values: values, From: a}
}

// CallReading is the reading of one call, taken for one Args.
type CallReading struct {
	of         *Args
	Protective Reading
	Declared   *Reading // nil when the request declares nothing; may be &Protective
}

// Describes reports whether the reading was taken for these very arguments.
func (r *CallReading) Describes(a *Args) bool { return r != nil && r.of == a }

// Request is a call on its way through several judges.
type Request struct {
	ID      string
	Call    Call
	Args    *Args
	Reading *CallReading // taken before; counts only for these Args
}

// Leg takes the readings of calls, one for each call however many judges ask. The
// next call reads the disk again.
type Leg struct {
	judge *Judge
	bases Bases
	mu    sync.Mutex
	last  map[string]*CallReading
}

// NewLeg starts a leg. The bases are for requests that have none.
func NewLeg(j *Judge, b Bases) *Leg {
	return &Leg{judge: j, bases: b, last: map[string]*CallReading{}}
}

// Use takes another judge, after a rule was added.
func (l *Leg) Use(j *Judge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.judge = j
}

// Stamp takes the reading of a request. It returns nil when there is nothing to
// do: no rule is about paths, the request carries its reading, or it has no
// arguments.
func (l *Leg) Stamp(ctx context.Context, r *Request) *CallReading {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Args == nil || r.Reading.Describes(r.Args) || !l.judge.paths(r.Call.Tool) {
		return nil
	}
	if got := l.last[r.ID]; r.ID != "" && got.Describes(r.Args) {
		return got
	}
	got := l.judge.take(ctx, r, l.bases)
	if r.ID != "" {
		l.last[r.ID] = got
	}
	return got
}

// Done forgets a call.
func (l *Leg) Done(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, id)
}

func (j *Judge) paths(tool string) bool {
	for i := range j.policies {
		if j.policies[i].needsViews(tool) {
			return true
		}
	}
	return false
}

// take reads both targets of a request, and asks the environment once when they
// select the same path.
func (j *Judge) take(ctx context.Context, r *Request, bases Bases) *CallReading {
	if r.Call.Bases != (Bases{}) {
		bases = r.Call.Bases
	}
	got := &CallReading{of: r.Args}
	got.Protective = Place(Select(r.Call.Protective, r.Args.Values, bases))
	got.Protective.resolve(ctx, j.env, r.Call.Identity)
	if r.Call.Declared == nil {
		return got
	}
	s := Select(r.Call.Declared, r.Args.Values, bases)
	if s == Select(r.Call.Protective, r.Args.Values, bases) {
		got.Declared = &got.Protective
		return got
	}
	declared := Place(s)
	declared.resolve(ctx, j.env, false)
	got.Declared = &declared
	return got
}

// JudgeRequest decides about a request by its reading, which must be of its Args;
// a reading of others does not count.
func (j *Judge) JudgeRequest(ctx context.Context, r *Request) Verdict {
	if !r.Reading.Describes(r.Args) {
		c := r.Call
		if r.Args != nil {
			c.Args = r.Args.Values
		}
		return j.Judge(ctx, &c)
	}
	q := question{tool: r.Call.Tool, protective: r.Reading.Protective, shared: r.Reading.Declared == &r.Reading.Protective}
	if t := r.Call.Protective; t != nil {
		q.op = t.Op
	}
	if !q.shared && r.Reading.Declared != nil {
		q.declared = *r.Reading.Declared
	}
	return j.decide(ctx, &q)
}
