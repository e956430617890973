package graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// image is the stored form of a program. Scopes refer to each other by id and
// to visits by theirs; what the definition or the scope tells again (compiled
// nodes, the items of a map) is not in it.
type image struct {
	Scopes    []scopeImage             `json:"scopes"`
	Visits    []visitImage             `json:"visits"`
	Totals    workflow.Totals          `json:"totals"`
	Candidate string                   `json:"candidate,omitempty"`
	Verified  *workflow.Verified       `json:"verified,omitempty"`
	Unproven  map[string]workflow.Code `json:"unproven,omitempty"`
	Signals   []workflow.Signal        `json:"signals,omitempty"`
	Failures  []workflow.Failure       `json:"failures,omitempty"`
	Cancelled bool                     `json:"cancelled,omitempty"`
	Ended     bool                     `json:"ended,omitempty"`
}

type scopeImage struct {
	ID       string                       `json:"id"`
	Parent   string                       `json:"parent,omitempty"`
	Origin   workflow.VisitID             `json:"origin,omitempty"`
	Branch   string                       `json:"branch,omitempty"`
	Path     string                       `json:"path,omitempty"`
	Item     *workflow.Item               `json:"item,omitempty"`
	Limits   []workflow.Limit             `json:"limits,omitempty"`
	Vars     map[string]workflow.Value    `json:"vars,omitempty"`
	Outputs  map[string]workflow.Value    `json:"outputs,omitempty"`
	Outcomes map[string]string            `json:"outcomes,omitempty"`
	Attempts map[string]int               `json:"attempts,omitempty"`
	Counts   map[string]int               `json:"counts,omitempty"`
	Sessions map[string]*workflow.Session `json:"sessions,omitempty"`
	Private  map[string]workflow.Value    `json:"private,omitempty"`
	Branches map[string]fanResult         `json:"branches,omitempty"`
	Answers  []workflow.NamedAnswer       `json:"answers,omitempty"`
	History  []entry                      `json:"history,omitempty"`
	Last     workflow.Value               `json:"last,omitzero"`
	Made     int                          `json:"made,omitempty"`
	Detour   int                          `json:"detour,omitempty"`
	Aside    []workflow.VisitID           `json:"aside,omitempty"`
	Done     bool                         `json:"done,omitempty"`
	Raised   bool                         `json:"raised,omitempty"`
}

type visitImage struct {
	ID       workflow.VisitID  `json:"id"`
	Node     string            `json:"node"`
	Scope    string            `json:"scope,omitempty"`
	Number   int               `json:"number"`
	State    string            `json:"state"`
	Self     bool              `json:"self,omitempty"`
	Params   json.RawMessage   `json:"params,omitempty"` // only when they are not the node's
	Problem  *workflow.Failure `json:"problem,omitempty"`
	Refusal  workflow.Code     `json:"refusal,omitempty"`
	Timer    workflow.Time     `json:"timer,omitempty"`
	Settling bool              `json:"settling,omitempty"`
	Fan      *fanImage         `json:"fan,omitempty"`
}

type fanImage struct {
	Items   string         `json:"items,omitempty"` // digest
	Next    int            `json:"next"`
	Busy    int            `json:"busy"`
	Done    int            `json:"done"`
	Limit   int            `json:"limit"`
	Again   []int          `json:"again,omitempty"`
	Results []branchResult `json:"results"`
}

// Snapshot returns the state; the queue must have been handed out.
func (p *program) Snapshot() ([]byte, error) {
	if len(p.queue) > 0 {
		return nil, fmt.Errorf("taking a snapshot: %d commands are not handed out", len(p.queue))
	}
	im := image{
		Totals: p.totals, Candidate: p.candidate, Verified: p.verified, Unproven: p.unproven, Signals: p.signals,
		Failures: p.failures, Cancelled: p.cancelled, Ended: p.ended,
	}
	for _, id := range slices.Sorted(maps.Keys(p.scopes)) { // a parent's id is a prefix: it comes first
		im.Scopes = append(im.Scopes, p.scopes[id].image())
	}
	for _, v := range p.sortedVisits() {
		im.Visits = append(im.Visits, v.image())
	}
	raw, err := json.Marshal(im)
	if err != nil {
		return nil, fmt.Errorf("encoding snapshot: %w", err)
	}
	return raw, nil
}

func (s *scope) image() scopeImage {
	im := scopeImage{
		ID: s.id, Path: s.path, Branch: s.branch, Item: s.item, Limits: s.limits, Vars: s.vars, Outputs: s.outputs,
		Outcomes: s.outcomes, Attempts: s.attempts, Counts: s.counts, Sessions: s.sessions, Private: s.private,
		Branches: s.branches, Answers: s.answers, History: s.history, Last: s.last, Made: s.made,
		Detour: s.detour, Done: s.done, Raised: s.raised,
	}
	if s.parent != nil {
		im.Parent, im.Origin = s.parent.id, s.origin.id
	}
	for _, v := range s.aside {
		im.Aside = append(im.Aside, v.id)
	}
	return im
}

