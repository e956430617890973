package tenon

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/draw"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

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
	return &Workflow{
		Workflow: &load.Workflow{Definition: def, Document: doc, Digest: start.Workflow.Digest, Nodes: nodes},
		Name:     start.Workflow.Name, File: start.Workflow.File, Path: t.Project.Path(start.Workflow.File),
	}, nil
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

// relaunch is the launch of another document with what a run was started with.
func (t *Tenon) relaunch(ctx context.Context, run workflow.RunID, w *Workflow) (engine.Launch, error) {
	start, err := t.started(ctx, run)
	if err != nil {
		return engine.Launch{}, err
	}
	q := Request{Workflow: w, Change: start.Launch.Change}
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
	return t.launch(ctx, q, inputs)
}

// Picture returns the workflow as a graph to draw.
func (w *Workflow) Picture() *draw.Graph {
	g := &draw.Graph{Title: w.Definition.Title, Subtitle: fmt.Sprintf("%s · %.12s", w.Definition.ID, w.Digest)}
	if g.Title == "" {
		g.Title = w.Name
	}
	at := map[string]int{}
	for _, n := range w.Nodes {
		i, ok := at[n.Body]
		if !ok {
			i = len(g.Bodies)
			at[n.Body] = i
			g.Bodies = append(g.Bodies, draw.Body{Name: n.Body})
		}
		b := &g.Bodies[i]
		if n.Entry {
			b.Entry = n.Node
		}
		if n.Last {
			b.Last = n.Node
		}
		b.Nodes = append(b.Nodes, pictured(n))
	}
	return g
}

func pictured(n load.NodeInfo) draw.Node {
	out := draw.Node{
		Name: n.Node, Kind: n.Kind, Label: n.Label, Detail: n.Summary,
		Write: n.Traits.Effect == workflow.EffectWrite, AI: n.Traits.AI,
	}
	for _, outcome := range n.Traits.Outcomes {
		e := draw.Edge{Outcome: outcome}
		if to := n.Ends[outcome]; to != nil {
			e.To = *to
		}
		out.Edges = append(out.Edges, e)
	}
	for _, u := range n.Bodies {
		out.Uses = append(out.Uses, draw.Use{Body: u.Body, Branch: u.Branch})
	}
	return out
}
