package live

import (
	"slices"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// state is what an item is doing, for people.
type state int

const (
	queued    state = iota // between two steps: its next one waits for its turn
	running                //
	retrying               // failed, and is tried again at until
	limited                // its provider asked to be left alone until until
	sleeping               // a timer, until until
	listening              // waits for a signal
	asking                 // a person has to answer
	unsure                 // a write may have happened: a person has to decide
	parked                 // a limit or a provider stopped it
	stopped                // the process or a person stopped it
	done
	failed
)

// Kept closed kids of one parent.
const (
	keepDone   = 32
	keepFailed = 64
)

// kindRun and kindBranch are the kinds of items that are no visits.
const (
	kindRun    = "run"
	kindBranch = "branch"
)

// item is a row that can be drawn: a run, a visit, or a branch of a map or
// parallel.
type item struct {
	key     key
	name    string // last step of its id, "fix#2"
	node    string // path of node names
	kind    string // of the node, kindRun or kindBranch
	parent  *item
	kids    []*item // open ones and the newest closed ones, by arrival
	shut    tally   // all closed kids
	total   int     // kids there will be; 0 is not known
	state   state
	since   workflow.Time
	until   workflow.Time
	took    time.Duration
	attempt int
	model   string
	note    string
	step    string // branches: the step at which it failed
	ask     *workflow.Question
	spent   workflow.Totals // with everything below it
	child   workflow.RunID  // the run a workflow node started
	tail    tail
	urgency int // of the most urgent thing below; set before drawing
}

// tally counts closed kids.
type tally struct{ done, failed int }

func (i *item) open() bool { return i.state < done }

// holds reports whether the item is made of others.
func (i *item) holds() bool {
	switch i.kind {
	case workflow.KindComponent, workflow.KindMap, workflow.KindParallel, workflow.KindWorkflow, kindRun, kindBranch:
		return true
	}
	return false
}

// routes reports whether the item only routes: not worth a row once it is done.
func (i *item) routes() bool {
	switch i.kind {
	case workflow.KindCondition, workflow.KindAssign, workflow.KindEnd, workflow.KindJoin:
		return true
	}
	return false
}

// fans reports whether the kids are branches.
func (i *item) fans() bool { return i.kind == workflow.KindMap || i.kind == workflow.KindParallel }

// spend charges a call to the item and all it is part of.
func (i *item) spend(u workflow.Usage) {
	for ; i != nil; i = i.parent {
		i.spent.Add(u)
	}
}

// drop takes a kid out of the tree without a trace.
func (i *item) drop(kid *item) {
	if at := slices.Index(i.kids, kid); at >= 0 {
		i.kids = slices.Delete(i.kids, at, at+1)
	}
}

// count counts a kid that has just closed and forgets the oldest closed kids.
func (i *item) count(kid *item) {
	most, n := keepDone, &i.shut.done
	if kid.state == failed {
		most, n = keepFailed, &i.shut.failed
	}
	*n++
	if *n <= most {
		return
	}
	kept := 0
	for _, k := range i.kids {
		if k.state == kid.state {
			kept++
		}
	}
	if kept > most {
		at := slices.IndexFunc(i.kids, func(k *item) bool { return k.state == kid.state })
		i.kids = slices.Delete(i.kids, at, at+1)
	}
}

// settle closes the item and what is still open below it.
func (i *item) settle(s state) {
	i.state, i.tail, i.ask, i.until = s, tail{}, nil, 0
	if i.kind == kindBranch {
		i.kids, i.shut = nil, tally{} // its row tells the one failure
		return
	}
	kids := i.kids[:0]
	for _, k := range i.kids {
		if k.state == failed && (s == failed || i.fans()) || i.kind == workflow.KindParallel && k.state == done || i.kind == kindRun {
			kids = append(kids, k)
		}
	}
	i.kids = slices.Clip(kids)
}
