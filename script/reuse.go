package script

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/tenonrun/tenon/workflow"
)

// Call is a call that a script made, in start order.
type Call struct {
	ID         workflow.VisitID
	Kind       string
	Scope      string
	Digest     workflow.Digest // of kind, prompt and options
	Occurrence int             // of the digest in the scope, from 1
	Label      string
	Phase      string
	Settled    bool
	Failed     bool
	Writes     bool  // it may change files
	Tokens     int64 // that it took, in this run or where its result comes from
	Output     workflow.Value
	Reused     string // how its result was taken over; "" when it was not
}

// Ways in which a call takes over a result.
const (
	ReusedInPlace = "in place" // from the same call
	ReusedMoved   = "moved"    // from an equal call elsewhere in the script
)

// Journal is the Program of a script, to those who ask what it did.
type Journal interface {
	// Calls are all calls so far, in start order; those made at the very end of a
	// run that is over may be left out.
	Calls() []Call
}

// Calls implements Journal.
func (p *program) Calls() []Call {
	_ = p.goOn() // an error comes again with the next event
	return slices.Clone(p.records)
}

// Carried is a result that can be taken over.
type Carried struct {
	Kind       string          `json:"kind"`
	Scope      string          `json:"scope,omitempty"`
	Digest     workflow.Digest `json:"digest"`
	Occurrence int             `json:"occurrence"`
	Tokens     int64           `json:"tokens,omitempty"` // that it took
	Output     workflow.Value  `json:"output"`
	used       bool
	moved      bool
	rank       int
}

// Carry returns what a run of an edited script can take over, as the Calls of a
// workflow.Reuse. calls are those of the earlier run.
func Carry(mode string, calls []Call) (json.RawMessage, error) {
	if mode != workflow.ReusePrefix && mode != workflow.ReuseUnchanged {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "reuse %q is not known", mode).WithHint("it is prefix or unchanged")
	}
	out := []Carried{}
	for _, c := range calls {
		good := c.Settled && !c.Failed
		switch {
		case mode == workflow.ReusePrefix && !good:
			return json.Marshal(out)
		case !good, mode == workflow.ReuseUnchanged && c.Kind != kindAgent && c.Kind != kindQuestion:
			continue // a command may see what a changed call leaves behind
		}
		out = append(out, Carried{Kind: c.Kind, Scope: c.Scope, Digest: c.Digest, Occurrence: c.Occurrence, Tokens: c.Tokens, Output: c.Output})
	}
	return json.Marshal(out)
}

// reuse is what a run takes over.
type reuse struct {
	mode    string
	broken  bool // prefix: a call has missed, all later ones are live
	places  map[string]*Carried
	digests map[string][]*Carried
	waiting []*call
	flying  bool
}

func newReuse(r *workflow.Reuse, values workflow.Values) (*reuse, error) {
	raw, err := r.Calls.Load(values)
	if err != nil {
		return nil, err
	}
	var all []*Carried
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("decoding its calls: %w", err)
	}
	u := &reuse{mode: r.Mode, places: map[string]*Carried{}, digests: map[string][]*Carried{}}
	for i, c := range all {
		c.rank = i
		u.places[placeOf(c.Scope, c.Digest, c.Occurrence)] = c
		u.digests[string(c.Digest)] = append(u.digests[string(c.Digest)], c)
	}
	return u, nil
}

func placeOf(scope string, d workflow.Digest, occurrence int) string {
	return scope + "\x00" + string(d) + "\x00" + strconv.Itoa(occurrence)
}

// find returns the result that a call can take over, nil when it runs live.
func (u *reuse) find(c Call) *Carried {
	if u.broken {
		return nil
	}
	if old := u.places[placeOf(c.Scope, c.Digest, c.Occurrence)]; old != nil && !old.used {
		old.used = true
		return old
	}
	if u.mode == workflow.ReusePrefix {
		u.broken = true
		return nil
	}
	for _, old := range u.digests[string(c.Digest)] {
		if !old.used {
			old.used, old.moved = true, true
			return old
		}
	}
	return nil
}

// left counts the results that may still be taken over.
func (u *reuse) left() (n int) {
	if u.broken {
		return 0
	}
	for _, list := range u.digests {
		for _, c := range list {
			if !c.used {
				n++
			}
		}
	}
	return n
}

// wait queues a call whose result is taken over.
func (u *reuse) wait(k *call) { u.waiting = append(u.waiting, k) }

// next returns the call whose result is taken over next: one at a time, in the
// order in which the earlier run made them.
func (u *reuse) next() *call {
	if u.flying || len(u.waiting) == 0 {
		return nil
	}
	at := 0
	for i, k := range u.waiting {
		if k.taken.rank < u.waiting[at].taken.rank {
			at = i
		}
	}
	k := u.waiting[at]
	u.waiting = slices.Delete(u.waiting, at, at+1)
	u.flying = true
	return k
}
