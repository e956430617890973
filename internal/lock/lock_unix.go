//go:build unix

package lock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of a file, or returns errTaken at once.
func tryLock(f *os.File, m mode) error {
	how := unix.LOCK_SH
	if m == exclusive {
		how = unix.LOCK_EX
	}
	err := flock(f, how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errTaken
	}
	return err
}

// waitLock takes the exclusive lock of a file when it is free.
func waitLock(f *os.File) error { return flock(f, unix.LOCK_EX) }

func unlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

// flock calls flock(2) again when a signal interrupts it.
func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// gone reports whether no process has that id.
func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
