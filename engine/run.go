package engine

import (
	"context"
	"sync"
	"time"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// maxBatch bounds the events of one append.
const maxBatch = 512

// headAge is how old the index row of a moving run may become.
const headAge = time.Second

// eventBytes is about what an event takes beside its values.
const eventBytes = 160

// run is a run that this process owns. Its fields belong to the holder of the
// baton; everybody else reaches it through inbox.
type run struct {
	history.State
	e        *Engine
	owner    store.Owner
	clock    clock
	sink     history.Sink
	baton    baton
	nudge    chan struct{} // an attempt drove the run, and the loop must look
	failure  error         // of an attempt that drove the run
	armed    workflow.Time // when the waiting loop wakes by itself; 0 is never
	free     *attempt      // it has ended, and the driving goroutine can run another one
	next     *attempt      // the one it will run
	inbox    chan message
	leave    <-chan struct{} // closed when the process is asked to end
	unending context.Context // of the loop, without its end
	dead     chan struct{}   // closed when nobody answers attempts any more
	once     sync.Once
	pending  []workflow.Event
	owing    bool  // the append waits for an attempt that has begun to say something
	appended int64 // seq of the last event in the store
	create   *store.Create
	head     store.Head
	dirty    bool // the head must be written
	taken    []string
	after    []func()            // replies that wait for the append
	starts   []admission.Verdict // attempts that begin after the append
	live     map[workflow.VisitID]*attempt
	kids     map[workflow.VisitID]*kid
	hatched  map[workflow.RunID]workflow.Budget // runs of steps that this process has begun or gone on with
	waiting  []workflow.Command                 // children that wait for others to give something back
	held     []*reserve                         // calls that wait for a running one to give something back
	stopping bool
	told     workflow.Time // when the head was written
	hashes   bool          // the definition reads the candidate
	snapSize int
	by       string
}

// message is something that happened outside the loop.
type message interface{ handle(r *run) error }

func (e *Engine) newRun(id workflow.RunID, owner store.Owner, by string) *run {
	r := &run{
		e: e, owner: owner, by: by, baton: newBaton(), nudge: make(chan struct{}, 1), inbox: make(chan message, 64), dead: make(chan struct{}),
		live: map[workflow.VisitID]*attempt{}, kids: map[workflow.VisitID]*kid{}, clock: newClock(e.cfg.Now, 0),
	}
	r.ID = id
	r.Values = history.NewLayered(blobs{e.cfg.Store})
	r.sink = history.Sink{Redact: e.cfg.Redact, Values: r.Values}
	return r
}

// ref is what an event is about.
type ref struct {
	id         string
	node       string
	number     int
	attempt    int
	invocation int
}

func refOf(c workflow.StartVisit, attempt int) ref {
	return ref{id: string(c.Visit), node: c.Node, number: c.Number, attempt: attempt}
}

// visitRef returns the ref of an open visit.
func (r *run) visitRef(v workflow.VisitID) ref {
	o, ok := r.Gate.Visit(v)
	if !ok {
		return ref{id: string(v)}
	}
	return refOf(o.Command, o.Attempt)
}

// record makes an event, folds it, and queues it for the next append.
func (r *run) record(about ref, p workflow.Payload) error {
	r.sink.Clean(p)
	r.sink.Bytes += eventBytes
	e := workflow.Event{
		Seq: r.Seq + 1, At: max(r.e.now(), r.Last), Epoch: r.owner.Epoch(),
		ID: about.id, Node: about.node, Visit: about.number, Attempt: about.attempt, Invocation: about.invocation,
		Payload: p,
	}
	if err := r.Apply(e, r.e.cfg.Programs); err != nil {
		return err
	}
	r.pending = append(r.pending, e)
	return nil
}

// whole is ctx without its end, which is the loop's to see: what is recorded, and
// what an attempt does, is brought to its own end.
func (r *run) whole(ctx context.Context) context.Context {
	if r.unending == nil {
		r.unending = context.WithoutCancel(ctx)
	}
	return r.unending
}

// loop drives the run until it rests.
func (r *run) loop(ctx context.Context) (history.Result, error) {
	r.baton.take() // and kept: when the loop ends, nobody drives the run any more
	defer r.bury()
	defer r.e.drives(r)()
	r.leave = ctx.Done()
	r.clock = newClock(r.e.cfg.Now, r.Last)
	poll := time.NewTicker(r.e.cfg.Poll)
	defer poll.Stop()
	if r.create == nil { // a new run has no messages yet
		if err := r.drain(ctx); err != nil {
			return history.Result{}, r.abandon(err)
		}
	}
	if err := r.fireTimers(); err != nil { // what came due while nobody drove the run
		return history.Result{}, r.abandon(err)
	}
	for {
		if err := r.cycle(ctx); err != nil {
			return history.Result{}, r.abandon(err)
		}
		if r.atRest() {
			again, err := r.settleDown(ctx)
			if err != nil {
				return history.Result{}, r.abandon(err)
			}
			if !again {
				return r.report()
			}
			continue
		}
		if err := r.await(ctx, poll.C); err != nil {
			return history.Result{}, r.abandon(err)
		}
	}
}

// settleDown looks into the inbox once more before the run rests, and writes
// the head; again is true when there is something to do after all.
func (r *run) settleDown(ctx context.Context) (again bool, err error) {
	before := r.Seq
	if end := r.Memory.Ended; end != nil && end.Status.Terminal() {
		return false, nil // the head went with the end
	}
	if !r.stopping {
		if err := r.drain(ctx); err != nil {
			return false, err
		}
	}
	if r.Seq != before {
		return true, nil
	}
	r.dirty = true
	return false, r.flush(ctx)
}

// await blocks until something happens that the loop must see to. It lets the
// baton go meanwhile.
func (r *run) await(ctx context.Context, poll <-chan time.Time) error {
	var timer <-chan time.Time
	if r.armed = r.due(); r.armed != 0 {
		t := time.NewTimer(max(0, r.armed.Std().Sub(r.e.cfg.Now())))
		defer t.Stop()
		timer = t.C
	}
	done := ctx.Done()
	if r.stopping {
		done = nil
	} else if ctx.Err() != nil {
		r.stop()
		return nil
	}
	see := r.fireTimers
	var m message
	r.baton.give()
	select {
	case m = <-r.inbox:
		see = func() error { return r.fold(m) }
	case <-r.nudge:
		see = func() error { return nil }
	case <-timer:
	case <-poll:
		see = func() error { return r.look(ctx) }
	case <-done:
		see = func() error { r.stop(); return nil }
	}
	r.baton.take()
	if r.failure != nil {
		r.forget(m)
		return r.failure
	}
	return see()
}

// look sees to what nobody tells the loop: messages in the store, time.
func (r *run) look(ctx context.Context) error {
	r.tellUnwanted()
	if r.Last > r.told && r.e.now() >= r.told.Add(headAge) {
		r.dirty = true
	}
	if err := r.fireTimers(); err != nil {
		return err
	}
	return r.drain(ctx)
}

// fold folds a message and those that are there already: they share one append.
func (r *run) fold(m message) error {
	for {
		if err := m.handle(r); err != nil || len(r.pending) >= maxBatch {
			return err
		}
		select {
		case m = <-r.inbox:
		default:
			return nil
		}
	}
}
