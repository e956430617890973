package engine

import (
	"context"

	"github.com/tenonrun/tenon/workflow"
)

// steer asks what a person has to say to an agent at work.
type steer struct {
	a          *attempt
	key, agent string
	reply      chan []string
}

// Steer implements executor.Steerer.
func (a *attempt) Steer(_ context.Context, key, agent string) ([]string, error) {
	m := &steer{a: a, key: key, agent: agent, reply: make(chan []string, 1)}
	if err := a.send(m); err != nil {
		return nil, err
	}
	words, err := hear(a, m.reply)
	return words, err
}

func (m *steer) handle(r *run) error {
	v := m.a.cmd.Visit
	if words, heard := r.Memory.Heard[v][m.key]; heard {
		m.reply <- words
		return nil
	}
	var seqs []int64
	var words []string
	if _, settled := r.Memory.Memos[v][m.key]; m.a.cmd.Steerable && !settled { // the call of that key comes next
		for _, s := range r.Gate.Steering() {
			if s.Agent == m.agent {
				seqs, words = append(seqs, s.Seq), append(words, s.Text)
			}
		}
	}
	if len(seqs) == 0 {
		m.reply <- nil
		return nil
	}
	if err := r.record(refOf(m.a.cmd, m.a.number), &workflow.SteerHeard{Key: m.key, Seqs: seqs}); err != nil {
		return err
	}
	r.after = append(r.after, func() { m.reply <- words })
	return nil
}
