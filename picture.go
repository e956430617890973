package tenon

import (
	"fmt"

	"github.com/tenonrun/tenon/draw"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

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
