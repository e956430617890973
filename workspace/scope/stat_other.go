//go:build !linux

package scope

import (
	"errors"
	"io/fs"
	"syscall"
)

const nonblock = 0

// changed is not known: contents are compared.
func changed(fs.FileInfo) int64 { return 0 }

// gone reports whether nothing lies at a path.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
