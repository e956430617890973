package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Edit is what an edited workflow makes of a run: which results are kept, where
// it goes on live, and which writes have happened and would happen again.
type Edit struct {
	Run    workflow.RunID     `json:"run"`
	Reused []workflow.VisitID `json:"reused"`
	Live   []workflow.VisitID `json:"live"`
	Writes []workflow.VisitID `json:"writes"` // that happened and are not reused
	// Of a script: what follows the live calls is known when they have ended.
	Diverges string           `json:"diverges,omitempty"`    // the first call that is not kept, and why
	Later    int              `json:"later,omitempty"`       // results that may be kept after the live calls
	Saved    int64            `json:"savedTokens,omitempty"` // that the kept results took
	Ahead    int64            `json:"aheadTokens,omitempty"` // that the rest will take, about, by what it took before
	History  []workflow.Event `json:"-"`
}

// Compare replays a run's results under another document, without recording
// anything. A result is kept while kind, interpolated params, roles, and all
// visits before it in its body are the same.
func (e *Engine) Compare(ctx context.Context, id workflow.RunID, l Launch) (Edit, error) {
	r, ed, err := e.compare(ctx, id, l, nil)
	if err == nil {
		_ = r.Program.Close()
	}
	return ed, err
}

// Continue makes a new run of an edited workflow that keeps the results Compare
// lists. It refuses when writes would happen again, unless rerunWrites is set.
func (e *Engine) Continue(ctx context.Context, id workflow.RunID, l Launch, rerunWrites bool) (workflow.RunID, error) {
	if l.ID == "" {
		l.ID = workflow.RunID(ident.New("r"))
	}
	owner, err := e.cfg.Store.Own(ctx, l.ID)
	if err != nil {
		return "", err
	}
	defer owner.Release()
	r, ed, err := e.compare(ctx, id, l, owner)
	if err != nil {
		return "", err
	}
	defer r.Program.Close()
	if err := ed.Refused(rerunWrites); err != nil {
		return "", err
	}
	note := fmt.Sprintf("goes on from run %s with an edited workflow: %d results are kept", id, len(ed.Reused))
	from := workflow.Inline(rawOf(workflow.Edited{Run: id}))
	if err := r.record(ref{}, &workflow.Progress{Kind: workflow.ProgressEdited, Message: note, Data: from}); err != nil {
		return "", err
	}
	r.create, r.dirty, r.stopping = &store.Create{}, true, true
	return l.ID, r.append(ctx)
}

// Refused is why nobody goes on with the edited workflow: writes would happen
// again, and that was not allowed.
func (ed Edit) Refused(rerunWrites bool) error {
	if len(ed.Writes) == 0 || rerunWrites {
		return nil
	}
	return workflow.Errorf(workflow.CodeResumeIncompatible, "these writes have happened and would happen again: %v", ed.Writes).
		WithHint("add --rerun-writes if that is meant")
}

// Prepare records a new run without driving it: Drive does.
func (e *Engine) Prepare(ctx context.Context, l Launch) error {
	owner, err := e.cfg.Store.Own(ctx, l.ID)
	if err != nil {
		return err
	}
	defer owner.Release()
	r, err := e.first(owner, l)
	if err != nil {
		return err
	}
	defer r.Program.Close()
	r.dirty, r.stopping = true, true // the head says interrupted until somebody drives it
	return r.append(ctx)
}

// Look shows the fold of a run as it stands. It is gone when see returns.
func (e *Engine) Look(ctx context.Context, id workflow.RunID, see func(*history.State) error) error {
	s, err := e.fold(ctx, id)
	if err != nil {
		return err
	}
	defer closeProgram(s)
	return see(s)
}

// fixed is an owner for a run that is only imagined.
type fixed struct{}

// Epoch is that of a first owner.
func (fixed) Epoch() int64 { return 1 }

// Release has nothing to give back.
func (fixed) Release() error { return nil }

// editing replays an old history under a new document.
type editing struct {
	r        *run
	old      map[string]*past
	order    []string
	diverged map[string]bool // scopes
	roles    bool            // roles are the same
	edit     Edit
}

// past is a visit of the old history.
type past struct {
	admitted *workflow.Admitted
	settled  *workflow.Settled
	used     bool
}

func (e *Engine) compare(ctx context.Context, id workflow.RunID, l Launch, owner store.Owner) (*run, Edit, error) {
	ed := &editing{old: map[string]*past{}, diverged: map[string]bool{}, edit: Edit{Run: id}}
	start, err := ed.read(ctx, e.cfg.Store, id)
	if err != nil {
		return nil, ed.edit, err
	}
	ed.roles = bytes.Equal(rawOf(start.Options.Roles), rawOf(l.Started.Options.Roles))
	if owner == nil {
		owner = fixed{}
	}
	ed.r = e.newRun(l.ID, owner, l.By)
	ed.r.Values.Put(l.Document)
	for _, b := range l.Blobs {
		ed.r.Values.Put(b)
	}
	started := l.Started
	started.Inputs, started.Launch = start.Inputs, start.Launch
	if err := ed.r.record(ref{}, &started); err != nil {
		return nil, ed.edit, err
	}
	for more := true; more; {
		if more, err = ed.step(); err != nil {
			return nil, ed.edit, err
		}
	}
	for _, v := range ed.order {
		if p := ed.old[v]; !p.used && p.settled != nil && p.admitted.Effect == workflow.EffectWrite {
			ed.edit.Writes = append(ed.edit.Writes, workflow.VisitID(v))
		}
	}
	return ed.r, ed.edit, nil
}

