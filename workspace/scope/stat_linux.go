package scope

import (
	"errors"
	"io/fs"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

// changed returns when the inode was changed, which nobody can set.
func changed(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return 0
}

// gone reports whether nothing lies at a path.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
