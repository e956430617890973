//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Errors of a disk that takes no more, and of one that takes nothing.
var (
	diskFull     = []error{unix.ENOSPC, unix.EDQUOT}
	diskReadOnly = []error{unix.EROFS}
)

// tryLock takes the lock of a file, or returns errTaken at once.
func tryLock(f *os.File, mode lockMode) error {
	how := unix.LOCK_SH
	if mode == exclusive {
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

// usable reports why this user may not read and write a file or, with dir, a
// directory.
func usable(path string, dir bool) error {
	rights := uint32(unix.R_OK | unix.W_OK)
	if dir {
		rights |= unix.X_OK
	}
	if err := unix.Access(path, rights); err != nil {
		return &fs.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
