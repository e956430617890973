package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

// Bounds of maps, by format level.
const (
	maxItems1 = 10_000
	maxItems2 = 100_000
	maxFanOut = 2 << 20 // bytes of the results that a fan outputs
)

// fan is a map or parallel on its way.
type fan struct {
	items   []json.RawMessage // map
	sum     string            // map: digest of the items
	names   []string          // parallel, sorted
	next    int               // first branch that is not open yet
	busy    int               // branches that hold a slot
	limit   int
	done    int
	again   []int // failed branches that a fork opens again
	results []branchResult
}

type branchResult struct {
	Outcome string         `json:"outcome"`
	Output  workflow.Value `json:"output,omitzero"`
}

// fanResult is what a join needs of a finished map.
type fanResult struct {
	OK     int            `json:"ok"`
	Total  int            `json:"total"`
	Output workflow.Value `json:"output"`
}

func (f *fan) ok() (n int) {
	for _, r := range f.results {
		if r.Outcome == "next" {
			n++
		}
	}
	return n
}

func (f *fan) result(out workflow.Value) fanResult {
	return fanResult{OK: f.ok(), Total: len(f.results), Output: out}
}

func (p *program) mapped(v *visit) error {
	m, err := params[workflow.MapParams](v)
	if err != nil {
		return err
	}
	items, err := p.items(v, m.Over)
	if err != nil {
		return err
	}
	limit := m.Concurrency
	if limit == 0 {
		limit = 1
		if p.plan.level >= 2 {
			limit = 4
		}
	}
	v.fan = &fan{items: items, sum: digest(items), limit: limit, results: make([]branchResult, len(items))}
	p.fill(v)
	return nil
}

func (p *program) parallel(v *visit) error {
	c, err := params[workflow.ParallelParams](v)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(v.node.bodies))
	limit := c.Concurrency
	if limit == 0 {
		limit = len(names)
	}
	v.fan = &fan{names: names, limit: limit, results: make([]branchResult, len(names))}
	p.fill(v)
	return nil
}

