package process

import (
	"os"
	"sync"
	"time"
)

// child is a started command and all that belongs to it.
type child struct {
	process *os.Process
	id      string         // what descendants carry in their environment
	exited  chan struct{}  // closed when the process itself is gone
	seen    map[int]string // processes that belong to it, by id: their start times

	mu    sync.Mutex
	state *os.ProcessState
}

// newChild starts the goroutine that reaps the process and ends with it.
func newChild(p *os.Process, id string) *child {
	c := &child{process: p, id: id, exited: make(chan struct{}), seen: map[int]string{}}
	go func() {
		state, _ := p.Wait() // the only waiter of this process
		c.mu.Lock()
		c.state = state
		c.mu.Unlock()
		close(c.exited)
	}()
	return c
}

// end stops the process, its group and the survivors that left it.
func (c *child) end(grace time.Duration) {
	if !c.alive() {
		return
	}
	c.signal(false)
	if c.gone(grace) {
		return
	}
	// A fork may slip through one round.
	for deadline := time.Now().Add(giveUp); ; {
		c.signal(true)
		if c.gone(50*time.Millisecond) || time.Now().After(deadline) {
			return
		}
	}
}

// gone waits at most d for the process and its survivors to disappear.
func (c *child) gone(d time.Duration) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	select {
	case <-c.exited:
	case <-deadline.C:
		return false
	}
	for pause := 2 * time.Millisecond; c.alive(); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-deadline.C:
			return false
		}
	}
	return true
}

func (c *child) hasExited() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// status returns -1 for a process that ended by a signal or not at all.
func (c *child) status() (code int, signal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == nil {
		return -1, ""
	}
	return c.state.ExitCode(), signalName(c.state)
}
