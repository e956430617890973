package live

import (
	"strings"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/workflow"
)

// Tree is what a driven run and its child runs look like now: a fold of their
// events and signs of life. The zero value is empty. One goroutine uses it at a
// time.
type Tree struct {
	roots    []*item
	runs     map[workflow.RunID]*item // the run's row, or the visit that started it
	seqs     map[workflow.RunID]int64
	items    map[key]*item // what may still change
	calls    map[key]*item // whose call it is, until it settles
	plans    map[string]*plan
	origins  map[workflow.RunID]origin
	budget   workflow.Budget
	begun    workflow.Time // this process's work on the run
	paused   bool
	ending   bool // a cancellation was asked for
	breakers map[string]workflow.BreakerOpened
}

// key names an item: a visit or the scope of a branch; "" is the run.
type key struct {
	run workflow.RunID
	id  string
}

// origin is where a run came from.
type origin struct {
	start *workflow.RunStarted
	plan  *plan // nil when the workflow is not known
}

// Know tells what the workflow of a name looks like, before its runs are seen.
// The tree is right without it; with it, branches have a total and are known to
// end when they do.
func (t *Tree) Know(name string, def *workflow.Definition) {
	if t.plans == nil {
		t.plans = map[string]*plan{}
	}
	t.plans[name] = newPlan(def)
}

// Empty reports whether nothing was seen yet.
func (t *Tree) Empty() bool { return len(t.roots) == 0 }

// Event folds one recorded fact. What was folded before is passed over, so a
// history may be given first and again.
func (t *Tree) Event(run workflow.RunID, e workflow.Event) {
	t.init()
	if e.Seq <= t.seqs[run] {
		return
	}
	t.seqs[run] = e.Seq
	if !t.control(run, e) && e.ID != "" {
		t.visit(t.find(run, e.ID), e)
	}
}

// Progress folds a sign of life of a visit.
func (t *Tree) Progress(run workflow.RunID, visit workflow.VisitID, p executor.Progress) {
	i := t.items[key{run, string(visit)}]
	if i == nil {
		return
	}
	if p.Agent != "" {
		i = t.labelled(i, p.Agent)
	}
	if p.Model != "" {
		i.model = p.Model
	}
	if p.Kind != "waiting" { // the event said it, with the time
		i.tail.add(p.Kind, p.Text)
		i.tail.tokens = p.Tokens
	}
}

func (t *Tree) init() {
	if t.runs != nil {
		return
	}
	t.runs, t.seqs, t.items = map[workflow.RunID]*item{}, map[workflow.RunID]int64{}, map[key]*item{}
	t.calls = map[key]*item{}
	t.origins, t.breakers = map[workflow.RunID]origin{}, map[string]workflow.BreakerOpened{}
}

// row returns the item that stands for a run.
func (t *Tree) row(run workflow.RunID) *item {
	if i := t.runs[run]; i != nil {
		return i
	}
	i := &item{key: key{run: run}, name: string(run), kind: kindRun, state: running}
	t.runs[run] = i
	t.roots = append(t.roots, i)
	return i
}

// find returns the item of a visit or branch, and makes it and what it is part
// of when they are new.
func (t *Tree) find(run workflow.RunID, id string) *item {
	if id == "" {
		return t.row(run)
	}
	k := key{run, id}
	if i := t.items[k]; i != nil {
		return i
	}
	i := &item{key: k, state: queued}
	scope, name := split(id)
	switch visit, branch, ok := cut(id); {
	case t.scripted(run): // its scopes are no visits
		i.name, i.parent = id, t.row(run)
	case ok:
		i.name, i.kind, i.parent = branch, kindBranch, t.find(run, visit)
	default:
		i.name, i.parent = name, t.find(run, scope)
	}
	t.items[k] = i
	i.parent.kids = append(i.parent.kids, i)
	return i
}

// scripted reports whether a run is one of a script.
func (t *Tree) scripted(run workflow.RunID) bool {
	o := t.origins[run]
	return o.start != nil && o.start.Kind == workflow.KindScript
}

// split parts a visit id into its scope and its last step.
func split(id string) (scope, step string) {
	depth := 0
	for i := len(id) - 1; i >= 0; i-- {
		switch id[i] {
		case ']':
			depth++
		case '[':
			depth--
		case '/':
			if depth == 0 {
				return id[:i], id[i+1:]
			}
		}
	}
	return "", id
}

// cut parts the scope of a branch, "each#1[17]", into its visit and "[17]".
func cut(scope string) (visit, branch string, ok bool) {
	if !strings.HasSuffix(scope, "]") {
		return "", "", false
	}
	_, step := split(scope)
	at := strings.IndexByte(step, '[')
	if at < 0 {
		return "", "", false
	}
	at += len(scope) - len(step)
	return scope[:at], scope[at:], true
}

// close gives an item its end.
func (t *Tree) close(i *item, s state) {
	t.forget(i)
	for _, k := range i.kids {
		if k.open() && i.kind == kindRun {
			k.state, k.tail = stopped, tail{}
		}
	}
	i.settle(s)
	if i.parent == nil {
		return
	}
	if s == done && i.routes() {
		i.parent.drop(i)
		return
	}
	i.parent.count(i)
}

// forget lets go of an item and what is open below it: nothing is said about
// them any more.
func (t *Tree) forget(i *item) {
	if i.kind != kindRun {
		delete(t.items, i.key)
	}
	for _, k := range i.kids {
		if k.open() {
			t.forget(k)
		}
	}
}

// reopen takes the end of a branch back: only where the workflow is not known.
func (t *Tree) reopen(i *item) {
	if i.kind != kindBranch || i.open() {
		return
	}
	if i.state == failed {
		i.parent.shut.failed--
	} else {
		i.parent.shut.done--
	}
	i.parent.drop(i)
	i.parent.kids = append(i.parent.kids, i)
	i.state = running
}
