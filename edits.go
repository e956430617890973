package tenon

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/script"
	scripts "github.com/tenonrun/tenon/script/store"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// Change is another workflow for a run, and how that goes on with it.
type Change struct {
	Workflow    *Workflow
	Reuse       string // of a script: workflow.ReusePrefix, "" too, or ReuseUnchanged
	RerunWrites bool   // writes that have happened may happen again
	By          string // who asks
}

// Compare tells what another workflow would make of a run: which results it
// keeps and where it would go on live. Nothing is recorded.
func (t *Tenon) Compare(ctx context.Context, run workflow.RunID, c Change) (engine.Edit, error) {
	l, err := t.relaunch(ctx, run, c)
	if err != nil {
		return engine.Edit{}, err
	}
	if c.Workflow.Script != nil {
		return t.takeOver(ctx, run, c.Reuse, &l)
	}
	return t.engine.Compare(ctx, run, l)
}

// Continue makes a run of an edited workflow that keeps the results of another
// run as far as they hold. Resume goes on with it.
func (t *Tenon) Continue(ctx context.Context, run workflow.RunID, c Change) (workflow.RunID, error) {
	l, err := t.relaunch(ctx, run, c)
	if err != nil {
		return "", err
	}
	if err := t.idle(ctx, run); err != nil {
		return "", err
	}
	l.By, l.ID = c.By, workflow.RunID(ident.New("r"))
	if err := t.made.Continued(ctx, run, l.ID); err != nil {
		return "", err
	}
	t.keepScript(ctx, c.Workflow, &l)
	if c.Workflow.Script != nil {
		err = t.takeUp(ctx, run, c, &l)
	} else {
		_, err = t.engine.Continue(ctx, run, l, c.RerunWrites)
	}
	if err != nil {
		return "", errors.Join(err, t.made.Forget(ctx, l.ID))
	}
	return l.ID, nil
}

// takeUp records the run of an edited script.
func (t *Tenon) takeUp(ctx context.Context, run workflow.RunID, c Change, l *engine.Launch) error {
	ed, err := t.takeOver(ctx, run, c.Reuse, l)
	if err == nil {
		err = ed.Refused(c.RerunWrites)
	}
	if err != nil {
		return err
	}
	return t.engine.Prepare(ctx, *l)
}

// follow has a run take over the results of another one, if it is to.
func (t *Tenon) follow(ctx context.Context, q Request, l *engine.Launch) error {
	if q.From == "" {
		return nil
	}
	if q.Workflow.Script == nil {
		return workflow.Errorf(workflow.CodeInvalidArguments, "only a run of a script takes over results by itself, and %s is a definition", q.Workflow.Name).
			WithHint("go on with the edited definition: tenon resume %s --accept-changes", q.From)
	}
	if l.ID == "" {
		l.ID = workflow.RunID(ident.New("r"))
	}
	if err := t.idle(ctx, q.From); err != nil {
		return err
	}
	ed, err := t.takeOver(ctx, q.From, q.Reuse, l)
	if err != nil {
		return err
	}
	if q.Told != nil {
		q.Told(ed)
	}
	if err := ed.Refused(q.RerunWrites); err != nil {
		return err
	}
	return t.made.Continued(ctx, q.From, l.ID)
}

// idle refuses a run that a process drives, and names that.
func (t *Tenon) idle(ctx context.Context, run workflow.RunID) error {
	owner, err := t.Store.Own(ctx, run)
	if err != nil {
		return err
	}
	return owner.Release()
}

// takeOver gives a run of a script the results of another run, and tells what
// comes of that.
func (t *Tenon) takeOver(ctx context.Context, from workflow.RunID, mode string, l *engine.Launch) (engine.Edit, error) {
	if mode == "" {
		mode = workflow.ReusePrefix
	}
	ed := engine.Edit{Run: from}
	var old []script.Call
	err := t.engine.Look(ctx, from, func(s *history.State) error {
		j, ok := s.Program.(script.Journal)
		if !ok {
			return workflow.Errorf(workflow.CodeResumeIncompatible, "run %s is one of a definition, %s, and %s is a script", from, s.Start.Workflow.Name, l.Started.Workflow.Name).
				WithHint("start the script by itself: tenon run %s", l.Started.Workflow.Name)
		}
		old = j.Calls()
		return nil
	})
	if err != nil {
		return ed, err
	}
	calls, err := script.Carry(mode, old)
	if err != nil {
		return ed, err
	}
	if string(calls) == "[]" {
		return ed, workflow.Errorf(workflow.CodeResumeIncompatible, "run %s has settled nothing that could be taken over", from).
			WithHint("start afresh: tenon run %s", l.Started.Workflow.Name)
	}
	l.Started.Options.Script.Reuse = &workflow.Reuse{From: from, Mode: mode, Calls: workflow.Inline(calls)}
	values := history.NewLayered(stored{t})
	for _, text := range append([][]byte{l.Document}, l.Blobs...) {
		values.Put(text)
	}
	plan, err := t.factory.Foresee(l.ID, l.Started, values)
	if err != nil {
		return ed, err
	}
	for _, c := range plan.Reused {
		ed.Reused = append(ed.Reused, c.ID)
	}
	for _, c := range plan.Live {
		ed.Live = append(ed.Live, c.ID)
	}
	ed.Later, ed.Writes, ed.Diverges = plan.Later, plan.Again(old), plan.Diverges(old)
	ed.Saved, ed.Ahead = plan.Tokens(old)
	return ed, nil
}

