package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

// scriptRepairs is how often an answer that breaks its schema is asked for again.
const scriptRepairs = 5

// general are names for an agent without a definition that scripts use.
var general = []string{"", "general-purpose", "general", "default"}

// call is an agent that a script starts.
type call struct {
	Prompt    string                `json:"prompt"`
	Agent     string                `json:"agent"`
	Model     string                `json:"model"`
	Effort    string                `json:"effort"`
	Schema    json.RawMessage       `json:"schema"`
	Isolation string                `json:"isolation"`
	TimeoutMs int64                 `json:"timeoutMs"`
	Tools     []string              `json:"tools"`
	Limits    *workflow.AgentLimits `json:"limits"`
}

// answer runs an agent that a script started. Its output is what the script gets:
// the text, or the object that fits the schema.
func (v *visit) answer(ctx context.Context) (workflow.Settled, error) {
	p, err := params.Read[call](v.f.Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	if p.Limits != nil {
		if err := marked(p.Limits); err != nil {
			return workflow.Settled{}, err
		}
	}
	t := v.callTurn(p)
	if !slices.Contains(general, p.Agent) {
		if v.agent, err = v.cfg.Find(ctx, v.f.Run, Name{Agent: p.Agent}); err != nil {
			return workflow.Settled{}, err
		}
		t.Def, t.Role, t.Digest, t.MaxTurns, t.Instructions = v.agent.Def, v.agent.Name, v.agent.Digest, v.agent.Turns, v.agent.Prompt
		t.Limits = least(v.agent.Limits, p.Limits)
		t.Route.Agent, t.Route.Skill, t.Route.Preferred = v.agent.Name, v.agent.Skill, v.agent.Model
	}
	var finish func(context.Context) (string, error)
	if p.Isolation == "worktree" && v.cfg.Isolate != nil {
		desk, err := v.desk()
		if err != nil {
			return workflow.Settled{}, err
		}
		if t.Dir, finish, err = v.cfg.Isolate(ctx, v.f, desk); err != nil {
			return workflow.Settled{}, err
		}
		t.Roots = []string{t.Dir}
	}
	reply, err := v.c.Turn(ctx, t)
	if err != nil {
		return workflow.Settled{}, err
	}
	s := workflow.Settled{Outcome: "next", Output: result.Value(reply.Text)}
	if len(reply.Structured) > 0 {
		s.Output = workflow.Inline(reply.Structured)
	}
	if finish != nil {
		kept, err := finish(ctx)
		if err != nil {
			return workflow.Settled{}, err
		}
		if kept != "" {
			s.Warnings = append(s.Warnings, kept)
		}
	}
	return s, nil
}

// callTurn is the turn of an agent that a script starts. Such agents may write,
// and run side by side.
func (v *visit) callTurn(p call) executor.Turn {
	t := executor.Turn{
		Key: "agent", Kind: "initial", Node: v.f.Node, Access: workflow.EffectWrite, Prompt: p.Prompt, Model: p.Model, Effort: p.Effort,
		Schema: p.Schema, Repairs: scriptRepairs, Limits: p.Limits,
		Route:   executor.Route{Group: v.f.Context.Group},
		Timeout: limit(nil, v.f.Timeouts.TurnMs), Idle: limit(nil, v.f.Timeouts.IdleMs),
	}
	if p.TimeoutMs > 0 {
		t.Timeout = time.Duration(p.TimeoutMs) * time.Millisecond
	}
	if p.Limits != nil {
		t.Strict = p.Limits.Strict
	}
	for _, name := range p.Tools {
		t.Tools = append(t.Tools, cmp.Or(toolNames[strings.ToLower(name)], strings.ToLower(name)))
	}
	for _, r := range v.f.Repositories {
		if path, err := filepath.Abs(r.Path); err == nil {
			t.Roots = append(t.Roots, path)
		}
	}
	if len(t.Roots) > 0 {
		t.Dir = t.Roots[0]
	}
	if len(v.f.Steering) > 0 {
		t.Prompt += "\n\nAdvice from the operator of this run:\n- " + strings.Join(v.f.Steering, "\n- ")
	}
	return t
}

// toolNames are the names that scripts use for tools which are called otherwise
// here.
var toolNames = map[string]string{"agent": "task", "todowrite": "todo_write", "multiedit": "edit", "askuserquestion": "ask"}
