//go:build unix && !linux

package process

import "syscall"

// proc is never made here: only the process group is known.
type proc struct{ group int }

func (c *child) survivors() (found []proc, ok bool) { return nil, false }

func carriers(string, string) (found []proc, ok bool) { return nil, false }

func (proc) signal(syscall.Signal) {}