// items returns the list that a map runs over.
func (p *program) items(v *visit, src workflow.MapSource) ([]json.RawMessage, error) {
	raw, err := p.source(v, src)
	if err != nil {
		return nil, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil || items == nil {
		return nil, workflow.Errorf(workflow.CodeMapInputMissing, "map %s: what it runs over is not a list", v.path())
	}
	most := maxItems1
	if p.plan.level >= 2 {
		most = maxItems2
	}
	if len(items) > most {
		return nil, workflow.Errorf(workflow.CodeMapInputLimit, "map %s: %d items are more than the %d allowed", v.path(), len(items), most)
	}
	return items, nil
}

// digest tells whether two lists of items are the same.
func digest(items []json.RawMessage) string {
	h := sha256.New()
	for _, raw := range items {
		fmt.Fprintf(h, "%d:%s", len(raw), raw)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (p *program) source(v *visit, src workflow.MapSource) (json.RawMessage, error) {
	switch {
	case src.Name == "tickets":
		return p.start.Launch.Tickets.Load(p.values)
	case src.Name == "repositories":
		return json.Marshal(p.start.Options.Repositories)
	case src.Items != nil:
		return src.Items, nil
	case src.Expr != "":
		e, err := expr.Parse(src.Expr, p.plan.level)
		if err != nil {
			return nil, err
		}
		val, err := e.Eval(view{p, v.scope})
		if err != nil {
			return nil, err
		}
		return json.Marshal(val)
	}
	path := []string{src.OutputsOf}
	path = append(path, splitPath(src.Path)...)
	val, ok, err := view{p, v.scope}.Lookup("$outputs", path)
	if err != nil || !ok {
		return nil, err
	}
	return json.Marshal(val)
}

// fill opens branches while there are slots, and settles a fan that is done.
func (p *program) fill(v *visit) {
	f := v.fan
	for len(f.again) > 0 && f.busy < f.limit {
		i := f.again[0]
		f.again = f.again[1:]
		f.busy++
		p.openBranch(v, i)
	}
	for f.next < len(f.results) && f.busy < f.limit {
		i := f.next
		f.next++
		f.busy++
		p.openBranch(v, i)
	}
	if f.done == len(f.results) && v.state == stateRunning && !v.settling {
		p.finishFan(v)
	}
}

// reopen runs the failed branches of a finished fan once more.
func (p *program) reopen(id workflow.VisitID) {
	v := p.visits[id]
	if v == nil || v.fan == nil || v.fan.done < len(v.fan.results) {
		return
	}
	f := v.fan
	v.settling = false
	f.again = nil
	for i, r := range f.results {
		if r.Outcome != "next" {
			f.again = append(f.again, i)
			f.results[i] = branchResult{}
			f.done--
		}
	}
	p.fill(v)
}

func (p *program) openBranch(v *visit, i int) {
	f := v.fan
	key, path, b := strconv.Itoa(i), v.path(), v.node.bodies[""]
	if f.names != nil {
		key = f.names[i]
		path, b = join(path, key), v.node.bodies[key]
	}
	s := newScope(string(v.id)+"["+key+"]", path, b, v.scope, v)
	s.branch = strconv.Itoa(i)
	s.limits = append(slices.Clone(v.scope.limits), workflow.Limit{ID: string(v.id), Max: f.limit})
	if f.names == nil {
		val := workflow.Inline(f.items[i])
		s.item = &workflow.Item{Index: i, Value: val}
		s.vars["item"], s.vars["index"] = val, workflow.Inline(json.RawMessage(key))
		for _, name := range b.inputs {
			if val, ok := v.scope.vars[name]; ok {
				s.vars[name] = val
			}
		}
	} else {
		maps.Copy(s.vars, v.scope.vars)
		s.item = v.scope.item
	}
	p.scopes[s.id] = s
	p.advance(s, b.entry)
}

func (p *program) finishFan(v *visit) {
	f := v.fan
	out, err := p.fanOutput(f)
	if err != nil {
		p.fail(v, workflow.Failure{Code: workflow.CodeOf(err), Message: err.Error()})
		return
	}
	r := workflow.Settled{Outcome: "next", Output: out}
	if f.names != nil {
		c, _ := params[workflow.ParallelParams](v)
		r.Outcome = reduce(c.Reduce, workflow.ReduceAllOK, f.ok(), len(f.results))
		if ok := f.ok(); ok < len(f.results) {
			r.Warnings = []string{fmt.Sprintf("%s: %d of %d branches succeeded", v.path(), ok, len(f.results))}
		}
	}
	p.settle(v, r)
}

// reduce gives the outcome of a join or a parallel.
func reduce(how, otherwise string, ok, total int) string {
	if how == "" {
		how = otherwise
	}
	if how == workflow.ReduceAllOK && ok < total || how == workflow.ReduceAnyOK && ok == 0 {
		return "fail"
	}
	return "next"
}

// fanOutput lists what the branches gave. When all of it is too much, the
// outputs of the last ones are left out and marked; they stay in the history.
func (p *program) fanOutput(f *fan) (workflow.Value, error) {
	type item struct {
		Index     int             `json:"index"`
		Name      string          `json:"name,omitempty"`
		Outcome   string          `json:"outcome"`
		Output    json.RawMessage `json:"output,omitempty"`
		Truncated bool            `json:"truncated,omitempty"`
	}
	items := make([]item, len(f.results))
	size := 0
	for i, r := range f.results {
		items[i] = item{Index: i, Outcome: r.Outcome}
		if f.names != nil {
			items[i].Name = f.names[i]
		}
		raw, err := r.Output.Load(p.values)
		if err != nil {
			return workflow.Value{}, err
		}
		if size += len(raw); size > maxFanOut {
			items[i].Truncated = true
			continue
		}
		items[i].Output = raw
	}
	ok := f.ok()
	doc := map[string]any{"total": len(items), "ok": ok, "failed": len(items) - ok, "results": items}
	if f.names != nil {
		byName := make(map[string]item, len(items))
		for _, it := range items {
			byName[it.Name] = it
		}
		doc = map[string]any{"total": len(items), "ok": ok, "failed": len(items) - ok, "branches": byName}
	}
	raw, err := json.Marshal(doc)
	return workflow.Inline(raw), err
}

func (p *program) joined(v *visit) error {
	j, err := params[workflow.JoinParams](v)
	if err != nil {
		return err
	}
	for name, n := range v.scope.body.nodes {
		if to := n.ends["next"]; n.kind == workflow.KindMap && to != nil && *to == v.node.name {
			res, ok := v.scope.branches[name]
			if !ok {
				break
			}
			r := workflow.Settled{Outcome: reduce(j.Reduce, workflow.ReduceCollect, res.OK, res.Total), Output: res.Output}
			if res.OK < res.Total {
				r.Warnings = []string{fmt.Sprintf("%s: %d of %d items succeeded", v.path(), res.OK, res.Total)}
			}
			p.settle(v, r)
			return nil
		}
	}
	return workflow.Errorf(workflow.CodeInvalidMapJoin, "join %s has no finished map before it", v.path())
}

// branchEnded keeps what a branch gave, and opens the next one.
func (p *program) branchEnded(s *scope, c workflow.Completion) {
	f := s.origin.fan
	i, _ := strconv.Atoi(s.branch)
	f.results[i] = branchResult{Outcome: "failed", Output: s.last}
	if c.OK {
		f.results[i].Outcome = "next"
	}
	f.busy--
	f.done++
	p.fill(s.origin)
}

// yieldSlot lets the next branch of the nearest fan begin while v waits for the
// world outside.
func (p *program) yieldSlot(v *visit) {
	if f := nearestFan(v.scope); f != nil {
		f.fan.busy--
		p.fill(f)
	}
}

func (p *program) takeSlot(v *visit) {
	if f := nearestFan(v.scope); f != nil {
		f.fan.busy++
	}
}

func nearestFan(s *scope) *visit {
	for ; s != nil && s.origin != nil; s = s.parent {
		if s.origin.fan != nil {
			return s.origin
		}
	}
	return nil
}
