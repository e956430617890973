package graph_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/graph"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/workflow"
)

// failer is what the driver needs of a test; a rapid one has it too.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// blobs are the values of a test, by digest.
type blobs map[workflow.Digest][]byte

func (b blobs) Load(d workflow.Digest) ([]byte, error) {
	raw, ok := b[d]
	if !ok {
		return nil, workflow.Errorf(workflow.CodeNotFound, "value %s is not there", d)
	}
	return raw, nil
}

func (b blobs) put(raw []byte) workflow.Digest {
	sum := sha256.Sum256(raw)
	d := workflow.Digest(hex.EncodeToString(sum[:]))
	b[d] = raw
	return d
}

// workPiece stands for every piece that works outside the graph. Its params
// say what it is: {"effect": "read|write", "ai": true, "uncertain": true}.
func workPiece() piece.Piece {
	return piece.Piece{
		Kind:   "work",
		Schema: func(int) json.RawMessage { return json.RawMessage(`{"type":"object"}`) },
		Describe: func(raw json.RawMessage, _ piece.Env) (piece.Traits, []piece.Problem) {
			var p struct {
				Effect    workflow.Effect `json:"effect"`
				AI        bool            `json:"ai"`
				Uncertain bool            `json:"uncertain"`
				Number    int             `json:"number"`
			}
			if err := json.Unmarshal(raw, &p); err != nil {
				return piece.Traits{}, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
			}
			t := piece.Traits{Outcomes: []string{"next", "failed"}, Effect: p.Effect, AI: p.AI, Uncertain: p.Uncertain, Steerable: p.AI}
			if p.AI {
				t.Provider = "fake"
			}
			return t, nil
		},
	}
}

func factory(f failer) *graph.Factory {
	f.Helper()
	pieces, err := piece.NewRegistry(append(control.Pieces(), workPiece())...)
	if err != nil {
		f.Fatalf("pieces: %v", err)
	}
	backend := func(string) (executor.Capabilities, bool) { return executor.Capabilities{}, true }
	return graph.New(graph.Config{Pieces: pieces, Backend: backend})
}

// play is a run without an engine: the test is the world. Visits that the graph
// carries out itself, timers and children are recorded at once; the others wait
// in wanted for the test.
type play struct {
	f         failer
	factory   *graph.Factory
	start     workflow.RunStarted
	values    blobs
	prog      workflow.Program
	events    []workflow.Event
	now       workflow.Time
	wanted    []workflow.StartVisit // pieces, in the order of the wishes
	running   map[workflow.VisitID]workflow.StartVisit
	attempts  map[workflow.VisitID]int
	timers    map[workflow.VisitID]workflow.Time
	children  map[workflow.VisitID]workflow.StartChild
	cancelled []workflow.VisitID
	results   map[string]workflow.Settled             // newest of each node path
	refuse    func(workflow.StartVisit) workflow.Code // "" admits
	hold      func(workflow.StartVisit) bool          // leaves a self visit in wanted
	phase     map[workflow.VisitID]phase
	seen      map[workflow.VisitID]bool // visits without a result
	ended     *workflow.Ended
	points    int  // snapshots that the laws try
	stopped   bool // a cancellation was recorded: nothing is admitted
	check     func(workflow.StartVisit)
}

// phase is how far a visit is, for the driver.
type phase string

const (
	resting phase = "resting" // it may be wanted again
	wanted  phase = "wanted"
	running phase = "running"
	over    phase = "over"
)

func (p *play) fresh() workflow.Program {
	p.f.Helper()
	prog, err := p.factory.New("rtest", p.start, p.values)
	if err != nil {
		p.f.Fatalf("compiling: %v", err)
	}
	return prog
}

// begin starts a run of a definition. The laws are checked when the test ends.
func begin(t *testing.T, doc string, tune ...func(*play)) *play {
	t.Helper()
	p := prepare(t, doc, tune...)
	t.Cleanup(func() {
		if !t.Failed() {
			p.laws()
		}
	})
	p.open()
	return p
}

func prepare(f failer, doc string, tune ...func(*play)) *play {
	f.Helper()
	var def workflow.Definition
	if err := json.Unmarshal([]byte(doc), &def); err != nil {
		f.Fatalf("definition: %v\n%s", err, doc)
	}
	p := &play{
		f: f, factory: factory(f), values: blobs{}, now: 1_000_000,
		running: map[workflow.VisitID]workflow.StartVisit{}, attempts: map[workflow.VisitID]int{},
		timers: map[workflow.VisitID]workflow.Time{}, children: map[workflow.VisitID]workflow.StartChild{},
		phase: map[workflow.VisitID]phase{}, points: 30,
		results: map[string]workflow.Settled{}, seen: map[workflow.VisitID]bool{},
	}
	p.start = workflow.RunStarted{
		Workflow: workflow.Ref{Name: def.ID, Digest: p.values.put([]byte(doc))}, Kind: workflow.KindGraph, Level: def.SchemaVersion,
		Options: workflow.Options{Policies: def.Policies, Verified: def.Delivery.RequiresVerified},
	}
	for _, t := range tune {
		t(p)
	}
	return p
}

