package shell

import (
	"context"
	"fmt"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/shell/guard"
)

// guarded begins a command under the guard. leave ends it: what the command may not
// have changed is put back, and told by the next result.
func (s *Shell) guarded(ctx context.Context, c tool.Call, a arguments, dir string) (leave func(), err error) {
	g := s.config.Guard
	if g == nil || s.Confined() == tool.ConfinedReads {
		return func() {}, nil
	}
	left, err := g.Enter(ctx)
	s.undo(c, left)
	if err != nil {
		return nil, &tool.Failed{What: "the command was not started: the places that run code later cannot be guarded", Err: err}
	}
	return func() {
		s.undo(c, g.Leave(func(path string) bool {
			return c.Fence.JudgeShell(context.WithoutCancel(ctx), s.changing(c, a, dir, path)) == nil
		}))
	}, nil
}

// Accept takes a file as it is now for right: a tool that the fence let wrote it.
func (s *Shell) Accept(path string) {
	if s.config.Guard != nil {
		s.config.Guard.Accept(path)
	}
}

// Recover puts back what commands of a process that died have changed. The next
// result of a command tells it.
func (s *Shell) Recover(ctx context.Context) error {
	if s.config.Guard == nil || s.Confined() == tool.ConfinedReads {
		return nil
	}
	_, err := s.config.Guard.Recover(ctx) // they come with the next command
	return err
}

// changing asks whether a command may have written a file.
func (s *Shell) changing(c tool.Call, a arguments, dir, path string) tool.ShellRequest {
	return tool.ShellRequest{Tool: c.Tool, Text: a.Command, Cwd: dir, Confined: s.Confined(), Commands: []tool.ShellCommand{
		{Text: a.Command, Cwd: dir, Operands: []tool.Operand{{Spelled: path, Op: tool.OpWrite, Base: dir, Why: "it changed"}}},
	}}
}

// undo keeps what was put back until it is told.
func (s *Shell) undo(c tool.Call, changes []guard.Change) {
	if len(changes) == 0 {
		return
	}
	if c.Host.Progress != nil {
		c.Host.Progress(tool.Quote(changes[0].Path) + " was " + undone(changes[0]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undone = append(s.undone, changes...)
}

// maxUndone bounds how many files that were put back are named.
const maxUndone = 20

// tellUndone adds what was put back to a result.
func (s *Shell) tellUndone(r *tool.Result, name string) {
	s.mu.Lock()
	changes := s.undone
	s.undone = nil
	s.mu.Unlock()
	if len(changes) == 0 {
		return
	}
	s.config.Guard.Told()
	for i, c := range changes {
		if i == maxUndone {
			r.Text += fmt.Sprintf("\n[and %d more]", len(changes)-i)
			break
		}
		r.Text += "\n[" + tool.Quote(c.Path) + " was " + undone(c) + "]"
	}
	r.Text += "\n[what is written there may be run later by others, so it needs a person, or their rule Edit(…) for it; do not try another way]"
	v := &tool.Verdict{Tool: name, Op: tool.OpWrite, Spelled: changes[0].Path, Reason: "it may be run later, was " + undone(changes[0])}
	if n := len(changes) - 1; n > 0 {
		v.Reason += fmt.Sprintf("; so it was with %d more", n)
	}
	r.Denied = v
}

// undone says what was done about one file.
func undone(c guard.Change) string {
	s := c.What + " by a command and was put back"
	switch {
	case c.Why != "":
		s = c.What + " by a command and could not be put back (" + c.Why + ")"
	case c.What == "made":
		s = "made by a command and was taken away"
	}
	if c.Kept != "" {
		s += "; the new one is kept as " + tool.Quote(c.Kept)
	}
	return s
}
