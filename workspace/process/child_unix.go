//go:build unix

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func signalName(s *os.ProcessState) string {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		if name := unix.SignalName(status.Signal()); name != "" {
			return name
		}
		return status.Signal().String()
	}
	return ""
}

// alive reports whether the process or something that belongs to it still runs.
func (c *child) alive() bool {
	if !c.hasExited() {
		return true
	}
	if rest, ok := c.survivors(); ok {
		return len(rest) > 0
	}
	return syscall.Kill(-c.process.Pid, 0) == nil
}

// signal sends TERM or KILL to the group and to what left it.
func (c *child) signal(kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	rest, _ := c.survivors()
	_ = syscall.Kill(-c.process.Pid, sig) // may be gone already
	for _, p := range rest {
		if p.group != c.process.Pid {
			p.signal(sig)
		}
	}
}

// readNow reads what lies in a pipe without waiting; end is the end of file.
func readNow(f *os.File, buf []byte) (n int, end bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	var readErr error
	err = raw.Read(func(fd uintptr) bool {
		n, readErr = syscall.Read(int(fd), buf)
		return true
	})
	if err != nil || readErr != nil {
		return 0, false
	}
	return n, n == 0
}