func (p *play) open() {
	p.f.Helper()
	p.prog = p.fresh()
	start := p.start
	p.record(workflow.Event{}, &start)
}

// apply folds one event without carrying out what follows.
func (p *play) apply(about workflow.Event, payload workflow.Payload) error {
	p.now += 1000
	about.Seq, about.At, about.Payload = int64(len(p.events)+1), p.now, payload
	err := p.prog.Apply(about)
	if err == nil {
		p.events = append(p.events, about)
	}
	return err
}

// record folds an event and carries out the wishes that follow from it.
func (p *play) record(about workflow.Event, payload workflow.Payload) {
	p.f.Helper()
	p.must(p.apply(about, payload))
	p.work()
}

func (p *play) must(err error) {
	p.f.Helper()
	if err != nil {
		p.f.Fatalf("apply: %v", err)
	}
}

// work carries out wishes until only the test can go on.
func (p *play) work() {
	p.f.Helper()
	for {
		wishes, err := p.prog.Decide(nil)
		if err != nil {
			p.f.Fatalf("decide: %v", err)
		}
		if len(wishes) == 0 {
			return
		}
		for _, c := range wishes {
			p.grant(c)
		}
	}
}

func about(v workflow.VisitID, node string, number, attempt int) workflow.Event {
	return workflow.Event{ID: string(v), Node: node, Visit: number, Attempt: attempt}
}

func (p *play) of(c workflow.StartVisit) workflow.Event {
	return about(c.Visit, c.Node, c.Number, p.attempts[c.Visit])
}

func (p *play) grant(c workflow.Command) {
	p.f.Helper()
	switch c := c.(type) {
	case workflow.StartVisit:
		p.want(c)
	case workflow.SettleVisit:
		res := c.Result
		p.settled(about(c.Visit, c.Node, c.Number, 1), res)
	case workflow.StartTimer:
		p.timers[c.Visit] = c.At
		p.must(p.apply(about(c.Visit, "", 0, 1), &workflow.TimerStarted{Until: c.At}))
	case workflow.CancelTimer:
		delete(p.timers, c.Visit)
		if p.stopped {
			delete(p.seen, c.Visit)
		}
	case workflow.StartChild:
		p.children[c.Visit] = c
		p.must(p.apply(about(c.Visit, c.Node, 0, 1), &workflow.ChildStarted{Run: "rkid", Ref: c.Ref, Inputs: c.Inputs}))
	case workflow.CancelChild, workflow.CancelVisit:
		v := workflow.VisitID(c.CommandID())
		p.cancelled = append(p.cancelled, v)
		p.wanted = slices.DeleteFunc(p.wanted, func(w workflow.StartVisit) bool { return w.Visit == v })
		if _, on := p.running[v]; !on && p.children[v].Visit == "" {
			delete(p.seen, v)
		}
	case workflow.Complete:
		if p.ended != nil && p.ended.Status.Terminal() {
			p.f.Fatalf("the run ends a second time: %+v after %+v", c.Ended, p.ended)
		}
		end := c.Ended
		p.ended = &end
		p.must(p.apply(workflow.Event{}, &end))
	default:
		p.f.Fatalf("a wish of type %T", c)
	}
}

func (p *play) want(c workflow.StartVisit) {
	p.f.Helper()
	if p.check != nil {
		p.check(c)
	}
	if was := p.phase[c.Visit]; was != "" && was != resting {
		p.f.Fatalf("%s is wanted while it is %s", c.Visit, was)
	}
	p.seen[c.Visit], p.phase[c.Visit] = true, wanted
	p.wanted = slices.DeleteFunc(p.wanted, func(w workflow.StartVisit) bool { return w.Visit == c.Visit })
	switch {
	case p.stopped:
		p.wanted = append(p.wanted, c)
	case p.refused(c):
	case c.Self && (p.hold == nil || !p.hold(c)):
		p.admit(c)
	default:
		p.wanted = append(p.wanted, c)
	}
}

func (p *play) refused(c workflow.StartVisit) bool {
	p.f.Helper()
	if p.refuse == nil || c.Unlimited {
		return false
	}
	code := p.refuse(c)
	if code == "" {
		return false
	}
	p.phase[c.Visit] = resting
	p.must(p.apply(about(c.Visit, c.Node, c.Number, p.attempts[c.Visit]+1), &workflow.Refused{Code: code, Message: "no"}))
	return true
}

