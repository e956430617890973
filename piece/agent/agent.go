// Package agent is the piece that has an agent of a composition do something and
// deliver it.
//
// Holds: the kind agent: one turn of an agent with all that it starts, within its
// limits, in a workspace of its own, and what follows from what it delivered.
//
// Guarantees: the outcome next with a deliverable means that the deliverable met
// its contract. One that does not is asked for once more, in the same
// conversation; a fault of the harvest costs no turn. What a limit cut short is
// harvested all the same; if it does not meet its contract, the visit has no
// result and goes on after a raise.
//
// Does not: resolve agents, choose models, or make workspaces: whoever wires it
// gives those.
package agent

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/deliverable"
	"github.com/tenonrun/tenon/deliverable/harvest"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed schema/*.json
var schemas embed.FS

// Kind is the kind of the piece.
const Kind = "agent"

// Config sets up the piece.
type Config struct {
	// Find returns the agent that the params name, as the run is pinned to it, and
	// checks that a node may name it before there is a run.
	Find func(ctx context.Context, run workflow.RunID, n Name) (Agent, error)
	// Known says why a name leads nowhere, before there is a run; nil does not know.
	Known func(n Name) error
	// Contract says what is wrong with a deliverable, a name or a specification,
	// and with the names of overlays, before there is a run; nil does not know.
	Contract func(deliverable json.RawMessage, overlays []string) error
	// Prepare makes the workspace of a visit; it is the same for all its attempts.
	Prepare func(ctx context.Context, o Order) (Workspace, error)
	// Isolate gives an agent that a script starts a work tree of its own; finish
	// removes one that is unchanged, and tells of one that is kept.
	Isolate func(ctx context.Context, f piece.Frame, dir string) (tree string, finish func(context.Context) (kept string, err error), err error)
	// Keep puts a deliverable into a safe place beside the run; nil keeps none.
	Keep func(ctx context.Context, f piece.Frame, v deliverable.Verdict) error
	// Harvest bounds what is taken in.
	Harvest harvest.Limits
}

// Name is the agent or the composition that a node names.
type Name struct{ Agent, Composition string }

// Agent is an agent with what a turn of it needs.
type Agent struct {
	Def     string // names it to the wiring of executors
	Name    string
	Version string
	Digest  workflow.Digest
	Model   string // that it asks for; Node says that a composition does
	Node    bool
	Limits  *workflow.AgentLimits
	Turns   int // model calls; 0 is the usual
	Prompt  string
	Skill   string
}

// Order is what a workspace is made from.
type Order struct {
	Frame       piece.Frame
	Agent       Agent
	Deliverable json.RawMessage // name of a specification, or the specification itself; nil for none
	Overlays    []string
	Inputs      json.RawMessage
	Dir         string // of the visit
}

// Workspace is where an agent works beside the repositories.
type Workspace struct {
	Dir          string // absolute
	Instructions string // the text of AGENTS.md
	Spec         *deliverable.Spec
	Repos        map[string]string // work trees by name
	Closed       []string          // absolute paths that no tool may write
	Env          map[string]string // of commands; it may hold credentials
	Digest       string            // of the rendered context
	Warnings     []string
}

type settings struct {
	Agent               string                `json:"agent"`
	Composition         string                `json:"composition"`
	Prompt              string                `json:"prompt"`
	Access              workflow.Effect       `json:"access"`
	Deliverable         json.RawMessage       `json:"deliverable"`
	OnContractViolation string                `json:"onContractViolation"`
	Limits              *workflow.AgentLimits `json:"limits"`
	Group               string                `json:"group"`
	Overlays            []string              `json:"overlays"`
	Inputs              json.RawMessage       `json:"inputs"`
	Model               string                `json:"model"`
	TimeoutMs           *int64                `json:"timeoutMs"`
	IdleTimeoutMs       *int64                `json:"idleTimeoutMs"`
}

// Pieces returns the kinds of this package.
func Pieces(c Config) []piece.Piece {
	return []piece.Piece{{
		Kind: Kind, Schema: params.Schemas(schemas, Kind), Describe: c.describe, Run: c.run, Processes: true,
	}}
}

func (cfg Config) describe(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"next", "unproven", "failed"}, Effect: workflow.EffectWrite, AI: true, Steerable: true}
	if env.Script {
		traits.Outcomes, traits.Effect = []string{"next", "failed"}, workflow.EffectRead
		return traits, nil
	}
	p, err := params.Read[settings](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	if p.Access != workflow.EffectNone {
		traits.Effect = p.Access
	}
	var problems []piece.Problem
	if env.Model != nil && p.Model != "" && !params.Open(p.Model) {
		if err := env.Model(p.Model, ""); err != nil {
			problems = append(problems, problem("/model", err))
		}
	}
	if cfg.Known != nil && !env.Structural && !env.Pinned && !params.Open(p.Agent) && !params.Open(p.Composition) {
		at := "/agent"
		if p.Composition != "" {
			at = "/composition"
		}
		if err := cfg.Known(Name{p.Agent, p.Composition}); err != nil {
			problems = append(problems, problem(at, err))
		}
	}
	if cfg.Contract != nil && !env.Structural && !env.Pinned {
		problems = append(problems, cfg.contract(p)...)
	}
	return traits, problems
}

// contract judges what is written without tokens.
func (cfg Config) contract(p settings) []piece.Problem {
	var problems []piece.Problem
	said := func(pointer string, err error) {
		if err != nil {
			problems = append(problems, problem(pointer, err))
		}
	}
	open := params.Open(string(p.Deliverable))
	if !open {
		said("/deliverable", cfg.Contract(p.Deliverable, nil))
	}
	for i, name := range p.Overlays {
		if open = open || params.Open(name); !params.Open(name) {
			said(fmt.Sprintf("/overlays/%d", i), cfg.Contract(nil, []string{name}))
		}
	}
	if !open && len(problems) == 0 && len(p.Overlays) > 0 {
		said("/overlays", cfg.Contract(p.Deliverable, p.Overlays))
	}
	return problems
}

func problem(pointer string, err error) piece.Problem {
	p := piece.Problem{Code: workflow.CodeOf(err), Pointer: pointer, Message: err.Error()}
	if p.Code == "" {
		p.Code = workflow.CodeInvalidPieceParams
	}
	return p
}

// turn is the turn of the agent.
func (p settings) turn(f piece.Frame, a Agent, w Workspace) executor.Turn {
	t := executor.Turn{
		Key: "agent", Kind: "initial", Node: f.Node, Role: a.Name, Access: f.Traits.Effect, Label: "", Def: a.Def,
		Instructions: w.Instructions, Prompt: p.Prompt, Model: p.Model, MaxTurns: a.Turns,
		Limits: least(a.Limits, p.Limits), Digest: a.Digest,
		Route: executor.Route{Agent: a.Name, Group: p.Group, Skill: a.Skill},
		Space: w.Dir, Closed: w.Closed, Env: w.Env, Timeout: limit(p.TimeoutMs, f.Timeouts.TurnMs), Idle: limit(p.IdleTimeoutMs, f.Timeouts.IdleMs),
	}
	if a.Node {
		t.Route.Composition = a.Model
	} else {
		t.Route.Preferred = a.Model
	}
	if t.Limits != nil {
		t.Strict = t.Limits.Strict
	}
	return t
}
