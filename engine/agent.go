package engine

import (
	"context"
	"errors"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/ledger"
	"github.com/tenonrun/tenon/workflow"
)

// spawn asks to open the account of an agent.
type spawn struct {
	a       *attempt
	started workflow.AgentStarted
	reply   chan error
}

// Spawn implements executor.Spawner.
func (a *attempt) Spawn(_ context.Context, s workflow.AgentStarted) error {
	m := &spawn{a: a, started: s, reply: make(chan error, 1)}
	if err := a.send(m); err != nil {
		return err
	}
	told, err := hear(a, m.reply)
	return errors.Join(told, err)
}

func (m *spawn) handle(r *run) error {
	tree, s := r.Memory.Agents[m.a.cmd.Visit], m.started
	if tree != nil && tree.Accounts[s.Key] != nil {
		m.reply <- nil
		return nil
	}
	if tree != nil && s.Depth > 0 {
		if no := tree.Spawn(s.Parent); no != nil {
			m.reply <- &executor.SpawnRefused{Limit: no.Limit, Max: no.Max, Used: no.Used, Agent: no.Agent}
			return nil
		}
	}
	if err := r.record(refOf(m.a.cmd, m.a.number), &s); err != nil {
		return err
	}
	r.after = append(r.after, func() { m.reply <- nil })
	return nil
}

// Despawn implements executor.Spawner.
func (a *attempt) Despawn(_ context.Context, e workflow.AgentEnded) error {
	over := false
	err := a.peek(func(r *run) {
		if tree := r.Memory.Agents[a.cmd.Visit]; tree != nil && tree.Accounts[e.Key] != nil {
			over = tree.Accounts[e.Key].Ended != nil
		}
	})
	if err != nil || over {
		return err
	}
	return a.record(&e)
}

// Left implements executor.Spawner.
func (a *attempt) Left(_ context.Context, agent, call string) (left workflow.Allowance, err error) {
	err = a.peek(func(r *run) {
		tree := r.Memory.Agents[a.cmd.Visit]
		if _, settled := r.Memory.Memos[a.cmd.Visit][call]; tree == nil || settled {
			return
		}
		left = tree.Left(agent, r.Gate.Active(r.e.now()))
	})
	return left, err
}

// within bounds a wished call by the accounts of its agent. hold says that calls
// of other agents on their way may give something back.
func (r *run) within(m *reserve, wish *admission.Call) (hold bool, refusal *workflow.Error) {
	tree := r.Memory.Agents[m.a.cmd.Visit]
	if tree == nil || m.call.Agent == "" {
		return false, nil
	}
	room := tree.Room(m.call.Agent, r.Gate.Active(r.e.now()), m.call.Last)
	useful := min(wish.MaxOutput, admission.MinUsefulOutput)
	need := wish.Prompt() + int64(useful)
	short := room.Tokens >= 0 && room.Tokens < need
	paid := room.CostUSD < 0 || wish.MaxCost == nil && room.CostUSD > 0
	dear := !paid && (room.CostUSD == 0 || wish.MaxCost.Of(useful) > room.CostUSD+penny)
	switch {
	case room.Over:
		return false, workflow.Errorf(workflow.CodeAgentBudget, "the time of %s is up", named(tree, room.Agent))
	case (short || dear) && len(tree.Live) > 0:
		return true, nil
	case short:
		return false, workflow.Errorf(workflow.CodeAgentBudget, "%d of %d tokens of %s are left; this call needs %d", room.Tokens, room.Limit, named(tree, room.Agent), need)
	case dear:
		return false, workflow.Errorf(workflow.CodeAgentBudget, "$%.4f of the money of its agents are left, which is not enough for this call", room.CostUSD)
	}
	if room.Tokens >= 0 {
		wish.MaxOutput = int(min(int64(wish.MaxOutput), room.Tokens-wish.Prompt()))
	}
	if !paid && wish.MaxCost.Token > 0 {
		wish.MaxOutput = int(min(float64(wish.MaxOutput), (room.CostUSD+penny-wish.MaxCost.Sent)/wish.MaxCost.Token))
	}
	return false, nil
}

// penny is what sums of dollars may be wrong by.
const penny = 1e-9

func named(t *ledger.Tree, key string) string {
	a := t.Accounts[key]
	switch {
	case a == nil || a.Label == "" && a.Agent == "":
		return "the agent"
	case a.Label != "":
		return "agent " + a.Label
	}
	return "agent " + a.Agent
}
