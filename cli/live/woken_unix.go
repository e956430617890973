//go:build unix

package live

import (
	"os"
	"os/signal"
	"syscall"
)

// continued tells when the process goes on after it was stopped, as by Ctrl-Z.
func continued() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCONT)
	return c, func() { signal.Stop(c) }
}