func (p *play) admit(c workflow.StartVisit) {
	p.f.Helper()
	p.wanted = slices.DeleteFunc(p.wanted, func(w workflow.StartVisit) bool { return w.Visit == c.Visit })
	p.attempts[c.Visit]++
	p.phase[c.Visit] = running
	if !c.Self {
		p.running[c.Visit] = c
	}
	p.must(p.apply(p.of(c), &workflow.Admitted{
		Kind: c.Kind, Effect: c.Effect, AI: c.AI, Provider: c.Provider, Self: c.Self,
		Uncertain: c.Uncertain, Unlimited: c.Unlimited, Limits: c.Limits,
	}))
}

func (p *play) settled(e workflow.Event, res workflow.Settled) {
	p.f.Helper()
	if p.phase[e.VisitID()] == over {
		p.f.Fatalf("%s gets a second result", e.VisitID())
	}
	p.phase[e.VisitID()] = over
	delete(p.running, e.VisitID())
	delete(p.seen, e.VisitID())
	p.results[e.Node] = res
	p.must(p.apply(e, &res))
}

// find returns the first wanted or running visit of a node.
func (p *play) find(node string) workflow.StartVisit {
	p.f.Helper()
	for _, c := range p.wanted {
		if c.Node == node || string(c.Visit) == node {
			return c
		}
	}
	for _, c := range p.running {
		if c.Node == node || string(c.Visit) == node {
			return c
		}
	}
	p.f.Fatalf("node %s is not wanted; these are: %v", node, p.nodes())
	return workflow.StartVisit{}
}

// run admits the first wanted visit of a node.
func (p *play) run(node string) workflow.StartVisit {
	p.f.Helper()
	c := p.find(node)
	if _, on := p.running[c.Visit]; !on {
		p.admit(c)
		p.work()
	}
	return c
}

// settle runs a visit to its result.
func (p *play) settle(node string, res workflow.Settled) {
	p.f.Helper()
	c := p.run(node)
	p.settled(p.of(c), res)
	p.work()
}

// next settles visits with the outcome next.
func (p *play) next(nodes ...string) {
	p.f.Helper()
	for _, n := range nodes {
		p.settle(n, workflow.Settled{Outcome: "next"})
	}
}

// say gives an event about a running visit.
func (p *play) say(node string, payload workflow.Payload) {
	p.f.Helper()
	c := p.run(node)
	e := p.of(c)
	switch payload.(type) {
	case *workflow.Lost, *workflow.Retrying, *workflow.QuestionOpened:
		delete(p.running, c.Visit)
		p.phase[c.Visit] = resting
		if p.stopped {
			delete(p.seen, c.Visit)
		}
	}
	p.record(e, payload)
}

// nodes lists what is wanted.
func (p *play) nodes() []string {
	out := make([]string, len(p.wanted))
	for i, c := range p.wanted {
		out[i] = string(c.Visit)
	}
	return out
}

func (p *play) wantNodes(want ...string) {
	p.f.Helper()
	if got := p.nodes(); !slices.Equal(got, want) {
		p.f.Fatalf("wanted are %v, want %v", got, want)
	}
}

func (p *play) wantEnd(status workflow.Status, reasons ...string) {
	p.f.Helper()
	if p.ended == nil {
		p.f.Fatalf("the run has not ended; wanted are %v, results %s", p.nodes(), text(p.results))
	}
	var got []string
	if p.ended.Completion != nil {
		got = p.ended.Completion.Reasons
	}
	if p.ended.Status != status || !slices.Equal(got, reasons) {
		p.f.Fatalf("the run ended %s %v, want %s %v: %s", p.ended.Status, got, status, reasons, text(p.ended))
	}
}

// output is the newest output of a node.
func (p *play) output(node string) string {
	p.f.Helper()
	res, ok := p.results[node]
	if !ok {
		p.f.Fatalf("node %s has no result", node)
	}
	raw, err := res.Output.Load(p.values)
	if err != nil {
		p.f.Fatalf("output of %s: %v", node, err)
	}
	return string(raw)
}

// lookup reads the state as a wanted or running visit sees it.
func (p *play) lookup(node, root string, path ...string) string {
	p.f.Helper()
	val, ok, err := p.prog.(workflow.Reader).Lookup(p.find(node).Visit, root, path)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case !ok:
		return "absent"
	}
	return text(val)
}

func (p *play) wantLookup(node, want, root string, path ...string) {
	p.f.Helper()
	if got := p.lookup(node, root, path...); got != want {
		p.f.Errorf("%s sees %s %v as %s, want %s", node, root, path, got, want)
	}
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func value(v any) workflow.Value { return workflow.Inline(json.RawMessage(text(v))) }