func (ed *editing) read(ctx context.Context, s store.Store, id workflow.RunID) (*workflow.RunStarted, error) {
	var start *workflow.RunStarted
	err := s.Events(ctx, id, 0, func(ev workflow.Event) error {
		switch p := ev.Payload.(type) {
		case *workflow.RunStarted:
			start = p
		case *workflow.Admitted:
			if ed.old[ev.ID] == nil {
				ed.old[ev.ID] = &past{admitted: p}
				ed.order = append(ed.order, ev.ID)
			}
		case *workflow.Settled:
			if old := ed.old[ev.ID]; old != nil {
				old.settled = p
			}
		}
		return nil
	})
	if err == nil && start == nil {
		err = workflow.Errorf(workflow.CodeRunNotFound, "run %s is not in this project's store", id).WithHint("list runs with: tenon ls")
	}
	return start, err
}

// step takes the new Program's wishes once.
func (ed *editing) step() (more bool, err error) {
	cmds, err := ed.r.Program.Decide(nil)
	if err != nil {
		return false, err
	}
	for _, c := range cmds {
		switch c := c.(type) {
		case workflow.StartVisit:
			ed.r.Gate.Want(c)
			err = ed.arrive(c)
		case workflow.SettleVisit:
			err = ed.carried(c)
		case workflow.StartTimer, workflow.StartChild:
			err = ed.outside(c)
		default:
			err = ed.r.grant(c)
		}
		if err != nil {
			return false, err
		}
	}
	return len(cmds) > 0, nil
}

func (ed *editing) lost(scope string) bool {
	for s := scope; ; s = workflow.VisitID(s).Scope() {
		if ed.diverged[strings.TrimSuffix(s, "]")] || ed.diverged[s] {
			return true
		}
		if s == "" {
			return false
		}
	}
}

// arrive keeps the result of a visit, or leaves it to be done.
func (ed *editing) arrive(c workflow.StartVisit) error {
	if c.Self {
		return ed.r.record(refOf(c, 1), &workflow.Admitted{Kind: c.Kind, Self: true, Params: selfParams(c)})
	}
	digest := workflow.Digest(canon.Sum(c.Params))
	p := ed.old[string(c.Visit)]
	if ed.lost(c.Scope) || p == nil || p.settled == nil || p.admitted.Kind != c.Kind || p.admitted.Params != digest || c.AI && !ed.roles {
		ed.diverged[c.Scope] = true
		ed.edit.Live = append(ed.edit.Live, c.Visit)
		return nil
	}
	a := *p.admitted
	a.Steered = nil
	if err := ed.r.record(refOf(c, 1), &a); err != nil {
		return err
	}
	return ed.keep(c.Visit, refOf(c, 1), p)
}

func (ed *editing) keep(v workflow.VisitID, about ref, p *past) error {
	p.used = true
	ed.edit.Reused = append(ed.edit.Reused, v)
	s := *p.settled
	return ed.r.record(about, &s)
}

// carried takes a result that the Program works out itself. When it is not what
// it was, the rest of its body is live.
func (ed *editing) carried(c workflow.SettleVisit) error {
	p := ed.old[string(c.Visit)]
	now := c.Result
	ed.r.sink.Clean(&now)
	if p == nil || p.settled == nil || !bytes.Equal(rawOf(p.settled), rawOf(now)) {
		ed.diverged[c.Visit.Scope()] = true
	} else {
		p.used = true
	}
	return ed.r.record(ref{id: string(c.Visit), node: c.Node, number: c.Number, attempt: 1}, &now)
}

// outside keeps the end of a wait or of a child run, or leaves the wish to be
// carried out when the run is driven.
func (ed *editing) outside(c workflow.Command) error {
	v := workflow.VisitID(c.CommandID())
	p, scope := ed.old[string(v)], v.Scope()
	o, _ := ed.r.Gate.Visit(v)
	if !ed.lost(scope) && p != nil && p.settled != nil && p.admitted.Params == selfParams(o.Command) {
		return ed.keep(v, ed.r.visitRef(v), p)
	}
	ed.diverged[scope] = true
	ed.edit.Live = append(ed.edit.Live, v)
	if t, ok := c.(workflow.StartTimer); ok {
		return ed.r.grant(t)
	}
	ed.r.Wishes = append(ed.r.Wishes, c)
	return nil
}

// selfParams is the digest of the params of a visit that the Program carries
// out and that waits for the world outside.
func selfParams(c workflow.StartVisit) workflow.Digest {
	if !slices.Contains([]string{workflow.KindWait, workflow.KindWorkflow}, c.Kind) {
		return ""
	}
	return workflow.Digest(canon.Sum(c.Params))
}