// stored reads the values of runs.
type stored struct{ t *Tenon }

// Load implements workflow.Values; reads are not cancelled, they are local.
func (s stored) Load(d workflow.Digest) ([]byte, error) {
	return s.t.Store.Blob(context.Background(), d)
}

// Pinned returns the workflow that a run is pinned to, whatever the file says
// by now.
func (t *Tenon) Pinned(ctx context.Context, run workflow.RunID) (*Workflow, error) {
	start, err := t.started(ctx, run)
	if err != nil {
		return nil, err
	}
	doc, err := t.Store.Blob(ctx, start.Workflow.Digest)
	if err != nil {
		return nil, fmt.Errorf("reading the workflow of run %s: %w", run, err)
	}
	w := &Workflow{Name: start.Workflow.Name, File: start.Workflow.File, Path: t.Project.Path(start.Workflow.File)}
	if start.Kind == workflow.KindScript {
		meta, err := script.Read(w.File, doc)
		w.scripted(meta, doc)
		return w, err
	}
	def, err := load.Decode(doc)
	if err != nil {
		return nil, fmt.Errorf("reading the workflow of run %s: %w", run, err)
	}
	env := t.env()
	env.Roles = start.Options.Roles
	nodes, err := load.Describe(def, t.pieces, env)
	if err != nil {
		return nil, fmt.Errorf("describing the workflow of run %s: %w", run, err)
	}
	w.Workflow = &load.Workflow{Definition: def, Document: doc, Digest: start.Workflow.Digest, Nodes: nodes}
	return w, nil
}

// Edited returns the workflow of a run as it stands now, where the run has it
// from: its file, or, of a script, the copy that was kept for the run when only
// that was changed. changed tells whether the run is pinned to something else.
func (t *Tenon) Edited(ctx context.Context, run workflow.RunID) (now *Workflow, changed bool, err error) {
	start, err := t.started(ctx, run)
	if err != nil {
		return nil, false, err
	}
	from := t.Project.Path(start.Workflow.File)
	if start.Kind == workflow.KindScript && !isFile(from) {
		from = start.Workflow.Name
	}
	now, err = t.Load(from)
	if kept := t.scripts.path(run); kept != "" && (err != nil || !differs(now, start)) {
		own, broken := t.Load(kept)
		if broken != nil {
			return nil, false, broken
		}
		if own.Name = start.Workflow.Name; differs(own, start) {
			return own, true, nil
		}
	}
	return now, err == nil && differs(now, start), err
}

// differs reports whether a workflow, or a script that it starts, is another one
// than a run began with.
func differs(w *Workflow, start *workflow.RunStarted) bool {
	if w.Digest != start.Workflow.Digest {
		return true
	}
	for ref, c := range w.Children {
		if c.Script != nil && start.Children[ref].Digest != c.Digest {
			return true
		}
	}
	return false
}

// started returns the first event of a run.
func (t *Tenon) started(ctx context.Context, run workflow.RunID) (*workflow.RunStarted, error) {
	enough := errors.New("enough")
	var start *workflow.RunStarted
	err := t.Store.Events(ctx, run, 0, func(e workflow.Event) error {
		start, _ = e.Payload.(*workflow.RunStarted)
		return enough
	})
	if !errors.Is(err, enough) || start == nil {
		return nil, errors.Join(fmt.Errorf("reading the workflow of run %s", run), err)
	}
	return start, nil
}

// relaunch is the launch of another workflow with what a run was started with.
func (t *Tenon) relaunch(ctx context.Context, run workflow.RunID, c Change) (engine.Launch, error) {
	start, err := t.started(ctx, run)
	if err != nil {
		return engine.Launch{}, err
	}
	s, err := t.session(ctx, run)
	if err != nil {
		return engine.Launch{}, err
	}
	q := Request{Workflow: c.Workflow, Change: start.Launch.Change, Models: s.Bind, Dimensions: maps.Clone(s.Dimensions)}
	load := func(v workflow.Value) []byte {
		if v.Digest == "" || err != nil {
			return v.JSON
		}
		var raw []byte
		raw, err = t.Store.Blob(ctx, v.Digest)
		return raw
	}
	inputs := load(start.Inputs)
	q.Tickets, q.Specs = load(start.Launch.Tickets), load(start.Launch.Specs)
	if err != nil {
		return engine.Launch{}, fmt.Errorf("reading what run %s was started with: %w", run, err)
	}
	if c.Workflow.Script != nil { // its args are merged already
		own := *c.Workflow
		own.defaults = scripts.Resolution{}
		q.Workflow, q.Args, inputs = &own, inputs, nil
		q.Script, q.Budget = start.Options.Script, start.Options.Budget
		q.Script.Reuse = nil
	}
	l, err := t.launch(ctx, q, inputs)
	l.Started.Options.ByAgent = start.Options.ByAgent
	return l, err
}
