package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Errors of a disk that takes no more, and of one that takes nothing.
var (
	diskFull     = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}
	diskReadOnly = []error{windows.ERROR_WRITE_PROTECT}
)

// lockedByte stands for the whole file. It lies far behind any content: locks
// are mandatory here, and the record in a locked file must stay readable.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

func lockFile(f *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockedByte())
}

// tryLock takes the lock of a file, or returns errTaken at once.
func tryLock(f *os.File, mode lockMode) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if mode == exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := lockFile(f, flags)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errTaken
	}
	return err
}

// waitLock takes the exclusive lock of a file when it is free.
func waitLock(f *os.File) error { return lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}

// gone reports whether no process has that id.
func gone(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_INVALID_PARAMETER)
	}
	defer windows.CloseHandle(h) //nolint:errcheck // it was only asked
	event, err := windows.WaitForSingleObject(h, 0)
	return err == nil && event == windows.WAIT_OBJECT_0
}

// usable reports why this user may not use a file or directory, as far as that
// is known before it is used: rights are lists here, and only use asks them.
func usable(path string, _ bool) error {
	_, err := os.Stat(path)
	return err
}

// syncDir has nothing to do: the names in a directory are journaled.
func syncDir(string) error { return nil }
