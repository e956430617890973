package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Runs lists heads, newest start first.
func (s *Store) Runs(_ context.Context, q store.Query) ([]store.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list(q), nil
}

func (s *Store) list(q store.Query) []store.Head {
	var out []store.Head
	for _, r := range s.runs {
		if !q.Match(r.head) {
			continue
		}
		h := r.head
		h.Questions = slices.Clone(h.Questions)
		h.Detail = slices.Clone(h.Detail)
		h.Last, h.Epoch = r.last(), r.epoch
		if s.holds[r.id] != nil {
			own := holder()
			h.Owner = &own
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b store.Head) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(b.Run, a.Run))
	})
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out
}

// Post leaves a message for the owner of a run.
func (s *Store) Post(_ context.Context, c store.Control) error {
	if err := c.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[c.Run] == nil {
		return store.NoRun(c.Run)
	}
	waiting := 0
	for _, m := range s.inbox[c.Run] {
		if m.ID == c.ID {
			if m.Same(c) {
				return nil
			}
			return store.Conflict(c)
		}
		if m.taken == 0 {
			waiting++
		}
	}
	if waiting >= store.MaxInbox {
		return store.InboxFull(c.Run)
	}
	if c.Data = slices.Clone(c.Data); len(c.Data) == 0 {
		c.Data = nil
	}
	s.inbox[c.Run] = append(s.inbox[c.Run], message{Control: c})
	return nil
}

// Inbox returns the messages that wait, oldest first.
func (s *Store) Inbox(_ context.Context, id workflow.RunID) ([]store.Control, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[id] == nil {
		return nil, store.NoRun(id)
	}
	var out []store.Control
	for _, m := range s.inbox[id] {
		if m.taken == 0 {
			m.Data = slices.Clone(m.Data)
			out = append(out, m.Control)
		}
	}
	return out, nil
}

// take returns the inbox with the controls of a batch marked; nil when the
// batch takes none.
func (s *Store) take(a store.Append, seq int64) ([]message, error) {
	if len(a.Taken) == 0 {
		return nil, nil
	}
	inbox := slices.Clone(s.inbox[a.Run])
	for _, id := range a.Taken {
		i := slices.IndexFunc(inbox, func(m message) bool { return m.ID == id && m.taken == 0 })
		if i < 0 {
			return nil, store.NoControl(a.Run, id)
		}
		inbox[i].taken = seq
	}
	return inbox, nil
}
