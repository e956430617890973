package tenon

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// likeItself is the name of an agent that is started without one.
const likeItself = "helper"

// spawn finds the agent that a turn wants to start.
func (t *Tenon) spawn(ctx context.Context, parent executor.Turn, task tool.Task) (native.Child, error) {
	s, err := t.session(ctx, parent.Run)
	if err != nil {
		return native.Child{}, err
	}
	turn := executor.Turn{
		Access: parent.Access, Prompt: task.Prompt, Effort: parent.Effort, Thinking: parent.Thinking, MaxOutput: parent.MaxOutput,
		Dir: parent.Dir, Roots: parent.Roots, Space: parent.Space, Closed: parent.Closed, Env: parent.Env, Timeout: parent.Timeout, Idle: parent.Idle,
		Route: executor.Route{Group: parent.Route.Group, Parent: parent.Provider + "/" + parent.Model},
	}
	turn.Limits = costly(nil, parent.Limits)
	if task.Agent == "" || task.Agent == likeItself {
		turn.Role, turn.Instructions, turn.Def, turn.Tools, turn.MaxTurns = parent.Role, parent.Instructions, parent.Def, parent.Tools, parent.MaxTurns
		turn.Provider, turn.Model, turn.Route.Agent = parent.Provider, parent.Model, parent.Route.Agent
		ex, err := t.backends.executor(parent.Provider)
		return native.Child{Executor: ex, Turn: turn, Name: likeItself, Reason: "like the agent that started it"}, err
	}
	below := s.below(parent)
	def, m := pick(below, task.Agent)
	if m == nil {
		return native.Child{}, unknownAgent(task.Agent, below)
	}
	turn.Role, turn.Instructions, turn.Def, turn.MaxTurns = m.Name, m.Prompt, def, m.Turns
	turn.Route = m.route(parent.Route.Group)
	turn.Route.Parent = parent.Provider + "/" + parent.Model
	turn.Limits = costly(m.Limits, parent.Limits)
	if !m.writes() {
		turn.Access = workflow.EffectRead
	}
	d, err := s.matrix.Decide(t.request(s, "", turn))
	if err != nil {
		return native.Child{}, &tool.Failed{What: fmt.Sprintf("the agent %s cannot be started", m.Name), Next: "ask another agent, or do the work yourself", Err: err}
	}
	turn.Provider, turn.Model = d.Models[0].Provider, d.Models[0].Model
	c := native.Child{
		Executor: router{t: t, decided: &d}, Turn: turn, Name: m.Name, Version: m.Version, Digest: m.Digest, Reason: d.String(), Limits: m.Limits,
	}
	if d.MatchedRuleID != nil {
		c.Rule = *d.MatchedRuleID
	}
	return c, nil
}

// costly is whether a limit of money holds for an agent: its own, or one above. The
// limits themselves are in its account.
func costly(own, above *workflow.AgentLimits) *workflow.AgentLimits {
	for _, l := range []*workflow.AgentLimits{own, above} {
		if l != nil && l.MaxCostUSD != nil {
			return &workflow.AgentLimits{MaxCostUSD: l.MaxCostUSD}
		}
	}
	return nil
}

// below are the agents that the agent of a turn may start, by the name of their
// definition: those of its own definition, or, for a turn of no agent, those of
// the project.
func (s *session) below(parent executor.Turn) map[string]*member {
	out := map[string]*member{}
	def := parent.Def
	if def == "" && s.Team["agent:"+parent.Role] != nil {
		def = "agent:" + parent.Role
	}
	if def != "" {
		if m := s.member(def); m != nil {
			for _, c := range m.Children {
				out[def+"/"+c.Name] = c
			}
		}
		return out
	}
	for key, m := range s.Team {
		if strings.HasPrefix(key, "agent:") {
			out[key] = m
		}
	}
	return out
}

func pick(list map[string]*member, name string) (string, *member) {
	for _, def := range slices.Sorted(maps.Keys(list)) {
		if list[def].Name == name {
			return def, list[def]
		}
	}
	return "", nil
}

func unknownAgent(name string, list map[string]*member) error {
	names := []string{}
	for _, def := range slices.Sorted(maps.Keys(list)) {
		names = append(names, list[def].Name)
	}
	next := "leave agent out to get one like yourself, or do the work yourself"
	if len(names) > 0 {
		next = "there are: " + strings.Join(names, ", ") + "; or leave agent out to get one like yourself"
	}
	if near := text.Nearest(name, names); near != "" {
		next = fmt.Sprintf("did you mean %q? ", near) + next
	}
	return &tool.Failed{What: "there is no agent " + tool.Quote(name), Next: next}
}

// team tells a model which agents it may start; "" when there are none by name.
func (s *session) team(parent executor.Turn) string {
	list := s.below(parent)
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Agents:")
	for _, def := range slices.Sorted(maps.Keys(list)) {
		m := list[def]
		fmt.Fprintf(&b, "\n- %s: %s", m.Name, text.Head(cmp.Or(m.Description, "no description"), 500, "…"))
	}
	return b.String()
}
