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
