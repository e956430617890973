package tooltest

import (
	"context"
	"sync"

	"github.com/tenonrun/tenon/tool"
)

// Host records what tools announce and ask.
type Host struct {
	Answer tool.Answer // to every question
	Fail   error       // of every announcement

	mu        sync.Mutex
	announced []tool.Change
	asked     []tool.Question
}

// Tool returns the host as tools see it.
func (h *Host) Tool() tool.Host {
	return tool.Host{
		Announce: func(_ context.Context, c tool.Change) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.announced = append(h.announced, c)
			return h.Fail
		},
		Ask: func(_ context.Context, q tool.Question) (tool.Answer, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.asked = append(h.asked, q)
			return h.Answer, nil
		},
	}
}

// Announced lists the changes that were announced.
func (h *Host) Announced() []tool.Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]tool.Change(nil), h.announced...)
}

// Asked lists the questions.
func (h *Host) Asked() []tool.Question {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]tool.Question(nil), h.asked...)
}
