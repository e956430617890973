package tenon

import (
	"context"
	"encoding/json"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// Plan is what a run would do: nothing is started, written or called for it.
type Plan struct {
	Workflow    string            `json:"workflow"`
	Version     workflow.Digest   `json:"version"`
	Nodes       []PlannedNode     `json:"nodes"`
	Budget      workflow.Budget   `json:"budget"`
	Policies    workflow.Policies `json:"policies"`
	Transitions int               `json:"transitions"`
	MaxOutput   int               `json:"maxOutput"`         // output tokens of one model call, at most
	Cost        string            `json:"cost"`              // of one call, as far as it is known
	Problem     string            `json:"problem,omitempty"` // why a run would be refused now
}

// PlannedNode is a node with what is known before a run.
type PlannedNode struct {
	Path     string            `json:"path"`
	Kind     string            `json:"kind"`
	Effect   workflow.Effect   `json:"effect,omitempty"`
	AI       bool              `json:"ai,omitempty"`
	Provider string            `json:"provider,omitempty"`
	Model    string            `json:"model,omitempty"`
	Attempts int               `json:"attempts"`
	Outcomes []string          `json:"outcomes"`
	Ends     map[string]string `json:"ends"` // "" ends the body
}

// Plan describes the run that a request would start.
func (t *Tenon) Plan(ctx context.Context, q Request) (Plan, error) {
	w := q.Workflow
	p := Plan{
		Workflow: w.Name, Version: w.Digest, Policies: load.Effective(w.Definition), Transitions: load.Transitions(w.Definition),
		Budget: t.budget(w.Definition.Budget, q.Budget), MaxOutput: admission.DefaultMaxOutput, Cost: "nothing: no node calls a model",
	}
	if w.Script != nil {
		p.Cost = "unknown: a script decides while it runs; rehearse it with: tenon run " + w.Name + " --model scripted"
	}
	for _, n := range w.Nodes {
		pn := PlannedNode{
			Path: n.Node, Kind: n.Kind, Effect: n.Traits.Effect, AI: n.Traits.AI, Provider: n.Traits.Provider, Model: n.Traits.Model,
			Outcomes: n.Traits.Outcomes, Ends: map[string]string{}, Attempts: load.Attempts(workflow.Node{Retry: n.Retry}, n.Traits.AI),
		}
		if n.Body != "" {
			pn.Path = n.Body + "/" + n.Node
		}
		for o, to := range n.Ends {
			pn.Ends[o] = ""
			if to != nil {
				pn.Ends[o] = *to
			}
		}
		if pn.AI {
			p.Cost = "unknown: no prices are configured"
		}
		p.Nodes = append(p.Nodes, pn)
	}
	inputs, err := json.Marshal(q.Inputs)
	if err != nil {
		return p, err
	}
	q.dry = true
	if _, err := t.launch(ctx, q, inputs); err != nil {
		p.Problem = err.Error()
	}
	return p, nil
}

// Checks say how a document is judged when no run is meant.
type Checks struct {
	Structural bool // leave roles and providers of the project aside
	AnyVersion bool // accept a version that is not the document's digest, to replace it
}

// Check is Load without a run in mind.
func (t *Tenon) Check(nameOrFile string, c Checks) (*Workflow, error) {
	env := t.env()
	if c.Structural {
		env = piece.Env{Structural: true}
	}
	return t.find(nameOrFile, load.Config{Env: env, AnyVersion: c.AnyVersion}, nil)
}
