package sqlite

import (
	"os"

	"golang.org/x/sys/windows"
)

// Errors of a disk that takes no more, and of one that takes nothing.
var (
	diskFull     = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}
	diskReadOnly = []error{windows.ERROR_WRITE_PROTECT}
)

// usable reports why this user may not use a file or directory, as far as that
// is known before it is used: rights are lists here, and only use asks them.
func usable(path string, _ bool) error {
	_, err := os.Stat(path)
	return err
}

// syncDir has nothing to do: the names in a directory are journaled.
func syncDir(string) error { return nil }
