package graph

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

// maxFailures is how many failures the end of a run lists, the newest last.
const maxFailures = 8

// program is the state of one run. Commands are queued by Apply.
type program struct {
	run       workflow.RunID
	start     workflow.RunStarted
	plan      *plan
	values    workflow.Values
	queue     []workflow.Command
	now       workflow.Time // of the event that is applied
	scopes    map[string]*scope
	visits    map[workflow.VisitID]*visit
	totals    workflow.Totals
	candidate string
	verified  *workflow.Verified
	unproven  map[string]workflow.Code // nodes whose last result is not what it was to be
	signals   []workflow.Signal        // that no wait has taken
	failures  []workflow.Failure
	refused   int // visits in stateRefused
	cancelled bool
	ended     bool
}

// scope is one invocation of a body with its own state.
type scope struct {
	id       string // "" is the root
	path     string // of node names
	body     *body
	parent   *scope
	origin   *visit // in the parent; nil for the root
	branch   string // index or name in the origin's fan
	item     *workflow.Item
	limits   []workflow.Limit
	vars     map[string]workflow.Value
	outputs  map[string]workflow.Value
	outcomes map[string]string
	attempts map[string]int
	counts   map[string]int
	sessions map[string]*workflow.Session
	private  map[string]workflow.Value
	branches map[string]fanResult // results of finished maps, for their joins
	answers  []workflow.NamedAnswer
	history  []entry
	last     workflow.Value // output that a branch gives its fan
	made     int            // visits of this body
	detour   int            // visits on the way of onExhausted; 0 is off it
	aside    []*visit       // root: what the detour left, for a raise
	done     bool           // root: the detour came to its end
	raised   bool           // root: a limit was raised during the detour
}

type entry struct {
	Visit workflow.VisitID `json:"visit"`
	Node  string           `json:"node"`
	Text  string           `json:"text"`
}

// States of a visit.
const (
	stateWanted  = "wanted"
	stateRunning = "running"
	stateWaiting = "waiting" // for an answer, a timer, a signal
	stateRefused = "refused"
	stateUnsure  = "uncertain"
)

type visit struct {
	id       workflow.VisitID
	node     *node
	scope    *scope
	number   int
	state    string
	self     bool
	params   json.RawMessage
	problem  *workflow.Failure // it fails as soon as it is admitted
	refusal  workflow.Code
	fan      *fan
	timer    workflow.Time
	settling bool // its result is given and not recorded yet
}

func (v *visit) path() string { return join(v.scope.path, v.node.name) }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

func newProgram(run workflow.RunID, start workflow.RunStarted, pl *plan, values workflow.Values) *program {
	p := &program{
		run: run, start: start, plan: pl, values: values,
		scopes: map[string]*scope{}, visits: map[workflow.VisitID]*visit{},
	}
	return p
}

func newScope(id, path string, b *body, parent *scope, origin *visit) *scope {
	s := &scope{
		id: id, path: path, body: b, parent: parent, origin: origin,
		vars: map[string]workflow.Value{}, outputs: map[string]workflow.Value{}, counts: map[string]int{},
	}
	if parent != nil {
		s.limits = parent.limits
	}
	return s
}

// Decide hands out what Apply queued.
func (p *program) Decide(dst []workflow.Command) ([]workflow.Command, error) {
	dst = append(dst, p.queue...)
	p.queue = p.queue[:0]
	return dst, nil
}

// Close has nothing to free.
func (p *program) Close() error { return nil }

// Lookup reads the scope of an open visit.
func (p *program) Lookup(id workflow.VisitID, root string, path []string) (any, bool, error) {
	v := p.visits[id]
	if v == nil {
		return nil, false, workflow.Errorf(workflow.CodeNotFound, "visit %s is not open", id)
	}
	return view{p, v.scope}.Lookup(root, path)
}

func (p *program) set(v *visit, state string) {
	if v.state == stateRefused {
		p.refused--
	}
	if state == stateRefused {
		p.refused++
	}
	v.state = state
}

func (p *program) refuse(v *visit, code workflow.Code) {
	v.refusal = code
	p.set(v, stateRefused)
}

// drop forgets a visit that has its result or needs none.
func (p *program) drop(v *visit) {
	p.set(v, "")
	delete(p.visits, v.id)
}

func (p *program) give(c workflow.Command) { p.queue = append(p.queue, c) }

func (p *program) begin(e workflow.Event) error {
	if p.scopes[""] != nil {
		return &workflow.Divergence{Seq: e.Seq, Want: "one start of the run", Got: "a second one"}
	}
	root := newScope("", "", p.plan.root, nil, nil)
	p.scopes[""] = root
	if c := p.start.Launch.Change; c != "" {
		root.vars["changeId"] = workflow.Text(c)
	}
	p.advance(root, p.plan.root.entry)
	return nil
}