func (v *visit) image() visitImage {
	im := visitImage{
		ID: v.id, Node: v.node.name, Scope: v.scope.id, Number: v.number, State: v.state, Self: v.self,
		Problem: v.problem, Refusal: v.refusal, Timer: v.timer, Settling: v.settling,
	}
	if string(v.params) != string(v.node.params) {
		im.Params = v.params
	}
	if f := v.fan; f != nil {
		im.Fan = &fanImage{Items: f.sum, Next: f.next, Busy: f.busy, Done: f.done, Limit: f.limit, Again: f.again, Results: f.results}
	}
	return im
}

// Restore sets a new program to a snapshot.
func (p *program) Restore(raw []byte) error {
	var im image
	if err := json.Unmarshal(raw, &im); err != nil {
		return fmt.Errorf("decoding snapshot: %w", err)
	}
	p.totals, p.candidate, p.verified, p.unproven, p.signals = im.Totals, im.Candidate, im.Verified, im.Unproven, im.Signals
	p.failures, p.cancelled, p.ended = im.Failures, im.Cancelled, im.Ended
	byID := make(map[workflow.VisitID]visitImage, len(im.Visits))
	for _, v := range im.Visits {
		byID[v.ID] = v
	}
	for _, s := range im.Scopes {
		if err := p.restoreScope(s, byID); err != nil {
			return fmt.Errorf("restoring scope %q: %w", s.ID, err)
		}
	}
	for _, v := range im.Visits {
		if _, err := p.restoreVisit(v); err != nil {
			return fmt.Errorf("restoring visit %s: %w", v.ID, err)
		}
	}
	for _, s := range im.Scopes {
		for _, id := range s.Aside {
			if v := p.visits[id]; v != nil {
				p.scopes[s.ID].aside = append(p.scopes[s.ID].aside, v)
			}
		}
	}
	return nil
}

func (p *program) restoreScope(im scopeImage, visits map[workflow.VisitID]visitImage) error {
	s := newScope(im.ID, im.Path, p.plan.root, nil, nil)
	if im.Origin != "" {
		o, ok := visits[im.Origin]
		if !ok {
			return fmt.Errorf("its visit %s is not open", im.Origin)
		}
		origin, err := p.restoreVisit(o)
		if err != nil {
			return err
		}
		s.parent, s.origin = origin.scope, origin
		s.body = origin.node.bodies[""]
		if f := origin.fan; f != nil && f.names != nil {
			name, _ := strings.CutPrefix(im.Path, origin.path()+"/")
			if s.body = origin.node.bodies[name]; s.body == nil {
				return fmt.Errorf("branch %q is not in the definition", im.Path)
			}
		}
	}
	s.branch, s.item, s.limits, s.outcomes, s.attempts = im.Branch, im.Item, im.Limits, im.Outcomes, im.Attempts
	s.sessions, s.private, s.branches, s.answers, s.history = im.Sessions, im.Private, im.Branches, im.Answers, im.History
	s.last, s.made, s.detour, s.done, s.raised = im.Last, im.Made, im.Detour, im.Done, im.Raised
	maps.Copy(s.vars, im.Vars)
	maps.Copy(s.outputs, im.Outputs)
	maps.Copy(s.counts, im.Counts)
	p.scopes[s.id] = s
	return nil
}

// restoreVisit makes a visit whose scope is there already. A visit that was
// made before is returned as it is.
func (p *program) restoreVisit(im visitImage) (*visit, error) {
	if v := p.visits[im.ID]; v != nil {
		return v, nil
	}
	s := p.scopes[im.Scope]
	if s == nil {
		return nil, fmt.Errorf("scope %q is not open", im.Scope)
	}
	n := s.body.nodes[im.Node]
	if n == nil {
		return nil, fmt.Errorf("node %q is not in the definition", im.Node)
	}
	v := &visit{
		id: im.ID, node: n, scope: s, number: im.Number, self: im.Self, params: n.params,
		problem: im.Problem, refusal: im.Refusal, timer: im.Timer, settling: im.Settling,
	}
	if im.Params != nil {
		v.params = im.Params
	}
	p.set(v, im.State)
	p.visits[v.id] = v
	return v, p.restoreFan(v, im.Fan)
}

func (p *program) restoreFan(v *visit, im *fanImage) error {
	if im == nil {
		return nil
	}
	v.fan = &fan{next: im.Next, busy: im.Busy, done: im.Done, limit: im.Limit, again: im.Again, results: im.Results}
	if v.node.kind == workflow.KindParallel {
		v.fan.names = slices.Sorted(maps.Keys(v.node.bodies))
		return nil
	}
	m, err := params[workflow.MapParams](v)
	if err != nil {
		return err
	}
	if v.fan.items, err = p.items(v, m.Over); err != nil {
		return err
	}
	v.fan.sum = digest(v.fan.items)
	if len(v.fan.items) != len(v.fan.results) || im.Items != "" && im.Items != v.fan.sum {
		return fmt.Errorf("what it runs over has changed since it began")
	}
	return nil
}
