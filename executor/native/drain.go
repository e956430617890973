package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// mark is what an agent is told about its limits before a round.
type mark struct {
	Drain bool `json:"drain,omitempty"` // it has two responses left
	Raise bool `json:"raise,omitempty"` // a limit was raised: it goes on
	workflow.Allowance
}

// agentsLimit is why an agent comes to an end that was refused agents too often. Its
// answer counts as any other.
const agentsLimit = "agents"

// lastTools are those that save work: what an agent has when it is to come to
// an end.
var lastTools = []string{"write", "edit", "todo_write", "memory", "artifact_write", submitName}

// decide keeps a decision about a round as a step. A round that nothing is to be
// said about settles no step.
func (l *loop) decide(ctx context.Context, key string, about func() (mark, bool, error)) (mark, bool, error) {
	raw, err := l.journal.Step(ctx, executor.Step{Key: key, Tool: "limits",
		Do: func(context.Context, json.RawMessage, func(json.RawMessage) error) (executor.Outcome, error) {
			m, worth, err := about()
			if err == nil && !worth {
				err = errFits
			}
			if err != nil {
				return executor.Outcome{}, err
			}
			memo, err := json.Marshal(m)
			return executor.Outcome{Memo: memo, About: m.String()}, err
		}})
	if errors.Is(err, errFits) {
		return mark{}, false, nil
	}
	var m mark
	if err == nil {
		err = l.recall(raw, &m, "step "+key)
	}
	return m, err == nil, err
}

// String tells people about a mark.
func (m mark) String() string {
	what := fmt.Sprintf("%s used: %.6g of %.6g", m.Limit, m.Used, m.Max)
	switch {
	case m.Raise:
		return "goes on after a raise: " + what
	case m.Drain:
		return "comes to an end: " + what
	}
	return "near a limit: " + what
}

// limits tells an agent before round n how near it is to its limits, and has it
// come to an end at the last of them.
func (l *loop) limits(ctx context.Context, n int) error {
	host, ok := l.Host.(executor.Spawner)
	if !ok || l.journal == nil || l.drained > 0 || l.Turn.Agent == "" && l.refusals < maxRefusals {
		return nil
	}
	m, told, err := l.decide(ctx, fmt.Sprintf("%s/%d/limits", l.Turn.Key, n), func() (mark, bool, error) {
		if l.refusals >= maxRefusals {
			return mark{Drain: true, Allowance: workflow.Allowance{Limit: agentsLimit}}, true, nil
		}
		left, err := host.Left(ctx, l.Turn.Agent, l.callKey(n))
		return mark{Drain: left.Over(), Allowance: left}, left.Over() || left.Near() && !l.warned, err
	})
	if err != nil || !told {
		return err
	}
	return l.mark(n, m)
}

// callKey is the key of the call of round n.
func (l *loop) callKey(n int) string { return fmt.Sprintf("%s/%d", l.Turn.Key, n) }

// mark tells the agent.
func (l *loop) mark(n int, m mark) error {
	if !m.Drain {
		l.warned = true
		l.messages = append(l.messages, provider.UserText(fmt.Sprintf(
			"[limits: %.6g of %.6g of your %s are used. Come to an end: save what you have, and answer with what is done and what is missing before the rest is used up.]", m.Used, m.Max, m.Limit)))
		return nil
	}
	if m.Strict || l.Turn.Strict {
		return l.overBudget(m)
	}
	l.drained, l.drain = n, m
	l.messages = append(l.messages, provider.UserText(fmt.Sprintf(
		"[limits: your %s are used up. You have two responses left. In the first you may still save work with the tools that write; then answer with what is done, what is partial, and what is missing.]", m.Limit)))
	return nil
}

func (l *loop) overBudget(m mark) error {
	return workflow.Errorf(workflow.CodeCompositionBudget, "%s: %s: %.6g of %.6g %s are used, and its limits are strict", l.Where(), l.name(), m.Used, m.Max, m.Limit).
		WithHint("raise the limit with resume --raise, or leave out strict to get partial results")
}

// name is the agent for people.
func (l *loop) name() string {
	if l.Turn.Label != "" {
		return "agent " + l.Turn.Label
	}
	return "the agent"
}

// spent has an agent come to an end whose next call does not fit into its limits.
func (l *loop) spent(ctx context.Context, n int, refusal error) error {
	if l.drained > 0 || l.journal == nil {
		return refusal
	}
	m, _, err := l.decide(ctx, fmt.Sprintf("%s/%d/spent", l.Turn.Key, n), func() (mark, bool, error) {
		host, ok := l.Host.(executor.Spawner)
		if !ok || refusal == nil {
			return mark{}, false, nil
		}
		left, err := host.Left(ctx, l.Turn.Agent, "")
		return mark{Drain: true, Allowance: left}, true, err
	})
	if err != nil || !m.Drain {
		return err
	}
	return l.mark(n, m)
}

// raised reports whether an agent that came to an end goes on, because a limit
// was raised since.
func (l *loop) raised(ctx context.Context, n int) (bool, error) {
	host, ok := l.Host.(executor.Spawner)
	if !ok || l.drained == 0 || l.Turn.Agent == "" {
		return false, nil
	}
	_, more, err := l.decide(ctx, fmt.Sprintf("%s/%d/raised", l.Turn.Key, n), func() (mark, bool, error) {
		left, err := host.Left(ctx, l.Turn.Agent, "")
		return mark{Raise: true, Allowance: left}, left.Limit != "" && left.Limit == l.drain.Limit && left.Max > l.drain.Max && !left.Over(), err
	})
	if err != nil || !more {
		return false, err
	}
	l.drained, l.drain, l.warned, l.reply.Drained = 0, mark{}, false, false
	l.messages = append(l.messages, provider.UserText("[limits: the limit was raised. Go on with the work where you left it.]"))
	return true, nil
}

// last reports whether round n is the last one that the agent has.
func (l *loop) last(n int) bool {
	return n == l.rounds() || n == l.closing || l.drained > 0 && n > l.drained
}

// offered are the tools of round n.
func (l *loop) offered() []provider.ToolSpec {
	if l.drained == 0 {
		return l.tools
	}
	return slices.DeleteFunc(slices.Clone(l.tools), func(t provider.ToolSpec) bool { return !slices.Contains(lastTools, t.Name) })
}