// advance arrives at a node.
func (p *program) advance(s *scope, name string) {
	n := s.body.nodes[name]
	if n == nil { // the loader refuses such documents
		p.endScope(s, workflow.Completion{Reasons: []string{string(workflow.CodeNodeNotFound) + ":" + name}})
		return
	}
	s.counts[name]++
	s.made++
	v := &visit{node: n, scope: s, number: s.counts[name], state: stateWanted, params: n.params}
	v.id = workflow.VisitID(visitID(s.id, name, v.number))
	p.visits[v.id] = v
	if s.detour > 0 {
		if s.detour++; s.detour > maxDetour+1 { // the loader refuses such documents
			p.drop(v)
			p.endScope(s, workflow.Completion{Reasons: []string{string(workflow.CodeRecursionLimit)}})
			return
		}
	}
	p.prepare(v)
	p.want(v)
}

// prepare makes the params of a visit and tells who carries it out.
func (p *program) prepare(v *visit) {
	v.problem, v.self = nil, v.node.control != nil
	if v.node.templated {
		p.interpolate(v)
	}
	if v.problem != nil {
		v.self = true
	} else if p.mustProve(v) {
		v.self = false
	}
}

func visitID(scope, name string, number int) string {
	var room [64]byte
	id := room[:0]
	if scope != "" {
		id = append(append(id, scope...), '/')
	}
	return string(strconv.AppendInt(append(append(id, name...), '#'), int64(number), 10))
}

func (p *program) interpolate(v *visit) {
	raw, err := expr.Interpolate(v.node.open, p.plan.level, view{p, v.scope})
	if err == nil {
		raw, err = v.node.thaw(raw)
	}
	if err != nil {
		code := workflow.CodeOf(err)
		var e *expr.Error
		if errors.As(err, &e) {
			code = workflow.Code(e.Code)
		}
		v.problem = &workflow.Failure{Code: code, Message: err.Error(), Node: v.path()}
		return
	}
	v.params = raw
}

// mustProve reports whether an end has to show that the work is verified, which
// is a piece's work. The root's delivery rule counts as the node's own.
func (p *program) mustProve(v *visit) bool {
	end, ok := v.node.control.(workflow.EndParams)
	if !ok || end.Outcome != "success" {
		return false
	}
	required := p.start.Options.Verified
	if end.RequiresVerified || v.scope.parent != nil || required == nil || !*required {
		return end.RequiresVerified
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(v.params, &m) == nil {
		put(&m, "requiresVerified", json.RawMessage("true"))
		if raw, err := json.Marshal(m); err == nil {
			v.params = raw
		}
	}
	return true
}

// want wishes for an attempt of a visit.
func (p *program) want(v *visit) {
	n, s, t := v.node, v.scope, v.node.traits
	p.set(v, stateWanted)
	c := workflow.StartVisit{
		Visit: v.id, Node: v.path(), Number: v.number, Scope: s.id, Kind: n.kind, Params: v.params, Self: v.self,
		Retry: n.retry, Unlimited: s.detour > 0, BodyCount: s.made, BodyMax: s.body.max,
	}
	if !v.self {
		c.Effect, c.AI, c.Provider, c.Uncertain, c.Steerable = t.Effect, t.AI, t.Provider, t.Uncertain, t.Steerable
		c.Limits = s.limits
		c.Context = workflow.VisitContext{
			History: p.historyText(s), Session: s.sessions[n.name], Private: s.private[n.private],
			Item: s.item, Group: n.group, Label: n.label,
		}
	}
	p.give(c)
}

func (p *program) settle(v *visit, r workflow.Settled) {
	v.settling = true
	p.give(workflow.SettleVisit{Visit: v.id, Node: v.path(), Number: v.number, Result: r})
}

// fail settles a visit that the graph carries out as failed.
func (p *program) fail(v *visit, f workflow.Failure) {
	f.Node = v.path()
	r := workflow.Settled{Status: workflow.VisitFailed, Error: &f}
	if _, ok := v.node.ends["failed"]; ok {
		r.Outcome = "failed"
	}
	p.settle(v, r)
}

func (p *program) sortedVisits() []*visit {
	return slices.SortedFunc(maps.Values(p.visits), func(a, b *visit) int {
		switch {
		case a.id < b.id:
			return -1
		case a.id > b.id:
			return 1
		}
		return 0
	})
}

// Outputs implements workflow.Reporter.
func (p *program) Outputs() map[string]workflow.Value {
	if root := p.scopes[""]; root != nil {
		return maps.Clone(root.outputs)
	}
	return nil
}

// Failures implements workflow.Reporter.
func (p *program) Failures() []workflow.Failure { return slices.Clone(p.failures) }

// Waits implements workflow.Reporter.
func (p *program) Waits() []workflow.Wait {
	var out []workflow.Wait
	for _, v := range p.sortedVisits() {
		if v.node.kind != workflow.KindWait || v.state != stateWaiting {
			continue
		}
		w, err := params[workflow.WaitParams](v)
		if err != nil {
			continue // it fails when it goes on, and says so
		}
		out = append(out, workflow.Wait{Visit: v.id, Node: v.path(), Signal: w.Signal, Until: v.timer})
	}
	return out
}
